"""Two branches of a chat, compared in a terminal: for `backscroll tree --compare`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from backscroll.cli.output import write, write_json
from backscroll.render.reports import dollars
from backscroll.render.terminal import clean_line, plural

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.chats.branch_comparison import ComparedBranch, FileChange
    from backscroll.library.library import Library

MAX_LINE_LENGTH: Final = 90


def show_comparison(library: "Library", stored: "StoredChat", left: int, right: int, *, as_json: bool) -> None:
    """Print what two branches did after they parted."""
    from backscroll.library.chats.branch_comparison import comparison_of
    from backscroll.library.chats.chat_reader import ChatReader

    comparison = comparison_of(library, ChatReader(library, stored), left, right)
    if as_json:
        write_json(comparison.as_json())
        return
    write(click.style(f"{clean_line(stored.overview.id)}  {clean_line(stored.overview.title)}", bold=True))
    after = f", up to “{_short(comparison.fork_text)}”" if comparison.fork_text else ""
    write(f"they share {plural(comparison.shared_messages, 'message')}{after}")
    for side in (comparison.left, comparison.right):
        write("")
        write(click.style(f"branch {side.number}{' (active)' if side.number == 1 else ''}", bold=True))
        for line in _branch(side):
            write(f"  {line}")
    if comparison.files:
        write("")
        write(click.style("files changed", bold=True))
    for file in comparison.files:
        write(f"  {clean_line(file.file)}: branch {left} {_change(file.left)}, branch {right} {_change(file.right)}")


def _branch(side: "ComparedBranch") -> Iterator[str]:
    cost = "unknown cost" if side.cost is None else dollars(round(side.cost / 1000))
    facts = [plural(side.prompts, "prompt"), plural(side.answers, "answer"), plural(side.calls, "tool call")]
    facts += [plural(side.errors, "error")] if side.errors else []
    facts += [plural(side.agents, "agent")] if side.agents else []
    yield ", ".join([*facts, f"{plural(len(side.files), 'file')} changed +{side.added} −{side.removed}", cost])
    for turn in side.turns:
        yield f"❯ {_short(turn.prompt) or str(turn.heading.kind)}"
        if turn.answer:
            yield f"  {_short(turn.answer)}"


def _change(change: "FileChange | None") -> str:
    return f"+{change.added} −{change.removed}" if change else "not changed"


def _short(text: str) -> str:
    line = clean_line(text)
    return line if len(line) <= MAX_LINE_LENGTH else line[: MAX_LINE_LENGTH - 1] + "…"
