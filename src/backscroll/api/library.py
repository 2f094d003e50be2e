"""A library that a program has open."""

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

from backscroll.api.chats import Chat, Chats, chat_of
from backscroll.api.results import Recalled, Results, results_of
from backscroll.api.rows import Items, StatsTable, Table
from backscroll.errors import StorageError, UsageError, storage_error
from backscroll.library.homes import open_homes
from backscroll.library.library import Library as Answering
from backscroll.library.local import local_library
from backscroll.library.opened_chat import OpenedChat
from backscroll.settings import Settings, load_settings


def open(  # noqa: A001 - read as backscroll.open
    library: Path | str | None = None, homes: Path | str | Sequence[Path | str] = (), update: bool = True
) -> "Library":
    """Open a library: the user's own, or the one in this folder, of the homes that are named.

    With `update` it is brought up to date first, as every command does; else it is read as it is.
    """
    named = [homes] if isinstance(homes, (str, Path)) else homes
    settings = load_settings(
        [Path(home) for home in named], Path(library).expanduser() if library is not None else None
    )
    opened = Library(settings)
    try:
        if update:
            opened.update()
    except BaseException:
        opened.close()
        raise
    return opened


class Library:
    """Every chat of some homes, those too that Claude Code has deleted. For one thread at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._core: Answering | None = local_library(settings, open_homes(settings))
        self._last: tuple[str, bool, OpenedChat] | None = None

    def chats(self, query: str = "", limit: int | None = None, sort: str = "newest") -> Chats:
        """The chats that a query accepts by its fields, and by its words in their titles."""
        if limit is not None:
            _check("limit", limit)
        return Chats(chat_of(self, stored) for stored in self._require_open().chats(query, limit=limit, sort=sort))

    def chat(self, name: str) -> Chat:
        """The chat that this is the id of, or of a session, message or agent in it; the beginning is enough."""
        if not name:
            raise UsageError("a chat has no empty id", "chats() lists them all")
        return chat_of(self, self._require_open().find(name))

    def search(self, query: str, limit: int = 20, offset: int = 0, sort: str = "relevance", hits: int = 3) -> Results:
        """The passages that answer a query: `hits` of each chat, of at most `limit` chats, after the first `offset`."""
        for name, value in (("limit", limit), ("offset", offset), ("hits", hits)):
            _check(name, value)
        if not query.strip():
            raise UsageError("nothing to search for", "chats() lists them all")
        return results_of(self, self._require_open().search(query, limit=limit, offset=offset, sort=sort, hits=hits))

    def recall(
        self,
        question: str,
        max_tokens: int = 2000,
        project: str | None = None,
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> Items[Recalled]:
        """The passages that best answer a question in plain words, as `backscroll recall` finds them."""
        from backscroll.library.memory.recall import recall

        found = recall(
            self._require_open(),
            question,
            max_tokens=max_tokens,
            project=project,
            since=_moment(since),
            until=_moment(until, end=True),
        )
        return Items(Recalled, (Recalled.of(passage) for passage in found.passages))

    def stats(
        self,
        report: str = "usage",
        by: str = "",
        query: str = "",
        since: str | datetime | None = None,
        until: str | datetime | None = None,
        limit: int = 1000,
    ) -> StatsTable:
        """A report of `backscroll stats`: `usage`, `spend`, `tools`, `errors`, `time` … `by` is how it is grouped."""
        from backscroll.library.analytics.report_kinds import KINDS, report_of
        from backscroll.library.analytics.reports import ReportRequest

        _check("limit", limit)
        library = self._require_open()
        if report not in KINDS:
            raise UsageError(f"there is no report {report}", f"the reports are {', '.join(KINDS)}")
        asked = ReportRequest(library.parse(query) if query else None, _moment(since), _moment(until, end=True))
        made = report_of(library, report, asked, by, limit)
        return StatsTable(made.columns, made.rows[:limit], is_cut=len(made.rows) > limit, notes=made.notes)

    def sql(self, statement: str, limit: int = 100_000, seconds: float = 10.0) -> Table:
        """Run a statement that only reads, for at most so long; `backscroll sql --schema` describes the views."""
        _check("limit", limit)
        found = self._require_open().sql(statement, limit=limit, seconds=seconds)
        return Table(found.columns, found.rows, is_cut=found.is_cut)

    def update(self) -> None:
        """Bring it up to date. While another process does so, what is there must do."""
        library = self._require_open()
        try:
            done = library.refresh(with_text=True)
        except (OSError, StorageError) as error:
            told = error if isinstance(error, StorageError) else storage_error(error)
            hint = "name another folder with library=, or read what is there with update=False"
            raise type(told)(f"cannot write the library at {self._settings.library}: {told.message}", hint) from error
        for notice in done.notices if done else ():
            logging.getLogger("backscroll").warning(notice)
        self._last = None
        library.close()
        # A new one: what is open knows the archive, the marks and the running sessions of the moment it was opened.
        self._core = library.clone()

    def close(self) -> None:
        """Let go of it. Chats and passages keep what they have, and can be asked for no more."""
        if self._core is not None:
            self._core.close()
        self._core = self._last = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Library: {self._settings.library}{' (closed)' if self._core is None else ''}>"

    def _require_open(self) -> Answering:
        """What answers; an error once this is closed."""
        if self._core is None:
            raise UsageError("this library was closed", "open it again with backscroll.open()")
        return self._core

    def _opened(self, name: str, *, with_records: bool) -> OpenedChat:
        """A chat to be read. Only the last one is kept: they can be large."""
        library = self._require_open()
        if self._last is None or self._last[0] != name or (with_records and not self._last[1]):
            self._last = None
            # By its id: another process may have given it another key.
            self._last = (name, with_records, library.open(library.find(name), with_records=with_records))
        return self._last[2]


def _moment(when: str | datetime | None, *, end: bool = False) -> datetime | None:
    """A time, or the text of one as the command line takes it; a time without a zone is local."""
    if not isinstance(when, str):
        return when.astimezone() if when is not None else None
    from backscroll.query.times import parse_moment

    return parse_moment(when, datetime.now().astimezone(), end=end)


def _check(name: str, value: int) -> None:
    if value < 0:
        raise UsageError(f"{name} is {value}", f"{name} is how many: 0 or more")
