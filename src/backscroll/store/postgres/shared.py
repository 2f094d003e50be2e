"""Files that others share with a reader: files in the indexes of many people, read as if they were one index.

A query costs as many statements as one on a single index, however many people share. Words are as frequent as they are
in the shared files; of the rest, only the average length of a passage counts for the order.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import cached_property
from typing import Final

from backscroll.errors import UsageError
from backscroll.query.tree import Query
from backscroll.store.batches import readable
from backscroll.store.postgres.connection import ALL, PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.reader import PgReader
from backscroll.store.postgres.reports import PgReports
from backscroll.store.postgres.shared_rows import (
    SharedFile,
    SharedRights,
    SharedRows,
    parts_of,
    shared_setting,
)
from backscroll.store.postgres.sql_query import SHIFT
from backscroll.store.postgres.store import PgStore
from backscroll.store.postgres.words import PgWords
from backscroll.store.reader import PendingCounts, Scope, StatementResult
from backscroll.store.report_rows import FollowingStep, TurnPassage
from backscroll.store.search.engine import WordEngine
from backscroll.store.search.words import STAGES, quoted
from backscroll.store.sql.statements import select

NO_BUILD: Final = 0


class SharedStore(PgStore):
    """The chats that some people share with a reader, by the numbers of these people. Read-only."""

    def __init__(self, address: str, shared: Mapping[int, Set[str]]) -> None:
        super().__init__(address, NO_BUILD)
        self._shared = shared
        self._rights = SharedRights(())

    @property
    def exists(self) -> bool:
        """True: the store always exists, if perhaps empty."""
        return True

    def _open(self) -> PgConnection:
        if self._connection.build is None:
            self._connection.refuse_unsafe_roles()
            self._connection.build = NO_BUILD
            self._rights = SharedRights(self._find_files())
        return self._connection

    def _take_lock(self) -> None:
        raise NotImplementedError

    def _find_files(self) -> list[SharedFile]:
        """Return the files of the chats. Someone whose index is being built shares nothing yet."""
        with translate_errors():
            builds = self._connection.as_owner().execute(BUILDS, (list(self._shared),)).fetchall()
            chats = [(build, name) for build, number in builds for name in self._shared[number]]
            everything = shared_setting([build for build, _ in builds])
            rows = self._connection.as_shared_reader(everything, ALL).execute(
                FILES, {"builds": [build for build, _ in chats], "names": [name for _, name in chats]}
            )
            return [SharedFile(*row) for row in rows]

    def renew(self) -> None:
        """Read the shares again on next use."""
        self._connection.build = None

    def clone(self) -> "SharedStore":
        """Return another instance of this store, for another thread."""
        return SharedStore(self.address, self._shared)

    def within(self, scope: Scope) -> "SharedReader":
        """Return a reader of the shared files, whatever homes the scope has."""
        return SharedReader(self._open(), scope, self._rights)


class SharedReader(PgReader):
    """Answers the queries of one reader about what others share."""

    def __init__(self, connection: PgConnection, scope: Scope, rights: SharedRights) -> None:
        super().__init__(connection, scope)
        self._shared = SharedRows(connection, scope, rights)

    @property
    def rows(self) -> SharedRows:  # type: ignore[override] # rows of another kind, queried in the same way
        """The rows of shared files."""
        return self._shared

    @contextmanager
    def _words(self) -> Iterator[WordEngine]:
        with self._shared.transaction():
            yield SharedWords(self._shared, None)

    def pending(self) -> PendingCounts:
        """Count the passages that are not searchable yet."""
        counts = dict(select(self._shared, PENDING))
        roles = [role for stage in STAGES for role in stage if role in counts]
        return PendingCounts(sum(counts.values()), tuple(roles))

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> PgReports:
        """Not available: reports are about one person's library."""
        raise NotImplementedError

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Not available: SQL is about one's own library."""
        del statement, limit, seconds
        raise UsageError("what others share cannot be asked with SQL", "search it, or read a chat")

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """Return the prompt and the last answer of the turns that contain these passages."""
        by_build: dict[int, list[int]] = {}
        for block in blocks:
            build, own = parts_of(block)
            by_build.setdefault(build, []).append(own)
        passages = []
        for build, own_blocks in by_build.items():
            with self._of_build(build) as reader:
                passages += [
                    passage._replace(block=(build << SHIFT) + passage.block)
                    for passage in reader.turn_passages(own_blocks)
                ]
        return passages

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """Return the call of a result, and the steps after it."""
        build, own = parts_of(block)
        with self._of_build(build) as reader:
            return reader.following_steps(own, ahead, limit)

    @contextmanager
    def _of_build(self, build: int) -> Iterator[PgReader]:
        """Open a reader of one build: queries that go from record to record are answered there."""
        rows = select(self._shared, "select f.source from files f where f.build = ?", (build,))
        self._connection.build = build
        try:
            yield PgReader(
                self._connection, Scope(frozenset(), sources=frozenset(readable(source) for (source,) in rows))
            )
        finally:
            self._connection.build = NO_BUILD


class SharedWords(PgWords):
    """The words of shared files."""

    @cached_property
    def _build(self) -> tuple[int, int, bool]:
        ((passages, has_parts),) = select(self._rows, COUNTS)
        return 1 << 62, passages, has_parts


BUILDS: Final = "select id, org from builds where org = any(%s) and is_current"
FILES: Final = """
with asked as (select * from unnest(%(builds)s::int[], %(names)s::text[]) as a(build, name)),
named as (
  select c.build, c.id, c.overview, a.name from asked a
    join chats c on c.build = a.build and c.name = a.name and not c.silent
  union all
  select c.build, c.id, c.overview, a.name from asked a
    join files s on s.build = a.build and s.session = a.name
    join chats c on c.build = s.build and c.id = s.chat and not c.silent)
select distinct f.build, f.id, f.chat from named n join files f on f.build = n.build and f.chat = n.id
where n.name = n.overview::json ->> 'id'
  or n.name in (select json_array_elements_text(n.overview::json -> 'sessions'))
"""
"""The files of chats with these ids, or with sessions of these ids, as `ChatRows.named` finds them."""
COUNTS: Final = """
select cast(here.passages as bigint), b.has_parts
from (select coalesce(sum(f.passages), 0) as passages from files f) here, (
  select coalesce(bool_or(has_parts), false) as has_parts from builds where id = any(shared_builds())) b
"""
STAGED: Final = ", ".join(f"({number}, array[{quoted(stage)}])" for number, stage in enumerate(STAGES))
PENDING: Final = f"""
with waiting as materialized (
  select build, roles, coalesce((select cast(m.value as bigint) from backscroll.marks m
    where m.build = b.build and m.name = 'stage ' || s.stage), 0) as mark
  from unnest(shared_builds()) as b(build), (values {STAGED}) as s(stage, roles))
select b.role, count(*) from waiting v cross join lateral (
  select role from blocks where build = v.build and raw_id > v.mark offset 0) b
where b.role = any(v.roles) group by b.role
"""  # noqa: S608 - no values in it
