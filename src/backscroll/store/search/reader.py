"""The queries that every store with SQL and words answers in the same way."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from backscroll.query.tree import Query
from backscroll.store.reader import Facets, Hit, PagePosition, PendingCounts, SearchPage, StoredChat
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.facets import count_facets
from backscroll.store.search.search import Search
from backscroll.store.search.spelling import corrections
from backscroll.store.search.words import STAGES, quoted, words_of
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.pieces import ChatPieces
from backscroll.store.sql.statements import select

MAX_CORRECTIONS: Final = 5
"""The number of words of a text for which similar ones are looked up."""


class SearchReader(ChatPieces):
    """The part of a reader that lists and searches chats. A store adds its rows, words, reports and SQL."""

    def _words(self) -> AbstractContextManager[WordEngine]:
        """Open the words of one moment; until it ends, rows are read from the same moment."""
        raise NotImplementedError

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Answer every query in it from the same state of the store."""
        with self._words():
            yield

    def pending(self) -> PendingCounts:
        """Count the passages that are not searchable yet."""
        total = 0
        roles: list[str] = []
        with self._words() as words:
            for stage, mark in zip(STAGES, words.marks, strict=True):
                counts = select(
                    self.rows,
                    f"select role, count(*) from blocks where id > ? and role in ({quoted(stage)}) group by role",  # noqa: S608
                    (mark,),
                )
                total += sum(count for _, count in counts)
                roles += [role for role in stage if any(role == name for name, _ in counts)]
        return PendingCounts(total, tuple(roles))

    def search(
        self,
        query: Query,
        *,
        sort: str,
        limit: int,
        offset: int,
        hits: int,
        after: PagePosition | None = None,
        project: str = "",
    ) -> SearchPage:
        """Return a page of chats that match a query, with their best passages, after `offset` chats or a position."""
        with self._words() as words:
            return Search(self.rows, words).run(
                query, sort=sort, limit=limit, offset=offset, hits=hits, after=after, project=project
            )

    def facets(self, query: Query, since: Mapping[str, int]) -> Facets:
        """Count facets over all matches of a query."""
        with self._words() as words:
            return count_facets(self.rows, words, query, since)

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """Return the chats that match the fields of a query and have its words in their titles."""
        return ChatRows(self.rows).chats(query, sort=sort, limit=limit, offset=offset)

    def count_chats(self, query: Query | None) -> int:
        """Return the number of chats that `chats` returns without a limit."""
        return ChatRows(self.rows).count(query)

    def passages(self, query: Query, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Yield every passage that may match a query; the caller checks regular expressions."""
        with self._words() as words:
            search = Search(self.rows, words)
        yield from search.passages(query, oldest_first=oldest_first)

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """Return the chats with these ids."""
        return ChatRows(self.rows).of(chats)

    def similar(self, word: str) -> list[str]:
        """Return words of visible passages that are similar to a word which is in none, the most frequent first."""
        with self._words() as words:
            return [correction for part in words_of(word)[:MAX_CORRECTIONS] for correction in corrections(words, part)]

    def find(self, name: str) -> list[StoredChat]:
        """Return chats whose id (or a session, message or agent id in them) starts with `name`."""
        return ChatRows(self.rows).find(name)

    def named(self, names: Iterable[str]) -> list[StoredChat]:
        """Return the chats with these ids, or with sessions of these ids."""
        return ChatRows(self.rows).named(list(names))
