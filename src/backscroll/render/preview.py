"""The picker's preview of a chat: its details, the matches, and its beginning."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from backscroll.conversation.overview import Overview
from backscroll.render.cells import take
from backscroll.render.picker import Line, Piece, wrapped
from backscroll.render.terminal import clean, clean_line, plural


class PreviewMessage(NamedTuple):
    """A message of the chat."""

    is_prompt: bool
    text: str


def preview_of(
    chat: Overview,
    marks: Sequence[str],
    matches: Iterable[Iterable[Piece]],
    said: Iterable[PreviewMessage],
    width: int,
) -> Iterator[Line]:
    """Yield the lines, each no wider than the pane."""
    yield from wrapped([("title", clean_line(chat.title))], width, 3)
    when = f"{chat.last_active.astimezone():%Y-%m-%d %H:%M}" if chat.last_active else ""
    counts = [plural(chat.messages, "message"), f"{chat.branches} branches" if chat.branches > 1 else ""]
    about = [chat.id[:8], when, *counts, *chat.models[-1:], *chat.git_branches[-1:], chat.project or ""]
    yield from wrapped([("dim", clean_line(" · ".join(word for word in about if word)))], width, 3)
    for mark in marks:
        yield from wrapped([("match", clean_line(mark))], width, 3)
    for title, parts in (
        ("found", (wrapped(match, width, 5) for match in dict.fromkeys(map(tuple, matches)))),
        ("conversation", (_message_lines(item, width) for item in said)),
    ):
        for number, lines in enumerate(parts):
            yield ()
            if number == 0:
                yield (("rule", take(f"── {title} " + "─" * width, width)),)
            yield from lines


def _message_lines(item: PreviewMessage, width: int) -> Iterator[Line]:
    look, mark = ("prompt", "❯ ") if item.is_prompt else ("plain", "")
    lines = [
        line for text in clean(item.text).splitlines() for line in wrapped([(look, text.expandtabs(4))], width - 2)
    ]
    for number, line in enumerate(lines[:MAX_LINES]):
        yield ((look, mark if number == 0 else "  " if mark else ""), *line)
    if len(lines) > MAX_LINES:
        yield (("dim", f"  … {len(lines) - MAX_LINES} more lines"),)


MAX_LINES: Final = 12
