"""Texts of records that were just read into rows, until their words are indexed: they need not be read again."""

from typing import Final

from backscroll.files.reading import LONGEST_LINE

MAX_BYTES: Final = 24 * 1024 * 1024
"""Largest size of the held texts in memory."""


class RecentTexts:
    """A cache of the texts of passages, by position, of limited size."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        """Create a cache; with 0 bytes it holds nothing, for rows whose words are not indexed soon."""
        self._most_bytes = most_bytes
        self._texts: dict[tuple[str, int, int, int], str] = {}
        self._size = 0

    def is_open(self, length: int) -> bool:
        """Whether there is room for the texts of a record of this length."""
        # The records of a line that is read in pieces all have the line's position, which cannot identify them.
        return length <= LONGEST_LINE and self._size < self._most_bytes

    def add(self, source: str, start: int, length: int, number: int, text: str) -> None:
        """Store the text of a passage: of the record at this position, the block with this number."""
        self._texts[source, start, length, number] = text
        self._size += text.__sizeof__()

    def find(self, source: str, start: int, length: int, number: int) -> str | None:
        """Return the text at a position, if it is cached."""
        return self._texts.get((source, start, length, number))

    def clear(self) -> None:
        """Release all texts."""
        self._texts.clear()
        self._size = 0
