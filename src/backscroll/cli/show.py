"""`backscroll show`: read a chat."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write_note
from backscroll.cli.paging import write_pieces
from backscroll.errors import BackscrollError, UsageError
from backscroll.render.terminal import clean, escaped, plural

if TYPE_CHECKING:
    from backscroll.conversation.branches import Branch
    from backscroll.conversation.chat import Chat
    from backscroll.library.chats.around_message import AroundMessage
    from backscroll.library.opened_chat import OpenedChat
    from backscroll.render.parts import PartFilter

AROUND = 5


@click.command("show")
@click.argument("name", metavar="ID")
@click.option(
    "--branch",
    metavar="N|all",
    help="Which branch: 1 is the active one, `all` shows every one. Default: that of the session, if ID is one.",
)
@click.option("--agents", is_flag=True, help="Include the conversations of sub-agents.")
@click.option(
    "--tools", type=click.Choice(["full", "short", "none"]), default="short", help="How much of each tool call to show."
)
@click.option("--thinking", is_flag=True, help="Include the model's thinking.")
@click.option(
    "--around",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"If ID is of a message: show N messages before and after it. Default: {AROUND}.",
)
@click.option("--raw", is_flag=True, help="Print the rows as Claude Code wrote them, one JSON object per line.")
@global_options()
def command(
    name: str,
    branch: str | None,
    agents: bool,
    tools: Literal["full", "short", "none"],
    thinking: bool,
    around: int | None,
    raw: bool,
    is_first: bool = False,
) -> None:
    """Read a chat in the terminal; when piped, print it as Markdown.

    ID is the start of a chat, session, message or agent id. Shows the active branch from its first prompt, across
    compactions and session files; with the id of another session, the branch that this one goes on with. With the id of
    a message, as `search` prints it, shows the messages around it. --json prints the whole chat, or the one branch.

    \b
    Examples:
      backscroll show 4f8c
      backscroll show 4f8c --tools full --thinking --agents
      backscroll show 4f8c --branch all > chat.md
      backscroll show 91c3d2aa --around 3
      backscroll show 4f8c --json | jq -r '.messages[] | select(.kind == "prompt") | .text'
    """
    from backscroll.render.parts import PartFilter

    request = current_request()
    library = open_library(request)
    stored = library.find(name)
    if request.json:
        from backscroll.library.sharing.selection import ShareSelection, selected
        from backscroll.library.sharing.share import share
        from backscroll.render.html.export_documents import json_document

        shared = share(library, stored, None)
        number = _number(shared.chat, branch or "all")
        chosen = selected(shared, ShareSelection(branch=number))
        for piece in json_document(chosen, number):
            click.echo(escaped(piece), nl=False)
    else:
        from backscroll.conversation.branch_paths import branch_of_session
        from backscroll.library.chats.around_message import AroundMessage, message_named

        choice = PartFilter(tools, thinking, everything=request.verbosity > 0)
        message = message_named(library, stored, name) if not raw else None
        if around is not None and message is None:
            raise UsageError(f"{name} is not the id of a message", "--around needs one; backscroll search prints them")
        opened = library.open(stored)
        if message is not None:
            part = AroundMessage(opened, message, AROUND if around is None else around, is_first=is_first)
            _show_around(opened, part, choice)
        else:
            _show(opened, choice, branch or str(branch_of_session(opened.chat, name)), raw=raw, agents=agents)
    if missing := library.missing_from(stored):
        count = plural(len(missing), "file")
        hint = "run backscroll archive verify to see what is damaged"
        raise BackscrollError(f"{count} of this chat could not be found, so part of it is missing above", hint)


def _show_around(reading: "OpenedChat", part: "AroundMessage", choice: "PartFilter") -> None:
    _note_archived(reading)
    write_pieces(_pages(part, part.branches, choice, agents=bool(part.agents)))
    if part.before or part.after:
        count = f"{plural(part.before, 'message')} before and {part.after:,} after are left out"
        write_note(f"{count}: see backscroll show {clean(part.chat.id[:8])}, or use --around")


def _show(reading: "OpenedChat", choice: "PartFilter", branch: str, *, raw: bool, agents: bool) -> None:
    _note_archived(reading)
    chosen = _branches(reading.chat, branch)
    if raw:
        for row in _raw_rows(chosen):
            click.echo(escaped(row.decode("utf-8", "replace")) if sys.stdout.isatty() else row)
        return
    write_pieces(_pages(reading, chosen, choice, agents=agents))


def _note_archived(reading: "OpenedChat") -> None:
    from backscroll.library.opened_chat import holders_of

    for holder in holders_of(reading.chat):
        write_note(f"from {clean(holder)}, written by a client from before session files")
    for session in reading.from_archive:
        path = Path(session.origin)
        try:
            now = "is now shorter" if path.exists() else "is gone"
        except OSError:
            now = "cannot be read"
        where = now if reading.is_here(session) else f"is on {clean(session.machine)}"
        write_note(f"read from the archive: {clean(str(path))} {where}")


def _branches(chat: "Chat", wanted: str) -> "list[Branch]":
    from backscroll.conversation.branch_paths import whole_branch

    number = _number(chat, wanted)
    return chat.branches if number is None else [whole_branch(chat, number)]


def _number(chat: "Chat", wanted: str) -> int | None:
    """Return the number of a branch; None for all, and for a chat of agents only."""
    if wanted == "all" or (wanted == "1" and not chat.branches):
        return None
    number = int(wanted) if wanted.isdecimal() else 0
    if not 1 <= number <= len(chat.branches):
        raise UsageError(
            f"there is no branch {wanted}", f"the branches are 1 to {len(chat.branches)}; see backscroll tree"
        )
    return number


def _pages(
    reading: "OpenedChat | AroundMessage", branches: "list[Branch]", choice: "PartFilter", *, agents: bool
) -> Iterator[str]:
    from backscroll.render.documents import document_parts, markdown_of

    if sys.stdout.isatty():
        from backscroll.render.pretty import pretty

        width = min(shutil.get_terminal_size().columns, 120)
        context = click.get_current_context()
        parts = document_parts(reading, branches, choice, agents=agents, for_terminal=True)
        yield from pretty(parts, width, color=context.find_root().color is not False)
    else:
        yield from markdown_of(reading, branches, choice, agents=agents)


def _raw_rows(branches: "list[Branch]") -> Iterator[bytes]:
    for branch in branches:
        for turn in branch.turns:
            for node in turn.in_order():
                if node.row.record is not None:
                    yield node.row.record.raw.strip(b"\0 \r\n")
