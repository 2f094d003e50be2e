"""What the archive has of a chat: its files, and every version of each."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.layout import FileKind, container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library

NAMED: Final = 5
"""How many ids or paths an error lists at most."""


@dataclass(frozen=True)
class KeptChat:
    """A chat in the archive."""

    id: str
    title: str
    files: list[KeptFile]
    inside: list[SourceKey] = field(default_factory=list)
    """Its sessions that are inside a database or log of early clients."""


@dataclass(frozen=True)
class KeptVersion:
    """One version of a kept file, read and checked."""

    file: KeptFile
    version: Version
    lines: int
    damage: str | None
    """Why it cannot be read; None if it is intact."""

    @property
    def is_live(self) -> bool:
        """Whether it is the version in the home, as of the last capture."""
        return self.version is self.file.latest and self.file.gone_since is None

    @property
    def is_shown(self) -> bool:
        """Whether lists, search and readers show it."""
        return self.version in self.file.shown_versions


def find_kept(library: Library, archive: Archive, name: str) -> KeptChat:
    """What is kept of the chat whose id starts with `name`, with everything that belongs to its sessions.

    A session that the index does not show, such as one that was emptied, is found by its own id.
    """
    try:
        chat = library.open(name, with_records=False).chat
    except NothingFound:
        return _by_session(archive, name)
    sessions = {session.place.session_id for session in chat.sessions if session.place.session_id}
    sources = {SourceKey.parse(transcript.place.file).current for transcript in chat.transcripts}
    files = [file for file in archive.files.values() if file.key in sources or file.place.session_id in sessions]
    inside = sorted(key for key in sources if container_of(key.path) is not None)
    return KeptChat(chat.id, chat.title, files, inside)


def versions_of(archive: Archive, files: list[KeptFile]) -> list[KeptVersion]:
    """Every version of these files, each read completely to check it."""
    return [_look(archive, file, version) for file in files for version in file.versions]


def choose_file(files: list[KeptFile], path: str | None) -> KeptFile:
    """The only session, or the file whose path ends with `path`."""
    if path is None:
        found = [file for file in files if file.kind is FileKind.SESSION]
    else:
        wanted = Path(path).parts
        found = [file for file in files if Path(file.path).parts[-len(wanted) :] == wanted]
    if not found:
        raise NothingFound(f"no kept file of this chat is called {path or 'a session'}", SEE_VERSIONS)
    if len(found) > 1:
        paths = ", ".join(file.path for file in found[:NAMED])
        raise UsageError(f"{len(found)} files could be meant: {paths}", "name one with --file")
    return found[0]


SEE_VERSIONS: Final = "run backscroll archive versions ID to see what is kept"


def _by_session(archive: Archive, name: str) -> KeptChat:
    wanted = name.lower()
    sessions = {file.place.session_id for file in archive.files.values() if file.place.session_id}
    found = sorted(session for session in sessions if wanted and session.startswith(wanted))
    if not found:
        raise NothingFound(f"no chat or kept session {name}", "backscroll list shows the ids of chats")
    if len(found) > 1:
        ids = ", ".join(found[:NAMED])
        raise UsageError(f"{len(found)} kept sessions start with {name}: {ids}", "give more of the id")
    return KeptChat(found[0], "", [file for file in archive.files.values() if file.place.session_id == found[0]])


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
