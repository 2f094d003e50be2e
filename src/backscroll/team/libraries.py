"""The libraries of the server: one for each person, made of what their devices sent.

A person's library is what their own machine would have: an archive, an index, marks. Nothing of another person is in
it, so nothing of another person can be found in it, counted in it, or taken for a copy. What others shared is read in
their libraries, limited to the shared chats, with the marks of the reader.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.disk import private_folder
from backscroll.errors import NothingFound
from backscroll.library import Home
from backscroll.library.library import Library
from backscroll.library.pool import LibraryOpener
from backscroll.library.postgres import postgres_library, postgres_store, shared_store, sums_of_people
from backscroll.settings import Settings
from backscroll.store.postgres.sql_login import login_address
from backscroll.team.merged_library import MergedLibrary, SharedLibraries
from backscroll.team.shared_library import SharedLibrary

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums
    from backscroll.team.database import Database

PEOPLE: Final = "people"
STATE: Final = "team.sqlite"
"""What was taken from which device, in the folder of a person."""


class Libraries:
    """Opens libraries of people. Archives and marks lie in the data folder, indexes in the database."""

    def __init__(self, data: Path, database: "Database", sql_password: str | None = None) -> None:
        """`sql_password` is that of the login for people's own SQL, if it needs one."""
        self._data, self._database = data, database
        self._sql_login = login_address(database.address, sql_password)
        self._numbers: dict[str, int] = {}

    @property
    def temporary(self) -> str:
        """A folder for files without a name: on the disk of the archives, which has room for what they will hold."""
        private_folder(self._data / PEOPLE)
        return str(self._data / PEOPLE)

    def settings(self, handle: str) -> Settings:
        """Where the archive and the marks of a person lie."""
        folder = self._data / PEOPLE / handle
        return Settings(homes=(), library=folder, file=folder / "settings.toml", terminal=(), require_key="never")

    def own(self, handle: str) -> Library:
        """The library of a person, to be brought up to date."""
        return postgres_library(self.settings(handle), self._database.address, self.number(handle))

    def opener(self, handle: str) -> LibraryOpener:
        """Opens the library of a person, to be read."""
        number = self.number(handle)

        def opened(settings: Settings, _: Sequence[Home]) -> Library:
            return postgres_library(settings, self._database.address, number, keeps=False, sql_login=self._sql_login)

        return opened

    def to_read(self, handle: str) -> Library:
        """The library of a person, to be read by this server."""
        return self.opener(handle)(self.settings(handle), [])

    def sums(self, numbers: Iterable[int]) -> "AbstractContextManager[PeopleSums]":
        """What the libraries of these people add up to. Their numbers must come from the asker's organisation."""
        return sums_of_people(self._database.address, numbers)

    def settings_of_reader(self, reader: str, owner: str) -> Settings:
        """The settings under which a reader sees what an owner shared: marks of the reader, texts of the owner."""
        return replace(self.settings(reader), archive=self._data / PEOPLE / owner / "archive")

    def opener_of_shared(self, owner: str, chats: Sequence[str]) -> LibraryOpener:
        """Opens what an owner shared, for a reader whose settings are given."""
        number = self.number(owner)

        def opened(settings: Settings, _: Sequence[Home]) -> Library:
            return postgres_library(settings, self._database.address, number, keeps=False, only_chats=chats)

        return opened

    def opener_of_all(self, reader: str, teammates: frozenset[str], shared: Mapping[str, Set[str]]) -> LibraryOpener:
        """Opens the library of a reader together with the chats that others share with them, by owner."""
        number = self.number(reader)

        def opened(settings: Settings, _: Sequence[Home]) -> Library:
            store = postgres_store(self._database.address, number, self._sql_login)
            others = SharedLibraries(reader, teammates, frozenset(shared), partial(self.shared, reader, shared))
            return MergedLibrary(settings, store, others)

        return opened

    def shared(self, reader: str, shared: Mapping[str, Set[str]], owners: Set[str]) -> Library:
        """The chats that these owners share, as a reader sees them; the caller closes it."""
        store = shared_store(self._database.address, {self.number(owner): shared[owner] for owner in owners})
        return SharedLibrary(self.settings(reader), store, lambda owner: self.shared_by(reader, owner, shared[owner]))

    def shared_by(self, reader: str, owner: str, chats: Set[str]) -> Library:
        """Some chats of one owner, as a reader sees them; the caller closes it."""
        return self.opener_of_shared(owner, sorted(chats))(self.settings_of_reader(reader, owner), [])

    def number(self, handle: str) -> int:
        """The number of a person; a handle never gets another."""
        if handle not in self._numbers:
            with self._database.transaction() as connection:
                row = connection.execute("select id from person where handle = %s", (handle,)).fetchone()
            if row is None:
                raise NothingFound(f"there is no person {handle}", "see People and teams")
            self._numbers[handle] = int(row[0])
        return self._numbers[handle]
