"""The files of a chat in the archive, with every version of each."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.layout import PARENT_COPY, FileKind, container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library

NAMED: Final = 5
"""Largest number of ids or paths listed in an error."""


@dataclass(frozen=True)
class KeptChat:
    """A chat in the archive."""

    id: str
    title: str
    files: list[KeptFile]
    inside: list[SourceKey] = field(default_factory=list)
    """The chat's sessions that are inside a database or log of early clients."""


@dataclass(frozen=True)
class KeptVersion:
    """One version of a kept file, read and checked."""

    file: KeptFile
    version: Version
    lines: int
    damage: str | None
    """Why the version cannot be read; None if it is intact."""

    @property
    def is_live(self) -> bool:
        """Whether this is the version in the home, as of the last capture."""
        return self.version is self.file.latest and self.file.gone_since is None

    @property
    def is_shown(self) -> bool:
        """Whether lists, search and readers show this version."""
        return self.version in self.file.shown_versions


def find_kept(library: Library, archive: Archive, name: str) -> KeptChat:
    """Return the kept files of the chat whose id starts with `name`, with all files that belong to its sessions.

    A session that the index does not show, such as one that was emptied, is found by its own id.
    """
    try:
        chat = library.open(name, with_records=False).chat
    except NothingFound:
        return _by_session(archive, name)
    sessions = {session.place.session_id for session in chat.sessions if session.place.session_id}
    sources = {SourceKey.parse(transcript.place.file).current for transcript in chat.transcripts}
    files = [file for file in archive.files.values() if file.key in sources or _is_of(archive, file, sessions)]
    inside = sorted(key for key in sources if container_of(key.path) is not None)
    return KeptChat(chat.id, chat.title, files, inside)


def versions_of(archive: Archive, files: list[KeptFile]) -> list[KeptVersion]:
    """Return every version of these files, each read completely to check it."""
    return [_look(archive, file, version) for file in files for version in file.versions]


def choose_file(files: list[KeptFile], path: str | None) -> KeptFile:
    """Return the only session, or the file whose path ends with `path`."""
    if path is None:
        matches = [file for file in files if file.kind is FileKind.SESSION]
    else:
        wanted = Path(path).parts
        matches = [file for file in files if Path(file.path).parts[-len(wanted) :] == wanted]
    if not matches:
        raise NothingFound(f"no kept file of this chat is called {path or 'a session'}", SEE_VERSIONS)
    if len(matches) > 1:
        paths = ", ".join(file.path for file in matches[:NAMED])
        raise UsageError(f"{len(matches)} files could be meant: {paths}", "name one with --file")
    return matches[0]


SEE_VERSIONS: Final = "run backscroll archive versions ID to see what is kept"


def _by_session(archive: Archive, name: str) -> KeptChat:
    wanted = name.lower()
    sessions = {file.place.session_id for file in archive.files.values() if file.place.session_id}
    matches = sorted(session for session in sessions if wanted and session.startswith(wanted))
    if not matches:
        raise NothingFound(f"no chat or kept session {name}", "backscroll list shows the ids of chats")
    if len(matches) > 1:
        ids = ", ".join(matches[:NAMED])
        raise UsageError(f"{len(matches)} kept sessions start with {name}: {ids}", "give more of the id")
    return KeptChat(matches[0], "", [file for file in archive.files.values() if _is_of(archive, file, matches[:1])])


def _is_of(archive: Archive, file: KeptFile, sessions: Collection[str]) -> bool:
    """Whether a file belongs to one of these sessions, or is a copy of one for a background session."""
    place = file.place
    if any(place.belongs_to(session) for session in sessions):
        return True
    if place.kind is not FileKind.JOB or not file.path.endswith(f"/{PARENT_COPY}"):
        return False
    names = [session.encode() for session in sessions]
    with suppress(BackscrollError):
        for version in file.versions:
            if any(name in data for data in archive.content(version) for name in names):
                return True
    return False


def _look(archive: Archive, file: KeptFile, version: Version) -> KeptVersion:
    lines = 0
    last = b""
    try:
        for data in archive.content(version):
            lines += data.count(b"\n")
            last = data
    except BackscrollError as error:
        return KeptVersion(file, version, lines, error.message)
    return KeptVersion(file, version, lines + bool(last and not last.endswith(b"\n")), None)
