"""Remotes that keep bundles: a folder, a bucket or a team server. A remote stores objects without reading them."""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from backscroll import system
from backscroll.disk import sync_folder, write_all
from backscroll.errors import BackscrollError, NothingFound, UsageError, storage_error
from backscroll.sync.folder_access import FolderAccess, access_of, make_folders, mend_access, open_to_group
from backscroll.sync.folder_objects import Findings, demand_no_links, find_objects, open_object, placeholder_of

BUCKETS: Final = ("s3", "gs", "az")
SERVERS: Final = ("https", "http")
HINT: Final = "use a folder, file:///…, s3://…, gs://…, az://… or https://…"
UNFINISHED: Final = ".unfinished-"
PIECE: Final = 1 << 20
"""Bytes of an object that are in memory at the same time, when it is streamed."""
LARGEST_OBJECT: Final = 1 << 30
"""Bytes of an object that a machine reads. Objects are closed after 16 MiB, and no client can hold a line of more
than 512 MiB."""


class RemoteObject(NamedTuple):
    """An object as a listing shows it."""

    name: str
    size: int
    stamp: str = ""
    """A text that changes when the object is replaced; empty if the remote does not say."""


class Remote(Protocol):
    """A place for objects with names like `device/0000000001-0000000001.0`."""

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Yield all objects whose names have this prefix."""
        ...

    def get(self, name: str) -> bytes:
        """Return the bytes of an object; `NothingFound` if there is none."""
        ...

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield an object, piece by piece; `NothingFound` before the first if there is none."""
        ...

    def put(self, name: str, data: bytes) -> bool:
        """Store an object durably; if one with this name exists, change nothing and return False."""
        ...

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store a whole file as an object, as `put` does."""
        ...

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        ...


def open_remote(url: str, credential: str | None = None, rules: str = "", *, largest: int | None = None) -> Remote:
    """Return the remote at an address: a path, `file:///…`, `s3://…`, `gs://…`, `az://…`, or a team server, `https://…`.

    `credential` identifies this device to a team server, `rules` the digest of its rules that this device follows.
    Objects of more than `largest` bytes are refused before they are read.
    """
    if not url.strip():
        raise UsageError("the address of the remote is empty", HINT)
    parts = urlsplit(url)
    if parts.scheme in SERVERS:
        from backscroll.sync.http_remote import HttpRemote

        return HttpRemote(url, credential, rules=rules)
    if parts.scheme in BUCKETS:
        from backscroll.sync.buckets import Bucket

        return Bucket(url, largest=largest)
    folder = folder_at(url)
    if folder is None:
        raise UsageError(f"unknown kind of remote: {parts.scheme}://", HINT)
    return Folder(folder, largest=largest)


def folder_at(url: str) -> Path | None:
    """Return the folder at an address, as an absolute path; None if it is no address of a folder."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise UsageError(
                f"{url} is not a folder on this machine", "write file:/// and the whole path, or the path alone"
            )
        return Path(unquote(parts.path))
    return None if "://" in url else Path(url).expanduser().absolute()


class Folder:
    """A folder, perhaps one that another program syncs to other machines."""

    def __init__(self, root: Path, *, largest: int | None = None) -> None:
        self.root = root
        self.findings = Findings()
        """Findings of the last listing besides objects."""
        self._largest = largest
        self._access: FolderAccess | None = None

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Yield all objects with this prefix, without files that are still being written, here or by a sync program."""
        self.findings = Findings()
        for file in find_objects(str(self.root), prefix, self.findings):
            stamp = f"{file.status.st_ino}.{file.status.st_mtime_ns}"
            yield RemoteObject(file.name, file.status.st_size, stamp)

    def get(self, name: str) -> bytes:
        """Return the bytes of an object."""
        return b"".join(self.pieces(name))

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield an object, piece by piece."""
        path = self._path(name)
        try:
            with open_object(self.root, path, self._largest) as file:
                yield from read_pieces(file)
        except FileNotFoundError as error:
            raise NothingFound(f"the remote has no {name}", "run backscroll sync verify") from error
        except OSError as error:
            raise storage_error(error, f"cannot read {path}") from error

    def mend_access(self) -> None:
        """Let the group read what this user wrote here, if the folder is open to it now."""
        mend_access(self.root / "backscroll", access_of(self.root))

    def put(self, name: str, data: bytes) -> bool:
        """Store an object: write beside it, flush, then link, so a name appears with all of its bytes or not at all."""
        return self._put(name, (data,))

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store a whole file as an object, as `put` does."""
        file.seek(0)
        return self._put(name, read_pieces(file))

    def _put(self, name: str, pieces: Iterable[bytes]) -> bool:
        path = self._path(name)
        beside = path.parent / f"{UNFINISHED}{secrets.token_hex(8)}"
        try:
            demand_no_links(self.root, path)
            if os.path.lexists(path) or os.path.lexists(placeholder_of(path)):
                return False
            if self._access is None:
                self._access = access_of(self.root)
            make_folders(self.root, path.parent, self._access)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.NO_LINK, 0o600)
            try:
                open_to_group(descriptor, self._access)
                for piece in pieces:
                    write_all(descriptor, piece)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            return self._name(beside, path)
        except OSError as error:
            raise storage_error(error, f"cannot write {path}") from error
        finally:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)

    def delete(self, name: str) -> None:
        """Remove an object."""
        path = self._path(name)
        demand_no_links(self.root, path)
        try:
            path.unlink(missing_ok=True)
            placeholder_of(path).unlink(missing_ok=True)  # removes the file on the server, too
        except OSError as error:
            raise storage_error(error, f"cannot remove {path}") from error

    def _name(self, beside: Path, path: Path) -> bool:
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError:  # file systems without hard links: FAT, some network folders
            if os.path.lexists(path):
                return False
            beside.rename(path)
        sync_folder(path.parent)
        return True

    def _path(self, name: str) -> Path:
        path = self.root / name
        if not path.is_relative_to(self.root) or ".." in path.parts:
            raise BackscrollError(f"{name} is not a name of an object", "run backscroll sync verify")
        return path


def read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the rest of a file, piece by piece."""
    while piece := file.read(PIECE):
        yield piece


def is_same(pieces: Iterable[bytes], file: IO[bytes]) -> bool:
    """Whether an object has the bytes of a whole file."""
    file.seek(0)
    return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)
