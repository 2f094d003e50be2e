"""How statements are run, whatever the engine, and what is bound to them and read from them.

A statement is written in what SQLite and PostgreSQL both understand. Its parameters are `?`, or are named `:name`. A
list is bound as one value (`array`) and read by `in (select value from json_each(?))`.
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
"""How many keys are looked up in one statement."""


class StatementRows(Protocol):
    """The rows that a statement gives."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchall(self) -> list[Any]:
        """All of them."""
        ...


class RowReader(Protocol):
    """Runs statements: a connection, or the part of it that a scope lets see."""

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = (), /) -> StatementRows:
        """The rows that a statement gives."""
        ...


class ScopedRows(RowReader, Protocol):
    """The rows that a scope lets see."""

    @property
    def scope(self) -> Scope:
        """What the asker may see."""
        ...

    @property
    def is_everything(self) -> bool:
        """Whether nothing is hidden."""
        ...

    def transaction(self) -> AbstractContextManager[object]:
        """All statements in it see the same state."""
        ...


class RowWriter(RowReader, Protocol):
    """Runs statements that write, inside an open transaction."""

    def executemany(self, statement: str, rows: Iterable[Any], /) -> object:
        """Run a statement once for each row."""
        ...


def select(rows: RowReader, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
    """All rows that a statement gives."""
    return rows.execute(statement, values).fetchall()


def typed(kind: type[Row], rows: list[Any]) -> list[Row]:
    """Rows of the engine as named tuples; SQLite has no truth values, so those are made of its numbers."""
    hints = get_type_hints(kind)
    flags = [at for at, name in enumerate(kind._fields) if hints[name] is bool]  # type: ignore[attr-defined]
    if flags and rows:
        columns = list(zip(*rows, strict=True))
        for at in flags:
            columns[at] = tuple(map(bool, columns[at]))
        rows = list(zip(*columns, strict=True))
    return list(map(partial(tuple.__new__, kind), rows))


def array(values: Iterable[Any]) -> str:
    """Values to be bound as one, for `json_each`."""
    listed = list(values)
    try:
        return msgspec.json.encode(listed).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode([plainly(value) for value in listed]).decode()


def parts(keys: Iterable[Any]) -> Iterator[str]:
    """The keys as arrays, none too long."""
    ordered = list(keys)
    for at in range(0, len(ordered), AT_ONCE):
        yield array(ordered[at : at + AT_ONCE])


def plainly(value: Any) -> Any:  # noqa: ANN401
    """The value with every text in it as the engine takes it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [plainly(part) for part in value]
    if isinstance(value, dict):
        return {plainly(name): plainly(part) for name, part in value.items()}
    return value
