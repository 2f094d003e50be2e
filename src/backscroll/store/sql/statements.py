"""The interface of statements, for any engine, with their parameters and rows.

A statement is written in SQL that SQLite and PostgreSQL both understand. Its parameters are `?`, or are named `:name`.
A list is bound as one value (`array`) and read by `in (select value from json_each(?))`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final, Protocol, TypeVar, get_type_hints

import msgspec

from backscroll.store.batches import storable
from backscroll.store.reader import Scope

Row = TypeVar("Row", bound=tuple[Any, ...])
AT_ONCE: Final = 10_000
"""The number of keys looked up in one statement."""


class StatementRows(Protocol):
    """The rows that a statement returns."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...


class RowReader(Protocol):
    """Runs statements: a connection, or the part of it that a scope allows."""

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """Run a statement, and return its rows."""
        ...


class ScopedRows(RowReader, Protocol):
    """The rows within a scope."""

    @property
    def scope(self) -> Scope:
        """The scope of the reader."""
        ...

    @property
    def is_everything(self) -> bool:
        """Whether nothing is hidden from the reader."""
        ...

    def transaction(self) -> AbstractContextManager[object]:
        """Let all statements in it read the same state."""
        ...


class RowWriter(RowReader, Protocol):
    """Runs statements that write, inside an open transaction."""

    def executemany(self, statement: str, rows: Iterable[Any], /) -> object:
        """Run a statement once for each row."""
        ...


def select(rows: RowReader, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """Return all rows of a statement."""
    return rows.execute(statement, values).fetchall()


def typed(kind: type[Row], rows: list[Any]) -> list[Row]:
    """Return rows of the engine as named tuples; SQLite has no booleans, so they are made of its numbers."""
    hints = get_type_hints(kind)
    flags = [at for at, name in enumerate(kind._fields) if hints[name] is bool]  # type: ignore[attr-defined]
    if flags and rows:
        columns = list(zip(*rows, strict=True))
        for at in flags:
            columns[at] = tuple(map(bool, columns[at]))
        rows = list(zip(*columns, strict=True))
    return list(map(partial(tuple.__new__, kind), rows))


def array(values: Iterable[Any]) -> str:
    """Return values as one parameter, for `json_each`."""
    listed = list(values)
    try:
        return msgspec.json.encode(listed).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode([plainly(value) for value in listed]).decode()


def parts(keys: Iterable[Any]) -> Iterator[str]:
    """Yield the keys as arrays of limited length."""
    ordered = list(keys)
    for at in range(0, len(ordered), AT_ONCE):
        yield array(ordered[at : at + AT_ONCE])


def plainly(value: Any) -> Any:  # noqa: ANN401
    """Return the value with every text in it in a form that the engine accepts."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [plainly(part) for part in value]
    if isinstance(value, dict):
        return {plainly(name): plainly(part) for name, part in value.items()}
    return value
