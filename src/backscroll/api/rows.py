"""Sequences that become dictionaries, data frames and tables in a notebook: what every answer of the API is."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Self, TypeVar, overload

from backscroll.errors import BackscrollError

if TYPE_CHECKING:
    # Optional extras, imported for their types.
    import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import pyarrow  # type: ignore[import-not-found,import-untyped,unused-ignore]

MAX_SHOWN_ROWS: Final = 20
"""How many rows a notebook shows."""


class Item:
    """One thing with named values."""

    __slots__ = ()

    COLUMNS: ClassVar[tuple[str, ...]] = ()
    """The attributes that `to_dict` gives, in this order."""
    SHOWN: ClassVar[tuple[str, ...]] = ()
    """Those of them that a notebook shows."""

    def to_dict(self) -> dict[str, Any]:
        """Its values by their names; times stay times."""
        return {name: _plain(getattr(self, name)) for name in self.COLUMNS}

    def _cell(self) -> Any:  # noqa: ANN401 - what stands for it in the row of another
        return self.to_dict()

    def _html(self, name: str) -> str:
        """One value as HTML. Nothing in it is trusted."""
        from backscroll.api.html import cell

        value = getattr(self, name)
        return value._html("id") if isinstance(value, Item) else cell(value)


Row = TypeVar("Row")
OneItem = TypeVar("OneItem", bound=Item)


class Rows(Sequence[Row], Generic[Row]):
    """A sequence with columns. It does not change; a slice of it is another one."""

    def __init__(self, rows: Iterable[Row], columns: Sequence[str]) -> None:
        self._rows = tuple(rows)
        self.columns = tuple(columns)
        """The names of the values in every row."""

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Row | Self:
        if isinstance(index, int):
            return self._rows[index]
        part = copy(self)
        part._rows = self._rows[index]
        return part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rows) and (self.columns, self._rows) == (other.columns, other._rows)

    def __hash__(self) -> int:
        return hash(self._rows)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"

    def _values(self, row: Row) -> tuple[Any, ...]:
        raise NotImplementedError

    def _shown(self) -> tuple[tuple[str, ...], list[list[str]]]:
        """Names and cells, as HTML, of the first rows."""
        raise NotImplementedError

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dictionary for each row."""
        return [dict(zip(self.columns, self._values(row), strict=True)) for row in self]

    def to_arrow(self) -> "pyarrow.Table":
        """An Arrow table; needs pyarrow."""
        arrow = _import("pyarrow", "arrow")
        columns = list(zip(*map(self._values, self), strict=True)) or [() for _ in self.columns]
        arrays = [_array(arrow, name, column) for name, column in zip(self.columns, columns, strict=True)]
        return arrow.Table.from_arrays(arrays, names=[_encodable(name) for name in self.columns])

    def to_pandas(self) -> "pandas.DataFrame":
        """A data frame; needs pandas."""
        pandas = _import("pandas", "pandas")
        return pandas.DataFrame([_encodable(self._values(row)) for row in self], columns=list(self.columns))

    def _repr_html_(self) -> str:
        from backscroll.api.html import table

        names, cells = self._shown()
        return table(names, cells, more=len(self) - len(cells))


class Items(Rows[OneItem]):
    """A sequence of things that know their own names."""

    def __init__(self, kind: type[OneItem], rows: Iterable[OneItem]) -> None:
        super().__init__(rows, kind.COLUMNS)
        self._kind = kind

    def __repr__(self) -> str:
        return f"<{self._kind.__name__} × {len(self)}>"

    def _values(self, row: OneItem) -> tuple[Any, ...]:
        return tuple(row.to_dict().values())

    def _shown(self) -> tuple[tuple[str, ...], list[list[str]]]:
        names = self._kind.SHOWN
        return names, [[row._html(name) for name in names] for row in self[:MAX_SHOWN_ROWS]]


class Table(Rows[tuple[Any, ...]]):
    """The answer to an SQL statement: each row is a tuple."""

    def __init__(self, columns: Sequence[str], rows: Iterable[tuple[Any, ...]], *, is_cut: bool) -> None:
        super().__init__(rows, columns)
        self.is_cut = is_cut
        """Whether there were more rows than the limit allowed."""

    def _values(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return row

    def _shown(self) -> tuple[tuple[str, ...], list[list[str]]]:
        from backscroll.api.html import cell

        return self.columns, [[cell(value) for value in row] for row in self[:MAX_SHOWN_ROWS]]


class StatsTable(Table):
    """A report: each row is a tuple."""

    def __init__(
        self, columns: Sequence[str], rows: Iterable[tuple[Any, ...]], *, is_cut: bool, notes: Iterable[str]
    ) -> None:
        super().__init__(columns, rows, is_cut=is_cut)
        self.notes = tuple(notes)
        """What was counted and what was left out."""


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Item):
        return value._cell()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _import(name: str, extra: str) -> Any:  # noqa: ANN401 - a module
    # Here, not above: it takes longer than everything else together.
    try:
        return import_module(name)
    except ImportError as error:
        raise BackscrollError(f"this needs {name}", f"pip install 'backscroll[{extra}]'") from error


def _array(arrow: Any, name: str, values: Sequence[Any]) -> Any:  # noqa: ANN401
    try:
        return arrow.array(_encodable(list(values)))
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError) as error:
        hint = "of a statement, make them one kind in it, as in cast(x as text); else see to_dicts()"
        raise BackscrollError(f"Arrow cannot hold the values of {name} together: {error}", hint) from error


def _encodable(value: Any) -> Any:  # noqa: ANN401
    """The same without lone surrogates, which transcripts may have and Arrow does not take."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value
