"""Map the errors of PostgreSQL to our own."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from psycopg import errors

from backscroll.errors import BackscrollError, Busy, DiskFull, NoPermission, OutOfMemory, StorageError
from backscroll.store.base import DamagedStoreError

UNREACHABLE: Final = ("08", "28", "57")
"""The first digits of its codes for connections that fail, are refused or are ended."""
log = logging.getLogger(__name__)
LIMITS: Final = "54"
"""The first digits of its codes for limits: keys that are too long, statements that are too deep, and the like."""


def fault_of(error: psycopg.Error) -> BackscrollError | None:
    """Return our error for one of PostgreSQL; None for a mistake in a statement."""
    message = str(error).strip().split("\n")[0]
    if isinstance(error, errors.DiskFull):
        return DiskFull("no room left for the database", "free some space on the database's disk, and try again")
    if isinstance(error, (errors.OutOfMemory, errors.TooManyConnections)):
        return OutOfMemory(f"the database has no room for this: {message}", "try again in a moment")
    if isinstance(error, (errors.DataCorrupted, errors.IndexCorrupted)):
        return DamagedStoreError(message)
    if isinstance(error, errors.InsufficientPrivilege):
        return NoPermission(
            f"the database does not allow this: {message}", "run backscroll server migrate, which prepares the roles"
        )
    if isinstance(error, (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)):
        return Busy("another process is using the database", "try again in a moment")
    if isinstance(error, errors.QueryCanceled):
        return Busy("the database took too long to answer", "ask for less, or try again in a moment")
    if not isinstance(error, psycopg.OperationalError):
        return None
    if error.sqlstate is None or error.sqlstate.startswith(UNREACHABLE):
        log.warning("cannot reach the database: %s", message)  # readers are not told its address
        return Busy("cannot reach the database", "try again in a moment")
    if error.sqlstate.startswith(LIMITS):
        return StorageError(
            f"this is more than PostgreSQL can hold: {message}", "report this message; trying again does not help"
        )
    return StorageError(f"the database failed: {message}", "see the log of PostgreSQL")


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our error in place of an error of PostgreSQL."""
    try:
        yield
    except psycopg.Error as error:
        fault = fault_of(error)
        if fault is None:
            raise
        raise fault from error
