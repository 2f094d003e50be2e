"""A first update may stop after the newest sessions, so that they can be listed; it says what is left."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from backscroll.library.indexing import tasks
from backscroll.library.indexing.update import Updated
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file, session_path
from tests.support.processes import until

SESSIONS = 4


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Four sessions, one of an hour each; the last is the newest. Every file is a batch."""
    monkeypatch.setattr(tasks, "FIRST_BATCH_BYTES", 1)
    monkeypatch.setattr(tasks, "BATCH_BYTES", 1)
    shelf = Shelf(tmp_path)
    for number in range(SESSIONS):
        shelf.write(
            session_file(f"S{number}", f"a{number} <- - user: prompt {number}\nb{number} <- a{number} assistant: ok")
        )
        touch(shelf, number)
    return shelf


def touch(shelf: Shelf, number: int) -> None:
    os.utime(shelf.home / session_path(f"S{number}"), (1_700_000_000 + 3600 * number,) * 2)


def refresh(library: Library, *, stop: bool, with_text: bool = False) -> Updated:
    done = library.refresh(with_text=with_text, is_enough=lambda: stop)
    assert done is not None
    return done


def titles(library: Library) -> Sequence[str]:
    return [chat.overview.title for chat in library.chats()]


@pytest.mark.parametrize("with_text", [False, True])
def test_the_newest_session_is_read_first_and_the_rest_is_reported(shelf: Shelf, with_text: bool) -> None:
    with shelf.open() as library:
        done = refresh(library, stop=True, with_text=with_text)
        assert (done.files, done.unread) == (SESSIONS, SESSIONS - 1)
        assert titles(library) == ["prompt 3"]
        assert not library.has_finished_update
        done = refresh(library, stop=True, with_text=with_text)
        assert done.unread == SESSIONS - 2  # of `files`, which has the first one again if it was kept meanwhile
        assert titles(library) == ["prompt 3", "prompt 2"]


def test_the_next_update_reads_the_rest_and_gives_the_same_answers(shelf: Shelf, tmp_path: Path) -> None:
    with shelf.open() as library:
        refresh(library, stop=True)
        assert refresh(library, stop=False, with_text=True).unread == 0
        assert library.has_finished_update
        # A file that was read in the moment in which it was written is looked at once more.
        until(lambda: library.refresh(with_text=True) is None)
    stopped = shelf.answers(["prompt", "ok"])
    shelf.folder = tmp_path / "another"
    shelf.update()
    assert stopped == shelf.answers(["prompt", "ok"])


def test_an_update_that_was_finished_once_is_not_stopped(shelf: Shelf) -> None:
    shelf.update()
    for number in range(SESSIONS):
        shelf.append(f"S{number}", jsonl(draw(f"c{number} <- b{number} user: more", session=f"S{number}")))
        touch(shelf, number)
    with shelf.open() as library:
        done = refresh(library, stop=True)
        assert (done.work.files, done.unread) == (SESSIONS, 0)


def test_list_shows_the_newest_chats_soon_on_a_terminal_only(shelf: Shelf) -> None:
    """`script` gives the program a terminal."""
    program = (
        "import sys; from backscroll.cli import main, output; from backscroll.library.indexing import tasks;"
        "tasks.FIRST_BATCH_BYTES = tasks.BATCH_BYTES = 1; output.FIRST_LIST_AFTER = -1;"
        "sys.exit(main.run(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", f"'{program}'", "list", "--home", f"{shelf.home}", "--library", f"{shelf.folder}"]

    def run(*words: str) -> str:
        done = subprocess.run(
            ["script", "-qec", " ".join([*command, *words]), "/dev/null"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=True,
        )  # fmt: skip
        return done.stdout

    first = run()
    assert [f"prompt {number}" in first for number in range(SESSIONS)] == [False, False, False, True]
    assert "reading: 1 of 4 files so far; backscroll update reads the rest" in first
    assert run("--json").count('"title"') == SESSIONS
    last = run()
    assert all(f"prompt {number}" in last for number in range(SESSIONS))
    assert "so far" not in last


def test_all_files_of_a_session_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch that adds to a chat puts it together anew: spread over all batches, the work grows as the square."""
    monkeypatch.setattr(tasks, "BATCH_FILES", 10)
    shelf = Shelf(tmp_path)
    for number in range(100):  # ten sessions, each in ten folders
        rows = f"a{number} <- - user: prompt {number}\nb{number} <- a{number} assistant: ok"
        path = session_path(f"S{number % 10}", f"projects/-folder-{number // 10}")
        shelf.write({path: jsonl(draw(rows, session=f"S{number % 10}"))})
        os.utime(shelf.home / path, (1_700_000_000 + number,) * 2)
    assert shelf.update().work.chats <= 20
    with shelf.open() as library:
        assert len(library.chats()) == 10
