"""Forget a chat: remove it from the archive, and its marks, saved prompts and recalls, rows and words with it."""

from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from backscroll.archive.forgetting import keys_named_after, keys_to_forget, owned_keys
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.errors import Busy
from backscroll.files.layout import FileKind, container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import open_writer
from backscroll.library.indexing.progress import Progress
from backscroll.library.keeping.client_files import ClientFiles, Remainder
from backscroll.library.keeping.kept_versions import KeptChat
from backscroll.library.library import Library
from backscroll.library.marks import Marks, change_marks, read_marks
from backscroll.library.memory.saved_recalls import remove_recall, saved_recalls
from backscroll.library.prompts.prompt_file import PromptFile, prompts_from
from backscroll.settings import Settings


class SavedFromChat(NamedTuple):
    """Saved items of a chat: the names of saved recalls that cite it, and of prompts that are from it."""

    recalls: list[str]
    prompts: list[str]


class ForgetOutcome(NamedTuple):
    """The result of forgetting a chat."""

    files: int
    """Number of kept files that were removed."""
    saved: SavedFromChat
    not_deleted: list[Remainder]
    """The files of Claude Code that should have been deleted and could not be."""


def forget_everywhere(
    library: Library, chat: KeptChat, progress: Progress | None = None, deletes: ClientFiles | None = None
) -> ForgetOutcome:
    """Remove a chat from the library for ever, and with `deletes` Claude Code's files of it.

    The marks go first: a run that is interrupted before the archive has forgotten the chat can be repeated, and one
    that is interrupted after that is finished by the next update. No file of Claude Code is deleted before the archive
    has forgotten the chat: that fails if another process has the archive open.
    """
    try:
        with open_writer(library.settings):  # nothing is removed if the archive cannot be written
            pass
    except Busy as busy:
        hint = "stop the backscroll that runs (open, watch or sync --watch), then forget the chat again"
        raise Busy(busy.message, hint) from busy
    saved = _remove_marks_of(library.settings.library, _names_of(chat))
    count = forget(library.settings, chat)
    not_deleted = deletes.delete() if deletes is not None else []
    _rebuild_without(library, progress)
    return ForgetOutcome(count, saved, not_deleted)


def forget_chats(library: Library, chats: Sequence[KeptChat]) -> int:
    """Forget several chats at once: the archive and the index are rewritten once."""
    remove_marks(library, chats)
    count = forget(library.settings, *chats)
    _rebuild_without(library)
    return count


def remove_marks(library: Library, chats: Sequence[KeptChat]) -> None:
    """Remove only pins, tags, notes, saved prompts and recalls of these chats."""
    _remove_marks_of(library.settings.library, {name for chat in chats for name in _names_of(chat)})


def remove_marks_of_sessions(settings: Settings, ids: Collection[str]) -> None:
    """Remove pins, tags, notes, saved prompts and recalls of the chats with these ids or sessions."""
    _remove_marks_of(settings.library, {name.lower() for name in ids})


def saved_from(library: Library, chat: KeptChat) -> SavedFromChat:
    """Return the user's saved items of a chat, which are removed with it."""
    return _saved_from(library.settings.library, _names_of(chat))


def _names_of(chat: KeptChat) -> set[str]:
    sessions = {file.place.session_id.lower() for file in chat.files if file.place.session_id}
    return {chat.id.lower(), *sessions, *(PurePosixPath(key.path).stem for key in chat.inside)}


def _saved_from(folder: Path, ids: Collection[str]) -> SavedFromChat:
    recalls = [
        recall.name for recall in saved_recalls(folder) if any(source.chat.lower() in ids for source in recall.sources)
    ]
    return SavedFromChat(recalls, prompts_from(folder, ids))


def _remove_marks_of(folder: Path, ids: Collection[str]) -> SavedFromChat:
    """Remove pins, tags, notes, saved prompts and recalls of these chats and sessions; return the saved items."""

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
    """Rebuild the index without the forgotten records.

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
        keys = {key for gone_key in gone for key in _keys_of(gone_key)}
        writer.forget([*files, *logs], keys)  # in one step: it is forgotten as a whole, or not at all
    return len(files) + len(inside)


def _keys_of(key: SourceKey) -> set[str]:
    file = [(key.home, key.path)]
    return owned_keys(key.machine, keys_to_forget(file) | keys_named_after(file))


def _logs_of(writer: Writer, chat: KeptChat) -> list[KeptFile]:
    """Return the message logs of a chat. Each is one session and removed as a whole; a database is rewritten."""
    holders = dict.fromkeys(key.beside(container_of(key.path) or "") for key in chat.inside)
    holding_files = (writer.sources.get(holder) for holder in holders)
    return [file for file in holding_files if file is not None and file.kind is FileKind.MESSAGE_LOG]
