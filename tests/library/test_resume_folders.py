"""Where a session goes on if the folder of its project is gone. Git makes the repositories, and nothing of ours."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.library.project_folders import FILE, note_folders, seen_folders
from backscroll.library.resuming.folders import FoundFolder, find_folder
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
REMOTE = "git@git.example:fruit/shop.git"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder; all projects are in it."""
    home = tmp_path / "home" / "ada"
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return home


def git(folder: Path, *words: str) -> None:
    own = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True)


def clone(folder: Path, remote: str = REMOTE) -> Path:
    """A repository with a commit and this remote."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Open the shop")
    git(folder, "remote", "add", "origin", remote)
    return folder


Find = Callable[..., FoundFolder]


@pytest.fixture
def find(tmp_path: Path, home: Path) -> Find:
    """Note folders while they are there, let something happen to them, and look for the first."""

    def run(
        project: Path,
        change: Callable[[], object],
        *others: Path,
        ran_in: tuple[Path, ...] = (),
        users: tuple[str, ...] = (),
    ) -> FoundFolder:
        note_folders(tmp_path / "library", [str(path) for path in (project, *others)])
        change()
        seen = seen_folders(tmp_path / "library")
        return find_folder(str(project), [str(path) for path in ran_in], seen, map(str, others), users, home)

    return run


def test_a_folder_that_is_there_is_the_one(home: Path, find: Find) -> None:
    assert find(home, lambda: None) == FoundFolder(str(home))


@needs_git
def test_a_moved_and_renamed_project_is_known_by_its_git_remote(home: Path, find: Find) -> None:
    shop, new = clone(home / "shop"), home / "work" / "market"
    clone(home / "other", "https://git.example/fruit/other.git")
    new.parent.mkdir()
    found = find(shop, lambda: shop.rename(new))
    assert (found.path, found.is_sure, found.how) == (str(new), True, "it has the same git remote")
    # The same remote, written in another way: a fresh clone over https.
    shutil.rmtree(new)
    fresh = clone(home / "again", "https://git.example/fruit/shop")
    assert find(shop, lambda: None).path == str(fresh)


@needs_git
def test_a_folder_inside_a_moved_repository_stays_inside(home: Path, find: Find) -> None:
    shop = clone(home / "shop")
    (shop / "api").mkdir()
    assert find(shop / "api", lambda: shop.rename(home / "market")).path == str(home / "market" / "api")


@needs_git
def test_of_two_clones_the_one_of_the_same_name_is_taken_and_else_none_is_sure(home: Path, find: Find) -> None:
    shop = clone(home / "shop")
    one, two = clone(home / "a" / "fruit"), clone(home / "b" / "shop")
    found = find(shop, lambda: shutil.rmtree(shop), one, two)
    assert (found.path, found.is_sure, found.others[:1]) == (str(two), True, (str(one),))
    two.rename(home / "b" / "market")
    found = find(shop, lambda: None, one)
    assert not found.is_sure
    assert {found.path, *found.others} >= {str(one), str(home / "b" / "market")}


@needs_git
def test_of_a_removed_worktree_its_repository_goes_on(home: Path, find: Find) -> None:
    shop, tree = clone(home / "shop"), home / "elsewhere" / "fix-prices"
    git(shop, "remote", "remove", "origin")
    git(shop, "worktree", "add", "-q", str(tree))
    found = find(tree, lambda: git(shop, "worktree", "remove", str(tree)))
    assert (found.path, found.is_sure, found.is_move) == (str(shop), True, False)
    # Claude Code's own worktrees are known by where they are, even if none was ever looked at.
    lost = find(shop / ".claude" / "worktrees" / "fix", lambda: None)
    assert (lost.path, lost.is_sure) == (str(shop), True)


def test_of_another_user_or_machine_the_same_place_in_the_own_home_is_taken(home: Path, find: Find) -> None:
    (home / "work" / "shop").mkdir(parents=True)
    for path in ("/home/eve/work/shop", "/Users/eve/work/shop", "C:\\Users\\eve\\work\\shop"):
        found = find(Path(path), lambda: None)
        assert (found.path, found.is_sure) == (str(home / "work" / "shop"), True), path
    found = find(Path("/mnt/eve/work/shop"), lambda: None, users=("/mnt/eve",))
    assert found.path == str(home / "work" / "shop")
    assert find(Path("/home/eve/../shop"), lambda: None).path != str(home / "shop")


def test_a_folder_of_the_same_name_is_only_offered_unless_the_session_went_on_there(home: Path, find: Find) -> None:
    (home / "work" / "shop").mkdir(parents=True)
    gone = home / "old" / "shop"
    found = find(gone, lambda: None)
    assert (found.path, found.is_sure, found.how) == (str(home / "work" / "shop"), False, "it has the same name")
    assert find(gone, lambda: None, ran_in=(gone, home / "work" / "shop")).is_sure


@pytest.mark.parametrize("has_files", [False, True])
def test_a_renamed_folder_without_git_is_offered_first_and_sure_if_what_is_in_it_shows_it(
    home: Path, find: Find, has_files: bool
) -> None:
    shop = home / "shop"
    shop.mkdir()
    if has_files:
        (shop / "prices.txt").touch()
    (home / "another").mkdir()
    found = find(shop, lambda: shop.rename(home / "market"))
    assert (found.path, found.is_sure) == (str(home / "market"), has_files)


@needs_git
def test_the_nearest_folder_above_is_sure_only_inside_a_repository(home: Path, find: Find) -> None:
    shop = clone(home / "shop")
    found = find(shop / "api" / "v2", lambda: None)
    assert (found.path, found.is_sure) == (str(shop), True)
    found = find(home / "plain" / "api", lambda: None)
    assert (found.path, found.is_sure) == (str(home), False)


@pytest.mark.parametrize(
    "path", ["relative/shop", "/a\0b", "", "/x\n/y", "/" + "long/" * 999, "\udc80", "\\\\nas\\shop"]
)
def test_a_path_from_a_transcript_may_be_anything(home: Path, path: str) -> None:
    seen = seen_folders(home)
    assert find_folder(path, [path], seen, [path], [path], home).path != path


@needs_git
def test_an_update_notes_where_projects_are_and_keeps_what_it_noted(home: Path, tmp_path: Path) -> None:
    shop = clone(home / "shop")
    rows = f"@ session=S1 cwd={shop}\na <- - user: hello\nb <- a assistant: hi"
    shelf = Shelf(tmp_path / "shelf").write({session_path("S1"): jsonl(draw(rows))})
    shelf.update()
    assert seen_folders(shelf.folder)[str(shop)].remotes == ["git.example/fruit/shop"]
    assert (shelf.folder / FILE).stat().st_mode & 0o777 == 0o600
    shop.rename(home / "market")
    shelf.append("S1", jsonl(draw("c <- b user: more", session="S1")))
    shelf.update()
    assert seen_folders(shelf.folder)[str(shop)].remotes == ["git.example/fruit/shop"]
    (shelf.folder / FILE).write_bytes(b"{damaged")
    shelf.update()
