import os
import shutil
from pathlib import Path

import pytest

from backscroll.files import reading as reading_module
from backscroll.files.changes import HomeChanges, find_changes
from backscroll.files.discovery import Unreadable, discover
from backscroll.files.homes import Home
from backscroll.files.reading import Bookmark, Reading
from tests.support.homes import write_home

A, B, C = "projects/one/agent-a.jsonl", "projects/one/agent-b.jsonl", "projects/two/agent-a.jsonl"


class HomeVisitor:
    """Visits a home as an index would: reads what changed, and keeps a bookmark of each file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bookmarks: dict[str, Bookmark] = {}

    def look(self) -> HomeChanges:
        return find_changes(self.bookmarks, discover(Home(self.root)).files)

    def visit(self) -> list[bytes | None]:
        """Return the lines that were read."""
        changes = self.look()
        for path, origin in changes.moved.items():
            self.bookmarks[path] = self.bookmarks.pop(origin)
        for path in changes.gone:
            del self.bookmarks[path]
        lines = []
        for file in changes.to_read:
            with Reading(file.path, self.bookmarks.get(file.name)) as reading:
                lines += [line.data for line in reading]
                self.bookmarks[file.name] = reading.bookmark
        return lines

    def check(self, *, to_read: str = "", moved: dict[str, str] | None = None, gone: str = "") -> None:
        """Check what a look finds; the names are those of the files in the home, with blanks between them."""
        changes = self.look()
        assert sorted(self._name(file.name) for file in changes.to_read) == sorted(to_read.split())
        assert {self._name(new): self._name(old) for new, old in changes.moved.items()} == (moved or {})
        assert sorted(map(self._name, changes.gone)) == sorted(gone.split())

    def _name(self, path: str) -> str:
        return Path(path).relative_to(self.root).as_posix()


def begin(root: Path, *names: str) -> HomeVisitor:
    """Return a visitor who has seen these files, each of which begins with its own name."""
    write_home(root, {name: f"{name}\n" for name in names})
    visitor = HomeVisitor(root)
    visitor.visit()
    return visitor


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_on_the_first_visit_everything_is_new(tmp_path: Path) -> None:
    write_home(tmp_path, {A: "1\n", B: ""})
    HomeVisitor(tmp_path).check(to_read=f"{A} {B}")


def test_what_did_not_change_is_not_even_opened(tmp_path: Path, opened: list[str]) -> None:
    visitor = begin(tmp_path, A, B)
    opened.clear()
    visitor.check()
    assert opened == []


def test_an_unfinished_line_alone_is_no_reason_to_read_again(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    append(tmp_path / A, b"unfinished")
    assert visitor.visit() == []
    visitor.check()


def test_a_new_file_is_read(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    write_home(tmp_path, {B: "new\n"})
    visitor.check(to_read=B)
    assert visitor.visit() == [b"new"]


def test_a_file_that_grew_is_read(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A, B)
    append(tmp_path / A, b"more\n")
    visitor.check(to_read=A)
    assert visitor.visit() == [b"more"]


def test_a_file_whose_time_went_backwards_is_looked_at(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    os.utime(tmp_path / A, ns=(1, 1))
    visitor.check(to_read=A)
    assert visitor.visit() == []
    visitor.check()


def test_other_content_of_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    moment = (tmp_path / A).stat().st_mtime_ns
    (tmp_path / A).write_bytes(A.upper().encode() + b"\n")
    os.utime(tmp_path / A, ns=(moment, moment))
    visitor.check(to_read=A)
    assert visitor.visit() == [A.upper().encode()]


def test_a_file_that_is_not_there_any_more_is_gone(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A, B)
    (tmp_path / A).unlink()
    visitor.check(gone=A)


def test_a_moved_file_keeps_its_bookmark(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    (tmp_path / "projects" / "two").mkdir()
    (tmp_path / A).rename(tmp_path / C)
    visitor.check(to_read=C, moved={C: A})
    assert visitor.visit() == []
    append(tmp_path / C, b"more\n")
    assert visitor.visit() == [b"more"]


def test_a_file_that_moved_and_grew_is_read_on(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    (tmp_path / A).rename(tmp_path / B)
    append(tmp_path / B, b"more\n")
    visitor.check(to_read=B, moved={B: A})
    assert visitor.visit() == [b"more"]


def test_a_file_copied_to_another_folder_and_deleted_has_moved(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    write_home(tmp_path, {C: f"{A}\nmore\n"})
    (tmp_path / A).unlink()
    visitor.check(to_read=C, moved={C: A})
    assert visitor.visit() == [b"more"]


def test_a_copy_whose_original_stays_is_a_new_file(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    write_home(tmp_path, {C: f"{A}\n"})
    visitor.check(to_read=C)
    assert visitor.visit() == [A.encode()]


def test_one_file_that_is_gone_is_the_origin_of_one_other(tmp_path: Path) -> None:
    third = "projects/three/agent-a.jsonl"
    visitor = begin(tmp_path, A)
    write_home(tmp_path, {C: f"{A}\n", third: f"{A}\n"})
    (tmp_path / A).unlink()
    visitor.check(to_read=f"{C} {third}", moved={third: A})
    assert visitor.visit() == [A.encode()]


def test_the_same_name_with_other_content_is_another_file(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    write_home(tmp_path, {C: "something else\n"})
    (tmp_path / A).unlink()
    visitor.check(to_read=C, gone=A)


def test_a_number_on_the_disk_that_is_used_again_makes_no_move(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    (tmp_path / A).write_bytes(b"something else, in the same inode\n")
    (tmp_path / A).rename(tmp_path / B)
    visitor.check(to_read=B, gone=A)
    assert visitor.visit() == [b"something else, in the same inode"]


def test_a_renamed_empty_file_is_not_recognised_as_moved(tmp_path: Path) -> None:
    visitor = begin(tmp_path)
    write_home(tmp_path, {A: ""})
    visitor.visit()
    (tmp_path / A).rename(tmp_path / B)
    visitor.check(to_read=B, gone=A)


def test_a_file_moved_onto_another_of_the_same_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A, C)
    (tmp_path / A).replace(tmp_path / C)
    visitor.check(to_read=C, gone=A)
    assert visitor.visit() == [A.encode()]


def test_two_files_that_changed_places_are_both_read_from_their_beginning(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A, B)
    (tmp_path / A).rename(tmp_path / "aside")
    (tmp_path / B).rename(tmp_path / A)
    (tmp_path / "aside").rename(tmp_path / B)
    assert visitor.visit() == [B.encode(), A.encode()]


def test_a_whole_project_folder_that_was_renamed_is_moved_file_by_file(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A, B)
    (tmp_path / "projects" / "one").rename(tmp_path / "projects" / "new")
    new_a, new_b = "projects/new/agent-a.jsonl", "projects/new/agent-b.jsonl"
    visitor.check(to_read=f"{new_a} {new_b}", moved={new_a: A, new_b: B})
    assert visitor.visit() == []


def test_a_file_that_vanishes_between_finding_and_reading_was_not_moved(tmp_path: Path) -> None:
    visitor = begin(tmp_path, A)
    (tmp_path / A).rename(tmp_path / B)
    found = discover(Home(tmp_path)).files
    (tmp_path / B).unlink()
    assert find_changes(visitor.bookmarks, found) == HomeChanges(found, {}, [str(tmp_path / A)])


def test_a_home_that_is_gone_is_gone_whole(tmp_path: Path) -> None:
    visitor = begin(tmp_path / "home", A, B)
    shutil.rmtree(tmp_path / "home" / "projects")
    visitor.check(gone=f"{A} {B}")


def test_a_file_whose_reading_was_broken_off_is_read_on_at_the_next_visit(tmp_path: Path) -> None:
    write_home(tmp_path, {A: "1\n2\n3\n"})
    visitor = HomeVisitor(tmp_path)
    with Reading(tmp_path / A) as reading:
        assert next(iter(reading)).data == b"1"
        visitor.bookmarks[str(tmp_path / A)] = reading.bookmark
    assert visitor.visit() == [b"2", b"3"]


def test_a_file_written_a_moment_ago_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another write within the same tick of the disk's clock would leave it looking just the same."""
    path = tmp_path / A
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    for tick, expected in ((10**18, [path]), (-(10**18), [])):
        monkeypatch.setattr(reading_module, "CLOCK_TICK_NS", tick)
        with Reading(path) as lines:
            list(lines)
        changes = find_changes({str(path): lines.bookmark}, discover(Home(tmp_path)).files)
        assert [file.path for file in changes.to_read] == expected


def test_what_lies_in_a_folder_that_cannot_be_listed_is_not_gone(tmp_path: Path) -> None:
    path = tmp_path / A
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}\n")
    with Reading(path) as lines:
        list(lines)
    known = {str(path): lines.bookmark}
    assert find_changes(known, [], [Unreadable(path.parent, "Input/output error")]).gone == []
    assert find_changes(known, []).gone == [str(path)]
