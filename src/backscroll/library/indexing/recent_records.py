"""The records that were just read into rows, until their words are indexed: they need not be read and decoded again."""

from collections import OrderedDict
from typing import Final

from backscroll.records.record import Record

MOST_BYTES: Final = 4 * 1024 * 1024
"""Size of the records that are held, as they stand in their files."""


class RecentRecords:
    """The latest records by source and offset, as many as the bytes allow. Only saves work: any may be missing."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._records: OrderedDict[tuple[str, int], tuple[int, Record]] = OrderedDict()
        self._size = 0
        self._is_off = False

    def expect(self, size: int) -> None:
        """Prepare for so many bytes. If they are too many, none are held: most would be gone before they are asked for.

        A first update would only lose time by holding them.
        """
        self._is_off = size > self._most_bytes
        if self._is_off:
            self.clear()

    def add(self, source: str, start: int, length: int, record: Record) -> None:
        """Hold a record, in the place of the one that stood there before."""
        if self._is_off:
            return
        self._drop((source, start))
        if length > self._most_bytes:
            return
        self._records[source, start] = (length, record)
        self._size += length
        while self._size > self._most_bytes:
            self._drop(next(iter(self._records)))

    def find(self, source: str, start: int, length: int) -> Record | None:
        """The record that stands there, if it is held."""
        found = self._records.get((source, start))
        return found[1] if found is not None and found[0] == length else None

    def clear(self) -> None:
        """Let go of all of them."""
        self._records.clear()
        self._size = 0

    def _drop(self, key: tuple[str, int]) -> None:
        length, _ = self._records.pop(key, (0, None))
        self._size -= length
