"""A reader that visits a home from time to time always has its contents, whatever happens to the files in between.

Hypothesis makes up the story: things happen to four files of a real folder, and between them the reader visits. What he
keeps of a file is only its bookmark and the bytes that he was given; after each visit these must be the file's own.

About 5,000 steps; 500,000 with BACKSCROLL_TRY_ALL=1 in the environment.

One change cannot be seen by design, and does not happen here: in a file that also grew, other bytes between the first
and the last WINDOW of what was read. And one depends on the system: two writes of the same length within one tick of
the disk's clock (milliseconds; none since Linux 6.13). Where a rule may keep the length, the clock is made to tick.
"""

import json
import os
import shutil
import tempfile
from itertools import islice
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from backscroll.files import reading
from backscroll.files.changes import find_changes
from backscroll.files.discovery import HomeFile, discover
from backscroll.files.homes import Home
from backscroll.files.reading import Bookmark, Change, Reading
from tests.support.samples import TRY_ALL

STEPS: Final = 35
EXAMPLES: Final = (500_000 if TRY_ALL else 5_250) // STEPS

NAMES: Final = [f"projects/{project}/agent-{agent}.jsonl" for project in ("one", "two") for agent in "ab"]
FOX: Final = "🦊".encode()

names = st.sampled_from(NAMES)
# Few different ones: files that are alike by chance are the hard case.
lines = st.sampled_from([b"\n", b"{}\n", b'{"a":1}\n', b'{"a":2}\n', b'{"a":1}{"b":2}\n', b"\x00\x00{}\n", FOX + b"\n"])
texts = st.lists(lines, max_size=6).map(b"".join)
partial = st.sampled_from([b"{", b'{"a":', b'{"a":1}', b"\x00", FOX])


class Tailer(RuleBasedStateMachine):
    """The files, and the reader's idea of them."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.root = Path(tempfile.mkdtemp(prefix="backscroll-model-"))
        for project in ("one", "two"):
            (self.root / "projects" / project).mkdir(parents=True)
        self.bookmarks: dict[Path, Bookmark] = {}
        self.known: dict[Path, bytes] = {}

    @initialize(
        window=st.sampled_from([1, 8, reading.WINDOW]),
        piece=st.sampled_from([1, 5, reading.PIECE]),
        contents=st.lists(texts, min_size=len(NAMES), max_size=len(NAMES)),
    )
    def begin(self, window: int, piece: int, contents: list[bytes]) -> None:
        self.patch.setattr(reading, "WINDOW", window)
        self.patch.setattr(reading, "PIECE", piece)
        for name, data in zip(NAMES, contents, strict=True):
            self.append(name, data)
        self.read_all(take_tail=False)

    def teardown(self) -> None:
        try:
            self.read_all(take_tail=False)  # no story ends unread
        finally:
            self.patch.undo()
            shutil.rmtree(self.root)

    # --- what happens to the files ---

    @rule(name=names, data=texts)
    def append_lines(self, name: str, data: bytes) -> None:
        self.append(name, data)

    @rule(name=names, data=partial)
    def append_a_part(self, name: str, data: bytes) -> None:
        self.append(name, data)

    @rule(name=names)
    def complete_the_line(self, name: str) -> None:
        self.append(name, b"\n")

    @rule(name=names, cut=st.integers(1, len(FOX) - 1))
    def append_a_part_of_a_character(self, name: str, cut: int) -> None:
        self.append(name, b'"' + FOX[:cut])

    @rule(name=names, cut=st.integers(1, len(FOX) - 1))
    def append_the_rest_of_a_character(self, name: str, cut: int) -> None:
        self.append(name, FOX[cut:] + b'"\n')

    @rule(name=names, keep=st.floats(0, 1))
    def truncate(self, name: str, keep: float) -> None:
        if (path := self.root / name).exists():
            self.tick()
            os.truncate(path, int(keep * path.stat().st_size))

    @rule(name=names, at=st.floats(0, 1), same_time=st.booleans())
    def truncate_and_refill_to_the_same_size(self, name: str, at: float, same_time: bool) -> None:
        if (path := self.root / name).exists() and (data := bytearray(path.read_bytes())):
            self.tick()
            moment = path.stat().st_mtime_ns
            data[min(int(at * len(data)), len(data) - 1)] ^= 1
            os.truncate(path, 0)
            path.write_bytes(data)
            if same_time:
                os.utime(path, ns=(moment, moment))

    @rule(name=names, at=st.floats(0, 1), data=lines)
    def overwrite_a_place(self, name: str, at: float, data: bytes) -> None:
        if (path := self.root / name).exists():
            self.tick()
            with path.open("r+b") as file:
                file.seek(int(at * path.stat().st_size))
                file.write(data)

    @rule(name=names, data=texts)
    def replace_by_rename(self, name: str, data: bytes) -> None:
        self.tick()
        (self.root / "new").write_bytes(data)
        (self.root / "new").replace(self.root / name)

    @rule(name=names)
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule(name=names, data=texts)
    def delete_and_create_again(self, name: str, data: bytes) -> None:
        """The new file most often gets the inode of the old one."""
        self.tick()
        (self.root / name).unlink(missing_ok=True)
        (self.root / name).write_bytes(data)

    @rule(name=names, to=names)
    def move(self, name: str, to: str) -> None:
        """To a free name or onto another file, in the same folder or the other, maybe onto the same id."""
        if (self.root / name).exists() and name != to:
            self.tick()
            (self.root / name).replace(self.root / to)

    @rule(name=names, to=names)
    def copy_and_delete(self, name: str, to: str) -> None:
        """What a move from disk to disk is."""
        if (self.root / name).exists() and name != to:
            self.tick()
            shutil.copy2(self.root / name, self.root / to)
            (self.root / name).unlink()

    @rule(name=names, seconds=st.sampled_from([0, 1, 1_700_000_000, 4_000_000_000]))
    def set_the_time(self, name: str, seconds: int) -> None:
        if (self.root / name).exists():
            os.utime(self.root / name, (seconds, seconds))

    # --- what the reader does ---

    @rule()
    def visit(self) -> None:
        self.read_all(take_tail=False)

    @rule()
    def visit_and_take_tails(self) -> None:
        self.read_all(take_tail=True)

    @rule(count=st.integers(0, 3))
    def visit_and_break_off(self, count: int) -> None:
        """Of each file read so many lines, and keep a bookmark of that."""
        for file in self.look():
            self.read(file.path, count=count)

    @rule()
    def restart(self) -> None:
        kept = json.dumps([(str(path), bookmark) for path, bookmark in self.bookmarks.items()])
        self.bookmarks = {Path(path): Bookmark(*numbers) for path, numbers in json.loads(kept)}

    # --- how ---

    def append(self, name: str, data: bytes) -> None:
        path = self.root / name
        if not path.exists() or path.stat().st_size < 2000:
            with path.open("ab") as file:
                file.write(data)

    def tick(self) -> None:
        """Wait until a change made now has another time than all changes before."""
        last = max((path.stat().st_ctime_ns for path in self.root.rglob("*.jsonl")), default=0)
        probe = self.root / "probe"
        for _ in range(100_000):  # that takes a second; a tick takes milliseconds
            probe.touch()
            if probe.stat().st_ctime_ns > last:
                return
        raise AssertionError("the clock of the disk stands still")

    def look(self) -> list[HomeFile]:
        """Find out what changed; let go of what is gone and take along what moved."""
        for path in self.root.rglob("*.jsonl"):
            if self.is_out_of_sight(path):
                os.truncate(path, 0)
        found = discover(Home(self.root)).files
        changes = find_changes({str(path): bookmark for path, bookmark in self.bookmarks.items()}, found)
        for name, origin in changes.moved.items():
            self.bookmarks[Path(name)] = self.bookmarks.pop(Path(origin))
            self.known[Path(name)] = self.known.pop(Path(origin))
        for path in map(Path, changes.gone):
            del self.bookmarks[path], self.known[path]
        return changes.to_read

    def is_out_of_sight(self, path: Path) -> bool:
        """Whether the file, in the inode of one that was read, grew and changed only between the windows."""
        status, data, window = path.stat(), path.read_bytes(), reading.WINDOW
        for known, bookmark in self.bookmarks.items():
            read, now = self.known[known], data[: bookmark.offset]
            same = (bookmark.inode, read[:window], read[-window:]) == (status.st_ino, now[:window], now[-window:])
            if same and status.st_size > bookmark.size and read != now:
                return True
        return False

    def read_all(self, *, take_tail: bool) -> None:
        for file in self.look():
            self.read(file.path, take_tail=take_tail)
        self.check()

    def read(self, path: Path, *, count: int | None = None, take_tail: bool = False) -> None:
        bookmark = self.bookmarks.get(path)
        with Reading(path, bookmark) as one:
            assert (one.change is Change.NEW) == (bookmark is None)
            if bookmark is None or one.change.starts_over:
                self.known[path] = b""
            for line in islice(one, count):
                assert line.start == len(self.known[path])
                assert line.data is not None
                self.known[path] += line.data + b"\n"
                assert line.end == len(self.known[path])
            if take_tail and one.tail is not None and one.tail.data is not None:
                self.known[path] += one.tail.data
                one.take_tail()
            self.bookmarks[path] = one.bookmark

    def check(self) -> None:
        """The reader knows each file that there is, and of each everything but an unfinished line."""
        true = {path: path.read_bytes() for path in self.root.rglob("*.jsonl")}
        assert self.known.keys() == self.bookmarks.keys() == true.keys()
        for path, data in true.items():
            known = self.known[path]
            assert self.bookmarks[path].offset == len(known)
            assert data[: len(known)] == known
            assert b"\n" not in data[len(known) :]


TestTailer = Tailer.TestCase
TestTailer.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
