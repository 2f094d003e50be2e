"""`backscroll tag`: tag chats."""

import click

from backscroll.cli.marks import mark_chat, write_changed, write_marked
from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import open_library
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean_line


@click.command("tag")
@click.argument("name", metavar="[ID]", required=False)
@click.argument("words", metavar="[WORD]...", nargs=-1)
@click.option("--remove", is_flag=True, help="Remove these tags.")
@global_options()
def command(name: str | None, words: tuple[str, ...], remove: bool) -> None:
    """Give a chat tags, so that `tag:WORD` finds it; without WORD, list its tags; without ID, all chats that have any.

    \b
    Examples:
      backscroll tag 4f8c review parser
      backscroll tag
      backscroll search 'tag:review timeout'
      backscroll tag 4f8c review --remove
    """
    request = current_request()
    if remove and not words:
        raise UsageError("--remove needs the ID of a chat and its tags", "backscroll tag ID WORD --remove")
    if any(not word.strip() for word in words):
        raise UsageError("a tag cannot be empty", "backscroll tag ID WORD")
    library = open_library(request)
    if name is None or not words:
        from backscroll.library.marked_chats import marked_chat, marked_chats

        chats = marked_chats(library) if name is None else [marked_chat(library, library.find(name))]
        tagged = [chat for chat in chats if chat.mark.tags]
        write_marked(tagged, NothingFound("there are no tags", "backscroll tag ID WORD"), as_json=request.json)
        return
    stored = library.find(name)
    how = mark_chat(library, stored, lambda marks, ids: marks.untag(ids, words) if remove else marks.tag(ids, words))
    if remove and not how:
        raise NothingFound(f"it has no tag {', '.join(words)}", f"see backscroll tag {name}")
    verb = "removed" if remove else "tagged"
    message = f"{verb} {clean_line(', '.join(how))}" if how else "already has these tags"
    write_changed(library, stored, message, as_json=request.json, changed=bool(how))
