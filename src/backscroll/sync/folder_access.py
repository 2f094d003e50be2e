"""Permissions of files in the folder of a remote: for its owner, and the group for which the folder was opened."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from backscroll import system
from backscroll.disk import private_folder


class FolderAccess(NamedTuple):
    """The permissions of folders and files written below a folder."""

    folder: int
    file: int
    group: int | None
    """The group that owns it; None if only the owner may read it."""


PRIVATE: Final = FolderAccess(0o700, 0o600, None)


def access_of(root: Path) -> FolderAccess:
    """Return the access that the folder of a remote grants: a group that may write there, or is inherited, may read.

    Many systems make every folder readable by a group that people did not choose, so readability alone opens nothing.
    """
    try:
        status = root.stat()
    except OSError:
        return PRIVATE
    group = status.st_mode & stat.S_IRWXG
    if not status.st_mode & (stat.S_IWGRP | stat.S_ISGID) or not system.has_groups():
        return PRIVATE
    inherits = status.st_mode & stat.S_ISGID
    return FolderAccess(0o700 | group | inherits, 0o600 | group & ~stat.S_IXGRP, status.st_gid)


def make_folders(root: Path, folder: Path, access: FolderAccess) -> None:
    """Create the folders down to this one, and open our own to the group."""
    if access.group is None:
        private_folder(folder)
        return
    for each in reversed([folder, *folder.parents]):
        if each == root or not each.is_relative_to(root):
            continue
        with suppress(FileExistsError):
            each.mkdir(0o700)
        _open(each, access.folder, access.group)


def open_to_group(descriptor: int, access: FolderAccess) -> None:
    """Give a new file to the group."""
    if access.group is not None:
        system.set_group(descriptor, access.group)
        with suppress(OSError):  # a file system without permissions
            system.set_mode(descriptor, access.file)


def mend_access(folder: Path, access: FolderAccess) -> None:
    """Open what this user wrote in a folder before the remote was opened to its group."""
    if access.group is None or not folder.is_dir():
        return
    _open(folder, access.folder, access.group)
    for here, folders, files in os.walk(folder):
        for name in folders:
            _open(Path(here, name), access.folder, access.group)
        for name in files:
            _open(Path(here, name), access.file, access.group)


def _open(path: Path, mode: int, group: int) -> None:
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode) or not system.is_own(status):
        return
    if status.st_gid != group:
        system.set_group(path, group)
    if stat.S_IMODE(status.st_mode) != mode:
        with suppress(OSError):
            path.chmod(mode)
