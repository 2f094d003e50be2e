"""Terminal output as HTML, as it looked in the end.

Of the escape sequences, only text styles and erasing a line have an effect; all others are dropped. Carriage returns
and backspaces overwrite, so only the last state of a progress bar is shown.
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
    """The style of characters. A colour is one of sixteen, or None for the default."""

    front: int | None = None
    back: int | None = None
    effects: frozenset[str] = frozenset()


def terminal_html(text: str) -> Html:
    """Render terminal output; very long output has no colours."""
    text = text.replace("\r\n", "\n")
    if len(text) > MAX_STYLED or not CONTROLS.search(text):
        content: object = clean(text)
    else:
        content = trusted("\n".join(map(line_html, styled_lines(text))))
    return el("pre", content, class_="terminal", tabindex="0")


def styled_lines(text: str) -> Iterator[list[tuple[Style, str]]]:
    """Yield the final lines, in runs of one style. A style continues on the next line."""
    style = PLAIN
    for source in text.split("\n"):
        cells, style = write_line(source, style)
        yield [(look, "".join(piece for _, piece in group)) for look, group in groupby(cells, lambda cell: cell[0])]


def write_line(source: str, style: Style) -> tuple[list[tuple[Style, str]], Style]:
    """Return the final cells of a line, and the style at its end. Where nothing is overwritten, a cell is a whole
    piece."""
    cells: list[tuple[Style, str]] = []
    at = 0
    is_overwritten = OVERWRITING.search(source) is not None
    for piece in PIECES.split(source):
        if not piece:
            continue
        if piece[0] in "\x1b\x9b":
            if chosen := SGR.fullmatch(piece):
                style = apply_sgr(style, chosen[1])
            elif erased := ERASE.fullmatch(piece):
                # Erasing a whole line also moves to its start: filling it with blanks could take unbounded memory.
                at = 0 if erased[1] == "2" else at
                del cells[at:]
        elif piece == "\r":
            at = 0
        elif piece == "\b":
            at = max(0, at - 1)
        elif visible := clean(piece):
            written = [(style, character) for character in visible] if is_overwritten else [(style, visible)]
            cells[at : at + len(written)] = written
            at += len(written)
    return cells, style


def line_html(line: Sequence[tuple[Style, str]]) -> str:
    """Render a line in its styles."""
    written = []
    for style, piece in line:
        classes = style_classes(style)
        written.append(f'<span class="{classes}">{escape(piece)}</span>' if classes else escape(piece))
    return "".join(written)


@lru_cache(1_000)
def style_classes(style: Style) -> str:
    """Return the CSS classes of a style; empty for the default style."""
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
def apply_sgr(style: Style, codes: str) -> Style:
    """Return the style after an SGR sequence. Unknown codes have no effect."""
    front, back, effects = style
    numbers = iter([int(code[:5] or 0) if code[:5].isdigit() or not code else -1 for code in re.split("[;:]", codes)])
    for number in numbers:
        if number == 0:
            front, back, effects = PLAIN
        elif number in EFFECTS:
            effects |= {EFFECTS[number]}
        elif number in EFFECT_RESETS:
            effects -= EFFECT_RESETS[number]
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
            colour = parse_colour(numbers, has_space="::" in codes)
            front = colour if number == 38 and colour is not None else front
            back = colour if number == 48 and colour is not None else back
    return Style(front, back, effects)


def parse_colour(numbers: Iterator[int], has_space: bool) -> int | None:
    """Return the colour that follows, as the nearest of the sixteen. `38:2::r:g:b` has a colour space before it."""
    form = next(numbers, -1)
    if form == 5:
        index = next(numbers, -1)
        if not 0 <= index <= 255:
            return None
        if index < 16:
            return index
        if index >= 232:
            return nearest_colour(*[8 + (index - 232) * 10] * 3)
        cube = index - 16
        return nearest_colour(*(0 if step == 0 else 55 + 40 * step for step in (cube // 36, cube // 6 % 6, cube % 6)))
    if form == 2:
        if has_space:
            next(numbers, -1)
        red, green, blue = (next(numbers, -1) for _ in range(3))
        return nearest_colour(red, green, blue)
    return None


def nearest_colour(red: int, green: int, blue: int) -> int | None:
    """Return the nearest of the sixteen colours; None if a component is out of range."""
    if not all(0 <= part <= 255 for part in (red, green, blue)):
        return None
    distances = [(r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2 for r, g, b in PALETTE]
    return distances.index(min(distances))


MAX_STYLED: Final = 400_000
PLAIN: Final = Style()
CONTROLS: Final = re.compile("[\x1b\x9b\r\b]")
PIECES: Final = re.compile(f"({SEQUENCES.pattern}|[\r\b])")
SGR: Final = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]*)m")
ERASE: Final = re.compile(r"(?:\x1b\[|\x9b)([02]?)K")
OVERWRITING: Final = re.compile(f"[\r\b]|{ERASE.pattern}")
EFFECTS: Final = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
EFFECT_RESETS: Final = {
    22: {"bold", "dim"},
    23: {"italic"},
    24: {"underline"},
    27: {"inverse"},
    29: {"strike"},
}
# The colours of most terminals, only used to find the nearest. code.css says how they look here.
PALETTE: Final = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0), (92, 92, 255), (255, 0, 255), (0, 255, 255)),
    (255, 255, 255),
)
