"""A chat for the terminal: colours, Markdown and diffs, through rich. Imported only where there is a terminal."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Final

from markdown_it.token import Token
from rich.console import Console, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from backscroll.conversation.messages import CallState
from backscroll.render.parts import ChatPart
from backscroll.render.terminal import clean, clean_line, for_terminal

STATES = {
    CallState.DONE: "green",
    CallState.ERROR: "red",
    CallState.DENIED: "yellow",
    CallState.INTERRUPTED: "yellow",
    CallState.RUNNING: "cyan",
    CallState.MISSING: "dim",
}


def pretty(parts: Iterable[ChatPart], width: int, *, color: bool = True) -> Iterator[str]:
    """Yield each part as text with its colours, ready to be written."""
    for part in parts:
        page = io.StringIO()
        console = Console(
            file=page, width=width, force_terminal=color, no_color=not color, highlight=False, markup=False
        )
        console.print(_render_part(part))
        yield for_terminal(page.getvalue())


def _render_part(part: ChatPart) -> RenderableType:
    title, text = clean_line(part.title), clean(part.text)
    if part.kind == "prompt":
        mark = f"❯ ({title}) " if title else "❯ "
        return Padding(Text(mark + text.strip(), style="bold cyan"), (1, 0))
    if part.kind == "answer":
        return Padding(_markdown(text), (0, 0, 1, 0))
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


def _markdown(text: str) -> Markdown:
    """Return Markdown in which a link shows its address: every address but a visible `https://…` is only text.

    Otherwise a transcript could choose what a click starts (`ssh://`, `vscode://`) behind any harmless word.
    """
    markdown = Markdown(text)
    for token in markdown.parsed:
        if token.children:
            token.children = list(_with_plain_links(token.children))
    return markdown


def _with_plain_links(tokens: list[Token]) -> Iterator[Token]:
    inside: list[Token] | None = None  # the link that is open, with what is in it
    for token in tokens:
        if token.type == "image":
            token = _text(f"{token.content} ({_address(token, 'src')})".lstrip())
        if token.type == "link_open":
            inside = [token]
        elif inside is None:
            yield token
        elif token.type != "link_close":
            inside.append(token)
        else:
            yield from _link(inside, token)
            inside = None


def _link(tokens: list[Token], close: Token) -> Iterator[Token]:
    opened, *within = tokens
    target = str(opened.attrs.get("href", ""))
    visible = "".join(token.content for token in within)
    if visible == target and WEB.fullmatch(target):
        yield from (*tokens, close)
        return
    yield from within
    if not target.endswith(visible or " "):  # a mail address stands in its `mailto:` already
        yield _text(f" ({_address(opened, 'href')})")


def _address(token: Token, name: str) -> str:
    address = str(token.attrs.get(name, ""))
    return address if len(address) <= LONGEST_ADDRESS else f"{address[:LONGEST_ADDRESS]}…"


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _diff(text: str) -> Text:
    lines = Text()
    for line in text.splitlines():
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        lines.append(line + "\n", style=style)
    lines.rstrip()
    return lines


WEB: Final = re.compile(r"https?://[!-~]+")
LONGEST_ADDRESS: Final = 200
