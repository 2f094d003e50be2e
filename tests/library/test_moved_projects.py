"""A project that was moved stays one project in lists and sums. Git makes the repositories, and nothing of ours."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from backscroll.files.names import project_folder
from backscroll.library import project_folders
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.project_folders import moved_projects, note_folders, note_move
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
DAY = 24 * 3600


class Clock:
    """The time that the notes are written with."""

    def __init__(self) -> None:
        self.now = 1_800_000_000

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(project_folders, "time", clock)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return clock


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "shelf")


def clone(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for words in (["init", "-q"], ["remote", "add", "origin", "https://git.example/fruit/shop.git"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


def talk(shelf: Shelf, name: str, folder: Path) -> None:
    rows = f"@ session={name} cwd={folder}\n{name}a <- - user: {name}\n{name}b <- {name}a assistant(m{name}): hi"
    shelf.write({f"projects/{project_folder(str(folder))}/{session_uuid(name)}.jsonl": jsonl(draw(rows))})
    shelf.update()


def projects(shelf: Shelf) -> dict[str, str]:
    """The project of each chat, by its title."""
    with shelf.open() as library:
        return {chat.overview.title: chat.overview.project or "" for chat in library.chats()}


def sums(shelf: Shelf) -> dict[str, int]:
    with shelf.open() as library:
        rows = usage(library, ReportRequest(library.parse("after:2020-01-01")), "project").as_dicts()
        return {str(row["project"]): int(row["messages"]) for row in rows}


def test_what_ran_before_and_after_a_move_is_one_project(shelf: Shelf, tmp_path: Path, clock: Clock) -> None:
    old, new = clone(tmp_path / "shop"), tmp_path / "work" / "market"
    talk(shelf, "S1", old)
    assert projects(shelf) == {"S1": str(old)}
    new.parent.mkdir()
    old.rename(new)
    clock.now += DAY
    talk(shelf, "S2", new)
    shelf.update()
    assert projects(shelf) == {"S1": str(new), "S2": str(new)}
    assert sums(shelf) == {str(new): 2}
    assert {row[0] for row in shelf.rows("select project from v_sessions")} == {str(new)}
    # An index that is made again says the same, and so does one that reads what is appended to the old session.
    shutil.rmtree(shelf.index)
    shelf.update()
    assert projects(shelf) == {"S1": str(new), "S2": str(new)}
    assert sums(shelf) == {str(new): 2}
    # Moved once more.
    last = tmp_path / "last"
    new.rename(last)
    clock.now += DAY
    talk(shelf, "S3", last)
    shelf.update()
    assert projects(shelf) == dict.fromkeys(("S1", "S2", "S3"), str(last))


def test_what_comes_back_is_a_project_of_its_own_again(shelf: Shelf, tmp_path: Path, clock: Clock) -> None:
    """A disk that was away for a time, and a clone that was made meanwhile."""
    disk = clone(tmp_path / "disk" / "shop")
    talk(shelf, "S1", disk)
    disk.parent.rename(tmp_path / "unplugged")
    clock.now += DAY
    here = clone(tmp_path / "shop")
    talk(shelf, "S2", here)
    shelf.update()
    assert projects(shelf) == {"S1": str(here), "S2": str(here)}
    (tmp_path / "unplugged").rename(disk.parent)
    clock.now += 2 * DAY
    talk(shelf, "S3", here)
    shelf.update()
    assert projects(shelf) == {"S1": str(disk), "S2": str(here), "S3": str(here)}


def test_two_clones_that_were_there_together_stay_two_projects(shelf: Shelf, tmp_path: Path, clock: Clock) -> None:
    one, two = clone(tmp_path / "one"), clone(tmp_path / "two")
    talk(shelf, "S1", one)
    talk(shelf, "S2", two)
    shutil.rmtree(one)
    clock.now += 2 * DAY
    talk(shelf, "S3", two)
    shelf.update()
    assert projects(shelf) == {"S1": str(one), "S2": str(two), "S3": str(two)}


def test_a_renamed_folder_without_git_is_one_project(shelf: Shelf, tmp_path: Path, clock: Clock) -> None:
    old, new, last = (tmp_path / name for name in ("shop", "market", "bazaar"))
    old.mkdir()
    (old / "prices.txt").write_text("apple 3\n")
    talk(shelf, "S1", old)
    old.rename(new)
    (new / "a.txt").touch()
    talk(shelf, "S2", new)
    shelf.update()
    assert projects(shelf) == {"S1": str(new), "S2": str(new)}
    new.rename(last)
    clock.now += DAY
    talk(shelf, "S3", last)
    shelf.update()
    assert projects(shelf) == dict.fromkeys(("S1", "S2", "S3"), str(last))
    last.rename(old)  # back to where it began
    clock.now += 2 * DAY
    talk(shelf, "S4", old)
    shelf.update()
    assert projects(shelf) == dict.fromkeys(("S1", "S2", "S3", "S4"), str(old))


def test_another_folder_with_the_same_inode_is_another_project(tmp_path: Path) -> None:
    """Inodes are used again; what is in the folder tells."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    (old / "prices.txt").touch()
    note_folders(tmp_path, [str(old)])
    (old / "prices.txt").unlink()
    (old / "lyrics.txt").touch()
    old.rename(new)  # as if the one had been deleted, and the other had got its inode
    note_folders(tmp_path, [str(new)])
    assert moved_projects(tmp_path) == {}


def test_notes_that_cannot_be_read_are_not_replaced(tmp_path: Path) -> None:
    """Of a folder that is gone they are all there is."""
    old = tmp_path / "old"
    old.mkdir()
    note_folders(tmp_path, [str(old)])
    noted = tmp_path / project_folders.FILE
    kept = noted.read_bytes()
    aside = noted.rename(tmp_path / "aside")
    noted.symlink_to(noted)  # every attempt to open it fails
    note_folders(tmp_path, [str(tmp_path)])
    note_move(tmp_path, str(tmp_path / "gone"), str(tmp_path))
    assert moved_projects(tmp_path) == {}
    assert noted.is_symlink()
    assert aside.read_bytes() == kept


def test_a_project_without_git_is_one_with_the_folder_that_the_user_continued_in(tmp_path: Path) -> None:
    old, new, other = (tmp_path / name for name in ("old", "new", "other"))
    old.mkdir()
    note_folders(tmp_path, [str(old)])
    old.rename(new)
    note_folders(tmp_path, [str(new)])
    assert moved_projects(tmp_path) == {}
    note_move(tmp_path, str(old), str(new))
    assert moved_projects(tmp_path) == {str(old): str(new)}
    note_move(tmp_path, str(new), str(other))  # which is not there
    note_move(tmp_path, str(tmp_path), str(new))  # which is still where it was
    assert moved_projects(tmp_path) == {str(old): str(new)}
