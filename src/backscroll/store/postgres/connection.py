"""A connection to PostgreSQL, with the build of the index that it is about and the role that it has.

A connection writes as the owner of the tables. Before a reader's query it takes the reader's role, with the rights of
the scope in its settings; only the owner can set them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, TypeVar
from weakref import WeakSet

import msgspec
import psycopg
from psycopg import sql
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import TransactionStatus

from backscroll.errors import StorageError
from backscroll.store.postgres.arrays import Literal, LiteralDumper, Vectors, VectorsDumper
from backscroll.store.postgres.dialect import translate
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.pool import NOTHING_SHARED, POOLS, Pool, new_pool, options_of
from backscroll.store.postgres.roles import READER, SHARED_READER, refuse_unsafe_roles
from backscroll.store.postgres.texts import from_stored, to_stored
from backscroll.store.reader import Scope
from backscroll.store.sql.statements import StatementRows

Result = TypeVar("Result")
SCHEMA: Final = "backscroll"
TEXTS: Final = frozenset(psycopg.adapters.types[name].oid for name in ("text", "varchar", "name"))
"""The type numbers (oids) of texts."""
ROWS_AT_ONCE: Final = 1000
ALL: Final = "all"
SETTINGS: Final = sql.SQL(
    "reset role; set backscroll.build = {build}; set backscroll.homes = {homes}; set backscroll.sources = {sources};"
    " set backscroll.shared = {shared}; {role}"
)
OPTIONS: Final = f"-c search_path={SCHEMA},public -c jit=off -c synchronous_commit=off"
"""An index can be rebuilt, so a commit does not wait for the disk. Code that relies on one commits something that does
wait: earlier commits come before it in PostgreSQL's log.
"""

CHECKED: Final[WeakSet[psycopg.Connection[tuple[Any, ...]]]] = WeakSet()
"""Connections whose roles cannot bypass row-level security."""


class PgConnection:
    """Runs the statements of one thread. Connects when it is first used."""

    def __init__(self, address: str, find_build: Callable[[], object] = bool) -> None:
        """Call `find_build` before a query if no build is set: a store may be closed and opened again."""
        self.address = address
        self._find_build = find_build
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._settings: tuple[object, ...] | None = None
        self._is_inside = False
        """Whether a transaction is open."""
        self.build: int | None = None
        self.is_locked = False
        """Whether the connection holds a lock, which would be lost with it."""

    @property
    def is_checked(self) -> bool:
        """Whether the roles of this connection were checked."""
        return self._connection in CHECKED

    def refuse_unsafe_roles(self) -> None:
        """Raise NoPermission if row-level security would be void. Each connection is checked once."""
        if not self.is_checked:
            with translate_errors():
                refuse_unsafe_roles(self.raw)
            CHECKED.add(self.raw)

    @property
    def raw(self) -> psycopg.Connection[tuple[Any, ...]]:
        """The psycopg connection, in its last role."""
        if self._connection is None or self._connection.closed:
            if self.is_locked:
                raise StorageError(
                    "the connection to the database was lost while writing", "close the index, and start again"
                )
            self._give_back()
            with translate_errors():
                self._connection = POOLS.take(self.address, _pool_of)
            self._settings, self._is_inside = (None, None), False  # the pool reset its settings
        return self._connection

    def close(self) -> None:
        """Close the connection; it reconnects on next use. One that holds no lock is kept for another store."""
        if self._connection is not None and self.is_locked:
            self._connection.close()
        self._give_back()
        self._settings, self._is_inside, self.is_locked = None, False, False

    def _give_back(self) -> None:
        if self._connection is not None:
            POOLS.give_back(self._connection)
        self._connection = None

    def as_owner(self) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection with the owner's role, to write."""
        connection = self.raw
        self._become(connection, (self.build, None), ALL, "[]", NOTHING_SHARED, role=None)
        return connection

    def as_reader(self, scope: Scope) -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection with the reader's role, limited to a scope."""
        if self.build is None:
            self._find_build()
        connection = self.raw
        homes = scope.homes and sorted([to_stored(machine), to_stored(home)] for machine, home in scope.homes)
        setting = ALL if scope.homes is None else msgspec.json.encode(homes or []).decode()
        sources = msgspec.json.encode(sorted(map(to_stored, scope.sources))).decode()
        self._become(connection, (self.build, setting, sources), setting, sources, NOTHING_SHARED, role=READER)
        return connection

    def as_shared_reader(self, shared: str, homes: str = "[]") -> psycopg.Connection[tuple[Any, ...]]:
        """Return the connection to read what others share, as in `SharedRights`; with `ALL` homes, all of its
        builds.
        """
        connection = self.raw
        self._become(connection, (self.build, shared, homes, SHARED_READER), homes, "[]", shared, role=SHARED_READER)
        return connection

    def _become(
        self,
        connection: psycopg.Connection[Any],
        wanted: tuple[object, ...],
        homes: str,
        sources: str,
        shared: str,
        role: str | None,
    ) -> None:
        if self._settings == wanted and not connection.closed:
            return
        self._settings = None
        with translate_errors():
            connection.execute(
                SETTINGS.format(
                    build=sql.Literal(str(self.build or 0)),
                    homes=sql.Literal(homes),
                    sources=sql.Literal(sources),
                    shared=sql.Literal(shared),
                    role=sql.SQL("set role {}").format(sql.Identifier(role)) if role else sql.SQL(""),
                ),
                prepare=False,
            )
        self._settings = wanted

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run all statements in it, or none, as a transaction that writes; inside another one, as a part of it.

        A statement whose rows are not read is not waited for: its error is raised by a later one, or at the end.
        """
        connection = self.as_owner()  # it may send several statements at once, which is not possible within
        with self._block("read write", nullcontext() if self._is_inside else connection.pipeline()):
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all statements in it read the same state."""
        with self._block("isolation level repeatable read read only", nullcontext()):
            yield

    @contextmanager
    def _block(self, kind: str, sending: AbstractContextManager[object]) -> Iterator[None]:
        connection = self.raw
        if self._is_inside:
            yield
            return
        self._is_inside = True
        try:
            with translate_errors(), sending:
                connection.execute(f"begin transaction {kind}")
                yield
                connection.execute("commit")
        except BaseException:
            if not connection.closed and connection.info.transaction_status != TransactionStatus.IDLE:
                connection.execute("rollback")
            self._settings = None  # settings made inside are undone
            raise
        finally:
            self._is_inside = False


class OwnerRows:
    """Runs shared statements as the owner of the tables, on one build."""

    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """Run a statement."""
        return run(self._connection.as_owner(), statement, values)

    def executemany(self, statement: str, rows: Iterable[Any], /) -> None:
        """Run a statement once for each row."""
        all_rows = list(rows)
        if all_rows:
            translated = translate(statement)
            values = [dict(zip(translated.names, row, strict=True)) for row in all_rows]
            with translate_errors():
                self._connection.as_owner().cursor().executemany(translated.text, values)


def run(
    connection: psycopg.Connection[Any],
    statement: str,
    values: Sequence[Any] | Mapping[str, Any],
    change: Callable[[str], str] = str,
    more: Mapping[str, Any] | None = None,
) -> psycopg.Cursor[Any]:
    """Run a shared statement; `change` is applied to its text, and `more` has the values that the change adds."""
    translated = translate(statement)
    named = dict(values) if isinstance(values, Mapping) else dict(zip(translated.names, values, strict=True))
    for name in translated.arrays:
        named[name] = [] if named[name] is None else msgspec.json.decode(named[name])
    with translate_errors():
        return connection.execute(change(translated.text), {**named, **(more or {})})


def connect(address: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Connect, with texts and numbers as the shared statements expect them."""
    connection = psycopg.connect(address, autocommit=True, **_options(address))
    _adapt(connection)
    return connection


def _pool_of(address: str) -> Pool:
    return new_pool(address, _adapt, **_options(address))


def _options(address: str) -> dict[str, Any]:
    options = options_of(address, OPTIONS)
    return {"cursor_factory": _TextCursor, "options": options, "application_name": "backscroll"}


def _adapt(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_dumper(Literal, LiteralDumper)
    connection.adapters.register_dumper(Vectors, VectorsDumper)
    connection.adapters.register_loader("numeric", _NumberLoader)


class _TextDumper(Dumper):
    """Dump texts as PostgreSQL accepts them: without the character 0 and without lone surrogates."""

    def dump(self, obj: str) -> Buffer:
        return to_stored(obj).encode()


class _TextCursor(psycopg.Cursor[Any]):
    """Return texts as they were before they were stored. Columns are converted as a whole: value by value, loading the
    rows of a report would take a sixth longer.
    """

    def fetchone(self) -> Any:  # noqa: ANN401
        row = super().fetchone()
        return None if row is None else self._readable([row])[0]

    def fetchmany(self, size: int = 0) -> list[Any]:
        return self._readable(super().fetchmany(size))

    def fetchall(self) -> list[Any]:
        return self._readable(super().fetchall())

    def __next__(self) -> Any:  # noqa: ANN401
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override] # many rows at once
        while rows := self.fetchmany(ROWS_AT_ONCE):
            yield from rows

    def _readable(self, rows: list[Any]) -> list[Any]:
        kinds = [self.pgresult.ftype(at) for at in range(self.pgresult.nfields)] if rows and self.pgresult else []
        texts = [at for at, kind in enumerate(kinds) if kind in TEXTS]
        columns = list(zip(*rows, strict=True)) if texts else []
        changed = [at for at in texts if not "".join(filter(None, columns[at])).isascii()]
        for at in changed:
            columns[at] = tuple(None if text is None else from_stored(text) for text in columns[at])
        return list(zip(*columns, strict=True)) if changed else rows


class _NumberLoader(Loader):
    """Load sums of integers as integers."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text else int(text)
