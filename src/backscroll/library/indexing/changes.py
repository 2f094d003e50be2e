"""Whether there is anything to do for a store: asked by every command, so it loads and reads as little as possible."""

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
from backscroll.library.machine import Machine
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.reader import IndexedFile

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

UNREAD: Final = Bookmark(*[0] * len(Bookmark._fields))
"""A bookmark that matches no file, for a file to be read from the start."""


def look(store: Store, settings: Settings, homes: Sequence[Home], machine: Machine) -> tuple[list[Discovery], bool]:
    """What is in the homes, and whether a store has anything to do."""
    discoveries = [discover(home) for home in homes if home.exists]
    if not store.exists:
        return discoveries, True
    if store.noted("catalogue") != catalogue_stamp(settings) or store.noted("price table") != price_table(settings):
        return discoveries, True
    if store.noted("overdue"):
        return discoveries, True
    left_out = set(json.loads(store.noted("forgotten") or "[]"))
    shown = [_without(found, lambda file: file.name in left_out) for found in discoveries] if left_out else discoveries
    known = store.indexed_files()
    if any(file.kind in CONTAINERS for found in shown for file in found.files):
        from backscroll.library.indexing.plan import plan

        return discoveries, not plan(known, shown, None, machine).is_empty
    return discoveries, any(any(changes_in(found, entries_of(found, known))) for found in shown)


def entries_of(discovery: Discovery, known: Mapping[str, IndexedFile]) -> dict[str, IndexedFile]:
    """What a store has read from a home, by path."""
    place = (discovery.home.machine, str(discovery.home.path))
    return {
        entry.path: entry for entry in known.values() if not entry.archived and (entry.machine, entry.home) == place
    }


def changes_in(discovery: Discovery, entries: Mapping[str, IndexedFile]) -> HomeChanges:
    """What has changed in a home since a store read it."""
    marks = {name: Bookmark(*entry.bookmark) if entry.bookmark else UNREAD for name, entry in entries.items()}
    files = (file for file in discovery.files if is_tracked(file.kind, file.relative))
    return find_changes(marks, files, discovery.unreadable)


def is_tracked(kind: FileKind, path: str) -> bool:
    """Whether a store reads such files."""
    is_read = kind in TRANSCRIPTS or kind in (FileKind.AGENT_META, FileKind.TOOL_RESULT)
    return is_read or kind in CONTAINERS or path.rpartition("/")[2] == TITLE_FILE


def without_forgotten(discoveries: Sequence[Discovery], archive: "Archive | None") -> list[Discovery]:
    """The discovered files without those that the user forgot and Claude Code still has."""
    if archive is None or not archive.forgotten:
        return list(discoveries)
    return [_without(found, lambda file: is_forgotten(archive, file)) for found in discoveries]


def is_forgotten(archive: "Archive", file: HomeFile) -> bool:
    """Whether the user forgot this file: the index must not contain it either."""
    return archive.is_forgotten(file.home, file.relative, file.machine)


def _without(found: Discovery, is_left_out: Callable[[HomeFile], bool]) -> Discovery:
    rest = Discovery(found.home)
    rest.left_out, rest.unreadable = found.left_out, found.unreadable
    rest.files = [file for file in found.files if not is_left_out(file)]
    return rest


def price_table(settings: Settings) -> str:
    """Changes whenever prices may have changed: with the version or the settings. Cheap to compute."""
    return f"{__version__} {sorted((model, sorted(rates.items())) for model, rates in settings.prices.items())}"


def catalogue_stamp(settings: Settings) -> str:
    """Changes whenever something was kept."""
    return stamp_of(archive_folder(settings))
