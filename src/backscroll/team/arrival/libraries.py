"""The libraries of the server: one for each person, made of what their devices sent.

A person's library is what their own machine would have: an archive, an index, marks. Nothing of another person is in
it, so nothing of another person can be found in it, counted in it, or taken for a copy.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from backscroll.disk import private_folder
from backscroll.errors import NothingFound
from backscroll.library import Home
from backscroll.library.library import Library
from backscroll.library.pool import LibraryOpener
from backscroll.library.postgres import postgres_library, sums_of_people
from backscroll.settings import Settings
from backscroll.store.postgres.sql_login import login_address

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums
    from backscroll.team.database.connections import Database

PEOPLE: Final = "people"
STATE: Final = "team.sqlite"
"""The file in the folder of a person that notes what was taken from which device."""
CHANGES: Final = "backscroll_changed"
"""The channel that tells web processes whose library changed."""
REBUILT: Final = "anew"
"""Ends a notice about a library from which texts were removed."""


class Libraries:
    """Opens libraries of people. Archives and marks lie in the data folder, indexes in the database."""

    def __init__(self, data: Path, database: "Database", sql_password: str | None = None) -> None:
        """`sql_password` is that of the login for people's own SQL, if it needs one."""
        self._data, self._database = data, database
        self.sql_login = login_address(database.address, sql_password)
        self._numbers: dict[str, int] = {}

    @property
    def temporary(self) -> str:
        """A folder for files without a name: on the disk of the archives, which has room for what they will hold."""
        private_folder(self._data / PEOPLE)
        return str(self._data / PEOPLE)

    @property
    def address(self) -> str:
        """The address of the database that has the indexes."""
        return self._database.address

    def settings(self, handle: str) -> Settings:
        """The settings of a person, with the places of archive and marks."""
        folder = self._data / PEOPLE / handle
        return Settings(homes=(), library=folder, file=folder / "settings.toml", terminal=(), require_key="never")

    def own(self, handle: str) -> Library:
        """Open the library of a person, to update it."""
        return postgres_library(self.settings(handle), self.address, self.number(handle))

    def opener(self, handle: str) -> LibraryOpener:
        """Return a function that opens the library of a person for reading."""
        number = self.number(handle)

        def opened(settings: Settings, _: Sequence[Home]) -> Library:
            return postgres_library(settings, self.address, number, keeps=False, sql_login=self.sql_login)

        return opened

    def to_read(self, handle: str) -> Library:
        """Open the library of a person for reading."""
        return self.opener(handle)(self.settings(handle), [])

    def sums(self, numbers: Iterable[int]) -> "AbstractContextManager[PeopleSums]":
        """Sums over the libraries of these people. All people must be of the organisation of the request."""
        return sums_of_people(self.address, numbers)

    def number(self, handle: str) -> int:
        """The number of a person; a handle never gets another."""
        if handle not in self._numbers:
            with self._database.transaction() as connection:
                row = connection.execute("select id from person where handle = %s", (handle,)).fetchone()
            if row is None:
                raise NothingFound(f"there is no person {handle}", "see People and teams")
            self._numbers[handle] = int(row[0])
        return self._numbers[handle]


def announce_change(database: "Database", handle: str, *, is_new: bool = False) -> None:
    """Notify web processes that the library of a person has changed; with `is_new`, that it lost texts."""
    with database.connection() as connection:
        connection.execute("select pg_notify(%s, %s)", (CHANGES, f"{handle} {REBUILT}" if is_new else handle))
