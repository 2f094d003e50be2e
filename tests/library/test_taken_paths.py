"""A deleted session is found, read and restored, whatever else came to its path, and whatever was repaired."""

from pathlib import Path

import pytest

from backscroll.library.archives import archive_folder
from backscroll.library.machine import ensure_machine
from backscroll.records.content import Text
from tests.library.support import Shelf
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.support.landed_archives import STORIES, lay_out

A = jsonl(draw("a <- - user: an apple\nb <- a assistant: an apricot", session="S1"))
B = jsonl(draw("x <- - user: a banana\ny <- x assistant: a blackberry, and much more of it", session="S2"))
MORE = jsonl(draw("c <- b user: a cherry\nd <- c assistant: a cloudberry", session="S1"))
WORDS = ("apple", "apricot", "banana", "blackberry")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def run(shelf: Shelf, *arguments: str, code: int = 0) -> str:
    done = run_command(*arguments, "--home", str(shelf.home), "--library", str(shelf.folder))
    assert done.returncode == code, done.stderr
    return done.stdout


def said_in(shelf: Shelf, name: str) -> set[str]:
    """The texts of a chat, on all its branches."""
    with shelf.open() as library:
        opened = library.open(session_uuid(name))
        messages = [message for branch in opened.chat.branches for message in opened.messages(branch)]
        answers = {block.text for message in messages for block in message.blocks if isinstance(block, Text)}
        return answers | {message.text for message in messages}


def check(shelf: Shelf, words: tuple[str, ...] = WORDS, banana: str = "S2") -> None:
    """Each word is found in the text that has it, and each session is shown as it was, bananas under this name."""
    for word in words:
        texts = shelf.found(word)
        assert texts, word
        assert all(word in text for text in texts)
    shelf.check_rebuilt(words)
    assert {"an apple", "an apricot"} <= said_in(shelf, "S1")
    if "banana" in words:
        assert {"a banana", "a blackberry, and much more of it"} <= said_in(shelf, banana)
    assert run(shelf, "show", session_uuid("S1"))
    assert "everything is intact" in run(shelf, "archive", "verify")


def test_a_deleted_session_stays_when_another_file_takes_its_path_and_moves_on(shelf: Shelf) -> None:
    one, two, three = (shelf.home / session_path(name) for name in ("S1", "S2", "S3"))
    shelf.write({session_path("S1"): A, session_path("S2"): B}).update()
    one.unlink()
    shelf.update()
    two.rename(one)
    shelf.update()
    check(shelf)
    one.rename(three)
    shelf.update()
    check(shelf)
    run(
        shelf,
        "archive",
        "restore",
        session_uuid("S1"),
        "--to",
        str(shelf.root / "out"),
        "--version",
        "1",
        "--file",
        one.name,
    )
    assert (shelf.root / "out" / session_path("S1")).read_bytes() == A


def test_a_session_that_a_larger_file_replaces_is_still_found(shelf: Shelf) -> None:
    shelf.write(
        {session_path("S1"): A, session_path("S2"): B + B.replace(b'"x"', b'"v"').replace(b'"y"', b'"w"')}
    ).update()
    (shelf.home / session_path("S2")).replace(shelf.home / session_path("S1"))
    shelf.update()
    check(shelf)


def test_a_repair_from_a_backup_with_less_hides_nothing(shelf: Shelf) -> None:
    shelf.write({session_path("S1"): A[: A.index(b"\n") + 1]}).update()
    shelf.write({session_path("S1"): A}).update()
    backup = str(shelf.root / "backup")
    run(shelf, "archive", "backup", backup)
    archive_folder(shelf.settings).rename(shelf.root / "lost")
    shelf.write({session_path("S1"): A + MORE}).update()
    (shelf.home / session_path("S1")).unlink()
    run(shelf, "update")
    words = ("apple", "apricot", "cherry", "cloudberry")
    check(shelf, words)
    assert "repair" in run_command("archive", "restore-backup", backup, "--library", str(shelf.folder)).stderr
    run(shelf, "archive", "repair", "--from", backup)
    check(shelf, words)


@pytest.mark.parametrize("story", STORIES)
def test_what_an_earlier_version_hid_is_found_after_an_upgrade(shelf: Shelf, story: str) -> None:
    (shelf.home / "projects").mkdir(exist_ok=True)
    machine = ensure_machine(shelf.folder).id
    lay_out(story, archive_folder(shelf.settings), shelf.home, machine)
    if story != "repaired":
        name = "S3" if story == "moved_on" else "S1"
        shelf.write({session_path(name): B})
    said = run(shelf, "archive", "verify")
    assert ("kept as several files" in said) == (story in ("moved_onto", "repaired"))
    shelf.update()
    words = ("apple", "apricot", "cherry", "cloudberry") if story == "repaired" else WORDS
    check(shelf, words, {"moved_onto": "S1", "moved_on": "S3"}.get(story, "S2"))
    assert "several files" not in run(shelf, "archive", "verify")
