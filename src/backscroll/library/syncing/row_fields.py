"""Find the texts of a field in the rows of a transcript. Searches bytes, and decodes only new texts.

A quotation mark inside a text is escaped in JSON, so `"cwd": "…"` in the bytes is a field. Decoding its line shows
whether it is a field of the row itself, or of an object inside it. A line that is not whole counts.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from backscroll.redaction.duplicate_keys import has_duplicate_keys


class RowField(NamedTuple):
    """A field of rows, with its pattern."""

    name: str
    pattern: re.Pattern[bytes]


def row_field(name: str) -> RowField:
    """Return the field with this name."""
    return RowField(name, re.compile(rb'"%s"\s*:\s*"((?:[^"\\]|\\.)*)"' % name.encode(), re.DOTALL))


def distinct_texts(lines: bytes, field: RowField, known: Collection[str] = ()) -> Iterator[str]:
    """Yield the different texts of a field in some lines, without the known ones."""
    passed: set[bytes] = set()
    for hit in field.pattern.finditer(lines):
        written = hit[1]
        if written in passed:
            continue
        text = _unescaped(written)
        if text in known:
            passed.add(written)
        elif _is_of_row(lines, hit, field.name, text):
            passed.add(written)
            yield text


def _is_of_row(lines: bytes, hit: re.Match[bytes], name: str, text: str) -> bool:
    """Whether a field belongs to the row on its line; true if unknown."""
    start, end = lines.rfind(b"\n", 0, hit.start()) + 1, lines.find(b"\n", hit.end())
    line = lines[start : end if end >= 0 else len(lines)]
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    # If a row repeats a name, the decoder returns the last value.
    return not isinstance(row, dict) or row.get(name) == text or has_duplicate_keys(line, row)


@lru_cache(maxsize=4096)
def _unescaped(written: bytes) -> str:
    try:
        return str(json.loads(b'"%s"' % written, strict=False))
    except (ValueError, UnicodeDecodeError):
        return written.decode("utf-8", "surrogateescape")


CWD: Final = row_field("cwd")
PROJECT: Final = row_field("project")
SESSION_ID: Final = row_field("sessionId")
