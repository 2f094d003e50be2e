"""Answers questions to PostgreSQL, within a scope."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from backscroll.query.tree import Query
from backscroll.store.postgres.connection import PgConnection
from backscroll.store.postgres.reports import PgReports
from backscroll.store.postgres.user_sql import run_statement
from backscroll.store.postgres.visible import PgRows
from backscroll.store.postgres.words import PgWords
from backscroll.store.reader import Facets, Hit, PagePosition, PendingCounts, Scope, SearchPage, StoredChat, Table
from backscroll.store.search.facets import count_facets
from backscroll.store.search.search import Search
from backscroll.store.search.spelling import corrections
from backscroll.store.search.words import STAGES, quoted, words_of
from backscroll.store.sql.chats import ChatRows
from backscroll.store.sql.pieces import ChatPieces
from backscroll.store.sql.statements import array, select

MAX_CORRECTIONS: Final = 5
"""For how many words of a text similar ones are looked for."""


class PgReader(ChatPieces):
    """The questions of one asker."""

    def __init__(self, connection: PgConnection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope
        self._rows = PgRows(connection, scope)

    @property
    def rows(self) -> PgRows:
        """The rows that the asker may see."""
        return self._rows

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Every question in it is answered from the same state of the store."""
        with self._rows.transaction():
            yield

    def pending(self) -> PendingCounts:
        """What is not searchable yet."""
        total = 0
        roles: list[str] = []
        with self.snapshot():
            for stage, mark in zip(STAGES, marks_of(self._rows), strict=True):
                found = select(
                    self._rows,
                    f"select role, count(*) from blocks where id > ? and role in ({quoted(stage)}) group by role",  # noqa: S608
                    (mark,),
                )
                total += sum(count for _, count in found)
                roles += [role for role in stage if any(role == name for name, _ in found)]
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
        """The chats that match a query, with their best passages: after `offset` chats, or after a position."""
        with self.snapshot():
            return Search(self._rows, PgWords(self._rows)).run(
                query, sort=sort, limit=limit, offset=offset, hits=hits, after=after, project=project
            )

    def facets(self, query: Query, since: Mapping[str, int]) -> Facets:
        """What the matches of a query have in common."""
        with self.snapshot():
            return count_facets(self._rows, PgWords(self._rows), query, since)

    def chats(self, query: Query | None, *, sort: str, limit: int | None, offset: int) -> list[StoredChat]:
        """The chats that match the fields of a query and have its words in their titles."""
        return ChatRows(self._rows).chats(query, sort=sort, limit=limit, offset=offset)

    def count_chats(self, query: Query | None) -> int:
        """How many chats `chats` would give without a limit."""
        return ChatRows(self._rows).count(query)

    def passages(self, query: Query, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may match a query, one by one; the caller checks regular expressions."""
        yield from Search(self._rows, PgWords(self._rows)).passages(query, oldest_first=oldest_first)

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """The chats with these ids."""
        return ChatRows(self._rows).of(chats)

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> PgReports:
        """The data for reports, for the chats that match a query and a period in microseconds."""
        files = ChatRows(self._rows).files(query.root) if query and not query.is_empty else None
        return PgReports(self._rows, array(files) if files is not None else None, since, until)

    def similar(self, word: str) -> list[str]:
        """Words of visible passages that are similar to one which is in none of them, the most frequent first."""
        with self.snapshot():
            engine = PgWords(self._rows)
            return [found for one in words_of(word)[:MAX_CORRECTIONS] for found in corrections(engine, one)]

    def find(self, name: str) -> list[StoredChat]:
        """Chats whose id (or a session, message or agent id in them) starts with `name`."""
        return ChatRows(self._rows).find(name)

    def homes(self) -> set[tuple[str, str]]:
        """The visible homes that the store has files of, each with its machine."""
        return {(machine, home) for machine, home in select(self._rows, "select distinct machine, home from files")}

    def sql(self, statement: str, limit: int, seconds: float) -> Table:
        """Run a read-only statement about what the scope lets see."""
        return run_statement(self._connection, self._scope, statement, limit, seconds)


def marks_of(rows: PgRows) -> list[int]:
    """The last passage of each stage that is searchable."""
    noted = dict(select(rows, "select name, value from marks"))
    return [int(noted.get(f"stage {number}", 0)) for number in range(len(STAGES))]
