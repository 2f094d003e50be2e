"""The cost of chats: building all of them compared with decoding alone, and one more record of a long session.

    python -m bench.chats [--rounds 7] [--records 50000] [--appends 200] [--json]

Building reads the same files as decoding and asks every chat for what a list shows. Rounds are interleaved and the best
counts, in CPU time, so that a noisy neighbour costs both the same. Then a session made in memory gets one record after
the other, as one that is followed live does, and the chat is looked up again after each.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.files.layout import LeftOut, place_of
from backscroll.records.decode import decode_all
from backscroll.records.record import Record
from bench.decode import session_files

MAX_TIMES_DECODING: Final = 2.0
LONGEST_APPEND: Final = 0.001
"""Seconds, in the median, for a record and the chat it belongs to."""


@dataclass(frozen=True)
class Building:
    """CPU seconds of the best round."""

    decoding: float
    chats: float
    files: int
    size: int
    records: int
    found: int

    @property
    def times_decoding(self) -> float:
        """The cost of building the chats, relative to decoding their records."""
        return (self.chats - self.decoding) / self.decoding


@dataclass(frozen=True)
class Appending:
    """Seconds for one more record, including the queries after it."""

    name: str
    median: float
    p95: float


def records_of(path: Path) -> Iterator[Record]:
    """Decoding alone."""
    for line in path.read_bytes().split(b"\n"):
        if line:
            for item in decode_all(line):
                if isinstance(item, Record):
                    yield item


def place_at(path: Path) -> TranscriptPlace:
    """Whose file it is; the name of the folder above the project does not matter."""
    parts = path.parts
    found = place_of(parts[parts.index("projects") :]) if "projects" in parts else LeftOut.OTHER
    return (
        TranscriptPlace(str(path), None)
        if isinstance(found, LeftOut)
        else TranscriptPlace(str(path), found.session_id, found.agent_id)
    )


def decode_only(paths: Sequence[Path]) -> int:
    """How many records there are."""
    return sum(1 for path in paths for _ in records_of(path))


def build_chats(paths: Sequence[Path]) -> int:
    """Build all chats, compute what a list shows of each, and return their number."""
    chats = ChatBuilder()
    for path in paths:
        chats.add(place_at(path), records_of(path))
    found = chats.chats()
    for chat in found:
        ask_for_list(chat)
    return len(found)


def ask_for_list(chat: Chat) -> tuple[object, ...]:
    """Compute what a list shows of a chat and filters by."""
    counts = (chat.prompts, chat.messages, len(chat.branches), len(chat.sessions), len(chat.leaves))
    return chat.id, chat.title, chat.project, chat.started, chat.last_active, chat.models, chat.git_branches, *counts


def measure_building(paths: Sequence[Path], rounds: int) -> Building:
    """Run both in turn, several times; return the best round of each."""
    decoding = chats = float("inf")
    records = found = 0
    for _ in range(rounds):
        started = time.process_time()
        records = decode_only(paths)
        between = time.process_time()
        found = build_chats(paths)
        decoding, chats = min(decoding, between - started), min(chats, time.process_time() - between)
    size = sum(path.stat().st_size for path in paths)
    return Building(decoding, chats, len(paths), size, records, found)


def long_session(records: int) -> Iterator[bytes]:
    """An endless session: lines of prompts, calls, results and answers."""
    parent = None
    for number in range(records):
        uuid = f"00000000-0000-4000-8000-{number:012}"
        row: dict[str, object] = {"parentUuid": parent, "isSidechain": False, "cwd": "/shop", "sessionId": SESSION}
        row |= {"version": "2.1.42", "gitBranch": "main", "uuid": uuid}
        row["timestamp"] = (
            f"2026-01-{5 + number // 86400:02}T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z"
        )
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": "shop.py"}
        match number % 4:
            case 0:
                row |= {"type": "user", "message": {"role": "user", "content": f"question {number}"}}
            case 2:
                row |= {"type": "user", "message": {"role": "user", "content": [result]}}
            case step:
                content = [call] if step == 1 else [{"type": "text", "text": "done"}]
                message = {"id": f"m{number}", "role": "assistant", "model": "claude-x", "content": content}
                row |= {"type": "assistant", "message": message}
        yield json.dumps(row).encode()
        parent = uuid


def measure_appending(records: int, appends: int) -> list[Appending]:
    """One record after the other, each with another amount of questions about the chat."""
    questions: dict[str, Callable[[ChatBuilder], object]] = {
        "add": lambda _: None,
        "add, chats()": ChatBuilder.chats,
        "add, chats(), id, project, times": _ask_cheaply,
        "add, chats(), all that a list shows": lambda chats: [ask_for_list(chat) for chat in chats.chats()],
    }
    lines = long_session(records + appends * len(questions))
    place = TranscriptPlace("long.jsonl", SESSION)
    chats = ChatBuilder()
    chats.add(place, (_record(next(lines)) for _ in range(records)))
    chats.chats()
    results = []
    for name, ask in questions.items():
        times = []
        for _ in range(appends):
            record = _record(next(lines))
            started = time.perf_counter()
            chats.add(place, [record])
            ask(chats)
            times.append(time.perf_counter() - started)
        results.append(Appending(name, statistics.median(times), sorted(times)[int(appends * 0.95)]))
    return results


def _ask_cheaply(chats: ChatBuilder) -> object:
    (chat,) = chats.chats()
    return chat.id, chat.project, chat.last_active, chat.models


def _record(line: bytes) -> Record:
    (record,) = decode_all(line)
    assert isinstance(record, Record)
    return record


SESSION: Final = "5e551011-0000-4000-8000-000000000000"
JUDGED: Final = "add, chats(), id, project, times"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.chats", description="What chats cost.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--records", type=int, default=50_000, help="of the session that one record is added to")
    parser.add_argument("--appends", type=int, default=200)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    gc.set_threshold(100_000, 20, 20)  # as the program does
    with session_files() as (what, paths):
        building = measure_building(paths, options.rounds)
    appending = measure_appending(options.records, options.appends)
    judged = next(row for row in appending if row.name == JUDGED)
    reached = building.times_decoding < MAX_TIMES_DECODING and judged.median < LONGEST_APPEND
    if options.json:
        answer = {"what": what, "building": asdict(building), "appending": [asdict(row) for row in appending]}
        print(json.dumps(answer | {"reached": reached}, indent=2))
        return 0 if reached else 1
    print(f"{building.files} files, {building.size / 1e6:.0f} MB of {what}; best of {options.rounds} rounds, CPU time")
    print(f"{'':44}{'seconds':>10}{'× decoding':>12}")
    print(f"{f'decoding {building.records:,} records':44}{building.decoding:10.3f}{1:12.2f}")
    built = building.chats - building.decoding
    print(f"{f'building {building.found} chats':44}{built:10.3f}{building.times_decoding:12.2f}")
    print(f"\none more record of a session of {options.records:,}")
    print(f"{'':44}{'median ms':>10}{'p95 ms':>12}")
    for row in appending:
        print(f"{row.name:44}{row.median * 1e3:10.3f}{row.p95 * 1e3:12.3f}")
    print(
        f"\naim: less than {MAX_TIMES_DECODING:.0f} × decoding, and less than {LONGEST_APPEND * 1e3:.0f} ms for"
        f" “{JUDGED}”: {'reached' if reached else 'missed'}"
    )
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
