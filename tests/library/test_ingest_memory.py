"""An ingest that follows sessions for hours holds a bounded number of rows."""

import gc
from pathlib import Path

import pytest

from backscroll.conversation.rows import Row
from backscroll.files.discovery import discover
from backscroll.library.indexing import ingest as ingest_module
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import plan
from backscroll.library.indexing.prices import load_prices
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file

MOST = 30


def rows_in_memory() -> int:
    return sum(isinstance(one, Row) for one in gc.get_objects())


class Follower:
    """Two sessions that are followed while they grow."""

    def __init__(self, shelf: Shelf, library: Library) -> None:
        self._shelf, self._library = shelf, library
        self._store = library.store.start_writing()
        prices = load_prices(library.settings)
        self._store.use_prices(cost_with(prices), prices.fingerprint)
        self._ingest = Ingest(self._store)
        gc.collect()
        gc.freeze()  # what other tests of this process left is neither looked through again nor counted
        self._before = rows_in_memory()
        self.held: list[int] = []
        """The rows that were in memory after each round."""

    def follow(self, rounds: range) -> None:
        """Add one row to each session, and read them, as often as that."""
        for number in rounds:
            for session, name in (("S1", "s"), ("S2", "t")):
                text = f"{name}{number} <- {name}{number - 1} assistant: go on"
                self._shelf.append(session, jsonl(draw(text)))
            found = [discover(self._library.homes[0])]
            work = plan(self._store.indexed_files(), found, None, self._library.machine)
            self._ingest.run(work.tasks, later=True)
            self._ingest.finish()
            self.held.append(rows_in_memory() - self._before)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(ingest_module, "MAX_ROWS", MOST)
    shelf = Shelf(tmp_path)
    shelf.write(session_file("S1", "s0 <- - user: begin") | session_file("S2", "t0 <- - user: begin"))
    shelf.update()
    return shelf


def test_sessions_that_only_grow_are_released_too(shelf: Shelf) -> None:
    with shelf.open() as library:
        follower = Follower(shelf, library)
        follower.follow(range(1, MOST))
    assert 0 in follower.held
    assert max(follower.held) <= 2 * MOST
    assert shelf.rows("select count(*) from v_messages") == [(2 * MOST,)]


def test_sessions_with_more_rows_are_not_loaded_again_for_every_line(shelf: Shelf) -> None:
    with shelf.open() as library:
        Follower(shelf, library).follow(range(1, MOST))
    with shelf.open() as library:
        follower = Follower(shelf, library)
        follower.follow(range(MOST, MOST + 20))  # of more rows than may be held, each time
    assert follower.held == [2 * number for number in range(MOST + 1, MOST + 21)]
