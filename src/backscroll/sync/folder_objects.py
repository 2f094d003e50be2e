"""List and open objects in the folder of a remote, and report the files there that are no objects.

Others can write to such a folder too. Links and special files are never followed or opened. Objects that this user may
not read are counted, so that they are not mistaken for missing ones.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

from backscroll import system
from backscroll.errors import BackscrollError, storage_error

OBJECTS: Final = "backscroll/1/"
MAX_TOLD: Final = 3
"""Largest number of names in a message; the others are counted."""


class RefusedObjectError(BackscrollError):
    """A link, a special file or an object that is too large: none of them is read."""

    def __init__(self, what: str) -> None:
        super().__init__(what, "look who can write to this remote, and remove it")


class FoundFile(NamedTuple):
    """A regular file below the folder of a remote."""

    name: str
    """Path in the remote, with `/`."""
    status: os.stat_result


@dataclass
class Findings:
    """Everything that a listing met besides objects."""

    unreadable: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Objects that cannot be read, by device and reason; 0 stands for all of a folder."""
    refused: list[str] = field(default_factory=list)
    """Links and special files, each with its kind."""
    strange: list[str] = field(default_factory=list)
    """Files that are not objects: copies that a program made because two machines changed a file, for instance."""
    away: list[str] = field(default_factory=list)
    """Objects that a program has left on its server: only placeholders are here."""

    def problems(self, name_of: Callable[[str], str] = str) -> list[str]:
        """Return sentences about what keeps objects from being read; `name_of` returns the machine of a device."""
        sentences = []
        for (device, reason), count in sorted(self.unreadable.items()):
            what = _count(count, "object") if count else "objects"
            sentences.append(f"{what}{f' of {name_of(device)}' if device else ''} cannot be read: {reason}")
        if self.refused:
            sentences.append(f"not followed or opened: {_some(self.refused)}")
        return sentences

    def notes(self, name_of: Callable[[str], str] = str) -> list[str]:
        """Return sentences about findings that are no problem of the remote itself."""
        sentences = [
            f"{_count(count, 'object')} of {name_of(device)} not downloaded yet by the program that syncs this folder"
            for device, count in sorted(Counter(map(_device_of, self.away)).items())
        ]
        if self.strange:
            what = "is not an object" if len(self.strange) == 1 else "are not objects"
            sentences.append(f"ignored what {what}, perhaps copies of conflicts: {_some(self.strange)}")
        return sentences


def find_objects(root: str, prefix: str, findings: Findings) -> Iterator[FoundFile]:
    """Yield all files whose names have this prefix, folder by folder. Hidden ones are unfinished, or not ours."""
    beginning = prefix.rpartition("/")[0]  # look into no other folder: a server has thousands
    parts = [part for part in beginning.split("/") if part]
    if ".." in parts:
        return
    folder = root
    for at, part in enumerate(parts):
        folder = os.path.join(folder, part)  # noqa: PTH118 - a Path takes ten times as long
        if os.path.islink(folder):  # noqa: PTH114
            findings.refused.append(f"{'/'.join(parts[: at + 1])} (a link)")
            return
    for file in _walk(folder, "/".join(parts), findings):
        if file.name.startswith(prefix):
            yield file


def _walk(folder: str, inside: str, findings: Findings) -> Iterator[FoundFile]:
    try:
        with os.scandir(folder) as entries:
            every = sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        if not inside:
            raise storage_error(error, f"cannot read {folder}") from error
        findings.unreadable[_device_of(f"{inside}/"), (error.strerror or str(error)).lower()] += 0
        return
    folders = []
    for entry in every:
        name = f"{inside}/{entry.name}" if inside else entry.name
        is_ours = name.startswith(OBJECTS)
        if entry.name.startswith((".", "~")):
            if is_ours and (match := PLACEHOLDER.fullmatch(entry.name)):
                findings.away.append(f"{inside}/{match[1]}")
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError as error:
            findings.unreadable[_device_of(name), (error.strerror or str(error)).lower()] += 1
            continue
        if stat.S_ISDIR(status.st_mode):
            folders.append((entry.path, name))
        elif not stat.S_ISREG(status.st_mode):
            findings.refused.append(f"{name} ({kind_of(status)})")
        elif is_ours and not OBJECT.fullmatch(entry.name):
            findings.strange.append(name)
        elif not _may_read(entry.path):
            findings.unreadable[_device_of(name), "permission denied"] += 1
        else:
            yield FoundFile(name, status)
    for path, name in folders:
        if name.startswith(OBJECTS) and not FOLDER.fullmatch(name.rpartition("/")[2]):
            findings.strange.append(name)
        else:
            yield from _walk(path, name, findings)


def open_object(root: Path, path: Path, largest: int | None) -> IO[bytes]:
    """Open a regular file below a folder for reading, through no link."""
    demand_no_links(root, path)
    status = path.lstat()
    if stat.S_ISREG(status.st_mode):
        # Not blocking, and checked once more: the file may have been replaced since.
        descriptor = os.open(path, os.O_RDONLY | system.CLOSE_ON_EXEC | system.NO_LINK | system.NO_WAIT)
        file = cast("IO[bytes]", os.fdopen(descriptor, "rb"))
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and (largest is None or status.st_size <= largest):
            return file
        file.close()
    name = path.relative_to(root).as_posix()
    if stat.S_ISREG(status.st_mode):
        raise too_large(name, status.st_size, largest)
    raise RefusedObjectError(f"{name} is {kind_of(status)}: it is not read")


def placeholder_of(path: Path) -> Path:
    """Return the path of the placeholder that iCloud leaves for a file whose contents are on its server."""
    return path.with_name(f".{path.name}.icloud")


def too_large(name: str, size: int, largest: int | None) -> RefusedObjectError:
    """Return the error for an object larger than any version of this program writes."""
    return RefusedObjectError(f"{name} has {size:,} bytes: no object has more than {largest or 0:,}")


def demand_no_links(root: Path, path: Path) -> None:
    """Raise if a folder between `root`, which may itself be a link, and a path is a link: it would lead elsewhere."""
    for folder in path.parents:
        if folder == root:
            return
        if folder.is_symlink():
            raise RefusedObjectError(f"{folder.relative_to(root).as_posix()} is a link: it is not followed")


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file that is not regular, with its article."""
    mode = status.st_mode
    if stat.S_ISLNK(mode):
        return "a link"
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _may_read(path: str) -> bool:
    return os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)


def _device_of(name: str) -> str:
    """Return the device in whose folder a name is; empty if it is in none."""
    return name.removeprefix(OBJECTS).partition("/")[0] if name.startswith(OBJECTS) and name.count("/") > 2 else ""


def _some(names: list[str]) -> str:
    more = f", and {len(names) - MAX_TOLD} more" if len(names) > MAX_TOLD else ""
    return ", ".join(names[:MAX_TOLD]) + more


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


OBJECT: Final = re.compile(r"[0-9]{10}-[0-9]{10}\.[0-9]{1,9}|key\.json")
PLACEHOLDER: Final = re.compile(r"\.([0-9]{10}-[0-9]{10}\.[0-9]{1,9}|key\.json)\.icloud")
FOLDER: Final = re.compile(r"[A-Za-z0-9_.~%-]+")
"""The name of a device, percent-encoded, or of a log."""
