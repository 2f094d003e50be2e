"""A person's own library and what others share with them, asked together and answered as one.

What others share is opened for one question and closed again: it needs a connection to the database. Scores of the two
libraries are compared as they are.
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
    """Who shares it: it is opened in their library."""
    chat: str


class SharedLibraries:
    """Whose chats a reader may see besides their own, and how what these people share is opened."""

    def __init__(
        self, reader: str, teammates: frozenset[str], owners: frozenset[str], opened: Callable[[Set[str]], Library]
    ) -> None:
        self.reader, self.teammates, self.owners, self.opened = reader, teammates, owners, opened

    def wanted(self, query: Query) -> tuple[bool, Set[str]]:
        """Whether a query asks for the reader's own chats, and for those of which others.

        What stands in an OR or after a NOT is decided by the store, chat by chat.
        """
        asked = [
            str(part.value).lower() for part in query.root.parts if isinstance(part, Field) and part.name == "owner"
        ]
        owners = {self.reader, *self.owners}
        for one in asked:
            if one == OWN:
                owners &= {self.reader}
            elif one == TEAM:
                owners &= {self.reader, *self.teammates}
            elif one != EVERYONE:
                owners &= {one}
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
                return either_of([Field("owner", "=", one) for one in sorted(handles)]) if handles else part
        return part


class MergedLibrary(Library):
    """Answers lists and searches over several libraries; everything else is about the reader's own."""

    def __init__(self, settings: Settings, store: Store, shared: SharedLibraries) -> None:
        super().__init__(settings, [], store, keeps=False)
        self._shared = shared
        self.found_at: ChatOfOther | None = None
        """The chat that was asked for last, if it is not the reader's own."""

    def clone(self) -> MergedLibrary:
        """The same library opened once more, for another thread."""
        return MergedLibrary(self.settings, self.store.clone(), self._shared)

    def chats(
        self, query: str | Query = "", *, limit: int | None = None, offset: int = 0, sort: str = "newest"
    ) -> list[StoredChat]:
        """The chats of all of them that match, in one order."""
        asked = self._shared.with_names(self.parse(query))
        most = None if limit is None else limit + offset
        is_own, others = self._shared.wanted(asked)
        found = super().chats(asked, limit=most, sort=sort) if is_own else []
        for shared in self._opened(others):
            found += shared.chats(asked, limit=most, sort=sort)
        found.sort(key=lambda chat: chat.overview.id, reverse=sort in ("newest", "relevance"))
        found.sort(key=ORDERS[sort], reverse=sort not in ("oldest", "title"))
        return found[offset:] if limit is None else found[offset : offset + limit]

    def count_chats(self, query: str | Query = "") -> int:
        """How many chats `chats` would give without a limit."""
        asked = self._shared.with_names(self.parse(query))
        is_own, others = self._shared.wanted(asked)
        own = super().count_chats(asked) if is_own else 0
        return own + sum(shared.count_chats(asked) for shared in self._opened(others))

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
        """The best of both libraries, in one order. A cursor is for one library only: pages go by the offset."""
        asked = self._shared.with_names(self.parse(query))
        is_own, others = self._shared.wanted(asked)
        if not others or sort not in RESULT_ORDERS:
            return super().search(asked, limit=limit, offset=offset, sort=sort, hits=hits, width=width, cursor=cursor,
                                  project=project)  # fmt: skip
        most = limit + offset
        pages: list[tuple[Library, FoundPage]] = []
        if is_own:
            pages.append((self, _page(self, asked, sort, most, hits, project)))
        with self._shared.opened(others) as shared:
            pages.append((shared, _page(shared, asked, sort, most, hits)))
            return _merge(pages, limit, offset, sort, width)

    def facets(self, query: Query, since: Mapping[str, datetime]) -> Facets:
        """The sums of all of them."""
        query = self._shared.with_names(query)
        is_own, others = self._shared.wanted(query)
        found = [super().facets(query, since)] if is_own or not others else []
        found += [shared.facets(query, since) for shared in self._opened(others)]
        return Facets(
            sum(one.total for one in found),
            *(_sums([getattr(one, name) for one in found])
              for name in ("roles", "tools", "since", "projects", "models", "machines")),
        )  # fmt: skip

    def find(self, name: str) -> StoredChat:
        """A chat of the reader's own; of another, `found_at` says whose it is."""
        self.found_at = None
        try:
            return super().find(name)
        except NothingFound:
            for shared in self._opened(self._shared.owners):
                found = shared.reader.find(name.lower())
                is_one = len({chat.overview.id for chat in found}) == 1  # several people may share copies of it
                chat = found[0] if is_one else shared.find(name)
                self.found_at = ChatOfOther(owner_of(chat.machines[0]), chat.overview.id)
            raise

    def text(self, hit: Hit) -> str:
        """The full text of a passage, read where it is."""
        owner = owner_of(hit.machine)
        if owner not in self._shared.owners:
            return super().text(hit)
        with self._shared.opened({owner}) as shared:
            return shared.text(hit)

    def _opened(self, owners: Set[str]) -> Iterator[Library]:
        """What these owners share, as one library; none if nobody is asked for."""
        if owners:
            with self._shared.opened(owners) as shared:
                yield shared


class MergedResults(SearchResults):
    """Results of several libraries."""

    __slots__ = ()

    def cursor(self, shown: int | None = None) -> str | None:
        """None: a cursor is a place in one library. The next page is found by its offset."""
        del shown
        return None


def _page(library: Library, query: Query, sort: str, limit: int, hits: int, project: str = "") -> FoundPage:
    """The best chats of one library, without texts."""
    with library.texts() as texts:  # a regular expression needs them
        return find_page(library.reader, texts, query, sort=sort, limit=limit, offset=0, hits=hits, project=project)


def _merge(pages: list[tuple[Library, FoundPage]], limit: int, offset: int, sort: str, width: int) -> SearchResults:
    """The best of all pages. Only their texts are read: each owner has an archive of their own."""
    found = [(library, page, chat) for library, page in pages for chat in page.chats]
    found.sort(key=lambda one: RESULT_ORDERS[sort](one[2]), reverse=sort != "oldest")
    answers = [page.results for _, page in pages]
    first = answers[0]
    total = sum(answer.total_chats for answer in answers)
    with ExitStack() as stack:
        texts = {id(library): stack.enter_context(library.texts()) for library, _, _ in found[offset : offset + limit]}
        shown = [page.shown(texts[id(library)], chat, width) for library, page, chat in found[offset : offset + limit]]
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
    """What was searched for as well. A word is nowhere if it is in no library."""
    found = dict.fromkeys(one for answer in answers for one in answer.corrections)
    return tuple(one for one in found if one.also or all(one in answer.corrections for answer in answers))


def _sums(parts: list[Mapping[str, int]]) -> Mapping[str, int]:
    together: Counter[str] = Counter()
    for part in parts:
        together.update(part)
    return dict(together)


def _newest(chat: StoredChat) -> float:
    return _time(chat.overview.last_active, missing=-math.inf)


def _oldest(chat: StoredChat) -> float:
    return _time(chat.overview.started or chat.overview.last_active, missing=math.inf)


def _time(when: datetime | None, *, missing: float) -> float:
    """The time as a number. `missing` is what puts a chat without a time last."""
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
"""By what chats are sorted, as the store does."""
RESULT_ORDERS: Final[Mapping[str, Callable[[ChatHits], float]]] = {
    "relevance": lambda found: found.score,
    "newest": lambda found: max((hit.time or 0 for hit in found.hits), default=0),
    "oldest": lambda found: min((hit.time for hit in found.hits if hit.time is not None), default=math.inf),
}
