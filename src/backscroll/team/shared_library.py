"""What others share with a reader, as one library. Texts are read in the archives of their owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from backscroll.files.source_key import SourceKey, owner_of
from backscroll.library.library import Library

if TYPE_CHECKING:
    from backscroll.library.indexing.sources import Source
    from backscroll.settings import Settings
    from backscroll.store.base import Store


class SharedLibrary(Library):
    """Finds chats of others, and reads their texts; a chat is opened in the library of its owner."""

    def __init__(self, settings: Settings, store: Store, library_of: Callable[[str], Library]) -> None:
        super().__init__(settings, [], store, keeps=False)
        self._library_of = library_of
        self._owned: dict[str, Library] = {}

    def clone(self) -> SharedLibrary:
        """The same library opened once more, for another thread."""
        return SharedLibrary(self.settings, self.store.clone(), self._library_of)

    def close(self) -> None:
        """Close it."""
        for library in self._owned.values():
            library.close()
        self._owned.clear()
        super().close()

    def source(self, name: str, size: int = 0) -> Source | None:
        """A file by its id, as its owner's archive has it."""
        owner = owner_of(SourceKey.parse(name).machine)
        if owner not in self._owned:
            self._owned[owner] = self._library_of(owner)
        return self._owned[owner].source(name, size)
