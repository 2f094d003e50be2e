"""Write files for the user: never overwrite silently, never follow a link, never leave half a file."""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from backscroll.errors import BackscrollError, UsageError


def write_new(path: Path, pieces: Iterable[str | bytes], *, force: bool, private: bool) -> None:
    """Write a temporary file and then move it into place. `private` files are readable by the user only."""
    _check(path, force=force)
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}", "create it first, or choose another one")
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    # Not through a link, and not onto a file that was created meanwhile.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        with os.fdopen(os.open(temporary, flags, 0o600 if private else 0o666), "wb") as file:
            for piece in pieces:
                file.write(piece if isinstance(piece, bytes) else piece.encode("utf-8", "backslashreplace"))
            file.flush()
            os.fsync(file.fileno())
        if force:
            _check(path, force=True)
            temporary.replace(path)
        else:
            # A hard link fails if the name is taken; a rename would not.
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise _exists(path) from None
            except OSError:  # a file system without hard links
                _check(path, force=False)
                temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(path: Path, *, force: bool, private: bool) -> None:
    """Create a folder, or use an empty one; a folder with files in it only with `force`."""
    if path.is_symlink():
        raise UsageError(f"{path} is a link", "choose the folder itself")
    if path.exists():
        if not path.is_dir():
            raise UsageError(f"{path} is not a folder", "name another one")
        if not force and any(path.iterdir()):
            raise UsageError(f"{path} is not empty", "choose another folder, or use --force to overwrite files")
        return
    try:
        path.mkdir(mode=0o700 if private else 0o777)
    except FileNotFoundError:
        raise BackscrollError(f"there is no folder {path.parent}", "create it first, or choose another one") from None


def _check(path: Path, *, force: bool) -> None:
    if path.is_symlink():
        raise UsageError(f"{path} is a link", "choose the file itself, or another one")
    if path.is_dir():
        raise UsageError(f"{path} is a folder", "name a file in it")
    if path.exists() and not (force and path.is_file()):
        raise _exists(path)


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} already exists", "choose another file, or use --force to overwrite it")
