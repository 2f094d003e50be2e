"""Read a session inside a database or a log line by line, like any session file."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final, Self

from backscroll.files.early_sessions import LINE, ROWS_AT_ONCE, Contents, EarlySession
from backscroll.files.reading import LONGEST_LINE, Bookmark, Change, Line, pieces_of

DEVICE: Final = -1
"""A placeholder for the device in a bookmark: no file has it."""


class EarlyReading:
    """A pass over the lines of a session, which is read from its beginning whenever it changed."""

    def __init__(self, contents: Contents, session: EarlySession, bookmark: Bookmark | None = None) -> None:
        self.tail: Line | None = None
        self._session = session
        self._reached_end = False
        self._line = (-1, b"")
        self.change = Change.NEW if bookmark is None else Change.REWRITTEN
        if bookmark is not None and bookmark.offset and bookmark[1:6] == self._mark(0)[1:6]:
            self.change = Change.UNCHANGED
        self._open = ExitStack()
        self._lines = self._open.enter_context(contents.reading())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What was read stays valid."""
        self._open.close()

    def __iter__(self) -> Iterator[Line]:
        numbers = self._session.numbers if self.change is not Change.UNCHANGED else ()
        for at in range(0, len(numbers), ROWS_AT_ONCE):
            some = numbers[at : at + ROWS_AT_ONCE]
            for number, data in zip(some, self._lines(some), strict=True):
                start = number * LINE
                yield Line(start, start + len(data) + 1, data if len(data) <= LONGEST_LINE else None)
        self._reached_end = True

    def rest(self) -> Iterator[bytes]:
        """Yield all lines, as the session file that they form."""
        for line in self:
            yield (self.read(line.start, line.end - 1) if line.data is None else line.data) + b"\n"

    def take_tail(self) -> None:
        """Do nothing: there is no tail, since a row is written completely, or not at all."""

    def pieces(self, line: Line) -> Iterator[bytes]:
        """Yield the bytes of a line that is too long to return at once."""
        return pieces_of(self.read, line)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` to `end` of one line, with its newline."""
        number, at = divmod(start, LINE)
        if self._line[0] != number:
            self._line = number, b"".join(self._lines((number,))) + b"\n"
        return self._line[1][at : at + end - start]

    @property
    def bookmark(self) -> Bookmark:
        """The state of the session; complete once all of it was read."""
        return self._mark(1 if self._reached_end else 0)

    def _mark(self, offset: int) -> Bookmark:
        session = self._session
        return Bookmark(offset, DEVICE, session.mark, session.size, session.modified_ns, session.mark, 0, 0, 0)
