"""Does sync take longer than in an earlier version? The command itself, in both, and restic beside them.

    python -m bench.sync_versions HOME [--before COMMIT] [--rounds 3] [--restic PROGRAM]

The earlier version runs from its source, which comes from git. Both are compiled first, as an installed program is, and
take turns. What counts is the least CPU time, which depends least on what else the machine does.
"""

import argparse
import compileall
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.support.landed import LANDED, checked_out

from bench.sync import Measured, append, process

STEPS: Final = ("first push", "nothing new", "one record")
AGAIN: Final = 4
"""How often the short steps are repeated in each round."""
HIGHEST: Final = 1.05
"""The highest ratio of CPU time to that of the earlier version."""
SOURCE: Final = Path(__file__).resolve().parents[1] / "src"


def steps(source: Path, home: Path, root: Path, session: Path) -> Iterator[Measured]:
    """Push a home into a new folder with the version of this source, then nothing, then a record at a time."""
    environment = {"PYTHONPATH": str(source), "HOME": str(root)}
    options = ("--home", str(home), "--library", str(root / "library"))
    program = (sys.executable, "-P", "-m", "backscroll")
    remote = root / "remote"
    remote.mkdir(parents=True)
    process("", (*program, "keep", *options), None, environment=environment)
    add = (*program, "sync", "add", "bench", str(remote), "--yes", *options)
    yield process("first push", add, None, environment=environment)
    sync = (*program, "sync", *options)
    for _ in range(AGAIN):
        yield process("nothing new", sync, None, environment=environment)
    for _ in range(AGAIN):
        append(session)
        yield process("one record", sync, None, environment=environment)


def restic_steps(program: str, home: Path, root: Path, session: Path) -> Iterator[Measured]:
    """The same with restic."""
    places = {"RESTIC_PASSWORD": "bench", "RESTIC_REPOSITORY": str(root), "HOME": str(root.parent)}
    process("", (program, "--quiet", "init"), None, environment=places)
    backup = (program, "--quiet", "backup", str(home))
    yield process("first push", backup, None, environment=places)
    for _ in range(AGAIN):
        yield process("nothing new", backup, None, environment=places)
    for _ in range(AGAIN):
        append(session)
        yield process("one record", backup, None, environment=places)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.sync_versions", description="Is sync as fast as it was?")
    parser.add_argument("home", type=Path)
    parser.add_argument("--before", default=LANDED, metavar="COMMIT", help="the earlier version")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--restic", default=shutil.which("restic"), metavar="PROGRAM")
    options = parser.parse_args(arguments)
    found: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder, checked_out(options.before) as before:
        root = Path(folder)
        home = root / "home"
        shutil.copytree(options.home, home, symlinks=True)
        session = next(path for path in sorted(home.rglob("*.jsonl")) if "projects" in path.parts)
        sources = {"now": SOURCE, "before": before}
        for source in sources.values():
            compileall.compile_dir(source, quiet=2)
        for number in range(options.rounds):
            for name, source in sorted(sources.items(), reverse=bool(number % 2)):
                for one in steps(source, home, root / f"{name}-{number}", session):
                    found[name, one.step].append(one)
            if options.restic:
                for one in restic_steps(options.restic, home, root / f"restic-{number}", session):
                    found["restic", one.step].append(one)
    return _tell(found)


def _tell(found: dict[tuple[str, str], list[Measured]]) -> int:
    """Print the least of each step; 1 if this version takes longer than it may."""
    is_slower = False
    for step in STEPS:
        least = {name: min(one.cpu for one in rows) for (name, of), rows in found.items() if of == step}
        memory = {name: max(one.memory for one in rows) for (name, of), rows in found.items() if of == step}
        ratio = least["now"] / least["before"]
        is_slower |= ratio > HIGHEST
        told = ", ".join(f"{name} {cpu:.3f} s CPU, {memory[name]} MB" for name, cpu in least.items())
        print(f"{step:12} {ratio:.2f}  ({told})")
    return int(is_slower)


if __name__ == "__main__":
    sys.exit(main())
