"""Many values as one parameter: columns of rows to insert, written as an array of PostgreSQL.

Each array is made here as one text: psycopg adapts values one by one, which takes longer than the insert.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from psycopg.abc import Buffer
from psycopg.adapt import Dumper
from psycopg.pq import Format

from backscroll.store.postgres.texts import to_stored

MAX_PLACES: Final = 256
"""The most places of a word in a tsvector."""


class Literal(str):
    """An array as text, with nothing in it that PostgreSQL does not accept."""

    __slots__ = ()


class LiteralDumper(Dumper):
    """Dumper of a Literal, unchanged."""

    def dump(self, obj: Literal) -> Buffer:
        """Return the literal as bytes."""
        return obj.encode()


class Vectors(bytes):
    """An array of tsvectors in PostgreSQL's binary format, which is read faster than text."""

    __slots__ = ()


class VectorsDumper(Dumper):
    """Dumper of Vectors, unchanged."""

    format = Format.BINARY

    def dump(self, obj: Vectors) -> Buffer:
        """Return the vectors as they are."""
        return obj


def array_of(kind: str, values: Sequence[Any]) -> Literal:
    """Return the values of a column of this type as an array."""
    if kind == "text":
        return Literal(to_stored(f"{{{','.join(map(_text, values))}}}"))
    if kind == "bytea":
        values = [None if value is None else f'"\\\\x{value.hex()}"' for value in values]
    # Numbers and booleans are written as Python writes them.
    return Literal(f"{{{','.join('NULL' if value is None else str(value) for value in values)}}}")


def _text(value: str | None) -> str:
    if value is None:
        return "NULL"
    if "\\" in value:
        value = value.replace("\\", "\\\\")
    return f'"{value}"' if '"' not in value else '"' + value.replace('"', '\\"') + '"'


def vectors(made: Sequence[bytes]) -> Vectors:
    """Return vectors as one array."""
    head = struct.pack(">iiIii", 1, 0, TSVECTOR, len(made), 1)
    return Vectors(head + b"".join(part for vector in made for part in (len(vector).to_bytes(4, "big"), vector)))


def vector_of(places: Mapping[str, list[int]], facts: Iterable[str], build: int) -> bytes:
    """Return words with their places, and facts, as PostgreSQL receives a tsvector; each begins with the build."""
    here = f"{build}="
    parts: list[bytes] = []
    for word, numbers in places.items():
        parts.append((here + word).encode())
        if len(numbers) == 1:
            parts.append(ONE_PLACE[numbers[0]])
        else:
            some = numbers[:MAX_PLACES]
            parts.append(struct.pack(f">xH{len(some)}H", len(some), *some))
    without = [to_stored(f"{here}#{fact}").encode() + b"\0\0\0" for fact in facts]
    return struct.pack(">i", len(places) + len(without)) + b"".join(parts) + b"".join(without)


TSVECTOR: Final = 3614
"""The type number (oid) of tsvector in every PostgreSQL."""
ONE_PLACE: Final = [struct.pack(">xHH", 1, place) for place in range(1 << 14)]
"""The bytes after a word that has one place."""
