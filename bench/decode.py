"""How fast lines become records: decode and extract on one core, side by side with other decoders.

    python -m bench.decode [--rounds 7] [--json]

Every contestant reads the same files, splits them into lines and takes the same things out of each line: who it is,
where it hangs, when it was, the token counts, and all text of its blocks. Rounds are interleaved and the best counts,
in CPU time, so that a noisy neighbour costs every contestant the same. The second ratio leaves out what reading and
splitting take, which no decoder can change.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from backscroll.files.reading import Reading
from backscroll.records.content import AssistantMessage, Block, Text, Thinking, ToolResult
from backscroll.records.decode import decode_all
from backscroll.records.kinds import Assistant, ChainRecord, User, type_of
from backscroll.records.record import Record
from bench.generate import generate

AIM: Final = 3.0
"""Times as fast as plain json."""
GENERATED_BYTES: Final = 60_000_000


@dataclass
class Seen:
    """What a contestant extracted. All contestants that extract must agree."""

    records: int = 0
    failed: int = 0
    letters: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class DecodeResult:
    """One row of the table."""

    name: str
    megabytes_per_second: float
    times_json: float
    times_json_without_splitting: float | None
    records: int
    failed: int
    letters: int


Contestant = Callable[[bytes, Seen], None]
"""Takes the bytes of one file."""


def find_corpus() -> Path | None:
    """The folder of real sessions: $BACKSCROLL_CORPUS, or the one next to the checkout; None if there is none."""
    named = os.environ.get("BACKSCROLL_CORPUS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "corpus"
    return folder if folder.is_dir() else None


@contextmanager
def session_files() -> Iterator[tuple[str, list[Path]]]:
    """The files to measure with and what they are: real sessions, or generated ones where there are none."""
    corpus = find_corpus()
    if corpus is not None:
        home = corpus / "home" if (corpus / "home").is_dir() else corpus
        yield "real sessions", sorted(home.rglob("*.jsonl"))
        return
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        home = Path(folder) / "home"
        generate(home, sessions=60, total_bytes=GENERATED_BYTES, seed=1)
        yield "generated sessions (no corpus: set BACKSCROLL_CORPUS)", sorted((home / "projects").rglob("*.jsonl"))


def backscroll_records(data: bytes, seen: Seen) -> None:
    """Ours: decode_all, and the extraction from records."""
    for line in data.split(b"\n"):
        if line:
            for item in decode_all(line):
                if isinstance(item, Record):
                    _extract_from_record(item, seen)
                else:
                    seen.failed += 1


def backscroll_decode_only(data: bytes, seen: Seen) -> None:
    """Ours without the extraction."""
    for line in data.split(b"\n"):
        if line:
            for _ in decode_all(line):
                seen.records += 1


def plain_json(data: bytes, seen: Seen) -> None:
    """The standard library, and the extraction from dicts."""
    _from_dicts(data, seen, json.loads)


def with_orjson(data: bytes, seen: Seen) -> None:
    """The fastest decoder into dicts, and the same extraction."""
    _from_dicts(data, seen, orjson.loads)


def msgspec_untyped(data: bytes, seen: Seen) -> None:
    """The time of msgspec to build dicts, without extraction."""
    decode = ANYTHING.decode
    for line in data.split(b"\n"):
        if line:
            try:
                decode(line)
                seen.records += 1
            except ValueError:
                seen.failed += 1


def msgspec_floor(data: bytes, seen: Seen) -> None:
    """The time of msgspec to skip a line and build nothing: no typed decoder can be faster."""
    decode = NOTHING.decode
    for line in data.split(b"\n"):
        if line:
            try:
                decode(line)
                seen.records += 1
            except ValueError:
                seen.failed += 1


def split_only(data: bytes, seen: Seen) -> None:
    """Reading and splitting, which all the others do too."""
    for line in data.split(b"\n"):
        if line:
            seen.records += 1


def _extract_from_record(record: Record, seen: Seen) -> None:
    seen.records += 1
    if isinstance(record, (Assistant, User)):
        _ = record.session_id, record.timestamp, record.uuid, record.parent_uuid, type_of(record)
        message = record.message
        if message is not None:
            content = message.content
            seen.letters += len(content) if isinstance(content, str) else _letters_of_blocks(content)
            if isinstance(message, AssistantMessage) and (usage := message.usage) and message.id:
                seen.tokens += (
                    usage.input_tokens
                    + usage.output_tokens
                    + usage.cache_creation_input_tokens
                    + usage.cache_read_input_tokens
                )
    elif isinstance(record, ChainRecord):
        _ = record.session_id, record.timestamp, record.uuid, record.parent_uuid, type_of(record)


def _letters_of_blocks(blocks: list[Block]) -> int:
    letters = 0
    for block in blocks:
        if isinstance(block, Text):
            letters += len(block.text)
        elif isinstance(block, ToolResult):
            content = block.content
            letters += len(content) if isinstance(content, str) else _letters_of_blocks(content)
        elif isinstance(block, Thinking):
            letters += len(block.thinking)
    return letters


def _from_dicts(data: bytes, seen: Seen, loads: Callable[[bytes], Any]) -> None:
    for line in data.split(b"\n"):
        if line:
            try:
                value = loads(line)
            except ValueError:
                seen.failed += 1
                continue
            if isinstance(value, dict):
                _extract_from_dict(value, seen)


def _extract_from_dict(value: dict[str, Any], seen: Seen) -> None:
    seen.records += 1
    kind = value.get("type")
    _ = value.get("sessionId"), value.get("timestamp"), value.get("uuid"), value.get("parentUuid")
    if kind in ("user", "assistant") and isinstance(message := value.get("message"), dict):
        content = message.get("content")
        seen.letters += len(content) if isinstance(content, str) else _letters_of_dicts(content)
        if kind == "assistant" and (usage := message.get("usage")) and message.get("id"):
            seen.tokens += (
                usage.get("input_tokens", 0)
                + usage.get("output_tokens", 0)
                + usage.get("cache_creation_input_tokens", 0)
                + usage.get("cache_read_input_tokens", 0)
            )


def _letters_of_dicts(blocks: object) -> int:
    letters = 0
    if isinstance(blocks, list):
        for block in blocks:
            kind = block.get("type")
            if kind == "text":
                letters += len(block.get("text") or "")
            elif kind == "thinking":
                letters += len(block.get("thinking") or "")
            elif kind == "tool_result":
                content = block.get("content")
                letters += len(content) if isinstance(content, str) else _letters_of_dicts(content)
    return letters


class _Nothing(msgspec.Struct):
    """Decodes no field."""


ANYTHING: Final = msgspec.json.Decoder()
NOTHING: Final = msgspec.json.Decoder(_Nothing)
PLAIN: Final = "json + extract"
SPLIT: Final = "read + split only"
CONTESTANTS: Final[dict[str, Contestant]] = {
    "backscroll decode + extract": backscroll_records,
    PLAIN: plain_json,
    "orjson + extract": with_orjson,
    "backscroll decode only": backscroll_decode_only,
    "msgspec untyped, no extraction": msgspec_untyped,
    "msgspec into nothing (floor)": msgspec_floor,
    SPLIT: split_only,
}
READING: Final = "backscroll.files.reading.Reading only"


def measure(paths: Sequence[Path], rounds: int) -> list[DecodeResult]:
    """Run every contestant in turn, several times; return the best round of each."""
    size = sum(path.stat().st_size for path in paths)
    best: dict[str, float] = {}
    seen: dict[str, Seen] = {}
    for _ in range(rounds):
        for name, contestant in CONTESTANTS.items():
            seen[name] = Seen()
            started = time.process_time()
            for path in paths:
                contestant(path.read_bytes(), seen[name])
            best[name] = min(best.get(name, float("inf")), time.process_time() - started)
        seen[READING] = Seen()
        started = time.process_time()
        for path in paths:
            with Reading(path) as reading:
                for _line in reading:
                    seen[READING].records += 1
        best[READING] = min(best.get(READING, float("inf")), time.process_time() - started)
    plain = best[PLAIN]
    split = best[SPLIT]
    return [
        DecodeResult(
            name=name,
            megabytes_per_second=size / 1e6 / seconds,
            times_json=plain / seconds,
            times_json_without_splitting=(plain - split) / (seconds - split) if seconds > split * 1.05 else None,
            records=seen[name].records,
            failed=seen[name].failed,
            letters=seen[name].letters,
        )
        for name, seconds in best.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if we are slower than we aim for."""
    parser = argparse.ArgumentParser(prog="python -m bench.decode", description="Decode and extract, side by side.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    with session_files() as (what, paths):
        results = measure(paths, options.rounds)
        size = sum(path.stat().st_size for path in paths)
    ours = results[0]
    if options.json:
        answer = {
            "files": len(paths),
            "bytes": size,
            "what": what,
            "aim": AIM,
            "results": [asdict(row) for row in results],
        }
        print(json.dumps(answer, indent=2))
    else:
        print(f"{len(paths)} files, {size / 1e6:.0f} MB of {what}; best of {options.rounds} rounds, CPU time")
        print(f"{'':34}{'MB/s':>7}{'× json':>9}{'no split':>10}{'records':>10}{'failed':>8}{'letters of text':>17}")
        for row in results:
            letters = f"{row.letters:,}" if row.letters else ""
            alone = f"{row.times_json_without_splitting:.2f}" if row.times_json_without_splitting else ""
            print(
                f"{row.name:34}{row.megabytes_per_second:7.0f}{row.times_json:9.2f}{alone:>10}{row.records:10,}"
                f"{row.failed:8,}{letters:>17}"
            )
        verdict = "reached" if ours.times_json >= AIM else "missed"
        print(f"aim: {AIM:.0f} × plain json: {verdict}")
    return 0 if ours.times_json >= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
