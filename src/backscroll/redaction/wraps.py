"""Secrets that a terminal broke over two or more lines.

No line below a broken one is longer than it is. The beginning of such a line must look random,
so that the first word of the next line is not taken for the end of a secret.
"""

from collections.abc import Iterator
from typing import Final

from backscroll.redaction.checks import looks_drawn
from backscroll.redaction.patterns import compile_pattern
from backscroll.redaction.rule import Rule

NARROWEST: Final = 40
WIDEST: Final = 400
MAX_LINES: Final = 40
LINE_END: Final = r"(?:\r?\n|(?:\\+r)?\\+n)"
NEXT_LINE: Final = rf"({LINE_END})[ \t]*(?:(?:\xe2\x94\x82|[|>]) ?)?([A-Za-z0-9_+/.~-]+={{0,2}})"

Span = tuple[int, int]


def edge(prefixes: tuple[str, ...]) -> str:
    """Return a pattern of texts that begin like a secret and extend to the end of their line."""
    return rf"((?i:{'|'.join(prefixes)})[A-Za-z0-9_+/=.~-]*){LINE_END}"


def broken_tokens(rule: Rule, data: bytes) -> Iterator[Span]:
    """Yield the positions of tokens with a known prefix that continue on the next lines."""
    done = 0
    for match in compile_pattern(edge(rule.prefixes)).finditer(data):
        start, end = match.span(1)
        pieces = pieces_below(data, start, end) if start >= done else []
        if not pieces:
            continue
        first = max(done, start - 1)
        window = data[first:end] + b"".join(data[begin:stop] for begin, stop in pieces)
        for pattern in rule.patterns:
            expression = compile_pattern(pattern)
            whole = expression.search(window)
            if whole is None:
                continue
            begin, stop = whole.span(1 if expression.groups else 0)
            if begin < end - first < stop:
                done = _place(stop - (end - first), pieces)
                yield first + begin, done
                break


def pieces_below(data: bytes, start: int, end: int) -> list[Span]:
    """Return the spans on the next lines of a secret that begins at `start` and reaches its line's end, `end`."""
    pieces: list[Span] = []
    width = end - _line_begin(data, start, max(0, end - WIDEST - 1))
    while NARROWEST <= width <= WIDEST and len(pieces) < MAX_LINES:
        match = compile_pattern(NEXT_LINE).match(data, end)
        if match is None:
            break
        begin, stop = match.span(2)
        limit = match.end(1) + width + 1
        following = compile_pattern(LINE_END).search(data, stop, limit + 3) if stop < limit else None
        line_end = following.start() if following is not None else len(data)
        if line_end >= limit or data[stop : stop + 1] not in AFTER or not looks_drawn(data[begin:stop]):
            break
        pieces.append((begin, stop))
        end = stop
        if stop < line_end or line_end < limit - 1:
            break
    return pieces


def _line_begin(data: bytes, start: int, lowest: int) -> int:
    real, escaped = data.rfind(b"\n", lowest, start), data.rfind(b"\\n", lowest, start)
    return max(real + 1 or lowest, escaped + 2 if escaped >= 0 else lowest)


def _place(at: int, pieces: list[Span]) -> int:
    """Return the position in the data of an end in the joined pieces."""
    for begin, stop in pieces:
        if at <= stop - begin:
            return begin + at
        at -= stop - begin
    return pieces[-1][1]


AFTER: Final = frozenset({b"", *(bytes([byte]) for byte in b" \t\r\n\"'`,;)]}&<>|@\\")})
"""Bytes that may follow the last piece: none that makes it a name in an assignment."""
