"""How fast a home is archived, and how small: compared with cp, tar | zstd and restic.

    python -m bench.archive [--rounds 5] [--files 5000] [--appends 1000] [--json]

Every contestant is a process of its own that keeps the same folder and has it on the disk when it ends: a first time,
after 2 KB were appended to each of 100 sessions, and with nothing new over many small files. Rounds are interleaved and
the best counts; the sources are in the page cache. The sources are copies in a temporary folder, of what backscroll
keeps of the home and of nothing else. restic and zstd are the system's own (Debian: apt install restic zstd); a
contestant whose program is missing is left out, and said to be. restic also encrypts, and derives its key in each run.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Final

import zstandard

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from bench.decode import GENERATED_BYTES, find_corpus
from bench.generate import generate
from bench.watching import make_home

SMALLEST: Final = 0.15
"""Of the raw bytes: at most that much is stored."""
NOTHING_NEW: Final = 1.0
"""Seconds."""
GROWN_FILES: Final = 100
APPEND: Final = 2048
NEVER: Final = float("inf")


@dataclass(frozen=True)
class Contestant:
    """Shell commands that keep `$SOURCE` in `$TARGET`, first and again, and prove that it is whole."""

    name: str
    keep: str
    needs: tuple[str, ...] = ()
    prepare: str = ""
    verify: str = ""


@dataclass
class ArchiveRun:
    """The best of some runs: seconds of the wall clock and of CPU time, and the bytes that it added to the target."""

    wall: float = NEVER
    cpu: float = NEVER
    stored: int = 0

    def take(self, other: "ArchiveRun") -> None:
        """Have the better of both."""
        self.wall = min(self.wall, other.wall)
        self.cpu = min(self.cpu, other.cpu)
        self.stored = other.stored


@dataclass
class ArchiveResult:
    """One row of the table."""

    name: str
    first: ArchiveRun
    appended: ArchiveRun
    verify: ArchiveRun | None
    first_of_many: ArchiveRun
    nothing_new: ArchiveRun


@dataclass(frozen=True)
class Growth:
    """A session that grew bit by bit and was kept each time."""

    appends: int
    raw: int
    packs: int
    catalogue: int
    at_once: int
    """The size of its bytes in one frame."""
    seconds_each: float


@dataclass(frozen=True)
class ArchiveOpening:
    """Seconds until an archive can be read from."""

    few: float
    many: float
    grown: float


@dataclass(frozen=True)
class Aim:
    """A target; None if its reference was not measured."""

    what: str
    reached: bool | None


KEEP: Final = """
import sys
from pathlib import Path
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
with Writer(Path(sys.argv[2])) as writer:
    done = capture(writer, Home(Path(sys.argv[1])), "bench")
assert not done.unreadable, done.unreadable
"""
VERIFY: Final = """
import sys
from pathlib import Path
from backscroll.archive.archive import Archive
from backscroll.archive.verify import verify
assert not verify(Archive(Path(sys.argv[1]))).damages
"""
OURS: Final = "backscroll"
TAR: Final = "tar | zstd -3"
RESTIC: Final = "restic"
_TAR: Final = (
    'tar -C "$SOURCE" -g "$TARGET/snapshot" -cf - . | zstd -q -3 {threads} -o "$TARGET/$RUN.tar.zst"'
    ' && sync "$TARGET/$RUN.tar.zst"'
)
_ZSTD_VERIFY: Final = 'zstd -q -t "$TARGET"/*.tar.zst'
CONTESTANTS: Final = (
    Contestant(
        OURS,
        keep='exec "$PYTHON" -c "$KEEP" "$SOURCE" "$TARGET"',
        verify='exec "$PYTHON" -c "$VERIFY" "$TARGET"',
    ),
    Contestant(
        "cp -r + sync", keep='cp -ruT --reflink=never "$SOURCE" "$TARGET/copy" && sync -f "$TARGET"', needs=("cp",)
    ),
    Contestant(TAR, keep=_TAR.format(threads=""), needs=("tar", "zstd"), verify=_ZSTD_VERIFY),
    Contestant("tar | zstd -3 -T0", keep=_TAR.format(threads="-T0"), needs=("tar", "zstd"), verify=_ZSTD_VERIFY),
    Contestant(
        RESTIC,
        prepare="restic -q init",
        keep='exec restic -q --no-cache backup "$SOURCE"',
        verify="exec restic -q --no-cache check --read-data",
        needs=("restic",),
    ),
)


def present() -> tuple[list[Contestant], list[str]]:
    """Who takes part, and what is missing for the others."""
    missing = {name for contestant in CONTESTANTS for name in contestant.needs if shutil.which(name) is None}
    return [contestant for contestant in CONTESTANTS if not missing & {*contestant.needs}], sorted(missing)


def program_versions() -> list[str]:
    """The versions of the other programs."""
    commands = (["restic", "version"], ["zstd", "--version"], ["tar", "--version"])
    answers = [
        subprocess.run(command, capture_output=True, text=True) for command in commands if shutil.which(command[0])
    ]
    return [answer.stdout.splitlines()[0].strip("* ") for answer in answers if answer.stdout]


@contextmanager
def sources(folder: Path) -> Iterator[tuple[str, Path]]:
    """The home to keep and what it is: a copy of the real sessions, or generated ones where there are none."""
    corpus = find_corpus()
    home = folder / "home"
    if corpus is None:
        generate(folder / "generated", sessions=120, total_bytes=GENERATED_BYTES, seed=1)
        origin, what = folder / "generated", "generated sessions (no corpus: set BACKSCROLL_CORPUS)"
    else:
        origin, what = (corpus / "home" if (corpus / "home").is_dir() else corpus), "real sessions"
    for file in discover(Home(origin)).files:
        target = home / file.relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target)
    yield what, home


def size_of(folder: Path) -> int:
    """The bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Arena:
    """Where the contestants keep one source, each in a target of its own."""

    def __init__(self, source: Path, targets: Path) -> None:
        self.source = source
        self.targets = targets
        self._runs = 0

    def target(self, contestant: Contestant) -> Path:
        """Where a contestant writes to."""
        return self.targets / f"{CONTESTANTS.index(contestant)}"

    def clear(self, contestants: Sequence[Contestant]) -> None:
        """Give every program a new and empty target."""
        shutil.rmtree(self.targets, ignore_errors=True)
        for contestant in contestants:
            self.target(contestant).mkdir(parents=True)
            if contestant.prepare:
                self.run(contestant, contestant.prepare)

    def run(self, contestant: Contestant, command: str) -> ArchiveRun:
        """Run a command to its end and see what it took."""
        self._runs += 1
        target = self.target(contestant)
        environment = os.environ | {
            "SOURCE": str(self.source),
            "TARGET": str(target),
            "RUN": f"{self._runs:06}",
            "PYTHON": sys.executable,
            "KEEP": KEEP,
            "VERIFY": VERIFY,
            "RESTIC_REPOSITORY": str(target / "repository"),
            "RESTIC_PASSWORD": "bench",
        }
        before = size_of(target)
        os.sync()  # what others left to be written is not this one's
        started = time.perf_counter()
        process = subprocess.Popen(["/bin/sh", "-c", command], env=environment, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{contestant.name} ended with {process.returncode}: {command}")
        return ArchiveRun(wall, usage.ru_utime + usage.ru_stime, size_of(target) - before)


def append_to(paths: Sequence[Path], others: Sequence[bytes]) -> None:
    """Append 2 KB of real bytes to each file."""
    for path, data in zip(paths, others, strict=True):
        with path.open("ab") as file:
            file.write(data)
    time.sleep(0.1)  # longer than a tick of the file system's clock: the files are at rest


def measure(
    arena: Arena, many: Arena, contestants: Sequence[Contestant], grown: Sequence[Path], rounds: int
) -> list[ArchiveResult]:
    """Run every contestant in turn, several times; return the best round of each."""
    results = {
        contestant.name: ArchiveResult(
            contestant.name,
            ArchiveRun(),
            ArchiveRun(),
            ArchiveRun() if contestant.verify else None,
            ArchiveRun(),
            ArchiveRun(),
        )
        for contestant in contestants
    }
    sizes = [path.stat().st_size for path in grown]
    # Each file grows by a piece out of the middle of the one before it: real text, and not its own.
    contents = [path.read_bytes() for path in grown]
    pieces = [data[len(data) // 2 :][:APPEND] for data in (contents[-1], *contents[:-1])]
    del contents
    for _ in range(rounds):
        arena.clear(contestants)
        for path, size in zip(grown, sizes, strict=True):
            os.truncate(path, size)
        time.sleep(0.1)
        for contestant in contestants:
            results[contestant.name].first.take(arena.run(contestant, contestant.keep))
        append_to(grown, pieces)
        for contestant in contestants:
            results[contestant.name].appended.take(arena.run(contestant, contestant.keep))
        for contestant in contestants:
            if (verified := results[contestant.name].verify) is not None:
                verified.take(arena.run(contestant, contestant.verify))
    many.clear(contestants)
    for contestant in contestants:
        results[contestant.name].first_of_many.take(many.run(contestant, contestant.keep))
    for _ in range(rounds):
        for contestant in contestants:
            results[contestant.name].nothing_new.take(many.run(contestant, contestant.keep))
    return list(results.values())


def grow(folder: Path, material: bytes, appends: int) -> Growth:
    """Let a session grow by 2 KB again and again, and keep it each time, with an archive that is opened each time."""
    home, kept = folder / "growing-home", folder / "growing-archive"
    session = home / "projects" / "-home-mara-project" / "0f8fad5b-d9cb-469f-a165-70867728950e.jsonl"
    session.parent.mkdir(parents=True)
    while 0 < len(material) < appends * APPEND:
        material += material
    spent = 0.0
    for number in range(appends):
        with session.open("ab") as file:
            file.write(material[number * APPEND : (number + 1) * APPEND])
        started = time.perf_counter()
        with Writer(kept) as writer:
            capture(writer, Home(home), "bench")
        spent += time.perf_counter() - started
    raw = session.read_bytes()
    return Growth(
        appends=appends,
        raw=len(raw),
        packs=size_of(kept / "packs"),
        catalogue=(kept / "catalogue.jsonl").stat().st_size,
        at_once=len(zstandard.ZstdCompressor(level=3).compress(raw)),
        seconds_each=spent / appends,
    )


def opening(folder: Path, runs: int = 5) -> float:
    """The best of some times to open an archive."""
    best = NEVER
    for _ in range(runs):
        started = time.perf_counter()
        Archive(folder)
        best = min(best, time.perf_counter() - started)
    return best


def aims(results: Sequence[ArchiveResult], raw: int) -> list[Aim]:
    """The targets, and whether they are met."""
    by_name = {result.name: result for result in results}
    ours, tar, restic = by_name[OURS], by_name.get(TAR), by_name.get(RESTIC)
    return [
        Aim(f"first capture no slower than {TAR}", ours.first.wall <= tar.first.wall if tar else None),
        Aim("stored no more than restic", ours.first.stored <= restic.first.stored if restic else None),
        Aim(f"stored at most {SMALLEST:.0%} of raw", ours.first.stored <= SMALLEST * raw),
        Aim(f"nothing new in less than {NOTHING_NEW:.0f} s", ours.nothing_new.wall < NOTHING_NEW),
    ]


def _print(results: Sequence[ArchiveResult], raw: int, grown: int) -> None:
    print(f"{'':20}{'first':>12}{'':>10}{'stored':>15}{'':>8}{'2 KB each':>12}{'stored':>18}{'verify':>8}")
    print(
        f"{'':20}{'MB/s wall':>12}{'MB/s CPU':>10}{'bytes':>15}{'of raw':>8}{'s wall':>12}{'× appended':>18}{'MB/s':>8}"
    )
    for row in results:
        verified = f"{raw / 1e6 / row.verify.wall:.0f}" if row.verify else ""
        print(
            f"{row.name:20}{raw / 1e6 / row.first.wall:12.0f}{raw / 1e6 / row.first.cpu:10.0f}{row.first.stored:15,}"
            f"{row.first.stored / raw:8.1%}{row.appended.wall:12.3f}{row.appended.stored / grown:18.2f}{verified:>8}"
        )


def _print_many(results: Sequence[ArchiveResult], files: int) -> None:
    print(f"\n{files:,} small files")
    print(f"{'':20}{'first, s':>12}{'nothing new, s wall':>22}{'s CPU':>8}{'bytes':>10}")
    for row in results:
        print(
            f"{row.name:20}{row.first_of_many.wall:12.2f}{row.nothing_new.wall:22.3f}{row.nothing_new.cpu:8.3f}"
            f"{row.nothing_new.stored:10,}"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if an aim was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.archive", description="Keep a home, side by side.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=5000, help="small files for a run with nothing new")
    parser.add_argument("--appends", type=int, default=1000, help="how often a session grows and is kept")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    contestants, missing = present()
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        folder = Path(name)
        with sources(folder) as (what, home):
            files = sorted(home.rglob("*.jsonl"))
            raw = size_of(home)
            material = max((path.read_bytes() for path in files), key=len)
            make_home(folder / "many", options.files, Random(1))
            time.sleep(0.1)
            grown = [path for path in files if path.stat().st_size > 2 * APPEND][:GROWN_FILES]
            arena, many = Arena(home, folder / "targets"), Arena(folder / "many", folder / "targets-of-many")
            results = measure(arena, many, contestants, grown, options.rounds)
            growth = grow(folder, material, options.appends)
            ours = contestants[0]
            opened = ArchiveOpening(
                opening(arena.target(ours)), opening(many.target(ours)), opening(folder / "growing-archive")
            )
    reached = aims(results, raw)
    if options.json:
        answer = {
            "what": what,
            "bytes": raw,
            "files": len(files),
            "grown_files": len(grown),
            "small_files": options.files,
            "rounds": options.rounds,
            "programs": program_versions(),
            "left_out_for_want_of": missing,
            "results": [asdict(row) for row in results],
            "growing": asdict(growth),
            "open": asdict(opened),
            "aims": [asdict(aim) for aim in reached],
        }
        print(json.dumps(answer, indent=2))
    else:
        print(f"{len(files)} files, {raw / 1e6:.0f} MB of {what}; best of {options.rounds} rounds, warm page cache")
        print(f"beside the system's own {', '.join(program_versions())}")
        if missing:
            print(f"left out, because they are not installed: {', '.join(missing)} (Debian: apt install restic zstd)")
        _print(results, raw, len(grown) * APPEND)
        _print_many(results, options.files)
        stored = growth.packs + growth.catalogue
        print(
            f"\na session that grew by 2 KB and was kept, {growth.appends:,} times: {growth.raw:,} bytes raw,"
            f" {stored:,} stored ({stored / growth.raw:.0%}): packs {growth.packs:,}, catalogue {growth.catalogue:,};"
            f" in one frame {growth.at_once:,}; {growth.seconds_each * 1000:.1f} ms each"
        )
        print(
            f"open: {opened.few * 1000:.1f} ms ({len(files)} files), {opened.many * 1000:.1f} ms ({options.files:,}"
            f" files), {opened.grown * 1000:.1f} ms ({growth.appends:,} appends)"
        )
        for aim in reached:
            print(
                f"aim: {aim.what}: {'not measured' if aim.reached is None else 'reached' if aim.reached else 'missed'}"
            )
    return 1 if any(aim.reached is False for aim in reached) else 0


if __name__ == "__main__":
    sys.exit(main())
