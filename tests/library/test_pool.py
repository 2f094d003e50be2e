"""Libraries that are kept open: each has one reader at a time, and none is left open."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.pool import MAX_IDLE, Pool
from backscroll.settings import Settings
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING, session_file


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write(EVERYTHING)
    shelf.update()
    return shelf


def test_a_library_is_used_again_and_knows_what_came_since(shelf: Shelf) -> None:
    pool = Pool(shelf.settings, shelf.open().homes, local_library)
    with pool.library() as one, pool.library() as other:
        assert one is not other
        before = one.search("quagga").total_chats
    shelf.write(session_file("late", "@ session=late\nl1 <- - user: a quagga"))
    shelf.update()
    with pool.library() as again:
        assert again is one or again is other
        assert (before, again.search("quagga").total_chats) == (0, 1)
    pool.close()


def test_a_reader_that_fails_gives_its_library_back(shelf: Shelf) -> None:
    pool = Pool(shelf.settings, shelf.open().homes, local_library)
    with pytest.raises(ZeroDivisionError), pool.library() as one:
        raise ZeroDivisionError
    with pool.library() as again:
        assert again is one
    pool.close()


def test_more_than_are_kept_can_be_read_from(shelf: Shelf) -> None:
    pool = Pool(shelf.settings, shelf.open().homes, local_library)
    readers = [pool.library() for _ in range(MAX_IDLE + 2)]
    libraries = [reader.__enter__() for reader in readers]
    assert len(set(map(id, libraries))) == MAX_IDLE + 2
    for reader in readers:
        reader.__exit__(None, None, None)
    with pool.library() as library:
        assert library.chats()
    pool.close()


def test_a_library_in_use_while_the_pool_closes_is_not_kept(shelf: Shelf) -> None:
    pool = Pool(shelf.settings, shelf.open().homes, local_library)
    with pool.library() as one:
        pool.close()
        assert one.chats()
    with pool.library() as other:
        assert other is not one
    pool.close()


def test_the_pool_opens_libraries_with_its_opener(shelf: Shelf) -> None:
    opened: list[Library] = []

    def opener(settings: Settings, homes: Sequence[Home]) -> Library:
        opened.append(local_library(settings, homes))
        return opened[-1]

    pool = Pool(shelf.settings, shelf.open().homes, opener)
    with pool.library() as one, pool.open() as other:
        assert opened == [one, other]
    pool.close()
