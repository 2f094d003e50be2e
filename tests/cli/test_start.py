"""How a command starts where something is not as usual: streams that are closed, own files that cannot be read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path, write_home

SESSION: Final = "a <- - user: about zebras\nb <- a assistant(m1): they are striped"
PATIENCE: Final = 120


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path).write(session_file("S1", SESSION))


def run(
    shelf: Shelf, command: str, redirections: str = "", *, is_plain_user: bool = False
) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a process of its own, started by a shell with these redirections."""
    plain = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if is_plain_user and os.geteuid() == 0 else []
    words = [*plain, sys.executable, "-P", "-m", "backscroll", *command.split()]
    places = {
        "CLAUDE_CONFIG_DIR": str(shelf.home),
        "BACKSCROLL_LIBRARY": str(shelf.folder),
        "BACKSCROLL_SETTINGS": str(settings_of(shelf)),
    }
    script = ["sh", "-c", f'exec "$@" {redirections}', "sh", *words]
    return subprocess.run(script, env={**os.environ, **places}, capture_output=True, timeout=PATIENCE, check=False)


def settings_of(shelf: Shelf) -> Path:
    return shelf.folder.parent / "settings.toml"


@pytest.mark.parametrize("redirections", [">&-", "<&- >&- 2>&-"])
def test_what_is_kept_does_not_depend_on_open_streams(shelf: Shelf, redirections: str) -> None:
    assert run(shelf, "keep", redirections).returncode == 0
    for session in shelf.home.rglob("*.jsonl"):
        session.unlink()
    shelf.update()
    assert shelf.found("zebras")


@pytest.mark.parametrize("name", ["../settings.toml", "marks.json", "archive/catalogue.end"])
def test_a_fifo_in_the_place_of_an_own_file_is_an_error_and_not_waited_for(shelf: Shelf, name: str) -> None:
    shelf.update()
    path = shelf.folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    failed = run(shelf, "update" if "archive" in name else "list")
    assert failed.returncode in (1, 2)
    assert b"not a regular file" in failed.stderr
    assert b"next: " in failed.stderr


def test_an_index_whose_name_is_a_fifo_is_made_again(shelf: Shelf) -> None:
    shelf.update()
    current = shelf.folder / "index" / "current"
    current.unlink()
    os.mkfifo(current)
    assert b"zebras" in run(shelf, "list").stdout
    assert current.is_file()


@pytest.mark.parametrize("name", ["current", "rows.sqlite", "text/meta.json"])
def test_a_fifo_in_the_place_of_a_file_of_the_index_is_not_waited_for(shelf: Shelf, name: str) -> None:
    shelf.update()
    path = shelf.folder / "index" / name if name == "current" else shelf.generation / name
    path.unlink()
    os.mkfifo(path)
    told = run(shelf, "statusline", "</dev/null")
    assert (told.returncode, told.stdout.count(b"\n")) == (0, 1)
    assert (b"made again" if name == "current" else b"not a regular file") in run(shelf, "update").stderr


def test_a_fifo_that_was_just_made_among_the_sessions_is_not_waited_for(shelf: Shelf) -> None:
    shelf.update()
    os.mkfifo(shelf.home / session_path("S2"))
    assert b"zebras" in run(shelf, f"show {session_uuid('S1')}").stdout
    assert run(shelf, "status").returncode == 0


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="setpriv is not installed")
@pytest.mark.parametrize("is_whole_home", [False, True])
def test_what_is_kept_is_shown_though_its_folder_may_not_be_entered_any_more(shelf: Shelf, is_whole_home: bool) -> None:
    shelf.update()
    folder = shelf.home if is_whole_home else (shelf.home / session_path("S1")).parent
    folder.chmod(0)
    try:
        for command in ("list", f"show {session_uuid('S1')}", "search zebras"):
            shown = run(shelf, command, is_plain_user=True)
            assert (shown.returncode, b"zebras" in shown.stdout) == (0, True), shown.stderr
        refused = run(shelf, "keep", is_plain_user=True)
    finally:
        folder.chmod(0o700)
    assert refused.returncode == (3 if is_whole_home else 1)
    assert str(folder).encode() in refused.stderr + refused.stdout


def test_a_settings_file_of_200_mb_is_refused_before_it_is_read(shelf: Shelf) -> None:
    with settings_of(shelf).open("wb") as file:
        file.truncate(200 << 20)
    failed = run(shelf, "list")
    assert failed.returncode == 2
    assert b"larger than" in failed.stderr


def test_a_new_library_is_not_made_inside_a_home_nor_around_one(tmp_path: Path) -> None:
    home = write_home(tmp_path / "around" / "home", session_file("S1", SESSION))
    for library in (home / "backscroll", home.parent):
        refused = run_command("update", "--home", home, "--library", library)
        assert refused.returncode == 2
        assert "is inside the" in refused.stderr
        assert "--library" in refused.stderr
    assert sorted(path.name for path in home.parent.rglob("*")) == sorted(
        path.name for path in (home, *home.rglob("*"))
    )


def test_a_library_that_is_inside_a_home_already_goes_on_working(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home", session_file("S1", SESSION))
    inside = home / "backscroll"
    assert run_command("update", "--home", home, "--library", tmp_path / "library").returncode == 0
    (tmp_path / "library").rename(inside)
    assert "zebras" in run_command("list", "--home", home, "--library", inside).stdout
    checked = run_command("doctor", "--deep", "--home", home, "--library", inside)
    assert checked.returncode == 1
    assert "is inside the Claude Code home" in checked.stdout
