"""A library works with any store: it only uses the interface."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from backscroll.files.homes import Home
from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.store.base import Store
from backscroll.store.local.store import LocalStore
from tests.contract.coverage import members
from tests.library.support import Shelf
from tests.support.homes import session_file

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALLOWED = members(Store)


class OnlyTheInterface:
    """A store of which nothing can be reached but what the interface names."""

    def __init__(self, inner: object) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the store has
        assert name in ALLOWED, f"the library asks for {name}"
        value = getattr(self._inner, name)
        if name in ("clone", "start_writing"):
            return lambda: OnlyTheInterface(value())
        return value


def test_a_library_asks_only_what_the_interface_has(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: find the zebra\nb <- a assistant: here it is"))
    store = cast("Store", OnlyTheInterface(LocalStore(shelf.index)))
    with Library(shelf.settings, [Home(shelf.home)], store) as library:
        assert library.refresh(with_text=True) is not None
        while library.refresh(with_text=True) is not None:
            pass  # a file that has just been written is read again until it has settled
        assert library.search("zebra").total == 2  # the prompt, and the title that it makes
        (chat,) = library.chats()
        assert len(library.open(chat).chat.branches) == 1
        assert ChatReader(library, chat).stored == chat
        assert overview(library, ReportRequest(), NOW)["activity"]["prompts"] == 1
        assert library.sql("select count(*) from v_chats").rows == [(1,)]
        assert library.store.problems() == []
        library.rebuild()
        library.renew()
        with library.clone() as other:
            assert other.totals().chats == 1
        library.discard()
    assert not shelf.index.exists()
