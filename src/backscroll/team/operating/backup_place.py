"""The place of a backup: a folder, or a part of a bucket. Places that are in use, or of another kind, are refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit

from backscroll.errors import StorageError, UsageError
from backscroll.sync.remotes import SERVERS, Folder, Remote, RemoteObject, open_remote

MANIFEST: Final = "manifest.json"
"""The file that is written last: a backup without it is not whole."""
HINT: Final = "use a folder, s3://…, gs://… or az://…"


def open_storage(address: str) -> Remote:
    """Open the folder or bucket at an address; UsageError for an address of any other kind."""
    if urlsplit(address).scheme in SERVERS:
        raise UsageError(f"{address} is a server, and objects are stored in a folder or a bucket", HINT)
    storage = open_remote(address)
    if isinstance(storage, Folder) and storage.root.exists() and not storage.root.is_dir():
        raise UsageError(f"{storage.root} is a file", HINT)
    return storage


def open_backup(address: str) -> Remote:
    """Open the backup at an address; UsageError if nothing is there."""
    backup = open_storage(address)
    if isinstance(backup, Folder) and not backup.root.exists():
        raise UsageError(f"there is no folder {backup.root}", "check the address of the backup")
    return backup


def new_backup(address: str, data: Path, objects_address: str) -> Remote:
    """Open the place for a new backup; UsageError unless it is empty, and outside of data and objects."""
    backup = open_storage(address)
    for used, what in ((str(data), "the data folder"), (objects_address, "the place of the objects")):
        if _is_inside(backup, address, used):
            raise UsageError(
                f"{address} is inside {what}, {used}: the backup would be lost with it",
                "give a place outside, on another disk if there is one",
            )
    if isinstance(backup, Folder):
        names = [path.name for path in backup.root.iterdir()] if backup.root.exists() else []
    else:
        names = [listed.name for listed in backup.list()]
    if MANIFEST in names:
        raise UsageError(f"{address} has a backup already", "give a new or empty place")
    if any(name.partition("/")[0] == "tables" for name in names):
        hint = "remove what is there, or give a new or empty place"
        raise UsageError(f"{address} has a backup that was not finished", hint)
    if names:
        raise UsageError(f"{address} is not empty", "give a new or empty place")
    return backup


def _is_inside(backup: Remote, address: str, used: str) -> bool:
    """Whether a place for a backup is the place at the address `used`, or inside it."""
    if isinstance(backup, Folder):
        other = open_remote(used)
        return isinstance(other, Folder) and backup.root.resolve().is_relative_to(other.root.resolve())
    return f"{address.rstrip('/')}/".startswith(f"{used.rstrip('/')}/")


class Part:
    """The objects of a remote whose names begin with a prefix, under their names without it."""

    def __init__(self, remote: Remote, prefix: str) -> None:
        self._remote, self._prefix = remote, prefix

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """List the objects whose names begin with a prefix."""
        for listed in self._remote.list(self._prefix + prefix):
            yield listed._replace(name=listed.name.removeprefix(self._prefix))

    def get(self, name: str) -> bytes:
        """Read an object."""
        return self._remote.get(self._prefix + name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Read an object piece by piece."""
        return self._remote.pieces(self._prefix + name)

    def put(self, name: str, data: bytes) -> bool:
        """Store an object, unless one with this name is there already."""
        return self._remote.put(self._prefix + name, data)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store a whole file as an object, as `put` does."""
        return self._remote.put_file(self._prefix + name, file)

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        self._remote.delete(self._prefix + name)


def write_new(remote: Remote, name: str, data: bytes) -> None:
    """Store an object under a new name; StorageError if another process uses the same place."""
    if not remote.put(name, data):
        raise StorageError(f"{name} is there already: another process writes to the same place", "give a new place")
