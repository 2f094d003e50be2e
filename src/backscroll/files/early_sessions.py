"""The sessions inside a file that holds several: the database `__store.db`, or a message log of the clients before it.

Such a file is to us what a folder is: each session in it has a path below the file's own, is found and read by itself,
and is a line of its own in the index. The lines of a session have no place in the file, so each gets a number in the
order of its rows: `start` is that number times LINE, and a line is found again by it.
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
"""How far apart the starts of two lines are: more than any line is long."""
ROWS_AT_ONCE: Final = 100


class EarlySession(NamedTuple):
    """A session inside such a file, as it was when we looked."""

    name: str
    """Its id, in the form that a file name has."""
    size: int
    """The bytes of its messages."""
    modified_ns: int
    mark: int
    """Becomes another when a row is added, removed or changed."""
    numbers: tuple[int, ...] = ()
    """Its lines."""


class Contents:
    """What is inside such a file. Opened anew for each reading, so that it holds no lock in between."""

    def __init__(self) -> None:
        self.sessions: dict[str, EarlySession] = {}
        self.damage: str | None = None
        """Why some of it could not be listed."""

    def reading(self) -> AbstractContextManager[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        """A function that gives the lines with these numbers, while the file is open."""
        raise NotImplementedError


class ListedRow(NamedTuple):
    """A row as it is listed: not what it says, only how long that is, and a checksum of all of it."""

    number: int
    key: tuple[Value, ...]
    size: int
    checksum: int


class Gathered:
    """What is known of a session while its rows are listed."""

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
    """The name of a session's file: its id, or one made of it where it could not be a name."""
    return session.lower() if is_session_id(session) else str(uuid.uuid5(uuid.NAMESPACE_OID, f"backscroll {session}"))


class ContentsCache:
    """The contents that were listed last: a search opens the same file many times."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[object, Contents] = OrderedDict()

    def get(self, key: object, make: Callable[[], Contents]) -> Contents:
        """What is known under this key, else what `make` finds."""
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
        """Forget them."""
        with self._lock:
            self._held.clear()


CACHE: Final = ContentsCache()
CACHE_SIZE: Final = 4
PACK: Final = msgspec.msgpack.Encoder().encode
