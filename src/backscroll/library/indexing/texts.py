"""Read the text of a passage from the live file or else the archive. No text is stored twice."""

import re
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from backscroll.conversation.passages import Passage, passages_of
from backscroll.errors import BackscrollError, StorageError
from backscroll.files.reading import LONGEST_LINE, Line, pieces_of
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.recent_texts import RecentTexts
from backscroll.library.indexing.sources import AnyReading, Source
from backscroll.records.decode import Problem, decode_line
from backscroll.records.long_lines import decode_long_line
from backscroll.records.record import Record
from backscroll.records.tools import agent_row

MAX_OPEN_FILES: Final = 32
LOOKS: Final = 2
"""Number of attempts to open a file: a file deleted after the first is found in the archive by the second."""

Read = Callable[[int, int], bytes]


class Texts:
    """Reads passages. Keeps files open, so use it for one answer and close it."""

    def __init__(self, find: Callable[[str], Source | None], recent: RecentTexts | None = None) -> None:
        """Create a reader; `find` returns the source of a readable file, and `recent` texts are not read again."""
        self._find = find
        self._recent = recent
        self._open: OrderedDict[str, AnyReading] = OrderedDict()
        self._last: tuple[str, int, Record | None] = ("", -1, None)
        self._passages: tuple[Record, dict[int, Passage]] | None = None
        self.failed: dict[str, str] = {}
        """Sources that the system failed to read, with reasons. They may be readable the next time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def text(self, source: str, start: int, length: int, number: int) -> str:
        """Return the text of a passage; empty if it can no longer be read."""
        held = self._recent.find(source, start, length, number) if self._recent else None
        if held is not None:
            return held
        name = SourceKey.parse(source).path
        if not name.endswith(".jsonl"):
            text = self._bytes(source, start, length).decode("utf-8", "replace")
            return ESCAPES.sub(_unescape, text) if name.endswith(".json") else text
        passage = self.passage(source, start, length, number)
        return passage.text() if passage else ""

    def passage(self, source: str, start: int, length: int, number: int) -> Passage | None:
        """Return the passage at a position."""
        record = self.record(source, start, length)
        if record is None:
            return None
        # Passages of one record are read one after the other, and there may be thousands of them.
        if self._passages is None or self._passages[0] is not record:
            passages: dict[int, Passage] = {}
            for passage in passages_of(record):
                passages.setdefault(passage.number, passage)
            self._passages = (record, passages)
        return self._passages[1].get(number)

    def record(self, source: str, start: int, length: int) -> Record | None:
        """Return the record at this position, or the row of an agent that it repeats; None if it cannot be read."""
        if self._last[:2] == (source, start):
            return self._last[2]
        decoded: Record | Problem | None
        if length > LONGEST_LINE:
            line = Line(start, start + length, None)
            try:
                decoded = next(iter(decode_long_line(pieces_of(self._reader(source), line))), None)
            except (OSError, BackscrollError) as error:
                self._fail(source, error)
                decoded = None
        else:
            decoded = decode_line(self._bytes(source, start, length))
        record = (agent_row(decoded) or decoded) if isinstance(decoded, Record) else None
        self._last = (source, start, record)
        return record

    def close(self) -> None:
        """Close the open files."""
        for opened in self._open.values():
            opened.__exit__(None, None, None)
        self._open.clear()

    def _bytes(self, source: str, start: int, length: int) -> bytes:
        try:
            return self._reader(source)(start, start + length)
        except (OSError, BackscrollError) as error:
            self._fail(source, error)
            return b""

    def _fail(self, source: str, error: OSError | BackscrollError) -> None:
        if isinstance(error, (OSError, StorageError)) and not isinstance(error, FileNotFoundError):
            self.failed[source] = str(error)

    def _reader(self, source: str) -> Read:
        if source in self._open:
            self._open.move_to_end(source)
            return self._open[source].read
        opened = self._opened(source)
        if opened is None:
            self.failed[source] = "it was not found"
            return lambda _start, _end: b""
        self._open[source] = opened
        if len(self._open) > MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].__exit__(None, None, None)
        return opened.read

    def _opened(self, source: str) -> AnyReading | None:
        """Open a file; None if it does not exist. A file deleted between look and open is read from the archive."""
        for _ in range(LOOKS):
            file = self._find(source)
            if file is None:
                break
            with suppress(FileNotFoundError):
                return file.open()
        return None


def _unescape(found: "re.Match[str]") -> str:
    """Decode an escape in JSON. Two of them can be one character; half of such a pair is replaced."""
    letter = found[0][1]
    if letter == "u":
        units = bytes.fromhex(found[0].replace("\\u", ""))
        return units.decode("utf-16-be", "replace")
    return {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}.get(letter, letter)


# A piece of a JSON file is not valid JSON, but its strings are readable.
ESCAPES: Final = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[nrtbf\"\\/])"
)
