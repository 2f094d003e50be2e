"""A person's own library and the chats that others share with them, searched and listed as one.

Shared chats are opened for one query and closed again: they need a connection to the database. Scores of the libraries
are compared as they are.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound
from backscroll.files.source_key import owner_of
from backscroll.library import Facets, Hit, StoredChat
from backscroll.library.library import Library
from backscroll.library.searching.search import FoundPage, SearchResults, find_page
from backscroll.query.tree import All, Either, Field, Not, Part, Query, all_of, either_of

if TYPE_CHECKING:
    from backscroll.settings import Settings
    from backscroll.store.base import Store
    from backscroll.store.reader import ChatHits, Correction

OWN: Final = "me"
TEAM: Final = "team"
EVERYONE: Final = "org"


class ChatOfOther(NamedTuple):
    """A chat that is not the reader's own."""

    owner: str
    """The person who shares the chat: it is opened in their library."""
    chat: str


class SharedLibraries:
    """The owners whose chats a reader may see besides their own, and a function that opens these."""

    def __init__(
        self, reader: str, teammates: frozenset[str], owners: frozenset[str], opened: Callable[[Set[str]], Library]
    ) -> None:
        self.reader, self.teammates, self.owners, self.opened = reader, teammates, owners, opened

    def wanted(self, query: Query) -> tuple[bool, Set[str]]:
        """Return whether a query includes the reader's own chats, and the other owners that it includes.

        What stands in an OR or after a NOT is decided by the store, chat by chat.
        """
        named_owners = [
            str(part.value).lower() for part in query.root.parts if isinstance(part, Field) and part.name == "owner"
        ]
        owners = {self.reader, *self.owners}
        for named in named_owners:
            if named == OWN:
                owners &= {self.reader}
            elif named == TEAM:
                owners &= {self.reader, *self.teammates}
            elif named != EVERYONE:
                owners &= {named}
        return self.reader in owners, owners - {self.reader}

    def with_names(self, query: Query) -> Query:
        """The query with `me` and `team` as handles in an OR and after a NOT, because a store knows only handles."""
        parts = (part if isinstance(part, Field) else self._named(part) for part in query.root.parts)
        return replace(query, root=All(tuple(parts)))

    def _named(self, part: Part) -> Part:
        match part:
            case Not(inner):
                return Not(self._named(inner))
            case All(parts):
                return all_of([self._named(inner) for inner in parts])
            case Either(parts):
                return either_of([self._named(inner) for inner in parts])
            case Field("owner"):
                name = str(part.value).lower()
                handles = {OWN: {self.reader}, TEAM: {self.reader, *self.teammates}}.get(name)
                return either_of([Field("owner", "=", handle) for handle in sorted(handles)]) if handles else part
        return part


class MergedLibrary(Library):
    """A library that lists and searches several libraries; all other answers are about the reader's own."""

    def __init__(self, settings: Settings, store: Store, shared: SharedLibraries) -> None:
        super().__init__(settings, [], store, keeps=False)
        self._shared = shared
        self.found_at: ChatOfOther | None = None
        """The chat that `find` looked for last, if it is not the reader's own."""

    def clone(self) -> MergedLibrary:
        """Open the same library once more, for another thread."""
        return MergedLibrary(self.settings, self.store.clone(), self._shared)

    def chats(
        self, query: str | Query = "", *, limit: int | None = None, offset: int = 0, sort: str = "newest"
    ) -> list[StoredChat]:
        """List the matching chats of all libraries, in one order."""
        resolved = self._shared.with_names(self.parse(query))
        most = None if limit is None else limit + offset
        is_own, others = self._shared.wanted(resolved)
        matches = super().chats(resolved, limit=most, sort=sort) if is_own else []
        for shared in self._opened(others):
            matches += shared.chats(resolved, limit=most, sort=sort)
        matches.sort(key=lambda chat: chat.overview.id, reverse=sort in ("newest", "relevance"))
        matches.sort(key=ORDERS[sort], reverse=sort not in ("oldest", "title"))
        return matches[offset:] if limit is None else matches[offset : offset + limit]

    def count_chats(self, query: str | Query = "") -> int:
        """Count the chats that `chats` lists without a limit."""
        resolved = self._shared.with_names(self.parse(query))
        is_own, others = self._shared.wanted(resolved)
        own = super().count_chats(resolved) if is_own else 0
        return own + sum(shared.count_chats(resolved) for shared in self._opened(others))

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
        """Search all libraries, in one order. A cursor is for one library only: pages go by the offset."""
        resolved = self._shared.with_names(self.parse(query))
        is_own, others = self._shared.wanted(resolved)
        if not others or sort not in RESULT_ORDERS:
            return super().search(
                resolved, limit=limit, offset=offset, sort=sort, hits=hits, width=width, cursor=cursor, project=project
            )
        most = limit + offset
        pages: list[tuple[Library, FoundPage]] = []
        if is_own:
            pages.append((self, _page(self, resolved, sort, most, hits, project)))
        with self._shared.opened(others) as shared:
            pages.append((shared, _page(shared, resolved, sort, most, hits)))
            return _merge(pages, limit, offset, sort, width)

    def facets(self, query: Query, since: Mapping[str, datetime]) -> Facets:
        """Add up the facets of all libraries."""
        query = self._shared.with_names(query)
        is_own, others = self._shared.wanted(query)
        parts = [super().facets(query, since)] if is_own or not others else []
        parts += [shared.facets(query, since) for shared in self._opened(others)]
        return Facets(
            sum(part.total for part in parts),
            *(_sums([getattr(part, name) for part in parts])
              for name in ("roles", "tools", "since", "projects", "models", "machines")),
        )  # fmt: skip

    def find(self, name: str) -> StoredChat:
        """Find a chat of the reader's own; for one of another person, `found_at` names the owner."""
        self.found_at = None
        try:
            return super().find(name)
        except NothingFound:
            for shared in self._opened(self._shared.owners):
                matches = shared.reader.find(name.lower())
                is_one = len({chat.overview.id for chat in matches}) == 1  # several people may share copies of it
                chat = matches[0] if is_one else shared.find(name)
                self.found_at = ChatOfOther(owner_of(chat.machines[0]), chat.overview.id)
            raise

    def text(self, hit: Hit) -> str:
        """Read the full text of a passage, in the library that has it."""
        owner = owner_of(hit.machine)
        if owner not in self._shared.owners:
            return super().text(hit)
        with self._shared.opened({owner}) as shared:
            return shared.text(hit)

    def _opened(self, owners: Set[str]) -> Iterator[Library]:
        """Open the chats that these owners share, as one library; none without owners."""
        if owners:
            with self._shared.opened(owners) as shared:
                yield shared


class MergedResults(SearchResults):
    """Results of several libraries."""

    __slots__ = ()

    def cursor(self, shown: int | None = None) -> str | None:
        """Return None: a cursor is a place in one library. The next page goes by the offset."""
        del shown
        return None


def _page(library: Library, query: Query, sort: str, limit: int, hits: int, project: str = "") -> FoundPage:
    """The best chats of one library, without texts."""
    with library.texts() as texts:  # a regular expression needs them
        return find_page(library.reader, texts, query, sort=sort, limit=limit, offset=0, hits=hits, project=project)


def _merge(pages: list[tuple[Library, FoundPage]], limit: int, offset: int, sort: str, width: int) -> SearchResults:
    """Merge the best of all pages. Only their texts are read: each owner has an archive of their own."""
    matches = [(library, page, chat) for library, page in pages for chat in page.chats]
    matches.sort(key=lambda match: RESULT_ORDERS[sort](match[2]), reverse=sort != "oldest")
    answers = [page.results for _, page in pages]
    first = answers[0]
    total = sum(answer.total_chats for answer in answers)
    with ExitStack() as stack:
        texts = {
            id(library): stack.enter_context(library.texts()) for library, _, _ in matches[offset : offset + limit]
        }
        shown = [
            page.shown(texts[id(library)], chat, width) for library, page, chat in matches[offset : offset + limit]
        ]
    return MergedResults(*first._replace(
        chats=shown,
        total_chats=total,
        total=sum(answer.total for answer in answers),
        pending=sum(answer.pending for answer in answers),
        pending_roles=tuple(sorted({role for answer in answers for role in answer.pending_roles})),
        is_whole=all(answer.is_whole for answer in answers),
        left=max(0, total - offset - len(shown)),
        corrections=_corrections(answers),
    ))  # fmt: skip


def _corrections(answers: list[SearchResults]) -> tuple[Correction, ...]:
    """Merge the corrections. A word is missing only if it is in no library."""
    corrections = dict.fromkeys(each for answer in answers for each in answer.corrections)
    return tuple(each for each in corrections if each.also or all(each in answer.corrections for answer in answers))


def _sums(parts: list[Mapping[str, int]]) -> Mapping[str, int]:
    totals: Counter[str] = Counter()
    for part in parts:
        totals.update(part)
    return dict(totals)


def _newest(chat: StoredChat) -> float:
    return _time(chat.overview.last_active, missing=-math.inf)


def _oldest(chat: StoredChat) -> float:
    return _time(chat.overview.started or chat.overview.last_active, missing=math.inf)


def _time(when: datetime | None, *, missing: float) -> float:
    """Return a time as a number, or `missing`, which sorts a chat without a time last."""
    return when.timestamp() if when else missing


ORDERS: Final[Mapping[str, Callable[[StoredChat], float | str]]] = {
    "newest": _newest,
    "relevance": _newest,
    "oldest": _oldest,
    "title": lambda chat: chat.overview.title.lower(),
    "messages": lambda chat: chat.overview.messages,
    "cost": lambda chat: -1 if chat.cost is None else chat.cost,
    "active": lambda chat: chat.overview.active_seconds,
}
"""Sort keys of chats, the same as in the store."""
RESULT_ORDERS: Final[Mapping[str, Callable[[ChatHits], float]]] = {
    "relevance": lambda chat: chat.score,
    "newest": lambda chat: max((hit.time or 0 for hit in chat.hits), default=0),
    "oldest": lambda chat: min((hit.time for hit in chat.hits if hit.time is not None), default=math.inf),
}
