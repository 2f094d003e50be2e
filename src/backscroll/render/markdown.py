"""A chat as a Markdown document."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from backscroll.render.parts import ChatPart
from backscroll.render.terminal import clean, clean_line


def markdown(parts: Iterable[ChatPart]) -> Iterator[str]:
    """Yield each part as Markdown, followed by an empty line."""
    for part in parts:
        yield _piece(part) + "\n\n"


def _piece(part: ChatPart) -> str:
    title, text = clean_line(part.title), clean(part.text)
    if part.kind == "prompt":
        return (
            f"## ❯ {title + ': ' if title else ''}{_head(text)}\n\n{text}" if _is_long(text) else f"## ❯ {text.strip()}"
        )
    if part.kind == "answer":
        return text.strip()
    if part.kind == "thinking":
        return "\n".join(f"> {line}" for line in text.strip().splitlines())
    if part.kind == "tool":
        return f"- `{title.replace('`', chr(39))}` {part.state}"
    if part.kind == "divider":
        return f"---\n\n*{title}*"
    if part.kind == "note":
        words = ": ".join(word for word in (title, text.strip()) if word)
        return f"*{words}*" if "\n" not in words else f"*{title}*\n\n{text.strip()}"
    return _fence(text, "diff" if part.kind == "diff" else "")


def _head(text: str) -> str:
    return text.strip().splitlines()[0][:80] + " …"


def _is_long(text: str) -> bool:
    return "\n" in text.strip() or len(text) > 120


def _fence(text: str, language: str) -> str:
    """Return the text in a fence that nothing in it can end."""
    longest = max((len(run) for run in FENCE.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


FENCE: Final = re.compile(r"`{3,}")
