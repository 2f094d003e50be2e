"""The texts of what was just read into rows, until their words are indexed: they need not be read and decoded again."""

from typing import Final

from backscroll.files.reading import LONGEST_LINE

MAX_BYTES: Final = 24 * 1024 * 1024
"""Memory of the texts that are held."""


class RecentTexts:
    """A cache of the texts of passages, by position, of limited size."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        """With 0 bytes nothing is held, for rows whose words are not indexed soon."""
        self._most_bytes = most_bytes
        self._texts: dict[tuple[str, int, int, int], str] = {}
        self._size = 0

    def is_open(self, length: int) -> bool:
        """Whether there is room for the texts of a record of this length."""
        # The records of a line that is read in pieces all stand at its beginning: their place does not tell them apart.
        return length <= LONGEST_LINE and self._size < self._most_bytes

    def add(self, source: str, start: int, length: int, number: int, text: str) -> None:
        """Hold the text of a passage: of a record at this place, the block with this number."""
        self._texts[source, start, length, number] = text
        self._size += text.__sizeof__()

    def find(self, source: str, start: int, length: int, number: int) -> str | None:
        """The text at a position, if it is cached."""
        return self._texts.get((source, start, length, number))

    def clear(self) -> None:
        """Let go of all of them."""
        self._texts.clear()
        self._size = 0
