"""What a program wrote to its terminal, with its colours, as it stood there at the end.

Only colours and the like are taken from escape sequences; all other sequences are dropped. Carriage returns and
backspaces overwrite, so that of a progress bar its last state is left.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import groupby
from typing import Final, NamedTuple

from backscroll.render.html.element import Html, el, trusted
from backscroll.render.terminal import SEQUENCES, clean


class Style(NamedTuple):
    """How characters look. A colour is one of sixteen, or None for the usual one."""

    front: int | None = None
    back: int | None = None
    effects: frozenset[str] = frozenset()


def terminal(text: str) -> Html:
    """Output of a terminal. What is very long is shown without colours."""
    text = text.replace("\r\n", "\n")
    if len(text) > LONGEST or not MOVES.search(text):
        content: object = clean(text)
    else:
        content = trusted("\n".join(map(markup, lines(text))))
    return el("pre", content, class_="terminal", tabindex="0")


def lines(text: str) -> Iterator[list[tuple[Style, str]]]:
    """The lines as they look in the end, in pieces of one style. A style lasts over the end of its line."""
    style = PLAIN
    for source in text.split("\n"):
        cells, style = written(source, style)
        yield [(look, "".join(piece for _, piece in group)) for look, group in groupby(cells, lambda cell: cell[0])]


def written(source: str, style: Style) -> tuple[list[tuple[Style, str]], Style]:
    """The cells of a line after all was written to it, and the style that is on at its end."""
    cells: list[tuple[Style, str]] = []
    at = 0
    for piece in PIECES.split(source):
        if not piece:
            continue
        if piece[0] in "\x1b\x9b":
            if chosen := SGR.fullmatch(piece):
                style = restyled(style, chosen[1])
            elif erased := ERASE.fullmatch(piece):
                # Who erases all of a line goes back to its start, too; blanks up to here could be made without end.
                at = 0 if erased[1] == "2" else at
                del cells[at:]
        elif piece == "\r":
            at = 0
        elif piece == "\b":
            at = max(0, at - 1)
        elif visible := clean(piece):
            cells[at : at + len(visible)] = [(style, character) for character in visible]
            at += len(visible)
    return cells, style


def markup(line: Sequence[tuple[Style, str]]) -> str:
    """A line as HTML."""
    written = []
    for style, piece in line:
        classes = class_of(style)
        written.append(f'<span class="{classes}">{escape(piece)}</span>' if classes else escape(piece))
    return "".join(written)


@lru_cache(1_000)
def class_of(style: Style) -> str:
    """The classes of a style; nothing for the usual one."""
    front, back, effects = style
    if "inverse" in effects and (front, back) != (None, None):
        front, back, effects = back, front, effects - {"inverse"}
    names = [f"t-{effect}" for effect in sorted(effects)]
    if front is not None:
        names.append(f"t-front-{front}")
    if back is not None:
        names.append(f"t-back-{back}")
    return " ".join(names)


@lru_cache(1_000)
def restyled(style: Style, codes: str) -> Style:
    """The style after a sequence. Codes that we do not know change nothing."""
    front, back, effects = style
    numbers = iter([int(code[:5] or 0) if code[:5].isdigit() or not code else -1 for code in re.split("[;:]", codes)])
    for number in numbers:
        if number == 0:
            front, back, effects = PLAIN
        elif number in EFFECTS:
            effects |= {EFFECTS[number]}
        elif number in ENDED:
            effects -= ENDED[number]
        elif 30 <= number <= 37:
            front = number - 30
        elif 40 <= number <= 47:
            back = number - 40
        elif 90 <= number <= 97:
            front = number - 82
        elif 100 <= number <= 107:
            back = number - 92
        elif number == 39:
            front = None
        elif number == 49:
            back = None
        elif number in (38, 48, 58):
            colour = nearest(numbers, has_space="::" in codes)
            front = colour if number == 38 and colour is not None else front
            back = colour if number == 48 and colour is not None else back
    return Style(front, back, effects)


def nearest(numbers: Iterator[int], has_space: bool) -> int | None:
    """The colour that follows, as the nearest of our sixteen. `38:2::r:g:b` names a colour space before it."""
    form = next(numbers, -1)
    if form == 5:
        index = next(numbers, -1)
        if not 0 <= index <= 255:
            return None
        if index < 16:
            return index
        if index >= 232:
            return closest(*[8 + (index - 232) * 10] * 3)
        cube = index - 16
        return closest(*(0 if step == 0 else 55 + 40 * step for step in (cube // 36, cube // 6 % 6, cube % 6)))
    if form == 2:
        if has_space:
            next(numbers, -1)
        red, green, blue = (next(numbers, -1) for _ in range(3))
        return closest(red, green, blue)
    return None


def closest(red: int, green: int, blue: int) -> int | None:
    """The nearest of the sixteen."""
    if not all(0 <= part <= 255 for part in (red, green, blue)):
        return None
    distances = [(r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2 for r, g, b in SIXTEEN]
    return distances.index(min(distances))


LONGEST: Final = 400_000
PLAIN: Final = Style()
MOVES: Final = re.compile("[\x1b\x9b\r\b]")
PIECES: Final = re.compile(f"({SEQUENCES.pattern}|[\r\b])")
SGR: Final = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")
ERASE: Final = re.compile(r"(?:\x1b\[|\x9b)([02]?)K")
EFFECTS: Final = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
ENDED: Final = {
    22: {"bold", "dim"},
    23: {"italic"},
    24: {"underline"},
    27: {"inverse"},
    29: {"strike"},
}
# As most terminals have them; only used to find the nearest. What they look like here is said in code.css.
SIXTEEN: Final = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255)),
    (255, 255, 255),
)
