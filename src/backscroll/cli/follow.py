"""`backscroll follow`: read a session while Claude Code writes it."""

import json
import shutil
import sys
import time
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library, write_note
from backscroll.render.cells import cut
from backscroll.render.terminal import clean_line, escaped

if TYPE_CHECKING:
    from backscroll.conversation.messages import Message
    from backscroll.demo.sandbox import Sandbox
    from backscroll.render.following import NewParts

LAST = 10
MAX_WIDTH = 120
SPEED = 4
"""Speed of the sample session in the demo, as a factor."""


@click.command("follow")
@click.argument("name", metavar="[ID]", required=False)
@click.option(
    "-n", "--last", type=click.IntRange(min=0), default=LAST, show_default=True, metavar="NUMBER",
    help="Begin with this many messages.",
)  # fmt: skip
@click.option(
    "--tools", type=click.Choice(["full", "short", "none"]), default="short", help="How much of each tool call to show."
)
@click.option("--thinking", is_flag=True, help="Include the model's thinking.")
@global_options()
def command(name: str | None, last: int, tools: Literal["full", "short", "none"], thinking: bool) -> None:
    """Show a session as it is written, as `tail -f` shows a file, until you press Ctrl-C.

    ID is the start of a chat, session or message id; without it, the session that Claude Code writes right now, or else
    the latest one. It continues in another file when the session does: after a resume, a compaction, /clear or /resume.
    Piped, it prints Markdown; with --json, one message per line, again whenever it changes.

    \b
    Examples:
      backscroll follow
      backscroll follow 4f8c -n 0
      backscroll follow --json | jq -r 'select(.kind == "answer") | .text'
    """
    from backscroll.library.chats.following import chat_to_follow, follow_chat
    from backscroll.render.following import NewParts
    from backscroll.render.parts import PartFilter
    from backscroll.render.search_results import ago

    request = current_request()
    if request.demo:
        _play(request.room())
    library = open_library(request)
    stored, is_live = chat_to_follow(library, name)
    chat = stored.overview
    if not request.quiet:
        room = shutil.get_terminal_size().columns if sys.stderr.isatty() else 10_000
        state = (
            "running"
            if is_live
            else "not running; last active "
            + (ago(chat.last_active, datetime.now().astimezone()) if chat.last_active else "at an unknown time")
        )
        write_note(cut(f"{chat.id[:8]}  {clean_line(chat.title)}", room))
        write_note(f"{state}; Ctrl-C to stop")
    new = NewParts(PartFilter(tools, thinking, everything=request.verbosity > 0))
    for written in follow_chat(library, stored, last):
        if written.chat.overview.id != chat.id and not request.quiet:
            chat = written.chat.overview
            write_note(f"{chat.id[:8]}  {clean_line(chat.title)}: the session goes on here")
        if request.json:
            _write_json(written.messages)
        else:
            _write(written.messages, new)


def _play(room: "Sandbox") -> None:
    """Play a sample session of the demo while it is followed."""
    from backscroll.demo.live import LivePlayer

    player = LivePlayer(room, speed=SPEED)
    player.start()
    current_request().closing.callback(player.stop)
    while not room.live.exists():
        time.sleep(0.05)


def _write_json(messages: "Iterable[Message]") -> None:
    from backscroll.render.chats import message_as_json

    for message in messages:
        click.echo(escaped(json.dumps(message_as_json(message), ensure_ascii=False)))


def _write(messages: "Iterable[Message]", new: "NewParts") -> None:
    parts = list(new.of(messages))
    if sys.stdout.isatty():
        from backscroll.render.pretty import pretty

        color = click.get_current_context().find_root().color is not False
        pieces = pretty(parts, min(shutil.get_terminal_size().columns, MAX_WIDTH), color=color)
    else:
        from backscroll.render.markdown import markdown

        pieces = markdown(parts)
    for piece in pieces:
        click.echo(piece, nl=False)
    sys.stdout.flush()
