"""Whatever happens to the files of a home, everything that was ever kept of them stays in reach.

Each story is made up from a seed. Beside the archive stands a model that knows nothing of it: the bytes that each path
of the home had whenever it was kept, and where a file went that moved. After each capture
- each of these is the beginning of a version of the file at its path, or at one that it moved to;
- of each session, which is known by its first line, as much as was ever kept is among what readers show;
- each path has one kept file, which goes on as the file in the home, and is gone if that is.

40 stories of 25 steps; 2,000 with BACKSCROLL_TRY_ALL=1 in the environment.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture, capture_changed
from backscroll.archive.catalogue import Moved, written_name
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.merge import mend, merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.archive.writer import Appender, now
from backscroll.files.discovery import HomeFile, discover
from backscroll.files.homes import Home
from backscroll.files.watching import ChangedFile
from backscroll.library.archives import SharedArchives
from tests.support.drawings import session_uuid
from tests.support.samples import TRY_ALL

STORIES: Final = 2_000 if TRY_ALL else 40
STEPS: Final = 25
PATHS: Final = [f"projects/{project}/{session_uuid(name)}.jsonl" for project in ("-one", "-two") for name in "ab"]
MACHINE: Final = "box"


def moved_as_before(writer: Appender, file: KeptFile, path: str) -> KeptFile:
    """How earlier versions recorded a move: also to a path where another file is kept."""
    text, in_hex = written_name(path)
    writer._write(Moved(at=now(), file=file.number, path=text, path_hex=in_hex))
    return file


class Story:
    """A home with its archive and a backup, and what each path ever had."""

    def __init__(self, root: Path, seed: int) -> None:
        self.home, self.folder, self.backup, self.new = (root / name for name in ("home", "archive", "backup", "new"))
        for path in PATHS:
            (self.home / path).parent.mkdir(parents=True, exist_ok=True)
        self.random = Random(seed)
        self.reader = SharedArchives()
        self.number = 0
        self.seen: dict[str, set[bytes]] = {}
        """Everything that was kept of each path."""
        self.moves: list[tuple[str, str]] = []
        self.reported: dict[Path, HomeFile] = {}

    def tell(self) -> list[str]:
        """Let things happen; return what happened."""
        steps = []
        for path in PATHS:
            self.append(path)
        self.keep()
        for _ in range(STEPS):
            if self.random.random() < 0.6:
                path = self.random.choice(PATHS)
                change = self.random.choice(self.changes)
                steps.append(f"{change.__name__} {path}")
                change(path)
            else:
                run = self.random.choice(self.runs)
                steps.append(run.__name__)
                run()
        self.keep()
        assert verify(Archive(self.folder)).damages == []
        return steps

    # --- what happens to the files ---

    @property
    def changes(self) -> list[Callable[[str], None]]:
        each = [self.append, self.truncate, self.rewrite, self.replace, self.delete, self.delete, self.copy]
        return [*each, self.move, self.move, self.move]

    def lines(self, most: int = 4) -> bytes:
        """Lines that are like no others."""
        first = self.number
        self.number += self.random.randint(1, most)
        return b"".join(b'{"number":%d}\n' % number for number in range(first, self.number))

    def append(self, path: str) -> None:
        with (self.home / path).open("ab") as file:
            file.write(self.lines())

    def truncate(self, path: str) -> None:
        if (file := self.home / path).exists():
            self.tick()
            os.truncate(file, sum(map(len, file.read_bytes().splitlines(keepends=True)[: self.random.randint(0, 3)])))

    def rewrite(self, path: str) -> None:
        """Other lines after the first."""
        if (file := self.home / path).exists() and (data := file.read_bytes()):
            self.put(path, data[: data.index(b"\n") + 1] + self.lines(8))

    def replace(self, path: str) -> None:
        """Another session."""
        self.put(path, self.lines(8))

    def put(self, path: str, data: bytes) -> None:
        self.tick()
        target = self.random.choice([self.home / path, self.new])
        target.write_bytes(data)
        target.replace(self.home / path)

    def delete(self, path: str) -> None:
        (self.home / path).unlink(missing_ok=True)

    def move(self, path: str) -> None:
        other = self.random.choice(PATHS)
        if (self.home / path).exists() and path != other:
            self.tick()
            (self.home / path).replace(self.home / other)
            self.moves.append((path, other))

    def copy(self, path: str) -> None:
        other = self.random.choice(PATHS)
        if (self.home / path).exists() and path != other:
            self.tick()
            shutil.copy2(self.home / path, self.home / other)
            self.moves.append((path, other))

    def tick(self) -> None:
        """Wait until a change made now has another time than all changes before."""
        last = max((path.stat().st_ctime_ns for path in self.home.rglob("*.jsonl")), default=0)
        self.new.touch()
        while self.new.stat().st_ctime_ns <= last:
            self.new.touch()

    # --- what backscroll does ---

    @property
    def runs(self) -> list[Callable[[], None]]:
        each = [self.keep, self.keep, self.keep_what_a_watcher_reports, self.back_up]
        return [*each, self.keep_as_an_earlier_version_did, self.lose_the_archive]

    def keep(self) -> None:
        with Writer(self.folder) as writer:
            assert capture(writer, Home(self.home), MACHINE).unreadable == []
        self.check()

    def keep_what_a_watcher_reports(self) -> None:
        """Every file that changed since the last report, and those that are gone."""
        files = {file.path: file for file in discover(Home(self.home)).files}
        batch = [ChangedFile(file) for path, file in files.items() if self.reported.get(path) != file]
        batch += [ChangedFile(file, gone=True) for path, file in self.reported.items() if path not in files]
        with Writer(self.folder) as writer:
            capture_changed(writer, Home(self.home), MACHINE, batch)
        self.reported = files
        self.note()

    def keep_as_an_earlier_version_did(self) -> None:
        """Its hooks may still run on this machine."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Writer, "_mend_files", lambda _: None)
            patch.setattr(Writer, "moved", moved_as_before)
            with Writer(self.folder) as writer:
                capture(writer, Home(self.home), MACHINE)
        self.check()

    def back_up(self) -> None:
        with Writer(self.backup, accepts_loss=True) as backup:
            merge(Archive(self.folder), backup)

    def lose_the_archive(self) -> None:
        """Take the backup as the archive; or keep the home anew, and repair that from the backup."""
        self.keep()
        self.back_up()
        shutil.rmtree(self.folder)
        if self.random.random() < 0.5:
            with Writer(self.folder) as writer:
                capture(writer, Home(self.home), MACHINE)
        with Writer(self.folder, accepts_loss=True) as writer:
            assert mend(Archive(self.backup), writer) == 0
            assert merge(Archive(self.backup), writer).refused == []
        self.keep()

    # --- what must be so ---

    def note(self) -> None:
        """Remember what each path has, now that it is kept."""
        for path in PATHS:
            if (self.home / path).exists():
                self.seen.setdefault(path, set()).add((self.home / path).read_bytes())

    def check(self) -> None:
        self.note()
        for archive in (self.reader.open(self.folder), Archive(self.folder)):
            files = {file.path: file for file in archive.files.values()}
            assert len(files) == len(archive.files), "each path has one kept file"
            assert {key.path: file for key, file in archive.sources.items()} == files
            kept = {path: versions(archive, file) for path, file in files.items()}
            for path, contents in self.seen.items():
                near = [data for at in self.reached_from(path) for data in kept.get(at, [])]
                for data in contents:
                    assert any(one.startswith(data) for one in near), f"{data!r} was at {path}"
            self.check_shown(archive)
            for path in PATHS:
                live = (self.home / path).read_bytes() if (self.home / path).exists() else None
                assert path in files or live is None
                assert path not in files or (files[path].gone_since is None) == (live is not None)
                assert live is None or kept[path][-1] == live, f"{path} goes on as the file in the home"

    def reached_from(self, path: str) -> set[str]:
        reached = {path}
        for old, new in self.moves:
            if old in reached:
                reached.add(new)
        return reached

    def check_shown(self, archive: Archive) -> None:
        shown = [data for file in archive.files.values() for data in versions(archive, file, is_shown=True)]
        longest: dict[bytes, bytes] = {}
        for data in (data for contents in self.seen.values() for data in contents if data):
            first = data[: data.index(b"\n") + 1]
            longest[first] = max(longest.get(first, b""), data, key=len)
        for first, data in longest.items():
            assert any(len(one) >= len(data) and one.startswith(first) for one in shown), f"{data!r} is not shown"


def versions(archive: Archive, file: KeptFile, *, is_shown: bool = False) -> list[bytes]:
    return [b"".join(archive.content(one)) for one in (file.shown_versions if is_shown else file.versions)]


@pytest.mark.parametrize("start", range(0, STORIES, 20))
def test_everything_that_was_ever_kept_stays_in_reach(tmp_path: Path, start: int) -> None:
    for seed in range(start, start + 20):
        root = tmp_path / str(seed)
        try:
            Story(root, seed).tell()
        except AssertionError as failure:
            raise AssertionError(f"in the story {seed}: {failure}") from failure
        shutil.rmtree(root)
