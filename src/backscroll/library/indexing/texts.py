"""Read the text of a passage from the live file or else the archive. No text is stored twice."""

import re
from collections import OrderedDict
from collections.abc import Callable
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

MAX_OPEN_FILES: Final = 32

Read = Callable[[int, int], bytes]


class Texts:
    """Reads passages. Keeps its files open, so use it for one answer and close it."""

    def __init__(self, find: Callable[[str], Source | None], recent: RecentTexts | None = None) -> None:
        """`find` returns the source of a file that may be read; `recent` texts are taken from there instead."""
        self._find = find
        self._recent = recent
        self._open: OrderedDict[str, AnyReading] = OrderedDict()
        self._last: tuple[str, int, Record | None] = ("", -1, None)
        self._passages: tuple[Record, dict[int, Passage]] | None = None
        self.failed: dict[str, str] = {}
        """Sources that the system failed to read, and why. They may be readable the next time."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def text(self, source: str, start: int, length: int, number: int) -> str:
        """What a passage of a source says; empty where it cannot be read any more."""
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
        """The passage itself."""
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
        """The record at this position; None if it cannot be read."""
        if self._last[:2] == (source, start):
            return self._last[2]
        found: Record | Problem | None
        if length > LONGEST_LINE:
            line = Line(start, start + length, None)
            try:
                found = next(iter(decode_long_line(pieces_of(self._reader(source), line))), None)
            except (OSError, BackscrollError) as error:
                self._fail(source, error)
                found = None
        else:
            found = decode_line(self._bytes(source, start, length))
        record = found if isinstance(found, Record) else None
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
        found = self._find(source)
        if found is None:
            self.failed[source] = "it was not found"
            return lambda _start, _end: b""
        opened = self._open[source] = found.open()
        if len(self._open) > MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].__exit__(None, None, None)
        return opened.read


def _unescape(found: "re.Match[str]") -> str:
    """What an escape in JSON stands for."""
    letter = found[0][1]
    if letter == "u":
        return chr(int(found[0][2:], 16))
    return {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}.get(letter, letter)


# A piece of a JSON file is not valid JSON, but its strings are readable.
ESCAPES: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[nrtbf\"\\/])")
