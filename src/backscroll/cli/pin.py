"""`backscroll pin`: pin chats."""

import click

from backscroll.cli.marks import mark_chat, write_changed, write_marked
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library
from backscroll.errors import NothingFound, UsageError


@click.command("pin")
@click.argument("name", metavar="[ID]", required=False)
@click.option("--undo", is_flag=True, help="Unpin it.")
@global_options()
def command(name: str | None, undo: bool) -> None:
    """Pin a chat, so that `is:pinned` finds it; without ID, list pinned chats.

    Pins, tags and notes are stored in marks.json in the library; only you change them.

    \b
    Examples:
      backscroll pin 4f8c
      backscroll pin
      backscroll search 'is:pinned timeout'
      backscroll pin 4f8c --undo
    """
    request = current_request()
    if name is None and undo:
        raise UsageError("--undo needs the ID of a chat", "see backscroll pin")
    library = open_library(request)
    if name is None:
        from backscroll.library.marked_chats import marked_chats

        pinned = [chat for chat in marked_chats(library) if chat.mark.pinned]
        write_marked(pinned, NothingFound("nothing is pinned", "backscroll pin ID"), as_json=request.json)
        return
    stored = library.find(name)
    changed = mark_chat(library, stored, lambda marks, sessions: marks.pin(sessions, undo=undo))
    message = {(True, True): "unpinned", (True, False): "was not pinned", (False, True): "pinned"}
    write_changed(
        library, stored, message.get((undo, changed), "is already pinned"), as_json=request.json, changed=changed
    )
