"""The library of this machine: which store it has, and where that lies."""

from collections.abc import Sequence
from pathlib import Path

from backscroll.files import Home
from backscroll.library.library import Library
from backscroll.settings import Settings
from backscroll.store.local import LocalStore


def local_library(
    settings: Settings, homes: Sequence[Home], index: Path | None = None, *, keeps: bool = True
) -> Library:
    """The library of these homes, with its index on this machine's disk.

    `index` is the folder of the index, if not the usual one; without `keeps` the archive stays as it is.
    """
    store = LocalStore(index or index_folder(settings))
    return Library(settings, homes, store, keeps=keeps, is_temporary=index is not None and not keeps)


def index_folder(settings: Settings) -> Path:
    """Where the index lies. What is in it is the store's own affair."""
    return settings.library / "index"
