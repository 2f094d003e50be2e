"""The library of this machine: its store, and its place."""

from collections.abc import Sequence
from pathlib import Path

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.settings import Settings
from backscroll.store.local.store import LocalStore


def local_library(
    settings: Settings,
    homes: Sequence[Home],
    index: Path | None = None,
    *,
    keeps: bool = True,
    only_chats: Sequence[str] | None = None,
) -> Library:
    """Open the library of these homes, with its index on this machine's disk.

    `index` is the folder of the index, if not the usual one; without `keeps` the archive is not changed; with
    `only_chats` only these chats are shown.
    """
    store = LocalStore(index or index_folder(settings))
    is_temporary = index is not None and not keeps
    return Library(settings, homes, store, keeps=keeps, is_temporary=is_temporary, only_chats=only_chats)


def index_folder(settings: Settings) -> Path:
    """Return the folder of the index. Its content is private to the store."""
    return settings.library / "index"
