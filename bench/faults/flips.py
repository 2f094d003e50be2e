"""A byte on the disk becomes another: does any answer change without a word?

Each run damages one file of a library, asks everything as a command would, and if an answer is refused, updates and
asks again. The library has a log of writes that are not in the database yet, as one that is being followed has.
"""

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from bench.faults.questions import Answers, Crashed, Plain, differences
from bench.faults.report import AS_WRITTEN, EQUAL, ERROR, MENDED, WRONG, Summary, telling
from bench.faults.world import World, held_open

KINDS: Final = ("bit", "bit", "bit", "bit", "byte", "byte", "zeros", "cut")
SECTOR: Final = 512
SEGMENT: Final = re.compile(r"[0-9a-f]{32}")
NOT_DAMAGED: Final = ("-shm", "lock", ".lock")
"""Memory that SQLite shares, and files that are always empty."""
DERIVED: Final = "index"
EDITABLE: Final = {"marks.json": ("marks", "show"), "recalls": ("recalls",)}
"""What people may edit, and so has no checksum: the questions whose answers are whatever such a file says."""


@dataclass(frozen=True)
class ByteDamage:
    """The damage of one file."""

    file: str
    kind: str
    offset: int
    value: int

    def __str__(self) -> str:
        return f"{self.file}: {self.kind} at {self.offset} ({self.value})"

    @property
    def group(self) -> str:
        """The kind of file, for the summary."""
        return re.sub(r"[0-9a-f]{32}(\.\d+)?|\d{6}", "*", self.file)

    def apply(self, library: Path) -> bool:
        """Do it; whether anything is another now."""
        path = library / self.file
        before = path.read_bytes()
        after = bytearray(before)
        if self.kind == "bit":
            after[self.offset] ^= 1 << (self.value % 8)
        elif self.kind == "byte":
            after[self.offset] = self.value
        elif self.kind == "zeros":
            start = self.offset - self.offset % SECTOR
            after[start : start + SECTOR] = bytes(len(after[start : start + SECTOR]))
        else:
            del after[self.offset :]
        path.write_bytes(after)
        return bytes(after) != before


def make_library(world: World) -> list[str]:
    """The library that is damaged, and its files."""
    target = world.root / "held" / "library"
    held_open(world, target)
    (world.root / "held" / "backup").mkdir()
    return sorted(
        (
            str(path.relative_to(target))
            for path in target.rglob("*")
            if path.is_file() and path.stat().st_size and not path.name.endswith(NOT_DAMAGED)
        ),
        key=lambda name: SEGMENT.sub("", name),
    )


def choose(library: Path, files: Sequence[str], seed: int, number: int) -> ByteDamage:
    """The n-th damage of a seed: half of them anywhere, half in any file however small."""
    rng = Random(f"flip {seed} {number}")
    sizes = [(library / name).stat().st_size for name in files]
    name = rng.choices(files, sizes)[0] if rng.random() < 0.5 else rng.choice(files)
    size = (library / name).stat().st_size
    return ByteDamage(name, rng.choice(KINDS), rng.randrange(size), rng.randrange(256))


def run_flip(world: World, damage: ByteDamage, golden: Answers) -> tuple[str, str | None]:
    """Damage the library, and ask; how that ended, and what is wrong."""
    world.prepare("held")
    if not damage.apply(world.library):
        return EQUAL, None
    os.utime(world.library / damage.file, ns=_times(world.root / "held" / "library" / damage.file))
    answers, _ = world.answers(refreshes=True)
    wrong = differences(answers, golden)
    own = EDITABLE.get(damage.file.partition("/")[0], ())
    if wrong and all(name.startswith(own) and not isinstance(answers.get(name), Crashed) for name in wrong):
        return AS_WRITTEN, None
    if wrong:
        name = min(wrong)
        return WRONG, f"{name}: {wrong[name]}"
    if not any(isinstance(value, Plain) for value in answers.values()):
        return EQUAL, None
    updated = world.run("update")
    if problem := updated.problem():
        return WRONG, f"update: {problem}"
    answers, _ = world.answers(refreshes=True)
    if wrong := differences(answers, golden):
        name = min(wrong)
        return WRONG, f"after an update, {name}: {wrong[name]}"
    refused = {name: value for name, value in answers.items() if isinstance(value, Plain)}
    if refused and damage.file.startswith(DERIVED):
        name = min(refused)
        return WRONG, f"not mended by an update: {name}: {refused[name].message}"
    return (ERROR if refused else MENDED), None


def _times(path: Path) -> tuple[int, int]:
    """A disk that changes a byte does not change the time of the file."""
    status = path.stat()
    return status.st_atime_ns, status.st_mtime_ns


def run(world: World, files: Sequence[str], seed: int, numbers: Sequence[int], summary: Summary) -> None:
    """Damage as often as there are numbers."""
    world.prepare("held")
    golden, ended = world.answers(refreshes=True)
    if any(isinstance(value, Plain | Crashed) for value in golden.values()):
        raise RuntimeError(f"without damage: {golden} {ended.errors}")
    for number in telling(numbers, summary):
        damage = choose(world.root / "held" / "library", files, seed, number)
        outcome, problem = run_flip(world, damage, golden)
        summary.add(damage.group, outcome, f"{damage} (--seed {seed} --only {number})", problem)
    shutil.rmtree(world.root / "held")
