"""Parts of `pin`, `tag` and `note`: find the chat, change its marks, and print them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from backscroll.cli.output import write, write_json
from backscroll.errors import NothingFound
from backscroll.render.terminal import clean, clean_line

if TYPE_CHECKING:
    from backscroll.library import StoredChat
    from backscroll.library.library import Library
    from backscroll.library.marked_chats import MarkedChat
    from backscroll.library.marks import Mark, Marks

Answer = TypeVar("Answer")


def mark_chat(library: "Library", stored: "StoredChat", how: "Callable[[Marks, list[str]], Answer]") -> Answer:
    """Change the marks of one chat."""
    from backscroll.library.marked_chats import sessions_of
    from backscroll.library.marks import change_marks

    sessions = sessions_of(stored)
    return change_marks(library.settings.library, lambda marks: how(marks, sessions))


def write_changed(library: "Library", stored: "StoredChat", message: str, *, as_json: bool, changed: bool) -> None:
    """Print the change; as JSON, also the marks the chat has now."""
    if as_json:
        from backscroll.library.marked_chats import MarkedChat, sessions_of
        from backscroll.library.marks import read_marks

        now = read_marks(library.settings.library).of(sessions_of(stored))
        write_json({"changed": changed, "chat": _as_json(MarkedChat(stored.overview.id, stored, now))})
    else:
        write(f"{message}: {_name(stored)}")


def write_marked(chats: "list[MarkedChat]", empty: NothingFound, *, as_json: bool, notes: bool = False) -> None:
    """Print the chats, each with its marks."""
    if not chats:
        raise empty
    if as_json:
        write_json({"chats": [_as_json(chat) for chat in chats]})
        return
    for item in chats:
        name = _name(item.chat) if item.chat else f"{_id(item.id)}  not in this library"
        write(name + click.style(_marks(item.mark, notes=notes), dim=True))
        for number, note in enumerate(item.mark.notes if notes else (), start=1):
            first, *more = clean(note.text).splitlines() or [""]
            write(f"  {number}  {note.at[:10]}  {first}")
            for line in more:
                write(f"  {'':{len(str(number)) + 12}}  {line}")


def _marks(mark: "Mark", *, notes: bool) -> str:
    count = len(mark.notes)
    words = ["pinned"] * mark.pinned + [f"tag:{clean_line(tag)}" for tag in mark.tags]
    words += [f"{count} note{'s' * (count > 1)}"] if count and not notes else []
    return f"  ({', '.join(words)})" if words else ""


def _name(stored: "StoredChat") -> str:
    title = clean_line(stored.overview.title)
    return f"{_id(stored.overview.id)}  {title if len(title) <= 70 else title[:69] + '…'}"


def _id(name: str) -> str:
    return click.style(clean_line(name[:8]), fg="cyan")


def _as_json(item: "MarkedChat") -> dict[str, Any]:
    from backscroll.library.marks import as_plain

    overview = item.chat.overview if item.chat else None
    return {
        "id": item.id,
        "title": overview.title if overview else None,
        "project": overview.project if overview else None,
        "known": overview is not None,
        **as_plain(item.mark),
    }
