"""A rebuild happens beside the index in use: readers have the old one until the new one is complete."""

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.errors import Busy
from backscroll.store.local.database import connect
from backscroll.store.local.text import TextIndex
from tests.library.support import Shelf, local_store
from tests.support.homes import session_file

WORDS = 40
QUERY = "role:prompt zebra"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for number in range(4):
        rows = "\n".join(f"a{number}x{n} <- a{number}x{n - 1} user: the zebra {number} {n}" for n in range(WORDS // 4))
        shelf.write(session_file(f"Z{number}", rows))
    shelf.update()
    return shelf


class At:
    """Does something at every step of an update."""

    def __init__(self, step: Callable[[], None]) -> None:
        self._step = step
        self.steps = 0

    def begin(self, what: str, total: int, unit: str = "bytes") -> None:  # noqa: ARG002
        self.add(0)

    def add(self, count: int) -> None:  # noqa: ARG002
        self.steps += 1
        self._step()


def test_readers_have_the_old_index_until_the_new_one_is_complete(shelf: Shelf) -> None:
    held = shelf.open()
    assert held.search(QUERY).total == WORDS
    old, lock = shelf.generation, (shelf.index / "lock").stat().st_ino

    def look() -> None:
        assert shelf.generation == old
        assert shelf.total(QUERY) == WORDS
        assert len(shelf.sql("select * from v_chats")) == 4
        held.renew()
        assert held.search(QUERY).total == WORDS

    at = At(look)
    with shelf.open() as library:
        library.rebuild(at)
    assert at.steps > 3
    assert shelf.generation != old
    assert not old.exists()
    # One that did not look goes on with what it has open, and then with the new one.
    assert held.search(QUERY).total == WORDS
    held.renew()
    assert held.search(QUERY).total == WORDS
    assert held.sql("select count(*) from v_messages").rows == [(WORDS,)]
    assert local_store(held).file.parent == shelf.generation
    held.close()
    assert (shelf.index / "lock").stat().st_ino == lock


def test_words_that_are_replaced_while_they_are_opened_are_opened_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, is_replaced = TextIndex.check, False

    def replace_first(text: TextIndex, *, again: bool = False) -> None:
        """After the list of its files was read, and before they are opened."""
        nonlocal is_replaced
        check(text, again=again)
        if not is_replaced:
            is_replaced = True
            with shelf.open() as library:
                library.rebuild()

    with shelf.open() as library:
        monkeypatch.setattr(TextIndex, "check", replace_first)
        assert library.search(QUERY).total == WORDS
    assert is_replaced


def test_no_second_writer_gets_in_during_a_rebuild(shelf: Shelf) -> None:
    refused = []

    def intrude() -> None:
        for attempt in (Shelf.update, lambda shelf: shelf.open().rebuild()):
            with pytest.raises(Busy):
                attempt(shelf)
            refused.append(attempt)

    with shelf.open() as library:
        library.rebuild(At(intrude))
    assert len(refused) > 3
    shelf.update()


def test_a_rebuild_that_fails_leaves_the_old_index(shelf: Shelf) -> None:
    class StopError(Exception):
        pass

    def stop() -> None:
        raise StopError

    old = shelf.generation
    with shelf.open() as library, pytest.raises(StopError):
        library.rebuild(At(stop))
    assert shelf.generation == old
    assert [path.name for path in shelf.index.iterdir() if path.is_dir()] == [old.name]
    assert shelf.total(QUERY) == WORDS


def test_what_a_killed_rebuild_left_is_removed(shelf: Shelf) -> None:
    old = shelf.generation
    shutil.copytree(old, old.with_name(f"{int(old.name) + 1:06}"))
    shelf.update()
    assert [path.name for path in shelf.index.iterdir() if path.is_dir()] == [old.name]
    assert shelf.total(QUERY) == WORDS


def test_an_index_of_before_there_were_generations_is_made_again(shelf: Shelf) -> None:
    old = shelf.generation
    connection = connect(old / "rows.sqlite", write=True)
    connection.execute("pragma user_version = 5")
    connection.close()
    (old / "checked").unlink()
    for path in old.iterdir():
        path.rename(shelf.index / path.name)
    old.rmdir()
    (shelf.index / "current").unlink()
    (shelf.index / "rows.sqlite.set-aside-1").write_bytes(b"an old one")
    assert [notice for notice in shelf.update().notices if "made again" in notice]
    assert shelf.total(QUERY) == WORDS
    left = {path.name for path in shelf.index.iterdir()}
    assert left == {"lock", "current", shelf.generation.name}


def test_an_interrupted_first_update_continues_where_it_stopped(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.write(session_file("Z", "a <- - user: the zebra\nb <- a assistant: yes"))

    class StopError(Exception):
        pass

    at = At(lambda: None)

    def stop() -> None:
        if at.steps == 2:
            raise StopError

    at = At(stop)
    with shelf.open() as library, pytest.raises(StopError):
        library.update(at)
    generation = shelf.generation
    identity = os.stat(generation / "rows.sqlite").st_ino  # noqa: PTH116
    shelf.update()
    assert shelf.generation == generation
    assert (generation / "rows.sqlite").stat().st_ino == identity
    assert shelf.total(QUERY) == 1


def test_a_search_answers_while_rebuild_follows_rebuild(shelf: Shelf) -> None:
    """As the viewer searches: a library that is held, and told to look what happened before every question."""
    done = threading.Event()
    wrong: list[object] = []
    asked = [0]

    def ask() -> None:
        with shelf.open() as library:
            while not done.is_set() or asked[0] < 20:
                try:
                    library.renew()
                    found = library.search(QUERY).total
                except BaseException as error:
                    wrong.append(repr(error))
                    break
                asked[0] += 1
                if found != WORDS:
                    wrong.append(found)

    thread = threading.Thread(target=ask)
    thread.start()
    for _ in range(6):
        with shelf.open() as library:
            library.rebuild()
    done.set()
    thread.join()
    assert wrong == []
