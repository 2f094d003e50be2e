"""`backscroll note`: notes on chats."""

import sys

import click

from backscroll.cli.marks import mark_chat, write_changed, write_marked
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library
from backscroll.errors import NothingFound, UsageError


@click.command("note")
@click.argument("name", metavar="[ID]", required=False)
@click.argument("words", metavar="[TEXT]...", nargs=-1)
@click.option("--remove", type=click.IntRange(min=1), metavar="NUMBER", help="Remove the note with this number.")
@global_options()
def command(name: str | None, words: tuple[str, ...], remove: int | None) -> None:
    """Add a note to a chat; without TEXT, list its notes; without ID, the notes of all chats.

    The text may be several lines; `-` reads it from stdin.

    \b
    Examples:
      backscroll note 4f8c 'the fix that held'
      git log -1 | backscroll note 4f8c -
      backscroll note 4f8c
      backscroll note 4f8c --remove 1
    """
    request = current_request()
    if remove is not None and (name is None or words):
        raise UsageError("--remove needs the ID of a chat and nothing else", "backscroll note ID --remove NUMBER")
    library = open_library(request)
    if name is None or (not words and remove is None):
        from backscroll.library.marked_chats import marked_chat, marked_chats

        chats = marked_chats(library) if name is None else [marked_chat(library, library.find(name))]
        noted = [chat for chat in chats if chat.mark.notes]
        empty = NothingFound("there are no notes", "backscroll note ID TEXT")
        write_marked(noted, empty, as_json=request.json, notes=True)
        return
    stored = library.find(name)
    if remove is not None:
        number = remove
        if mark_chat(library, stored, lambda marks, sessions: marks.unnote(sessions, number)) is None:
            raise NothingFound(f"it has no note {number}", f"see backscroll note {name}")
        write_changed(library, stored, f"removed note {number}", as_json=request.json, changed=True)
        return
    text = sys.stdin.read() if words == ("-",) else " ".join(words)
    if not text.strip():
        raise UsageError("a note cannot be empty", "backscroll note ID TEXT")
    mark_chat(library, stored, lambda marks, sessions: marks.note(sessions, text))
    write_changed(library, stored, "noted", as_json=request.json, changed=True)
