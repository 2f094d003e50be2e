"""Where bundles are kept: a folder, a bucket or a team server. A remote only stores objects, and understands none."""

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from backscroll.disk import private_folder, sync_folder, write_all
from backscroll.errors import BackscrollError, NothingFound, UsageError, storage_error

BUCKETS: Final = ("s3", "gs", "az")
SERVERS: Final = ("https", "http")
HINT: Final = "use a folder, file:///…, s3://…, gs://…, az://… or https://…"
UNFINISHED: Final = ".unfinished-"
PIECE: Final = 1 << 20
"""Bytes of an object that are in memory at the same time, where it is passed on."""


class RemoteObject(NamedTuple):
    """An object as a listing shows it."""

    name: str
    size: int


class Remote(Protocol):
    """A place for objects with names like `device/0000000001-0000000001.0`."""

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """All objects whose names begin like this."""
        ...

    def get(self, name: str) -> bytes:
        """An object; `NothingFound` if there is none."""
        ...

    def pieces(self, name: str) -> Iterator[bytes]:
        """An object, piece by piece; `NothingFound` before the first if there is none."""
        ...

    def put(self, name: str, data: bytes) -> bool:
        """Store an object durably, unless one with this name is there already: then change nothing, and say False."""
        ...

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Store a whole file as an object, as `put` does."""
        ...

    def delete(self, name: str) -> None:
        """Remove an object, if it is there."""
        ...


def open_remote(url: str, credential: str | None = None, rules: str = "") -> Remote:
    """The remote at an address: a path, `file:///…`, `s3://…`, `gs://…`, `az://…`, or a team server, `https://…`.

    `credential` is what a team server knows this device by, `rules` the digest of its rules that this device follows.
    """
    if not url.strip():
        raise UsageError("the address of the remote is empty", HINT)
    parts = urlsplit(url)
    if parts.scheme in SERVERS:
        from backscroll.sync.http_remote import HttpRemote

        return HttpRemote(url, credential, rules=rules)
    if parts.scheme in BUCKETS:
        from backscroll.sync.buckets import Bucket

        return Bucket(url)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost") or not parts.path:
            raise UsageError(
                f"{url} is not a folder on this machine", "write file:/// and the whole path, or the path alone"
            )
        return Folder(Path(unquote(parts.path)))
    if "://" in url:
        raise UsageError(f"unknown kind of remote: {parts.scheme}://", HINT)
    return Folder(Path(url).expanduser().absolute())


class Folder:
    """A folder, perhaps one that another program carries to other machines."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """All objects whose names begin like this. What is still being written, here or by a carrier, is left out."""
        beginning = prefix.rpartition("/")[0]  # no other folder is looked into: a server has thousands
        if ".." in beginning.split("/"):
            return
        root = str(self.root)
        for folder, _, names in os.walk(os.path.join(root, beginning)):  # noqa: PTH118 - a Path takes ten times as long
            inside = folder[len(root) :].strip(os.sep).replace(os.sep, "/")
            for name in sorted(names):
                whole = f"{inside}/{name}" if inside else name
                if whole.startswith(prefix) and not name.startswith((".", "~")):
                    with contextlib.suppress(FileNotFoundError):
                        yield RemoteObject(whole, os.stat(os.path.join(folder, name)).st_size)  # noqa: PTH116, PTH118

    def get(self, name: str) -> bytes:
        """An object."""
        try:
            return self._path(name).read_bytes()
        except FileNotFoundError as error:
            raise NothingFound(f"the remote has no {name}", "run backscroll sync verify") from error
        except OSError as error:
            raise storage_error(error, f"cannot read {self._path(name)}") from error

    def pieces(self, name: str) -> Iterator[bytes]:
        """An object, piece by piece."""
        try:
            with self._path(name).open("rb") as file:
                yield from read_pieces(file)
        except FileNotFoundError as error:
            raise NothingFound(f"the remote has no {name}", "run backscroll sync verify") from error
        except OSError as error:
            raise storage_error(error, f"cannot read {self._path(name)}") from error

    def put(self, name: str, data: bytes) -> bool:
        """Write beside it, flush, then link: a name appears with all of its bytes, or not at all."""
        return self._put(name, (data,))

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """The same for the bytes of a file."""
        file.seek(0)
        return self._put(name, read_pieces(file))

    def _put(self, name: str, pieces: Iterable[bytes]) -> bool:
        path = self._path(name)
        beside = path.parent / f"{UNFINISHED}{secrets.token_hex(8)}"
        try:
            if path.exists():
                return False
            private_folder(path.parent)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
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
        try:
            self._path(name).unlink(missing_ok=True)
        except OSError as error:
            raise storage_error(error, f"cannot remove {self._path(name)}") from error

    def _name(self, beside: Path, path: Path) -> bool:
        try:
            os.link(beside, path)
        except FileExistsError:
            return False
        except OSError:  # file systems without hard links: FAT, some network folders
            if path.exists():
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
    """The rest of a file, piece by piece."""
    while piece := file.read(PIECE):
        yield piece


def is_same(pieces: Iterable[bytes], file: IO[bytes]) -> bool:
    """Whether an object has the bytes of a whole file."""
    file.seek(0)
    return all(file.read(len(piece)) == piece for piece in pieces) and not file.read(1)
