"""The sessions inside the files of early clients, for a plan: such a database holds sessions, like a folder of a home.

A database or log that is unchanged since its sessions were listed is not opened: they are taken from the index.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile, Version
from backscroll.errors import BackscrollError
from backscroll.files.changes import looks_the_same
from backscroll.files.discovery import Discovery, HomeFile
from backscroll.files.early_sessions import EarlySession
from backscroll.files.inside import find_inside
from backscroll.files.layout import CONTAINERS, FileKind, LeftOut, place_of
from backscroll.files.reading import Bookmark
from backscroll.library.indexing.sources import Kept
from backscroll.store.reader import IndexedFile


class KnownInside:
    """The entries of the index for such files, and for the sessions inside them."""

    def __init__(self, known: Mapping[str, IndexedFile], containers: Collection[str]) -> None:
        """Collect the entries; `containers` are the paths of the files."""
        self._known = known
        self._inside: dict[tuple[str, str], list[IndexedFile]] = {}
        for entry in known.values() if containers else ():
            holder = entry.path.rpartition("/")[0]
            if holder in containers:
                self._inside.setdefault((entry.machine, holder), []).append(entry)

    def of_live(self, file: HomeFile) -> list[HomeFile] | None:
        """Return the sessions that were read from a file, if it is unchanged; None if it has to be opened."""
        entry = self._known.get(file.id)
        if entry is None or entry.bookmark is None or entry.archived:
            return None
        if not looks_the_same(file, Bookmark(*entry.bookmark)):
            return None
        inside = self._inside.get((file.machine, file.name), [])
        return [
            _as_file(file, session, Bookmark(*session.bookmark))
            for session in inside
            if session.bookmark and not session.archived
        ]

    def of_kept(self, kept: Kept) -> dict[str, EarlySession] | None:
        """Return the sessions of a file that is read from the archive, by name; None if it has to be opened."""
        entry = self._known.get(kept.id)
        if entry is None or entry.bookmark or (entry.size, entry.modified) != (kept.size, kept.modified_ns):
            return None
        inside = self._inside.get((kept.machine, kept.name), [])
        sessions = (EarlySession(PurePosixPath(item.path).stem, item.size, item.modified, 0) for item in inside)
        return {session.name: session for session in sessions}


def with_sessions(discovery: Discovery, known: Mapping[str, IndexedFile], archive: Archive | None = None) -> Discovery:
    """Return the files of a home and the sessions that are inside other files, except forgotten ones."""
    containers = {file.name for file in discovery.files if file.kind in CONTAINERS}
    if not containers:
        return discovery
    before = KnownInside(known, containers)
    expanded = Discovery(discovery.home)
    expanded.left_out, expanded.unreadable = discovery.left_out, list(discovery.unreadable)
    for file in discovery.files:
        if file.kind not in CONTAINERS:
            expanded.files.append(file)
            continue
        same = before.of_live(file)
        inside = find_inside(file) if same is None else same
        problems = len(expanded.unreadable)
        sessions = len(expanded.files)
        for item in inside:
            if not isinstance(item, HomeFile) or not _is_forgotten(archive, item):
                expanded.add(item)
        # A file whose sessions cannot be listed counts as missing: its kept sessions are read instead.
        if len(expanded.unreadable) == problems or len(expanded.files) > sessions:
            expanded.files.append(file)
    return expanded


def _is_forgotten(archive: Archive | None, file: HomeFile) -> bool:
    return archive is not None and archive.is_forgotten(file.home, file.relative, file.machine)


def is_container(discovery: Discovery, path: Path) -> bool:
    """Whether a path is that of a container, rather than of a folder or another file."""
    place = place_of(path.relative_to(discovery.home.path).parts) if path != discovery.home.path else LeftOut.OTHER
    return not isinstance(place, LeftOut) and place.kind in CONTAINERS


def kept_inside(
    archive: Archive,
    kept: Kept,
    live: HomeFile | None,
    live_sessions: Mapping[str, HomeFile],
    before: KnownInside,
) -> Iterator[Kept]:
    """Yield the sessions of a kept file that its live one does not have, or has less of."""
    file = kept.file
    versions = [version for version in file.shown_versions if live is None or version.size > live.size]
    noted = before.of_kept(kept) if live is None else None
    sessions: dict[str, Kept] = {}
    if noted is not None and file.latest is not None:
        sessions = {name: _inside(kept, session) for name, session in noted.items()}
    else:
        for version in versions:
            for session in _sessions(archive, file, version):
                other = sessions.get(session.name)
                if other is None or session.size >= other.size:
                    sessions[session.name] = _inside(kept, session, version.number)
    for kept_session in sessions.values():
        if archive.is_forgotten(file.home, kept_session.key.path, file.machine):
            continue
        current = live_sessions.get(kept_session.key.current.id)
        if current is None:
            yield kept_session
        elif kept_session.size > current.size:
            yield _as_earlier(kept_session)


def containers_in(archive: Archive) -> Sequence[KeptFile]:
    """Return the kept files of early clients."""
    return [file for file in archive.files.values() if file.type in CONTAINERS and file.latest is not None]


def _sessions(archive: Archive, file: KeptFile, version: Version) -> Sequence[EarlySession]:
    from backscroll.archive.early import kept_contents  # few homes have such a file, and it imports a lot

    with suppress(OSError, BackscrollError):
        return list(kept_contents(archive, file, version).sessions.values())
    return []


def _inside(kept: Kept, session: EarlySession, number: int | None = None) -> Kept:
    version = kept.file.version(number) if number is not None else None
    return Kept(
        kept.archive,
        kept.file,
        version or kept.version,
        is_archived=kept.is_archived,
        renamed=kept.renamed,
        session=session,
    )


def _as_earlier(kept: Kept) -> Kept:
    return Kept(kept.archive, kept.file, kept.version, is_earlier=True, renamed=kept.renamed, session=kept.session)


def _as_file(container: HomeFile, entry: IndexedFile, mark: Bookmark) -> HomeFile:
    return container._replace(
        relative=f"{container.relative}/{entry.path.rpartition('/')[2]}",
        kind=FileKind.SESSION,
        size=mark.size,
        modified_ns=mark.modified_ns,
        changed_ns=mark.changed_ns,
        device=mark.device,
        inode=mark.inode,
    )
