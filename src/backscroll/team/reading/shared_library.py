"""Open what others share with a reader, alone or together with the reader's own library.

A shared chat is read in the library of its owner, limited to the shared chats, with the marks of the reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from backscroll.files.source_key import SourceKey, owner_of
from backscroll.library.library import Library
from backscroll.library.postgres import postgres_library, postgres_store, shared_store
from backscroll.team.reading.merged_library import MergedLibrary, SharedLibraries

if TYPE_CHECKING:
    from backscroll.library import Home
    from backscroll.library.indexing.sources import Source
    from backscroll.library.pool import LibraryOpener
    from backscroll.settings import Settings
    from backscroll.store.base import Store
    from backscroll.team.arrival.libraries import Libraries


class SharedLibrary(Library):
    """Finds chats of others, and reads their texts; a chat is opened in the library of its owner."""

    def __init__(self, settings: Settings, store: Store, library_of: Callable[[str], Library]) -> None:
        super().__init__(settings, [], store, keeps=False)
        self._library_of = library_of
        self._owned: dict[str, Library] = {}

    def clone(self) -> SharedLibrary:
        """Open the same library once more, for another thread."""
        return SharedLibrary(self.settings, self.store.clone(), self._library_of)

    def close(self) -> None:
        """Close the library and those of the owners."""
        for library in self._owned.values():
            library.close()
        self._owned.clear()
        super().close()

    def source(self, name: str, size: int = 0) -> Source | None:
        """Open a file by its id, in its owner's archive."""
        owner = owner_of(SourceKey.parse(name).machine)
        if owner not in self._owned:
            self._owned[owner] = self._library_of(owner)
        return self._owned[owner].source(name, size)


def settings_of_reader(libraries: Libraries, reader: str, owner: str) -> Settings:
    """Settings for a shared library: marks of the reader, texts of the owner."""
    return replace(libraries.settings(reader), archive=libraries.settings(owner).library / "archive")


def opener_of_shared(libraries: Libraries, owner: str, chats: Sequence[str]) -> LibraryOpener:
    """Return a function that opens the shared chats of an owner under the settings of a reader."""
    number = libraries.number(owner)

    def open_library(settings: Settings, _: Sequence[Home]) -> Library:
        return postgres_library(settings, libraries.address, number, keeps=False, only_chats=chats)

    return open_library


def opener_of_all(
    libraries: Libraries, reader: str, teammates: frozenset[str], shared: Mapping[str, Set[str]]
) -> LibraryOpener:
    """Return a function that opens the library of a reader together with the chats that others share, by owner."""
    number = libraries.number(reader)

    def open_library(settings: Settings, _: Sequence[Home]) -> Library:
        store = postgres_store(libraries.address, number, libraries.sql_login)
        of_others = partial(open_shared, libraries, reader, shared)
        return MergedLibrary(settings, store, SharedLibraries(reader, teammates, frozenset(shared), of_others))

    return open_library


def open_shared(libraries: Libraries, reader: str, shared: Mapping[str, Set[str]], owners: Set[str]) -> Library:
    """Open the chats that these owners share, as a reader sees them; the caller closes the library."""
    store = shared_store(libraries.address, {libraries.number(owner): shared[owner] for owner in owners})
    return SharedLibrary(
        libraries.settings(reader), store, lambda owner: open_shared_by(libraries, reader, owner, shared[owner])
    )


def open_shared_by(libraries: Libraries, reader: str, owner: str, chats: Set[str]) -> Library:
    """Open some chats of one owner, as a reader sees them; the caller closes the library."""
    return opener_of_shared(libraries, owner, sorted(chats))(settings_of_reader(libraries, reader, owner), [])
