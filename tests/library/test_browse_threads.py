"""Several threads read chats at once: none waits for another chat, and none sees a partial change."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final

import pytest

from backscroll.conversation.rows import Row
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.library import Library
from backscroll.store.local.store import LocalStore
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path

PATIENCE: Final = 60
"""Seconds after which a test fails that waits for something that never happens."""
TALK: Final = """
{name}a <- - user: look at it
{name}b <- {name}a assistant: here it is
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path)
    for name in ("S1", "S2"):
        shelf.write(session_file(name, TALK.format(name=name)))
    shelf.update()
    return shelf


class Slow(Library):
    """A library that returns the shape of a chat only on request."""

    def __init__(self, shelf: Shelf) -> None:
        super().__init__(shelf.settings, shelf.open().homes, LocalStore(shelf.index))
        self.asked, self.go_on = threading.Event(), threading.Event()
        given = self.reader.chat_shape

        def shape(chat: int) -> object:
            self.asked.set()
            assert self.go_on.wait(PATIENCE)
            return given(chat)

        self.reader.chat_shape = shape  # type: ignore[method-assign, assignment]


def test_an_open_chat_and_another_one_do_not_wait_for_one_that_is_being_opened(shelf: Shelf) -> None:
    browser = OpenChats()
    with Slow(shelf) as slow, shelf.open() as quick, ThreadPoolExecutor(2) as threads:
        first = threads.submit(browser.open, slow, session_uuid("S1"))
        try:
            assert slow.asked.wait(PATIENCE)
            opened = threads.submit(browser.open, quick, session_uuid("S2")).result(PATIENCE)
            again = threads.submit(browser.open, quick, session_uuid("S2")).result(PATIENCE)
            assert again is opened
            assert not first.done()
        finally:
            slow.go_on.set()
        assert first.result(PATIENCE).stored.overview.id == session_uuid("S1")


def test_a_chat_is_opened_once_however_many_want_it_at_once(shelf: Shelf) -> None:
    browser, together = OpenChats(), threading.Barrier(4)

    def open_it() -> object:
        with shelf.open() as library:
            together.wait(PATIENCE)
            return browser.open(library, session_uuid("S1"))

    with ThreadPoolExecutor(4) as threads:
        opened = [future.result(PATIENCE) for future in [threads.submit(open_it) for _ in range(4)]]
    assert len({id(one) for one in opened}) == 1
    assert not browser._opening


class WatchedReader:
    """A lock that says when a thread wants it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.wanted_elsewhere = threading.Event()
        self._owner = threading.get_ident()

    def __enter__(self) -> None:
        if threading.get_ident() != self._owner:
            self.wanted_elsewhere.set()
        self._lock.acquire()

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._lock.release()


class Disturbed(dict[str, Row]):
    """Results that another thread changes as soon as they are iterated over."""

    def __init__(self, lock: WatchedReader, row: Row) -> None:
        super().__init__({"call 1": row, "call 2": row})
        self._lock, self._row = lock, row
        self.writer: threading.Thread | None = None

    def items(self) -> Iterator[tuple[str, Row]]:  # type: ignore[override]
        for number, item in enumerate(super().items()):
            if number == 0:
                self.writer = threading.Thread(target=self._add)
                self.writer.start()
                assert self._lock.wanted_elsewhere.wait(PATIENCE)
            yield item

    def _add(self) -> None:
        with self._lock:
            self["call 3"] = self._row


def test_results_that_come_meanwhile_do_not_disturb_who_looks_for_a_message(shelf: Shelf) -> None:
    with shelf.open() as library:
        row = OpenChats().open(library, session_uuid("S1")).branch_messages().entries[0].rows[0]
    lock = WatchedReader()
    results = Disturbed(lock, row)
    branch_messages = BranchMessages([], results, lock)
    assert branch_messages.message_with("nothing") is None
    assert results.writer is not None
    results.writer.join(PATIENCE)
    assert len(results) == 3


def test_rows_that_come_meanwhile_do_not_disturb_who_counts_a_chat(shelf: Shelf) -> None:
    with shelf.open() as library:
        reader = OpenChats().open(library, session_uuid("S1"))
        chat, path = reader.chat, shelf.home / session_path("S1")
        nodes = iter(chat.tree.all_nodes())
        next(nodes)
        with path.open("ab") as file:
            file.write(b'{"type":"user","uuid":"n","parentUuid":null,"message":{"role":"user","content":"more"}}\n')
        writer = threading.Thread(target=reader.take, args=(library, [shelf.source(session_path("S1"))]))
        writer.start()
        writer.join(PATIENCE)
        assert reader.chat.tree.find("n") is not None
        assert len(list(nodes)) == 1


def test_chats_that_grow_push_out_those_that_were_asked_for_longest_ago(shelf: Shelf) -> None:
    browser = OpenChats(max_rows=5)
    with shelf.open() as library:
        for name in ("S1", "S2"):
            browser.open(library, session_uuid(name))
        assert len(browser._open) == 2
        shelf.append("S2", jsonl(draw("@ session=S2\nS2c <- S2b user: go on\nS2d <- S2c assistant: done")))
        shelf.update()
        browser.take(library, [shelf.source(session_path("S2"))])
        assert list(browser._open) == [session_uuid("S2")]
        assert not browser.has(library.find(session_uuid("S1")))
