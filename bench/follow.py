"""How soon a new message can be found: from an append until a search finds it, with `backscroll watch` running.

    python -m bench.follow [--large 1GB] [--records 50000] [--appends 100] [--idle 60]

Three processes, as in life: `backscroll watch` writes the library, this one appends to a session and asks the library
for the new word until it is there, without ever bringing it up to date itself. Once in a small home and once in a large
one, in a session of usual length and in a very long one. What `watch` says it read must be what was appended, no more.
Then it is left alone, to see what an idle watch costs.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Final

from backscroll.demo.player import append
from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.settings import Settings
from bench.generate import Mix, _size, generate
from bench.generator.play import _latest_sound_sessions
from bench.generator.rows import GeneratedTranscript, Tally, client, new_uuid

AIM: Final = 0.100
"""Seconds, the median from append to found."""
GROWTH: Final = 3.0
"""How many times the median of the small home's usual session the slowest of the four may be."""
IDLE_AIM: Final = 0.6
"""CPU seconds of a minute: one percent of a core."""
POLL_SECONDS: Final = 0.002
PATIENCE: Final = 30.0
SMALL_BYTES: Final = 30_000_000
BYTES_IN_A_SESSION: Final = 1_100_000
LETTERS: Final = "bcdfghjklmnpqrstvwxz"


@dataclass(frozen=True)
class Latency:
    """From append to found, in seconds, in one session of one home."""

    library: str
    session: str
    records_before: int
    appends: int
    found: int
    median: float
    percentile_95: float
    slowest: float
    search: float
    """The median of one search, the last of each wait: part of what is measured."""
    appended_lines: int
    appended_bytes: int
    told_records: int
    told_bytes: int

    @property
    def is_counted_right(self) -> bool:
        """Whether what was read is what was appended."""
        return (self.told_records, self.told_bytes) == (self.appended_lines, self.appended_bytes)


@dataclass(frozen=True)
class Idle:
    """The cost of a watch while nothing changes."""

    library: str
    seconds: float
    cpu_seconds: float
    memory: int
    own_memory: int
    """Without the pages of files, which the system takes back when it needs them."""
    peak_memory: int
    descriptors: int

    @property
    def cpu_of_a_minute(self) -> float:
        """CPU seconds."""
        return 60 * self.cpu_seconds / self.seconds


class Watcher:
    """`backscroll watch` in a process of its own, and what it tells."""

    def __init__(self, home: Path, library: Path) -> None:
        self.rounds = 0
        self.records = 0
        self.bytes = 0
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "backscroll", "watch", "--json", "--home", str(home), "--library", str(library)],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            # A shell lets what it runs in the background ignore Ctrl-C, and its children would too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended by itself."""
        return self._process.poll() is None

    def _read(self) -> None:
        """Add up what it tells; objects may go over several lines."""
        assert self._process.stdout is not None
        decoder = json.JSONDecoder()
        text = ""
        for line in self._process.stdout:
            text += line
            try:
                told, _ = decoder.raw_decode(text.lstrip())
            except ValueError:
                continue
            text = ""
            self.rounds += 1
            self.records += told["records"]
            self.bytes += told["bytes"]

    def cpu(self) -> float:
        """CPU seconds so far, of all its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> dict[str, int]:
        """In bytes: `VmRSS` is all, `RssAnon` without the pages of files, `VmHWM` the highest so far."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        rows = (line.partition(":")[::2] for line in lines)
        return {name: int(value.split()[0]) * 1024 for name, value in rows if name in ("VmRSS", "RssAnon", "VmHWM")}

    def descriptors(self) -> int:
        """How many it has open."""
        return sum(1 for _ in Path(f"/proc/{self._process.pid}/fd").iterdir())

    def stop(self) -> tuple[int, str]:
        """As Ctrl-C does; the exit code, and what it wrote to stderr."""
        if self.is_running:
            self._process.send_signal(signal.SIGINT)
        try:
            code = self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._reading.join(10)
        self._errors.seek(0)
        errors = self._errors.read().decode("utf-8", "replace").strip()  # click ends the line on Ctrl-C
        self._errors.close()
        return code, errors


class Speaker:
    """Says new words in one session, in rows of the version that wrote it."""

    def __init__(self, path: Path, last: dict[str, str], rng: Random) -> None:
        self.path = path
        self._lines: list[bytes] = []
        self.size = 0
        self._transcript = GeneratedTranscript(
            self, Tally(), rng, client=client(last["version"]), session_id=last["sessionId"], cwd=last["cwd"],
            branch=last.get("gitBranch", "main"), slug=last.get("slug", ""), now=time.time_ns() // 1_000_000,
        )  # fmt: skip
        self._transcript.last = last["uuid"]

    def write(self, line: bytes) -> None:
        """Take a line, as the sink of the transcript."""
        self._lines.append(line)

    def say(self, word: str, lines: int) -> tuple[int, int]:
        """Append this many rows, one of which has the word; return lines and bytes."""
        self._transcript.now = time.time_ns() // 1_000_000
        for number in range(lines):
            self._transcript.user(f'"and then we say {word if number == lines // 2 else "more"} about the parser"')
        content, self._lines = b"".join(self._lines), []
        step = append(self.path, content)
        return step.lines, step.bytes


def unique_word(number: int) -> str:
    """A unique word, of letters only."""
    letters = ""
    while number or len(letters) < 6:
        number, rest = divmod(number, len(LETTERS))
        letters += LETTERS[rest]
    return f"zq{letters}qz"


def make_long_session(root: Path, records: int, rng: Random) -> Path:
    """A session of this many short rows, alternating prompts and answers, next to the generated ones."""
    some = _latest_sound_sessions(root, 1)[0][0]
    session = new_uuid(rng)
    path = some.parent / f"{session}.jsonl"
    with path.open("xb") as file:
        sink = _File(file.write)
        transcript = GeneratedTranscript(
            sink, Tally(), rng, client=client("2.1.200"), session_id=session, cwd="/home/mara/long", branch="main",
            slug="", now=1_790_000_000_000,
        )  # fmt: skip
        for number in range(records // 2):
            transcript.user(f'"and what about case {number} of the parser?"')
            model = f'"model":"claude-opus-5","id":"msg_{number}"'
            opening = f'"message":{{{model},"type":"message","role":"assistant","content":['
            closing = (
                '],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":40}},'
                f'"requestId":"req_{number}","type":"assistant"'
            )
            transcript.assistant(f'{{"type":"text","text":"It is as in case {number // 2}."}}', opening, closing)
    return path


class _File:
    """A file as the sink of a transcript."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.size = 0
        self._write = write

    def write(self, line: bytes) -> None:
        self.size += len(line)
        self._write(line)


def last_row(path: Path) -> dict[str, str]:
    """The parent of the next row of a session."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4_000_000))
        rows = [json.loads(line) for line in file.read().splitlines() if line.startswith(b'{"parentUuid"')]
    last = next(row for row in reversed(rows) if not row.get("isSidechain"))
    return {name: value for name, value in last.items() if isinstance(value, str)}


def wait_for(library: Library, word: str, path: Path, since: float) -> tuple[float | None, float]:
    """How long until a search found the word in this file, and how long that search took."""
    while True:
        asked = time.monotonic()
        found = library.search(word)
        now = time.monotonic()
        if any(passage.hit.path == str(path) for chat in found.chats for passage in chat.passages):
            return now - since, now - asked
        if now - since > PATIENCE:
            return None, now - asked
        time.sleep(POLL_SECONDS)


def measure(root: Path, name: str, long_session: Path, options: argparse.Namespace) -> tuple[list[Latency], Idle]:
    """Watch a home, append to a usual and to a very long session of it, then leave it alone."""
    rng = Random(f"follow {options.seed}")
    home = root / "home"
    library_folder = root / "library"
    arguments = ["update", "--quiet", "--home", str(home), "--library", str(library_folder)]
    subprocess.run([sys.executable, "-m", "backscroll", *arguments], check=True)
    usual = next(path for path, _ in _latest_sound_sessions(home, 2) if path != long_session)
    watcher = Watcher(home, library_folder)
    settings = Settings(homes=(home,), library=library_folder, file=root / "settings.toml")
    numbers = iter(range(10**6))
    latencies = []
    try:
        with local_library(settings, [Home(home)]) as library:
            for kind, path in (("usual", usual), ("long", long_session)):
                speaker = Speaker(path, last_row(path), rng)
                # The first word tells that the watcher is there, and that the session is taken up.
                for _ in range(3):
                    word = unique_word(next(numbers))
                    speaker.say(word, 1)
                    waited, _ = wait_for(library, word, path, time.monotonic())
                    if waited is None:
                        raise TimeoutError(f"the watcher does not follow: {watcher.stop()}")
                time.sleep(2.5)  # a fresh file is looked at once more
                latencies.append(_appends(library, watcher, speaker, (name, kind), rng, numbers, options.appends))
        time.sleep(3)
        before, started = watcher.cpu(), time.monotonic()
        time.sleep(options.idle)
        memory = watcher.memory()
        idle = Idle(
            name, time.monotonic() - started, watcher.cpu() - before,
            memory["VmRSS"], memory["RssAnon"], memory["VmHWM"], watcher.descriptors(),
        )  # fmt: skip
    finally:
        code, errors = watcher.stop()
    if errors or code != 130:
        raise RuntimeError(f"watch ended with {code} and said: {errors or 'nothing'}")
    return latencies, idle


def _appends(
    library: Library, watcher: Watcher, speaker: Speaker, names: tuple[str, str], rng: Random, numbers: Iterator[int],
    appends: int,
) -> Latency:  # fmt: skip
    records = sum(1 for _ in speaker.path.open("rb"))
    told = (watcher.records, watcher.bytes)
    delays, searches = [], []
    lines = size = 0
    for _ in range(appends):
        word = unique_word(next(numbers))
        added = speaker.say(word, rng.randint(1, 5))
        waited, search = wait_for(library, word, speaker.path, time.monotonic())
        lines, size = lines + added[0], size + added[1]
        searches.append(search)
        if waited is not None:
            delays.append(waited)
        # Not in step with the watcher's own rhythm.
        time.sleep(rng.uniform(0.05, 0.25))
    time.sleep(2.5)
    return Latency(
        library=names[0],
        session=names[1],
        records_before=records,
        appends=appends,
        found=len(delays),
        median=statistics.median(delays),
        percentile_95=statistics.quantiles(delays, n=20)[-1],
        slowest=max(delays),
        search=statistics.median(searches),
        appended_lines=lines,
        appended_bytes=size,
        told_records=watcher.records - told[0],
        told_bytes=watcher.bytes - told[1],
    )


def report(latencies: Sequence[Latency], idles: Sequence[Idle]) -> list[str]:
    """Print it; what is not as it should be."""
    wrong = []
    for one in latencies:
        name = f"{one.library} home, {one.session} session"
        print(
            f"{name} ({one.records_before:,} records): median {one.median * 1000:.0f} ms, "
            f"p95 {one.percentile_95 * 1000:.0f} ms, slowest {one.slowest * 1000:.0f} ms "
            f"(one search {one.search * 1000:.1f} ms); {one.found} of {one.appends} found"
        )
        print(
            f"  appended {one.appended_lines:,} lines of {one.appended_bytes:,} bytes; "
            f"told {one.told_records:,} records of {one.told_bytes:,} bytes"
        )
        if one.median > AIM:
            wrong.append(f"{name}: {one.median * 1000:.0f} ms, and the aim is {AIM * 1000:.0f} ms")
        if one.found != one.appends:
            wrong.append(f"{name}: {one.appends - one.found} were not found within {PATIENCE:.0f} s")
        if not one.is_counted_right:
            wrong.append(f"{name}: what was read is not what was appended")
    if (grown := max(one.median for one in latencies) / latencies[0].median) > GROWTH:
        wrong.append(f"the slowest takes {grown:.1f} times as long as the first")
    for idle in idles:
        print(
            f"{idle.library} home, idle for {idle.seconds:.0f} s: {idle.cpu_of_a_minute:.2f} CPU seconds a minute; "
            f"memory {idle.memory / 1e6:.0f} MB, of it not of files {idle.own_memory / 1e6:.0f} MB, "
            f"highest {idle.peak_memory / 1e6:.0f} MB; {idle.descriptors} descriptors"
        )
        if idle.cpu_of_a_minute > IDLE_AIM:
            wrong.append(f"{idle.library} home: idle costs {idle.cpu_of_a_minute:.2f} CPU seconds a minute")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.follow", description="From an append to its being found.")
    parser.add_argument("--large", type=_size, default=10**9, help="size of the large home; 0 for none")
    parser.add_argument("--records", type=int, default=50_000, help="of the long session")
    parser.add_argument("--appends", type=int, default=100, help="in each session")
    parser.add_argument("--idle", type=float, default=60.0, help="seconds to watch with nothing happening")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    options = parser.parse_args(arguments)
    latencies: list[Latency] = []
    idles: list[Idle] = []
    for name, size in (("small", SMALL_BYTES), ("large", options.large)):
        if not size:
            continue
        with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
            root = Path(folder).resolve()
            generate(
                root / "home", sessions=max(10, size // BYTES_IN_A_SESSION), total_bytes=size, seed=options.seed,
                mix=Mix(problems=0.0),
            )  # fmt: skip
            long_session = make_long_session(root / "home", options.records, Random(f"long {options.seed}"))
            measured, idle = measure(root, name, long_session, options)
            latencies += measured
            idles.append(idle)
    wrong = report(latencies, idles)
    if options.json:
        results = {"latencies": [asdict(one) for one in latencies], "idle": [asdict(one) for one in idles]}
        options.json.write_text(json.dumps({**results, "wrong": wrong}, indent=2) + "\n", encoding="utf-8")
    for text in wrong:
        print(f"missed: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
