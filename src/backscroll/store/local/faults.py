"""Map errors of the engines to our own.

Only `DamagedStoreError` means that the index itself is wrong, and only that may lead to a rebuild. A full disk, a lock,
a limit of the system or a failing device says nothing about the stored data: the index is left as it is.
"""

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from inspect import isfunction, isgeneratorfunction
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

import apsw
from msgspec import MsgspecError

from backscroll.disk import open_own
from backscroll.errors import BackscrollError, Busy, DiskFull, NoPermission, OutOfMemory, StorageError, storage_error
from backscroll.store.base import DamagedStoreError

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Item = TypeVar("Item")


def fault_of(error: BaseException) -> BackscrollError | None:
    """Return our error for an error of an engine or of the system; None for any other."""
    if isinstance(error, BackscrollError):
        return error
    if isinstance(error, apsw.Error):
        return _of_sqlite(error)
    if isinstance(error, MemoryError):
        return OutOfMemory("no memory left to read the index", "close some programs, and try again")
    if isinstance(error, OSError):
        return storage_error(error)
    if isinstance(error, (UnicodeDecodeError, MsgspecError)):
        return DamagedStoreError(str(error))
    if isinstance(error, ValueError) or type(error).__name__ == "PanicException":
        return _of_tantivy(error)
    return None


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise our error in place of an engine's error."""
    try:
        yield
    except BaseException as error:
        fault = fault_of(error)
        if fault is None or fault is error:
            raise
        raise fault from error


def translates_errors(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Wrap a method to raise our error in place of an engine's error."""

    @wraps(method)
    def run(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        with translate_errors():
            return method(*arguments, **named)

    return run


def translates_item_errors(method: Callable[Parameters, Iterator[Item]]) -> Callable[Parameters, Iterator[Item]]:
    """Wrap a generator in the same way: its work is done while its caller iterates."""

    @wraps(method)
    def run(*arguments: Parameters.args, **named: Parameters.kwargs) -> Iterator[Item]:
        with translate_errors():
            yield from method(*arguments, **named)

    return run


def translates_all_errors(kind: type[Returned]) -> type[Returned]:
    """Wrap every public method of a class, also inherited ones, to raise our errors in place of an engine's."""
    for name in dir(kind):
        method = getattr(kind, name)
        if isfunction(method) and not name.startswith("_") and method.__module__.startswith("backscroll"):
            wrap = translates_item_errors if isgeneratorfunction(method) else translates_errors
            setattr(kind, name, wrap(method))
    return kind


def why_not_opened(path: Path) -> StorageError | None:
    """Return the system's error for the file and its folder; SQLite only says that it cannot open the file."""
    try:
        with open_own(path):
            list(path.parent.iterdir())
    except OSError as error:
        return storage_error(error, f"cannot open {path}")
    return None


def _of_sqlite(error: apsw.Error) -> BackscrollError | None:
    message = str(error)
    code = getattr(error, "extendedresult", 0)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)) or code in DAMAGE_CODES:
        return DamagedStoreError("a checksum does not match" if code == apsw.SQLITE_IOERR_DATA else message)
    if isinstance(error, apsw.FullError):
        return DiskFull("no room left for the index", "free some space on the disk, and try again")
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return Busy("another process is using the index", "try again in a moment")
    if isinstance(error, apsw.NoMemError) or code == apsw.SQLITE_IOERR_NOMEM:
        return OutOfMemory("no memory left to read the index", "close some programs, and try again")
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError)):
        return NoPermission(f"cannot write the index: {message}", "check the permissions of the library's folder")
    if isinstance(error, (apsw.CantOpenError, apsw.IOError, apsw.NoLFSError, apsw.ProtocolError)):
        return StorageError(
            f"cannot read or write the index: {message}", "check the disk and the limits of the system, and try again"
        )
    if isinstance(error, apsw.SQLError) and "malformed JSON" in message:
        return DamagedStoreError(message)
    return None


def _of_tantivy(error: BaseException) -> BackscrollError | None:
    """Return our error for one of the text engine, which has one class of error, so the message must decide."""
    message = str(error)
    if match := SYSTEM_ERROR.search(message):
        number = int(match[1] or match[2])
        if number == errno.ENOENT:
            return DamagedStoreError(message)
        return storage_error(OSError(number, message))
    if "LockBusy" in message:
        return Busy("another process is writing the text index", "wait for it, or stop it")
    if FAILED.search(message):
        return StorageError(f"cannot write the text index: {message}", "check the disk, and try again")
    if DAMAGED.search(message) or type(error).__name__ == "PanicException":
        return DamagedStoreError(message)
    return None


DAMAGE_CODES: Final = {apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_SHORT_READ}
SYSTEM_ERROR: Final = re.compile(r"os error (\d+)|\bcode: (\d+)")
# The engine's own words. Errors of the system have a number: an "IO error" without one is about the content.
FAILED: Final = re.compile(
    r"writer was killed|in a thread|failed to (?:acquire|write|spawn)|not a directory", re.IGNORECASE
)
DAMAGED: Final = re.compile(
    r"corrupt|doesnotexist|does not exist|io error|failed to|unexpected end|incompatible|schema", re.IGNORECASE
)
