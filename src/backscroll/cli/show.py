"""`backscroll show`: read a chat."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write_note
from backscroll.errors import BackscrollError, UsageError
from backscroll.render.terminal import clean, escaped, plural

if TYPE_CHECKING:
    from backscroll.conversation.chat import Branch, Chat
    from backscroll.library.opened_chat import OpenedChat
    from backscroll.render.parts import PartFilter


@click.command("show")
@click.argument("name", metavar="ID")
@click.option(
    "--branch", metavar="N|all", default="1", help="Which branch: 1 is the active one, `all` shows every one."
)
@click.option("--agents", is_flag=True, help="Include the conversations of sub-agents.")
@click.option(
    "--tools", type=click.Choice(["full", "short", "none"]), default="short", help="How much of each tool call to show."
)
@click.option("--thinking", is_flag=True, help="Include the model's thinking.")
@click.option("--raw", is_flag=True, help="Print the rows as Claude Code wrote them, one JSON object per line.")
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@global_options
def command(
    name: str,
    branch: str,
    agents: bool,
    tools: Literal["full", "short", "none"],
    thinking: bool,
    raw: bool,
    no_pager: bool,
) -> None:
    """Read a chat in the terminal; when piped, print it as Markdown.

    ID is the start of a chat, session, message or agent id. Shows the active branch from its first prompt, across
    compactions and session files.

    \b
    Examples:
      backscroll show 4f8c
      backscroll show 4f8c --tools full --thinking --agents
      backscroll show 4f8c --branch all > chat.md
      backscroll show 4f8c --json | jq -r '.messages[] | select(.kind == "prompt") | .text'
    """
    from backscroll.render.parts import PartFilter

    request = current_request()
    library = open_library(request)
    stored = library.find(name)
    if request.json:
        from backscroll.library.sharing.share import share
        from backscroll.render.html.export_documents import json_document

        for piece in json_document(share(library, stored, None)):
            click.echo(escaped(piece), nl=False)
    else:
        choice = PartFilter(tools, thinking, everything=request.verbosity > 0)
        _show(library.open(stored), choice, branch, raw=raw, agents=agents, no_pager=no_pager)
    if missing := library.missing_from(stored):
        count = plural(len(missing), "file")
        hint = "run backscroll archive verify to see what is damaged"
        raise BackscrollError(f"{count} of this chat could not be found, so part of it is missing above", hint)


def _show(reading: "OpenedChat", choice: "PartFilter", branch: str, *, raw: bool, agents: bool, no_pager: bool) -> None:
    for session in reading.from_archive:
        path = Path(session.origin)
        now = "is now shorter" if path.exists() else "is gone"
        where = now if reading.is_here(session) else f"is on {clean(session.machine)}"
        write_note(f"read from the archive: {clean(str(path))} {where}")
    chosen = _branches(reading.chat, branch)
    if raw:
        for row in _raw_rows(chosen):
            click.echo(escaped(row.decode("utf-8", "replace")) if sys.stdout.isatty() else row)
        return
    pages = _pages(reading, chosen, choice, agents=agents)
    if sys.stdout.isatty() and not no_pager:
        click.echo_via_pager(pages)
    else:
        for page in pages:
            click.echo(page, nl=False)


def _branches(chat: "Chat", wanted: str) -> "list[Branch]":
    if wanted == "all":
        return chat.branches
    number = int(wanted) if wanted.isdecimal() else 0
    if not 1 <= number <= len(chat.branches):
        if wanted == "1":
            return []  # a chat of agents only
        raise UsageError(
            f"there is no branch {wanted}", f"the branches are 1 to {len(chat.branches)}; see backscroll tree"
        )
    return [chat.branches[number - 1]]


def _pages(reading: "OpenedChat", branches: "list[Branch]", choice: "PartFilter", *, agents: bool) -> Iterator[str]:
    from backscroll.render.documents import document_parts, markdown_of

    if sys.stdout.isatty():
        from backscroll.render.pretty import pretty

        width = min(shutil.get_terminal_size().columns, 120)
        context = click.get_current_context()
        parts = document_parts(reading, branches, choice, agents=agents)
        yield from pretty(parts, width, color=context.find_root().color is not False)
    else:
        yield from markdown_of(reading, branches, choice, agents=agents)


def _raw_rows(branches: "list[Branch]") -> Iterator[bytes]:
    for branch in branches:
        for turn in branch.turns:
            for node in turn.in_order():
                if node.row.record is not None:
                    yield node.row.record.raw.strip(b"\0 \r\n")
