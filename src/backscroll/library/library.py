"""An open library: its chats, their contents, and search.

Every command loads this module, so code that only some commands need is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from backscroll.errors import Busy, UsageError
from backscroll.files.discovery import Discovery, discover
from backscroll.files.homes import Home
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import find_archive
from backscroll.library.homes import live_sessions
from backscroll.library.indexing.changes import catalogue_stamp, look
from backscroll.library.indexing.progress import IsEnough, Progress, never
from backscroll.library.machine import ensure_machine, read_machine
from backscroll.library.marks import Marks, read_marks
from backscroll.library.scope import LiveSessions, scope_of
from backscroll.query.parse import parse
from backscroll.query.tree import Query
from backscroll.records.sidecars import LiveSession
from backscroll.settings import Settings
from backscroll.store.base import DamagedStoreError, SqlView, Store
from backscroll.store.batches import microseconds
from backscroll.store.reader import EVERYTHING, Facets, Hit, Scope, StatementResult, StoredChat, StoreReader, Totals

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.library.indexing.sources import Source, Sources
    from backscroll.library.indexing.texts import Texts
    from backscroll.library.indexing.update import Updated
    from backscroll.library.opened_chat import OpenedChat
    from backscroll.library.searching.search import SearchResults

SORTS = ("relevance", "newest", "oldest")
CHAT_SORTS = ("newest", "oldest", "title", "messages", "cost", "active")


class Library:
    """Archive and index of some homes. Reading never changes anything and never waits."""

    def __init__(
        self,
        settings: Settings,
        homes: Sequence[Home],
        store: Store,
        *, keeps: bool = True, is_temporary: bool = False, only_chats: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        """Open a library. Without `keeps` the archive stays as it is; a temporary one writes nothing into the library's
        folder.

        With `only_chats`, only these chats exist for it: on a team server, those that were shared.
        """
        self.settings = settings
        self._homes = [home.path for home in homes]
        self.machine = read_machine(settings.library)
        """This machine, as the archive and the index know it."""
        self.store = store
        self._keeps, self._is_temporary, self._only_chats = keeps, is_temporary, only_chats
        self.growing: frozenset[str] | None = None
        """Sessions whose files grew a moment ago, if the caller follows them; else the files are checked."""
        self._discoveries: list[Discovery] | None = None
        self._catalogue = ""

    @property
    def homes(self) -> list[Home]:
        """The homes of this machine that it was opened for."""
        return [Home(path, self.machine.id) for path in self._homes]

    def close(self) -> None:
        """Close the store of the library."""
        self.store.close()

    def discard(self) -> None:
        """Close the library and delete its index, for a library in a temporary folder."""
        self.store.discard()

    def clone(self) -> Library:
        """Open the library once more, for another thread."""
        only_chats = self._only_chats
        return Library(self.settings, self.homes, self.store.clone(), keeps=self._keeps, only_chats=only_chats)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Keeping it fresh

    def refresh(
        self, *, with_text: bool, progress: Progress | None = None, is_enough: IsEnough = never
    ) -> Updated | None:
        """Update the library if anything changed; None if not. If another process updates it, use its current state."""
        try:
            self._discoveries, is_due = look(self.store, self.settings, self.homes, self.machine)
            is_due = is_due or (with_text and self.store.within(EVERYTHING).pending().passages > 0)
        except DamagedStoreError:
            is_due = True
        if not is_due:
            return None
        try:
            is_first = not self.has_finished_update
            return self._update(with_text=with_text, progress=progress, is_enough=is_enough if is_first else never)
        except Busy:
            if not self.store.exists:
                raise
            return None

    def update(self, progress: Progress | None = None) -> Updated:
        """Update the library. Raises Busy if another process is updating it."""
        self._discoveries = None
        return self._update(with_text=True, progress=progress)

    def rebuild(self, progress: Progress | None = None) -> Updated:
        """Rebuild the index from homes and archive. The old one stays in use until the new one is complete."""
        self._discoveries = None
        return self._update(with_text=True, progress=progress, rebuild=True)

    def _update(
        self, *, with_text: bool, progress: Progress | None, rebuild: bool = False, is_enough: IsEnough = never
    ) -> Updated:
        from backscroll.library.indexing.update import ForgottenRowsError, update

        notices = []
        try:
            self._settle_machine()
            places = (self.store, self.settings, self.homes, self.machine, self._discoveries)
            run = partial(update, *places, keeps=self._keeps, progress=progress)
            if not rebuild:
                try:
                    return run(with_text=with_text, is_enough=is_enough)
                except DamagedStoreError as damage:
                    notices.append(f"{damage.message}; it was made again, and nothing is lost")
                except ForgottenRowsError:
                    pass  # an interrupted `archive forget`
            with self.store.rebuilding():
                done = run()
            done.notices += notices
            return done
        finally:
            self.store.close()

    def _settle_machine(self) -> None:
        """Record the identity of this machine, before files are kept or read under its id."""
        if self._is_temporary:
            return
        machine = ensure_machine(self.settings.library)
        if machine != self.machine:  # another process has written it in between
            self.machine = machine
            self._discoveries = None
        if self._discoveries is None:
            self._discoveries = [discover(home) for home in self.homes if home.exists]

    def renew(self) -> None:
        """Reload marks, live sessions and the archive, for long-lived libraries."""
        for name in ("marks", "scope", "reader", "live", "has_other_machines", "archive", "_sources"):
            self.__dict__.pop(name, None)
        self.machine = read_machine(self.settings.library)
        self.store.renew()

    # Queries

    def snapshot(self) -> AbstractContextManager[None]:
        """Answer every query inside from one state of the index, even if it is written in between."""
        return self.reader.snapshot()

    def search(
        self,
        query: str | Query,
        *,
        limit: int = 20,
        offset: int = 0,
        sort: str = "relevance",
        hits: int = 3,
        width: int = 240,
        cursor: str = "",
        project: str = "",
    ) -> SearchResults:
        """Return the chats that match a query, with their matching passages: after `offset` chats, or from a cursor on.

        By relevance, chats of `project` rank a little higher.
        """
        from backscroll.library.searching.search import search

        with self.texts() as texts:
            return search(
                self.reader, texts, self.parse(query),
                sort=_sort(sort), limit=limit, offset=offset, hits=hits, width=width, cursor=cursor, project=project,
            )  # fmt: skip

    def chats(
        self, query: str | Query = "", *, limit: int | None = None, offset: int = 0, sort: str = "newest"
    ) -> list[StoredChat]:
        """Return the chats that match the fields of a query and have its words in their titles."""
        order = _sort(sort, (*CHAT_SORTS, "relevance"))
        return self.reader.chats(self.parse(query), sort=order, limit=limit, offset=offset)

    def count_chats(self, query: str | Query = "") -> int:
        """Return the number of chats that `chats` would return without a limit."""
        return self.reader.count_chats(self.parse(query))

    def find(self, name: str) -> StoredChat:
        """Return the chat whose id (or a session, message or agent id in it) starts with `name`; its ids come first."""
        from backscroll.library.searching.by_id import chat_by_id

        return chat_by_id(self.reader, name)

    def open(self, chat: str | StoredChat, *, with_records: bool = True) -> OpenedChat:
        """Open a chat with all its messages, or without its records, only its structure."""
        from backscroll.library.opened_chat import open_chat

        stored = self.find(chat) if isinstance(chat, str) else chat
        sources = self._sources_of(stored)
        known = (stored.overview.id, stored.overview.title, self.scope.live)
        return open_chat(*known, sources, self.beside, self.machine, with_records=with_records)

    def machines_of(self, chat: StoredChat) -> tuple[str, ...]:
        """Return the machines to name for a chat: none while everything is from this one."""
        return chat.machines if self.has_other_machines else ()

    @cached_property
    def has_other_machines(self) -> bool:
        """Whether the library shows chats of another machine than this."""
        return any(not self.machine.is_own(machine) for machine, _ in self.reader.homes())

    def missing_from(self, chat: StoredChat) -> list[Path]:
        """Return the files of a chat that are no longer complete in a home or the archive: part of the chat is missing.

        The archive has less of a file than the index has read if a line of its catalogue is damaged.
        """
        files = [(file, self.source(file.source, file.size)) for file in self.reader.files_of(chat.key)]
        return [Path(file.path) for file, source in files if source is None or _lacks_some(source, file.size)]

    def context(self, hit: Hit, query: Query, lines: int) -> str:
        """Return the lines of a passage around the first match."""
        from backscroll.library.searching.search import around, text_of
        from backscroll.query.snippets import Highlighter

        with self.texts() as texts:
            return around(text_of(texts, hit), Highlighter(query), lines)

    def text(self, hit: Hit) -> str:
        """Return the full text of a passage."""
        from backscroll.library.searching.search import text_of

        with self.texts() as texts:
            return text_of(texts, hit)

    def similar(self, query: Query) -> list[str]:
        """Return indexed words similar to those of a query that are not indexed."""
        return [word for wanted in query.words for word in self.reader.similar(wanted)[:3]]

    def sql(self, statement: str, *, limit: int = 1000, seconds: float = 10.0) -> StatementResult:
        """Run a read-only statement about the whole library, regardless of the open homes."""
        if self._only_chats is not None:
            raise UsageError("what others share cannot be asked with SQL", "search it, or read a chat")
        return self.store.within(EVERYTHING).sql(statement, limit, seconds)

    def views(self) -> list[SqlView]:
        """Return the documented SQL views."""
        return self.store.views()

    @property
    def dialect(self) -> str:
        """The SQL dialect of statements."""
        return self.store.dialect

    # Content

    @property
    def is_indexed(self) -> bool:
        """Whether there is an index."""
        return self.store.exists

    @property
    def has_finished_update(self) -> bool:
        """Whether an update has ever read everything."""
        return self.store.exists and self.store.noted("catalogue") is not None

    def pending_passages(self) -> int:
        """Return the number of passages that are not searchable yet."""
        return self.reader.pending().passages if self.store.exists else 0

    def index_size(self) -> int:
        """Return the size of the index in bytes."""
        return self.store.size()

    def totals(self) -> Totals:
        """Return the number of chats and messages."""
        return self.reader.totals()

    def titles(self) -> dict[str, str]:
        """Return the titles of all chats, by chat id."""
        return self.reader.reports(None).chat_titles()

    def answer_costs(self, messages: Iterable[str]) -> dict[str, int | None]:
        """Return the costs of these answers in nanodollars, by message id; None if no price is known."""
        return {message: answer.cost for message, answer in self.reader.answer_costs(messages).items()}

    def facets(self, query: Query, since: Mapping[str, datetime]) -> Facets:
        """Return counts of common values among the matches of a query; `since` are times to count from, by name."""
        return self.reader.facets(query, {name: microseconds(time) or 0 for name, time in since.items()})

    def parse(self, query: str | Query) -> Query:
        """Parse a query in the user's time zone."""
        return parse(query, datetime.now().astimezone()) if isinstance(query, str) else query

    @cached_property
    def archive(self) -> Archive | None:
        """The archive, if there is one."""
        self._catalogue = catalogue_stamp(self.settings)
        return find_archive(self.settings)

    @cached_property
    def marks(self) -> Marks:
        """The user's marks on chats."""
        return read_marks(self.settings.library)

    @cached_property
    def live(self) -> dict[str, LiveSession]:
        """The sessions that a client has open now."""
        return live_sessions(self.homes)

    @cached_property
    def scope(self) -> Scope:
        """The homes and sessions that this library shows."""
        live = LiveSessions(self.homes, self.live, self.growing)
        return scope_of(self.store, self.homes, self.machine, self.marks, live, self._only_chats)

    @cached_property
    def reader(self) -> StoreReader:
        """The reader of the index, within the scope."""
        return self.store.within(self.scope)

    def source(self, name: str, size: int = 0) -> Source | None:
        """Return a file by its id: as it is in a home, or its kept copy.

        `size` is the number of bytes that the index has read. If the file is shorter, the archive may have grown.
        """
        file = self._sources.find(name)
        is_short = (file is None or file.size < size) and SourceKey.parse(name).path.endswith(".jsonl")
        if is_short and self._catalogue != catalogue_stamp(self.settings):
            for cached in ("archive", "_sources"):
                self.__dict__.pop(cached, None)
            file = self._sources.find(name)
        return file

    def beside(self, source: Source) -> list[Source]:
        """Return the sidecars of a transcript."""
        return self._sources.beside(source)

    def _sources_of(self, chat: StoredChat) -> dict[str, Source]:
        """Return the files of a chat, and the kept versions of those that shrank since they were indexed."""
        sources: dict[str, Source] = {}
        for file in self.reader.files_of(chat.key):
            if source := self.source(file.source, file.size):
                sources[file.source] = source
                if not source.is_kept and source.size < file.size:
                    sources |= {kept.id: kept for kept in self._sources.earlier(source)}
        return sources

    def texts(self) -> Texts:
        """Return a reader of the texts of passages from the open homes and the archive."""
        from backscroll.library.indexing.texts import Texts

        return Texts(self.source)

    @cached_property
    def _sources(self) -> Sources:
        from backscroll.library.indexing.sources import Sources

        return Sources(self.homes, self.archive)


def _lacks_some(source: Source, size: int) -> bool:
    """Whether less of a file was kept than the index has read."""
    return source.is_kept and source.size < size


def _sort(name: str, orders: Sequence[str] = SORTS) -> str:
    if name not in orders:
        raise UsageError(f"there is no order {name}", f"the orders are {', '.join(orders)}")
    return name
