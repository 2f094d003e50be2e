"""JSON values with very many parts. Decoded, they take many times their bytes, so they are cut before decoding."""

import re
from typing import Final

MAX_PARTS: Final = 300_000


def is_large(data: bytes, most: int = MAX_PARTS) -> bool:
    """Whether a JSON value has too many parts to show: counts commas outside strings."""
    if data.count(b",") <= most:
        return False
    count = 0
    for match in TOKEN.finditer(data):
        if match.lastgroup == "run":
            count += data.count(b",", *match.span())
            if count > most:
                return True
    return False


def without_large_values(data: bytes, note: str, most: int = MAX_PARTS) -> bytes:
    """Return the JSON value, with a string in place of each innermost list or object with too many parts.

    `{bytes}` and `{most}` in the note stand for its size, and for the most parts a value may have.
    """
    pieces: list[bytes] = []
    taken = 0  # end of the part of `data` that is in `pieces` or was left out
    opened: list[tuple[int, int, int]] = []  # start of each, with the length of `pieces` and `taken` there
    counts = [0]
    for match in TOKEN.finditer(data):
        begin, end = match.span()
        if match.lastgroup == "run":
            counts[-1] += data.count(b",", begin, end)
        elif data[begin] in b"[{":
            opened.append((begin, len(pieces), taken))
            counts.append(0)
        elif data[begin] in b"]}" and opened:
            count = counts.pop()
            start, kept, before = opened.pop()
            if count > most:
                del pieces[kept:]
                cut = note.format(bytes=f"{end - start:,}", most=f"{most:,}")
                pieces += [data[before:start], b'"' + cut.encode() + b'"']
                taken, count = end, 0
            counts[-1] += count
    return b"".join([*pieces, data[taken:]])


PLAIN: Final = rb'[^\[\]{}"]|"[^"\\,]*+"'
TOKEN: Final = re.compile(
    # As much as possible in one match: short lists and objects that hold no others, and the text between them.
    rb"(?P<run>(?:%b|[\[{](?:%b){0,9}+[\]}])++)" % (PLAIN, PLAIN)
    + rb'|(?P<string>"(?:[^"\\]|\\.)*+")|(?P<sign>[\[\]{}])',
    re.DOTALL,
)
"""Tokens of JSON. A run has all commas that count, and no value with too many parts by itself."""
