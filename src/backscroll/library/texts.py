"""The text of a passage, read from where it stands: the live file, else the archive. No text is stored twice."""

import os
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from backscroll.archive import Archive, KeptFile
from backscroll.conversation import Passage, passages_of
from backscroll.errors import BackscrollError
from backscroll.files import LONGEST_LINE, Line, open_regular, pieces_of
from backscroll.records import Record, decode_line, decode_long_line

MOST_OPEN: Final = 32

Read = Callable[[int, int], bytes]


class Texts:
    """Reads passages. Holds the files it has open, so it is used for one answer and closed."""

    def __init__(self, archive: Callable[[], Archive | None]) -> None:
        self._archive = archive
        self._kept: dict[Path, KeptFile] | None = None
        self._open: OrderedDict[str, int] = OrderedDict()
        self._last: tuple[str, int, Record | None] = ("", -1, None)

    def text(self, path: str, start: int, length: int, number: int) -> str:
        """What a passage says; empty where it cannot be read any more."""
        if not path.endswith(".jsonl"):
            text = self._bytes(path, start, length).decode("utf-8", "replace")
            return ESCAPES.sub(_unescaped, text) if path.endswith(".json") else text
        passage = self.passage(path, start, length, number)
        return passage.text() if passage else ""

    def passage(self, path: str, start: int, length: int, number: int) -> Passage | None:
        """The passage itself."""
        record = self.record(path, start, length)
        if record is None:
            return None
        return next((passage for passage in passages_of(record) if passage.number == number), None)

    def record(self, path: str, start: int, length: int) -> Record | None:
        """The record that stands there."""
        if self._last[:2] == (path, start):
            return self._last[2]
        if length > LONGEST_LINE:
            line = Line(start, start + length, None)
            found = next(iter(decode_long_line(pieces_of(self._reader(path), line))), None)
        else:
            found = decode_line(self._bytes(path, start, length))
        record = found if isinstance(found, Record) else None
        self._last = (path, start, record)
        return record

    def close(self) -> None:
        """Close what is open."""
        for descriptor in self._open.values():
            os.close(descriptor)
        self._open.clear()

    def _bytes(self, path: str, start: int, length: int) -> bytes:
        try:
            return self._reader(path)(start, start + length)
        except (OSError, BackscrollError):
            return b""

    def _reader(self, path: str) -> Read:
        descriptor = self._descriptor(path)
        if descriptor is not None:
            return lambda start, end: os.pread(descriptor, end - start, start)
        archive = self._archive()
        if archive is None:
            return lambda _start, _end: b""
        if self._kept is None:
            self._kept = {file.source: file for file in archive.files.values()}
        file = self._kept.get(Path(path))
        version = file.latest if file else None
        if version is None:
            return lambda _start, _end: b""
        return lambda start, end: archive.read(version, start, end)

    def _descriptor(self, path: str) -> int | None:
        if path in self._open:
            self._open.move_to_end(path)
            return self._open[path]
        try:
            descriptor = open_regular(Path(path))
        except OSError:
            return None
        self._open[path] = descriptor
        if len(self._open) > MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return descriptor


def _unescaped(found: "re.Match[str]") -> str:
    """What an escape in JSON stands for."""
    letter = found[0][1]
    if letter == "u":
        return chr(int(found[0][2:], 16))
    return {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}.get(letter, letter)


# A piece of a JSON file is no JSON, but its strings are readable.
ESCAPES: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|[nrtbf\"\\/])")
