"""The subject of a chat that another device asks to forget, read from the archive: the index does not have it."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.conversation.chats import ChatBuilder
from backscroll.files.layout import CONTAINERS, FileKind
from backscroll.library.archives import open_archive
from backscroll.library.indexing.sources import Kept, SourceError, conversation_place, read_from, records_on
from backscroll.library.syncing.forgets import AskedChat
from backscroll.records.decode import Problem
from backscroll.settings import Settings

HEAD: Final = 200_000
"""Bytes of a session that are read to find its subject."""


class ChatSubject(NamedTuple):
    """The title, project and time of a chat, by which a person recognizes it."""

    title: str
    """The title, or the first prompt; the name of the file if there is no session."""
    project: str | None
    last_active: datetime | None
    """When the last of the chat's files was written."""


def subjects_of(settings: Settings, chats: Iterable[AskedChat]) -> Iterator[tuple[AskedChat, ChatSubject]]:
    """Yield the chats with their subjects, from the beginnings of their sessions."""
    archive = open_archive(settings)
    for chat in chats:
        yield chat, _subject_of(chat, archive)


def _subject_of(chat: AskedChat, archive: Archive) -> ChatSubject:
    last = max((file.latest.modified_ns for file in chat.files if file.latest), default=0)
    last_active = _moment(last)
    builder = ChatBuilder()
    for file in chat.files:
        if (source := _session(chat, file, archive)) is not None:
            _read_head(builder, source)
    built = next(iter(builder.chats()), None)
    if built is None:
        names = dict.fromkeys(file.path for file in chat.files)
        return ChatSubject(next(iter(names), chat.id), None, last_active)
    return ChatSubject(built.title, built.project, last_active)


def _session(chat: AskedChat, file: KeptFile, archive: Archive) -> Kept | None:
    version = file.fullest
    if version is None:
        return None
    if file.type in CONTAINERS:
        from backscroll.archive.early import kept_contents  # few homes have such a file, and it imports a lot

        session = kept_contents(archive, file, version).sessions.get(chat.id)
        return Kept(archive, file, version, session=session) if session else None
    return Kept(archive, file, version) if file.type == FileKind.SESSION else None


def _read_head(builder: ChatBuilder, source: Kept) -> None:
    place = conversation_place(source)
    try:
        with source.open() as reading:
            for line in read_from(source, reading):
                items = [item for item, _, _ in records_on(reading, line) if not isinstance(item, Problem)]
                builder.add(place, items)
                if line.end > HEAD:
                    break
    except SourceError:
        return  # the part that could be read must be enough


def _moment(ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(ns / 1e9, UTC) if ns else None
    except (OverflowError, ValueError, OSError):
        return None
