"""Break long lines between words, where a terminal would break them anywhere."""

from collections.abc import Iterator

from backscroll.render.cells import cells, wrap
from backscroll.render.terminal import OURS


def fold(text: str, width: int) -> str:
    """The text with no line wider than `width`: further lines are indented, and our colours and links stay as they are.

    Only a word that is wider than a line is broken.
    """
    return "\n".join(_fold(line, width) for line in text.split("\n"))


def _fold(line: str, width: int) -> str:
    pieces = OURS.split(line)  # with our sequences at the odd places
    plain = "".join(pieces[::2])
    if cells(plain) <= width:
        return line
    indent = " " * min(len(plain) - len(plain.lstrip()) + 2, width // 2)
    starts, shown = set(), set[int]()
    for start, end in _lines(plain, width, len(indent)):
        starts.add(start)
        shown.update(range(start, start + len(plain[start:end].rstrip())))
    folded, at = [], 0
    for number, piece in enumerate(pieces):
        if number % 2:
            folded.append(piece)
            continue
        for character in piece:
            if at in starts and at:
                folded.append(f"\n{indent}")
            if at in shown:
                folded.append(character)
            at += 1
    return "".join(folded)


def _lines(plain: str, width: int, indent: int) -> Iterator[tuple[int, int]]:
    """Where the lines begin and end; all but the first have less room."""
    first = next(iter(wrap(plain, width)))
    yield first
    start = first[1] + len(plain[first[1] :]) - len(plain[first[1] :].lstrip(" "))
    for begin, end in wrap(plain[start:], width - indent):
        yield start + begin, start + end
