"""A chat for the terminal: colours, Markdown and diffs, through rich. Imported only where there is a terminal."""

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from backscroll.conversation import State
from backscroll.render.parts import Part
from backscroll.render.terminal import clean, clean_line

STATES = {
    State.DONE: "green",
    State.ERROR: "red",
    State.DENIED: "yellow",
    State.INTERRUPTED: "yellow",
    State.RUNNING: "cyan",
    State.MISSING: "dim",
}


def pretty(parts: Iterable[Part], width: int, *, color: bool = True) -> Iterator[str]:
    """Each part as text with its colours, ready to be written."""
    for part in parts:
        page = io.StringIO()
        console = Console(
            file=page, width=width, force_terminal=color, no_color=not color, highlight=False, markup=False
        )
        console.print(_shown(part))
        yield page.getvalue()


def _shown(part: Part) -> RenderableType:
    title, text = clean_line(part.title), clean(part.text)
    if part.kind == "prompt":
        mark = f"❯ ({title}) " if title else "❯ "
        return Padding(Text(mark + text.strip(), style="bold cyan"), (1, 0))
    if part.kind == "answer":
        return Padding(Markdown(text), (0, 0, 1, 0))
    if part.kind == "thinking":
        return Padding(Text(text.strip(), style="dim italic"), (0, 0, 1, 2))
    if part.kind == "tool":
        line = Text("● ", style=STATES.get(part.state, "") if part.state else "")
        return line.append(title, style="bold").append(f"  {part.state}", style="dim")
    if part.kind == "diff":
        return Padding(_diff(text), (0, 0, 1, 2))
    if part.kind == "divider":
        return Rule(title, style="magenta")
    if part.kind == "output":
        return Padding(Text(text.rstrip(), style="dim"), (0, 0, 0, 2))
    words = ": ".join(word for word in (title, text.strip()) if word)
    return Padding(Text(words, style="italic yellow"), (0, 0, 1, 0))


def _diff(text: str) -> Text:
    shown = Text()
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        shown.append(line + "\n", style=style)
    shown.rstrip()
    return shown
