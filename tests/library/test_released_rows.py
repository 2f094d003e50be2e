"""Chats that are released do not stay in memory until the cycle collector runs by itself."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.conversation.rows import Row
from backscroll.library.chats import open_chats, released_rows
from backscroll.library.chats.open_chats import OpenChats
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path

ROWS = 40
MOST = 2 * ROWS
NAMES = ("S1", "S2", "S3")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for name in NAMES:
        first = f"{name}r0 <- - user: begin\n"
        others = (f"{name}r{number} <- {name}r{number - 1} assistant: go on\n" for number in range(1, ROWS))
        shelf.write(session_file(name, first + "".join(others)))
    shelf.update()
    return shelf


@pytest.fixture
def without_automatic_collection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(released_rows, "MAX_ROWS", MOST)
    monkeypatch.setattr(released_rows, "_waiting", 0)
    monkeypatch.setattr(open_chats, "MAX_ROWS", MOST)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def rows_in_memory() -> int:
    """Rows that are held or wait to be freed."""
    return sum(isinstance(one, Row) for one in gc.get_objects())


@pytest.mark.usefixtures("without_automatic_collection")
def test_opening_chats_in_turn_holds_a_bounded_number_of_rows(shelf: Shelf) -> None:
    browser = OpenChats()
    before = rows_in_memory()
    with shelf.open() as library:
        for _ in range(5):
            for name in NAMES:
                browser.open(library, session_uuid(name))
                # Those in use, those that wait, and the one that was just opened.
                assert rows_in_memory() - before <= 2 * MOST + ROWS


@pytest.mark.usefixtures("without_automatic_collection")
def test_reading_a_rewritten_chat_again_holds_a_bounded_number_of_rows(shelf: Shelf) -> None:
    browser = OpenChats()
    before = rows_in_memory()
    path = shelf.home / session_path("S1")
    with shelf.open() as library:
        browser.open(library, session_uuid("S1"))
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
        for _ in range(10):  # not what was read: the chat is read again
            assert browser.catch_up(library)
            assert rows_in_memory() - before <= 2 * MOST + ROWS
