"""Forget a chat: remove it from the archive, and its marks, saved prompts and recalls, rows and words with it."""

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from backscroll.archive.forgetting import keys_to_forget, owned_key
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.errors import Busy
from backscroll.files.layout import FileKind, container_of
from backscroll.files.source_key import owner_of
from backscroll.library.archives import open_writer
from backscroll.library.indexing.progress import Progress
from backscroll.library.keeping.kept_versions import KeptChat
from backscroll.library.library import Library
from backscroll.library.marks import Marks, change_marks, read_marks
from backscroll.library.memory.saved_recalls import remove_recall, saved_recalls
from backscroll.library.prompts.prompt_file import PromptFile, prompts_from
from backscroll.settings import Settings


class SavedFromChat(NamedTuple):
    """What the user saved of a chat: the names of saved recalls that cite it, and of prompts that are from it."""

    recalls: list[str]
    prompts: list[str]


def forget_everywhere(library: Library, chat: KeptChat, progress: Progress | None = None) -> tuple[int, SavedFromChat]:
    """Remove a chat from the library for ever; how many kept files that were, and what was saved of it.

    The marks go first: what is cut off before the archive has forgotten the chat can be done again, and what is cut
    off after that is finished by the next update.
    """
    saved = _remove_marks_of(library.settings.library, _names_of(chat))
    count = forget(library.settings, chat)
    _rebuild_without(library, progress)
    return count, saved


def forget_chats(library: Library, chats: Sequence[KeptChat]) -> int:
    """The same for several chats at once: the archive and the index are rewritten once."""
    remove_marks(library, chats)
    count = forget(library.settings, *chats)
    _rebuild_without(library)
    return count


def remove_marks(library: Library, chats: Sequence[KeptChat]) -> None:
    """Remove only pins, tags, notes, and what was saved of these chats."""
    _remove_marks_of(library.settings.library, {name for chat in chats for name in _names_of(chat)})


def files_that_stay(library: Library, chat: KeptChat) -> list[Path]:
    """The files of the chat that Claude Code still has here. They are not touched, only never read again."""
    holders = (key.beside(container_of(key.path) or "") for key in chat.inside)
    keys = [*(file.key for file in chat.files), *dict.fromkeys(holders)]
    paths = (Path(key.home, key.path) for key in keys if library.machine.is_own(key.machine))
    return [path for path in paths if path.is_file()]


def saved_from(library: Library, chat: KeptChat) -> SavedFromChat:
    """What the user saved of a chat, which is removed with it."""
    return _saved_from(library.settings.library, _names_of(chat))


def _names_of(chat: KeptChat) -> set[str]:
    sessions = {file.place.session_id.lower() for file in chat.files if file.place.session_id}
    return {chat.id.lower(), *sessions, *(PurePosixPath(key.path).stem for key in chat.inside)}


def _saved_from(folder: Path, ids: Collection[str]) -> SavedFromChat:
    recalls = [one.name for one in saved_recalls(folder) if any(source.chat.lower() in ids for source in one.sources)]
    return SavedFromChat(recalls, prompts_from(folder, ids))


def _remove_marks_of(folder: Path, ids: Collection[str]) -> SavedFromChat:
    """Remove pins, tags, notes, and what was saved of these chats and sessions; return what that was."""

    def remove(marks: Marks) -> None:
        marks.chats = {session: mark for session, mark in marks.chats.items() if session.lower() not in ids}

    if any(session.lower() in ids for session in read_marks(folder).chats):
        change_marks(folder, remove)
    saved = _saved_from(folder, ids)
    for name in saved.recalls:
        remove_recall(folder, name)
    for name in saved.prompts:
        PromptFile(folder).remove(name)
    return saved


def _rebuild_without(library: Library, progress: Progress | None = None) -> None:
    """Rebuild the index without what the archive has forgotten.

    Deleting inside the index is not enough: deleted rows leave their bytes in the file, and deleted words stay in the
    engine's files until it merges them.
    """
    try:
        library.rebuild(progress)
    except Busy as error:
        hint = "stop it, then run backscroll update"
        raise Busy("the archive has forgotten it, but another process is writing the index", hint) from error


def forget(settings: Settings, *chats: KeptChat) -> int:
    """Remove chats from the archive for good; return the number of files, or of sessions inside them."""
    wanted = {(file.number, file.machine, file.home, file.path) for chat in chats for file in chat.files}
    inside = [key for chat in chats for key in chat.inside]
    with open_writer(settings) as writer:
        files = [file for file in writer.files.values() if (file.number, file.machine, file.home, file.path) in wanted]
        logs = [file for chat in chats for file in _logs_of(writer, chat)]
        gone = [*(file.key for file in (*files, *logs)), *inside]
        keys = {owned_key(owner_of(one.machine), key) for one in gone for key in keys_to_forget([(one.home, one.path)])}
        writer.forget([*files, *logs], keys)  # in one step: it is forgotten as a whole, or not at all
    return len(files) + len(inside)


def _logs_of(writer: Writer, chat: KeptChat) -> list[KeptFile]:
    """The message logs of a chat. Each is one session, so it is removed as a whole; a database is rewritten instead."""
    holders = dict.fromkeys(key.beside(container_of(key.path) or "") for key in chat.inside)
    found = (writer.sources.get(holder) for holder in holders)
    return [file for file in found if file is not None and file.kind is FileKind.MESSAGE_LOG]
