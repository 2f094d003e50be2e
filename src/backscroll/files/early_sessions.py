"""The sessions inside a file that holds several: the database `__store.db`, or a message log of the clients before it.

We treat such a file like a folder: each session in it has a path below the file's own, is found and read by itself, and
has its own line in the index. The lines of a session have no place in the file, so each gets a number in the order of
its rows: `start` is that number times LINE, and a line is found again by it.
"""

import threading
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Final, NamedTuple

import msgspec

from backscroll.files.early_rows import Value
from backscroll.files.layout import is_session_id

LINE: Final = 1 << 28
"""The distance between the starts of two lines: more than the length of any line."""
ROWS_AT_ONCE: Final = 100


class EarlySession(NamedTuple):
    """A session inside such a file, as it was when listed."""

    name: str
    """The id of the session, in the form of a file name."""
    size: int
    """The bytes of its messages."""
    modified_ns: int
    mark: int
    """A checksum that changes when a row is added, removed or changed."""
    numbers: tuple[int, ...] = ()
    """The numbers of its lines."""


class Contents:
    """The sessions inside such a file. It is opened anew for each reading, so that it holds no lock in between."""

    def __init__(self) -> None:
        self.sessions: dict[str, EarlySession] = {}
        self.damage: str | None = None
        """The reason why some of it could not be listed."""

    def reading(self) -> AbstractContextManager[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        """Open the file, with a function that yields the lines with these numbers while it is open."""
        raise NotImplementedError


class ListedRow(NamedTuple):
    """A row as it is listed: without its content, only the content's length, and a checksum of the row."""

    number: int
    key: tuple[Value, ...]
    size: int
    checksum: int


class Gathered:
    """The data of a session collected while its rows are listed."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.checksum = 0
        self.numbers: list[int] = []
        self.last = 0.0

    def add(self, number: int, moment: object) -> None:
        self.numbers.append(number)
        if isinstance(moment, (int, float)):
            self.last = max(self.last, moment / 1000 if moment > 100_000_000_000 else moment)

    def take(self, row: ListedRow) -> None:
        self.size += row.size
        self.checksum = zlib.crc32(row.checksum.to_bytes(4), self.checksum)

    def session(self, session: str) -> EarlySession:
        mark = zlib.crc32(PACK([self.numbers, self.size, self.checksum]))
        modified = int(min(max(self.last, 0), 1e10) * 1_000_000_000)
        return EarlySession(name_of(session), self.size, modified, mark, tuple(self.numbers))


def name_of(session: str) -> str:
    """Return the name of a session's file: its id, or one made of the id if that could not be a name."""
    return session.lower() if is_session_id(session) else str(uuid.uuid5(uuid.NAMESPACE_OID, f"backscroll {session}"))


class ContentsCache:
    """The contents that were listed last: a search opens the same file many times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[object, Contents] = OrderedDict()

    def get(self, key: object, make: Callable[[], Contents]) -> Contents:
        """Return the contents cached under this key, or else those that `make` returns."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        contents = make()
        with self._lock:
            self._held[key] = contents
            while len(self._held) > CACHE_SIZE:
                self._held.popitem(last=False)
        return contents

    def clear(self) -> None:
        """Empty the cache."""
        with self._lock:
            self._held.clear()


CACHE: Final = ContentsCache()
CACHE_SIZE: Final = 4
PACK: Final = msgspec.msgpack.Encoder().encode
