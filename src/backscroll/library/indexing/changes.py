"""Whether there is anything to do for a store: asked by every command, so it loads and reads as little as possible."""

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from backscroll import __version__
from backscroll.archive.stamp import stamp_of
from backscroll.files.discovery import Discovery, HomeFile, discover
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.plan import plan
from backscroll.library.machine import Machine
from backscroll.settings import Settings
from backscroll.store.base import Store

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive


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
    shown = [_without(found, lambda file: file.name in left_out) for found in discoveries] if left_out else None
    return discoveries, not plan(store.indexed_files(), shown or discoveries, None, machine).is_empty


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
