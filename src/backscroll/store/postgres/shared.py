"""What others share with an asker: files of the indexes of many people, to be read as if they were one index.

A question costs as many statements as one about a single index, however many people share. Words are as frequent as
they are in what is shared; of the rest, nothing but the average length of a passage counts for the order.
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
    """The chats that some people share with an asker, by the numbers of these people. It cannot be written."""

    def __init__(self, address: str, shared: Mapping[int, Set[str]]) -> None:
        super().__init__(address, NO_BUILD)
        self._shared = shared
        self._rights = SharedRights(())

    @property
    def exists(self) -> bool:
        """It is there, if perhaps with nothing in it."""
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
        """The files of the chats. Someone whose index is being made shares nothing yet."""
        with translate_errors():
            found = self._connection.as_owner().execute(BUILDS, (list(self._shared),)).fetchall()
            asked = [(build, name) for build, number in found for name in self._shared[number]]
            everything = shared_setting([build for build, _ in found])
            rows = self._connection.as_shared_reader(everything, ALL).execute(
                FILES, {"builds": [build for build, _ in asked], "names": [name for _, name in asked]}
            )
            return [SharedFile(*row) for row in rows]

    def renew(self) -> None:
        """Look again what is shared."""
        self._connection.build = None

    def clone(self) -> "SharedStore":
        """The same store opened once more, for another thread."""
        return SharedStore(self.address, self._shared)

    def within(self, scope: Scope) -> "SharedReader":
        """Answers questions about what is shared, whatever homes the scope has."""
        return SharedReader(self._open(), scope, self._rights)


class SharedReader(PgReader):
    """The questions of one asker about what others share."""

    def __init__(self, connection: PgConnection, scope: Scope, rights: SharedRights) -> None:
        super().__init__(connection, scope)
        self._shared = SharedRows(connection, scope, rights)

    @property
    def rows(self) -> SharedRows:  # type: ignore[override] # rows of another kind, asked in the same way
        """The rows of shared files."""
        return self._shared

    @contextmanager
    def _words(self) -> Iterator[WordEngine]:
        with self._shared.transaction():
            yield SharedWords(self._shared, None)

    def pending(self) -> PendingCounts:
        """What is not searchable yet."""
        found = dict(select(self._shared, PENDING))
        roles = [role for stage in STAGES for role in stage if role in found]
        return PendingCounts(sum(found.values()), tuple(roles))

    def reports(self, query: Query | None, *, since: int | None = None, until: int | None = None) -> PgReports:
        """Numbers are of one person's library."""
        raise NotImplementedError

    def sql(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Statements are about one's own library."""
        del statement, limit, seconds
        raise UsageError("what others share cannot be asked with SQL", "search it, or read a chat")

    def turn_passages(self, blocks: Iterable[int]) -> list[TurnPassage]:
        """The prompt and the last answer of the turns that contain these passages."""
        by_build: dict[int, list[int]] = {}
        for block in blocks:
            build, own = parts_of(block)
            by_build.setdefault(build, []).append(own)
        found = []
        for build, own_blocks in by_build.items():
            with self._of_build(build) as reader:
                found += [one._replace(block=(build << SHIFT) + one.block) for one in reader.turn_passages(own_blocks)]
        return found

    def following_steps(self, block: int, ahead: int, limit: int) -> list[FollowingStep]:
        """The call of a result, and what followed it."""
        build, own = parts_of(block)
        with self._of_build(build) as reader:
            return reader.following_steps(own, ahead, limit)

    @contextmanager
    def _of_build(self, build: int) -> Iterator[PgReader]:
        """The same in one of the builds: what goes from record to record is read there."""
        found = select(self._shared, "select f.source from files f where f.build = ?", (build,))
        self._connection.build = build
        try:
            yield PgReader(
                self._connection, Scope(frozenset(), sources=frozenset(readable(source) for (source,) in found))
            )
        finally:
            self._connection.build = NO_BUILD


class SharedWords(PgWords):
    """The words of what is shared."""

    @cached_property
    def _build(self) -> tuple[int, int, int, bool]:
        ((passages, words, has_parts),) = select(self._rows, COUNTS)
        return 1 << 62, passages, words, has_parts


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
select cast(here.passages as bigint), cast(here.passages * (b.words / greatest(1, b.passages)) as bigint), b.has_parts
from (select coalesce(sum(f.passages), 0) as passages from files f) here, (
  select coalesce(sum(words), 0) as words, coalesce(sum(passages), 0) as passages,
    coalesce(bool_or(has_parts), false) as has_parts
  from builds where id = any(shared_builds())) b
"""
"""How long a passage is on average is known for whole builds only."""
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
