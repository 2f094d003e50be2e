"""Remove what the library has of forgotten chats beside the archive: marks, saved recalls, rows and words."""

from collections.abc import Collection

from backscroll.errors import Busy
from backscroll.library.library import Library
from backscroll.library.marks import Marks, change_marks, read_marks
from backscroll.library.recalls import remove_recall, saved_recalls
from backscroll.library.update import Progress


def purge(library: Library, chats: Collection[str], progress: Progress | None = None) -> list[str]:
    """Remove pins, tags, notes and saved recalls of these chats and sessions, and rebuild the index without them.

    The archive must have forgotten them already. Nothing is deleted inside the index: rows that were deleted leave
    their bytes in the file, and words that were deleted stay in the engine's files until it merges them. Returns the
    names of the recalls that were removed, because they cite one of the chats.
    """
    folder = library.settings.library
    ids = {name.lower() for name in chats}

    def remove(marks: Marks) -> None:
        marks.chats = {session: mark for session, mark in marks.chats.items() if session.lower() not in ids}

    if any(session.lower() in ids for session in read_marks(folder).chats):
        change_marks(folder, remove)
    removed = [one.name for one in saved_recalls(folder) if any(source.chat.lower() in ids for source in one.sources)]
    for name in removed:
        remove_recall(folder, name)
    try:
        library.rebuild(progress)
    except Busy as error:
        hint = "stop it, then run backscroll update --rebuild"
        raise Busy("the archive has forgotten it, but another process is writing the index", hint) from error
    return removed
