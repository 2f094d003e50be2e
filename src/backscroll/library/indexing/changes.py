"""Check whether a store needs an update. Every command checks this, so it loads and reads as little as possible."""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from backscroll import __version__
from backscroll.archive.stamp import stamp_of
from backscroll.files.changes import HomeChanges, find_changes
from backscroll.files.discovery import Discovery, HomeFile, discover
from backscroll.files.homes import Home
from backscroll.files.layout import CONTAINERS, TITLE_FILE, TRANSCRIPTS, FileKind
from backscroll.files.reading import Bookmark
from backscroll.library.archives import archive_folder
from backscroll.library.forget_requests import HiddenFiles, requests_stamp
from backscroll.library.gone_homes import have_changed
from backscroll.library.machine import Machine
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.reader import IndexedFile

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

UNREAD: Final = Bookmark(*[0] * len(Bookmark._fields))
"""A bookmark that matches no file, for a file to be read from the start."""


def look(store: Store, settings: Settings, homes: Sequence[Home], machine: Machine) -> tuple[list[Discovery], bool]:
    """Return the files in the homes, and whether the store needs an update."""
    discoveries = [discover(home) for home in homes if home.exists]
    if not store.exists:
        return discoveries, True
    if store.noted("catalogue") != catalogue_stamp(settings) or store.noted("price table") != price_table(settings):
        return discoveries, True
    if have_changed(store.noted("homes")):
        return discoveries, True
    if store.noted("overdue") or (store.noted("requests") or "") != requests_stamp(settings):
        return discoveries, True
    left_out = set(json.loads(store.noted("forgotten") or "[]"))
    visible = (
        [_without(discovery, lambda file: file.name in left_out) for discovery in discoveries]
        if left_out
        else discoveries
    )
    known = store.indexed_files()
    if any(file.kind in CONTAINERS for discovery in visible for file in discovery.files):
        from backscroll.library.indexing.plan import plan

        return discoveries, not plan(known, visible, None, machine).is_empty
    return discoveries, any(any(changes_in(discovery, entries_of(discovery, known))) for discovery in visible)


def entries_of(discovery: Discovery, known: Mapping[str, IndexedFile]) -> dict[str, IndexedFile]:
    """Return the entries that a store has from a home, by path."""
    place = (discovery.home.machine, str(discovery.home.path))
    return {
        entry.path: entry for entry in known.values() if not entry.archived and (entry.machine, entry.home) == place
    }


def changes_in(discovery: Discovery, entries: Mapping[str, IndexedFile]) -> HomeChanges:
    """Return the changes in a home since a store read it."""
    marks = {name: Bookmark(*entry.bookmark) if entry.bookmark else UNREAD for name, entry in entries.items()}
    files = (file for file in discovery.files if is_tracked(file.kind, file.relative))
    return find_changes(marks, files, discovery.unreadable)


def is_tracked(kind: FileKind, path: str) -> bool:
    """Whether a store reads files of this kind and path."""
    is_read = kind in TRANSCRIPTS or kind in (FileKind.AGENT_META, FileKind.TOOL_RESULT)
    return is_read or kind in CONTAINERS or path.rpartition("/")[2] == TITLE_FILE


def without_forgotten(discoveries: Sequence[Discovery], archive: "Archive | None") -> list[Discovery]:
    """Return the discovered files without those that the user forgot and Claude Code still has."""
    if archive is None or not archive.forgotten:
        return list(discoveries)
    return [_without(discovery, lambda file: is_forgotten(archive, file)) for discovery in discoveries]


def without_hidden(discoveries: Sequence[Discovery], hidden: HiddenFiles, archive: "Archive | None") -> list[Discovery]:
    """Return the discovered files without those that other devices ask to forget."""
    if not hidden.keys:
        return list(discoveries)
    machines = archive.machines if archive is not None else ()
    return [
        _without(discovery, lambda file: hidden.hides(machines, file.machine, file.home, file.relative))
        for discovery in discoveries
    ]


def shown_archive(archive: "Archive", hidden: HiddenFiles) -> "Archive":
    """Return a read-only view of the archive like the index: without files that other devices ask to forget."""
    if not hidden.keys:
        return archive
    view = copy.copy(archive)
    view.files = {
        number: file
        for number, file in archive.files.items()
        if not hidden.hides(archive.machines, file.machine, file.home, file.path)
    }
    view.sources = {key: file for key, file in archive.sources.items() if file.number in view.files}
    view.forgotten = archive.forgotten | hidden.keys
    return view


def is_forgotten(archive: "Archive", file: HomeFile) -> bool:
    """Whether the user forgot this file: the index must not contain it either."""
    return archive.is_forgotten(file.home, file.relative, file.machine)


def _without(found: Discovery, is_left_out: Callable[[HomeFile], bool]) -> Discovery:
    rest = Discovery(found.home)
    rest.left_out, rest.unreadable = found.left_out, found.unreadable
    rest.files = [file for file in found.files if not is_left_out(file)]
    return rest


def price_table(settings: Settings) -> str:
    """Return a text that changes whenever prices may have changed: with the version or the settings. Cheap."""
    return f"{__version__} {sorted((model, sorted(rates.items())) for model, rates in settings.prices.items())}"


def catalogue_stamp(settings: Settings) -> str:
    """Return a stamp that changes whenever a file was kept."""
    return stamp_of(archive_folder(settings))
