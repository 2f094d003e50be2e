"""Find the outputs of background commands, which Claude Code has only in the system's temporary folder.

There, in the user's own folder, each session has one: `claude-<uid>/<project folder>/<session id>/tasks`. A session is
looked up by its name, so that the work does not grow with the rest of the temporary folder. We read files that belong
to the user and are no links; and of large outputs, only a part.

As a file of a home, an output has the path `projects/<project folder>/<session id>/tasks/<task>.output`: next to the
other files of its session, where it is restored to.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from backscroll.files.discovery import HomeFile, Omission
from backscroll.files.layout import OUTPUT, OUTPUTS, FileKind, LeftOut, Place, place_of
from backscroll.files.source_key import SourceKey
from backscroll.files.times import storable_time
from backscroll.system import is_open_to_change, is_own, user_id

LARGEST: Final = 8 << 20
"""The most bytes that are kept of an output, from its beginning."""
MOST_BYTES: Final = 64 << 20
"""The most bytes that are kept of the outputs of a session, the shortest first."""
MOST_FILES: Final = 500
MOST_LOOKED_AT: Final = 2000
"""The most entries of a session's folder that are examined."""


def output_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the user's own folders among the temporary files, as clients name them; they need not exist."""
    # Some clients ignored TMPDIR, and a timer does not know the settings of a terminal.
    usual = () if sys.platform == "win32" else ("/tmp",)  # noqa: S108 - a folder of the client's, which we only read
    named = (*(environment.get(name) for name in ("CLAUDE_CODE_TMPDIR", "TMPDIR", "TMP", "TEMP")), *usual)
    return list(dict.fromkeys(Path(name, f"claude-{max(user_id(), 0)}") for name in named if name))


def find_task_outputs(
    sessions: Iterable[HomeFile], folders: Sequence[Path] | None = None
) -> Iterator[HomeFile | Omission]:
    """Yield the outputs of these sessions, and those of them that are left out. Files of other kinds have none."""
    roots = [folder for folder in output_folders() if _is_safe(folder)] if folders is None else folders
    if not roots:
        return
    with_outputs_of: dict[str, list[Path]] = {}
    for session in sessions:
        if session.kind is not FileKind.SESSION or not session.relative.startswith("projects/"):
            continue
        _, project, name = session.relative.split("/")
        if project not in with_outputs_of:
            with_outputs_of[project] = [root / project for root in roots if _is_own_folder(root / project)]
        for folder in with_outputs_of[project]:
            own = f"{folder}{os.sep}{name.removesuffix('.jsonl')}"
            if _is_own_folder(own):  # of thousands of sessions, few have one
                yield from _outputs_of(session, Path(own))


def with_outputs(files: Iterable[HomeFile]) -> list[HomeFile]:
    """Return these files, with the outputs of commands of the sessions among them, wherever those are."""
    every = {file.relative: file for file in files}
    outputs = [item for item in find_task_outputs(list(every.values())) if isinstance(item, HomeFile)]
    return [*(every | {output.relative: output for output in outputs}).values()] if outputs else [*every.values()]


def live_path(key: SourceKey) -> Path:
    """Return the path on this machine of the file with this key, present or past."""
    parts = key.path.split("/")
    place = place_of(parts)
    if isinstance(place, Place) and place.kind is FileKind.TASK_OUTPUT:
        for root in filter(_is_safe, output_folders()):
            folders = (root.joinpath(*parts[1:depth]) for depth in (2, 3, 4))
            path = root.joinpath(*parts[1:])
            if all(map(_is_own_folder, folders)) and isinstance(_look(key.home, key.machine, key.path, path), HomeFile):
                return path
    return Path(key.home, key.path)


def _outputs_of(session: HomeFile, own: Path) -> Iterator[HomeFile | Omission]:
    folder = own / OUTPUTS
    if not _is_own_folder(folder):
        return
    relative = f"{session.relative.removesuffix('.jsonl')}/{OUTPUTS}"
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, MOST_LOOKED_AT) if entry.name.endswith(OUTPUT))
    except OSError:
        return
    items = [
        _look(session.home, session.machine, f"{relative}/{name}", folder / name)
        for name in names
        if isinstance(place_of((*relative.split("/"), name)), Place)
    ]
    yield from (item for item in items if isinstance(item, Omission))
    room, count = MOST_BYTES, 0
    for output in sorted((item for item in items if isinstance(item, HomeFile)), key=lambda output: output.size):
        room, count = room - min(output.size, LARGEST), count + 1
        is_too_much = room < 0 or count > MOST_FILES
        yield Omission(output.path, LeftOut.TOO_MUCH) if is_too_much else output


def _look(home: str, machine: str, relative: str, path: Path) -> HomeFile | Omission | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    if stat.S_ISLNK(status.st_mode):
        return Omission(path, LeftOut.LINK)
    if not stat.S_ISREG(status.st_mode):
        return Omission(path, LeftOut.NOT_A_FILE)
    if not is_own(status) or status.st_nlink > 1:
        return Omission(path, LeftOut.OTHER)
    return HomeFile(
        home=home,
        relative=relative,
        kind=FileKind.TASK_OUTPUT,
        size=status.st_size,
        modified_ns=storable_time(status.st_mtime_ns),
        changed_ns=storable_time(status.st_ctime_ns),
        device=status.st_dev,
        inode=status.st_ino,
        machine=machine,
        elsewhere=str(path),
    )


def _is_safe(folder: Path) -> bool:
    """Whether the folder is the user's own, and no other user can put anything into it."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_own(status) and not is_open_to_change(status)


def _is_own_folder(folder: Path | str) -> bool:
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_own(status)
