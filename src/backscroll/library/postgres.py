"""A library whose index is in PostgreSQL: on a team server."""

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager

from backscroll.library.library import Library
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.postgres.people_sums import PeopleSums, people_sums
from backscroll.store.postgres.shared import SharedStore
from backscroll.store.postgres.store import PgStore, outdated


def postgres_library(
    settings: Settings, address: str, number: int, *, keeps: bool = True, only_chats: Sequence[str] | None = None,
    sql_login: str | None = None,
) -> Library:  # fmt: skip
    """Open the library of a person, by the number of their rows in the database; it includes no home of this machine.

    Without `keeps` the archive is not changed; with `only_chats` only these chats are shown.
    """
    return Library(settings, [], postgres_store(address, number, sql_login), keeps=keeps, only_chats=only_chats)


def postgres_store(address: str, number: int, sql_login: str | None = None) -> Store:
    """Open the index of a person, by the number of their rows. `sql_login` is the address for their SQL."""
    return PgStore(address, number, sql_login)


def shared_store(address: str, shared: Mapping[int, Set[str]]) -> Store:
    """Open the chats that people share, by the numbers of these people, as one index; read-only."""
    return SharedStore(address, shared)


def sums_of_people(address: str, numbers: Iterable[int]) -> AbstractContextManager[PeopleSums]:
    """Open the sums over the indexes of people, by the numbers of these people."""
    return people_sums(address, numbers)


def outdated_libraries(address: str) -> list[int]:
    """Return the numbers of the people whose index an older version made: it should be rebuilt."""
    return outdated(address)
