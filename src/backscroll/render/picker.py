"""The picker's screen, without a terminal: its state, and the lines that show it.

The terminal only paints these lines; the search only supplies entries and a preview.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backscroll.render.cells import cells, certain, cut, take, wrap
from backscroll.render.terminal import clean_line

Piece = tuple[str, str]
"""A style and a text. Styles: plain, dim, title, match, id, chosen, problem, prompt, rule."""
Line = tuple[Piece, ...]


class PickerEntry(NamedTuple):
    """A chat in the list."""

    id: str
    title: str
    where: str
    when: str
    snippet: Line
    is_pinned: bool = False


class PickerLayout(NamedTuple):
    """Positions on a screen of some size."""

    width: int
    height: int
    list_width: int
    list_height: int
    entry_height: int
    preview_width: int
    preview_height: int
    is_beside: bool

    @property
    def entries(self) -> int:
        """Number of entries visible at once."""
        return max(1, self.list_height // self.entry_height)


def layout_of(width: int, height: int) -> PickerLayout:
    """Place the list beside the preview on a wide screen, above it on a narrow one, and alone on a small one."""
    body = max(1, height - 3)
    entry = 1 if body < 6 or width < 24 else 2
    if width >= WIDE_TERMINAL and body >= 6:
        list_width = min(max(44, width * 2 // 5), 90)
        return PickerLayout(width, height, list_width, body, entry, width - list_width - 3, body, is_beside=True)
    if body >= 14:
        list_height = body // 2 // entry * entry
        return PickerLayout(width, height, width, list_height, entry, width, body - list_height - 1, is_beside=False)
    return PickerLayout(width, height, width, body, entry, 0, 0, is_beside=False)


@dataclass
class Picker:
    """The state of the picker: the query, the results, and the selection."""

    text: str = ""
    cursor: int = 0
    sort: str = "relevance"
    entries: list[PickerEntry] = field(default_factory=list)
    amount: str = ""
    """The number of results, as text."""
    chosen: int = 0
    first: int = 0
    """Number of the first visible entry."""
    preview: list[Line] = field(default_factory=list)
    preview_of: str = ""
    scrolled: int = 0
    is_searching: bool = False
    problem: str = ""
    """Error in the query."""
    notice: Piece | None = None
    """A message about the last action, shown until the next key."""
    shows_help: bool = False

    def __post_init__(self) -> None:
        self.cursor = len(self.text)

    @property
    def selected(self) -> PickerEntry | None:
        """Entry that is chosen, if any."""
        return self.entries[self.chosen] if self.chosen < len(self.entries) else None

    # Typing

    def insert(self, text: str) -> None:
        """Insert text at the cursor."""
        text = certain(clean_line(text) if len(text) > 1 else text)
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def delete(self, count: int) -> None:
        """Delete `count` characters before the cursor; a negative count deletes after it."""
        start, end = sorted((max(0, self.cursor - count), self.cursor))
        self.text, self.cursor = self.text[:start] + self.text[end:], start

    def delete_word(self) -> None:
        """Delete the word before the cursor."""
        before = self.text[: self.cursor].rstrip()
        self.delete(self.cursor - (before.rfind(" ") + 1))

    def move_cursor(self, count: int) -> None:
        """Move the cursor by `count` characters."""
        self.cursor = min(len(self.text), max(0, self.cursor + count))

    # Choosing

    def move(self, count: int) -> None:
        """Move the selection by `count` entries."""
        self.choose(self.chosen + count)

    def choose(self, number: int) -> None:
        """Select the entry with this number, or the nearest."""
        self.chosen = max(0, min(len(self.entries) - 1, number))

    def next_sort(self) -> None:
        """Switch to the next order; without a query there is no relevance."""
        orders = SORTS if self.text.strip() else SORTS[1:]
        self.sort = orders[(orders.index(self.sort) + 1) % len(orders)] if self.sort in orders else orders[-1]

    def take(self, entries: Sequence[PickerEntry], amount: str, *, keep: bool) -> None:
        """Show these results; `keep` keeps the selected chat, otherwise the first one is selected."""
        before = self.selected.id if keep and self.selected else None
        self.entries, self.amount, self.is_searching, self.problem = list(entries), amount, False, ""
        numbers = [number for number, entry in enumerate(self.entries) if entry.id == before]
        self.choose(numbers[0] if numbers else self.chosen if keep else 0)

    def scroll(self, count: int) -> None:
        """Scroll the preview by `count` lines."""
        self.scrolled = max(0, self.scrolled + count)


def draw(picker: Picker, layout: PickerLayout) -> tuple[list[Line], int]:
    """Return the whole screen, line by line, and the column of the cursor in the first line."""
    room = layout.entries
    if picker.chosen < picker.first:
        picker.first = picker.chosen
    picker.first = max(picker.first, picker.chosen - room + 1, 0)
    picker.first = min(picker.first, max(0, len(picker.entries) - room))
    head, cursor = _head(picker, layout.width)
    if layout.height < 3:
        return [head, _foot(picker, layout.width)][: layout.height], cursor
    body = list(_body(picker, layout))
    body += [()] * (max(1, layout.height - 3) - len(body))
    rule = "─" * layout.width
    return [head, (("rule", rule),), *body[: layout.height - 3], _foot(picker, layout.width)], cursor


def wrapped(pieces: Iterable[Piece], width: int, most: int = 1000) -> Iterator[Line]:
    """Yield the pieces on as many lines as they need, but at most `most`."""
    looks: list[str] = []
    parts: list[str] = []
    for look, text in pieces:
        safe = certain(text)
        parts.append(safe)
        looks += [look] * len(safe)
    text = "".join(parts)
    for number, (start, end) in enumerate(wrap(text, width)):
        if number == most - 1 and end < len(text):
            yield (*_joined(take(text[start:end].rstrip(), width - 1), looks[start:]), ("dim", "…"))
            return
        yield _joined(text[start:end].rstrip(), looks[start:])


def fitted(pieces: Iterable[Piece], width: int) -> Line:
    """Return the pieces on one line of `width` columns, padded, or cut with an ellipsis."""
    safe = [(look, certain(text)) for look, text in pieces]
    left = width
    line: list[Piece] = []
    is_cut = sum(cells(text) for _, text in safe) > width
    for look, text in safe:
        part = take(text, left - is_cut)
        line.append((look, part))
        left -= cells(part)
        if part != text:
            line.append((look, "…"[:left]))
            left -= 1
            break
    if left > 0:
        line.append((line[-1][0] if line and line[-1][0] == "chosen" else "plain", " " * left))
    return tuple(line)


def _joined(text: str, looks: list[str]) -> Line:
    line: list[Piece] = []
    start = 0
    for number in range(1, len(text) + 1):
        if number == len(text) or looks[number] != looks[start]:
            line.append((looks[start], text[start:number]))
            start = number
    return tuple(line)


def _head(picker: Picker, width: int) -> tuple[Line, int]:
    """Return the query; where it is too long, the part with the cursor."""
    order = picker.sort if picker.text.strip() or picker.sort != "relevance" else "newest"
    right = f"  {'…' if picker.is_searching else picker.amount} · {order}" if width >= 50 else ""
    room = max(1, width - 2 - cells(right) - 1)
    start = 0
    while cells(picker.text[start : picker.cursor]) > room:
        start += 1
    typed = take(picker.text[start:], room)
    cursor = min(width - 1, 2 + cells(picker.text[start : picker.cursor]))
    return fitted([("prompt", "❯ "), ("plain", typed + " " * (room + 1 - cells(typed))), ("dim", right)], width), cursor


def _body(picker: Picker, layout: PickerLayout) -> Iterator[Line]:
    listed = list(_list(picker, layout))
    if picker.shows_help:
        yield from (fitted([("plain", line)], layout.width) for line in HELP)
        return
    if not layout.preview_height:
        yield from listed
        return
    preview = picker.preview if picker.selected and picker.preview_of == picker.selected.id else []
    picker.scrolled = min(picker.scrolled, max(0, len(preview) - layout.preview_height))
    # Fitted once more: it may have been made for another size, before the terminal was resized.
    visible = preview[picker.scrolled : picker.scrolled + layout.preview_height]
    seen = [fitted(line, layout.preview_width) for line in visible]
    if not layout.is_beside:
        yield from listed
        yield from [()] * (layout.list_height - len(listed))
        yield (("rule", "─" * layout.width),)
        yield from seen
        return
    for number in range(layout.list_height):
        left = listed[number] if number < len(listed) else fitted([], layout.list_width)
        yield (*left, ("rule", " │ "), *(seen[number] if number < len(seen) else ()))


def _list(picker: Picker, layout: PickerLayout) -> Iterator[Line]:
    width = layout.list_width
    if not picker.entries and not picker.is_searching:
        yield fitted([("dim", "  nothing found" if picker.text.strip() else "  no chats")], width)
        return
    for number in range(picker.first, min(len(picker.entries), picker.first + layout.entries)):
        entry = picker.entries[number]
        is_chosen = number == picker.chosen
        when = f" · {entry.when}"
        about = f"  {cut(certain(entry.where), width // 2 - cells(when) - 2)}{when}" if width >= 40 else ""
        title = cut(certain(entry.title), width - 2 - cells(about) - 2 * entry.is_pinned)
        mark = "* " if entry.is_pinned else ""
        gap = " " * max(0, width - 2 - cells(mark) - cells(title) - cells(about))
        looks = ("chosen",) * 3 if is_chosen else ("match", "title", "dim")
        first = zip(looks, (mark, title, gap + about), strict=True)
        yield fitted([("prompt", "▌ " if is_chosen else "  "), *first], width)
        if layout.entry_height > 1:
            yield fitted([("prompt", "▌ " if is_chosen else "  "), *entry.snippet], width)


def _foot(picker: Picker, width: int) -> Line:
    if picker.notice or picker.problem:
        return fitted([picker.notice or ("problem", picker.problem)], width)
    hints = ""
    for key in KEYS:
        longer = f"{hints}  {key}" if hints else key
        if cells(longer) > width:
            break
        hints = longer
    return fitted([("dim", hints)], width)


WIDE_TERMINAL: Final = 100
SORTS: Final = ("relevance", "newest", "oldest")
KEYS: Final = ("Enter open", "Esc quit", "? help", "^R resume", "^Y copy", "Tab pin", "^T order", "^F ^B scroll")
"""Most important first: as many as fit are shown."""
HELP: Final = (
    '  Type words, "phrases", and fields such as project:shop is:error since:7d.',
    "  The word you are typing matches any ending.",
    "",
    "  Enter             open the chat, then return to the list",
    "  ^R                resume it in Claude Code",
    "  ^Y                copy the resume command",
    "  Tab               pin or unpin it",
    "  Up Down ^P ^N     select a chat; also PgUp PgDn Home End",
    "  ^F ^B             scroll the preview",
    "  ^T                change the order: relevance, newest, oldest",
    "  ^U ^W ^A ^E       edit the query",
    "  Esc ^C            quit",
    "  F1                this help; also ? when the query is empty",
)
