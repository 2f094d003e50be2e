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
    """The library of a person, whose rows in the database have this number; no home of this machine is part of it.

    Without `keeps` the archive is not changed; with `only_chats` nothing but these chats is shown.
    """
    return Library(settings, [], postgres_store(address, number, sql_login), keeps=keeps, only_chats=only_chats)


def postgres_store(address: str, number: int, sql_login: str | None = None) -> Store:
    """The index of a person, whose rows in the database have this number. `sql_login` is the address for their SQL."""
    return PgStore(address, number, sql_login)


def shared_store(address: str, shared: Mapping[int, Set[str]]) -> Store:
    """The chats that people share, by the numbers of these people, as one index; to be read."""
    return SharedStore(address, shared)


def sums_of_people(address: str, numbers: Iterable[int]) -> AbstractContextManager[PeopleSums]:
    """What the indexes of people add up to, by the numbers of these people."""
    return people_sums(address, numbers)


def outdated_libraries(address: str) -> list[int]:
    """The numbers of the people whose index an older version made: it should be rebuilt."""
    return outdated(address)
