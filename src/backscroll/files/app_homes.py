"""Find the homes that Claude's desktop app keeps for Cowork: each session has a config folder of its own.

They lie below the app's data folder, in `local-agent-mode-sessions/…/local_<id>/.claude`. Only folders are listed here;
whether a home is read is up to the user (docs/why/scope.md).
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.files.homes import Home

APPS: Final = ("Claude", "Claude-3p")
"""The names of the app's data folder; the second is used with other providers of models."""
SESSIONS: Final = "local-agent-mode-sessions"
SESSION: Final = "local_"
DEEPEST: Final = 5
"""The most folder levels at which a session may be."""
MOST_LOOKED_AT: Final = 20_000
"""The most folder entries that are examined."""


class AppFolder(NamedTuple):
    """A folder where the app may have its data, and the homes in it."""

    path: Path
    exists: bool
    homes: tuple[Home, ...] = ()


def app_folders(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the folders where the app has its data on this system, whether they exist or not."""
    return [Path(os.path.realpath(base / name)) for base in _bases(environment) for name in APPS]


def find_app_folders(folders: Iterable[Path] | None = None) -> list[AppFolder]:
    """Return the homes below these folders, or in every folder where the app may have its data."""
    return [
        AppFolder(folder, folder.is_dir(), tuple(sorted(_homes_in(folder))))
        for folder in (app_folders() if folders is None else folders)
    ]


def _bases(environment: Mapping[str, str]) -> Iterator[Path]:
    if sys.platform == "darwin":
        yield Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        roaming, local = environment.get("APPDATA"), environment.get("LOCALAPPDATA")
        yield Path(roaming) if roaming else Path.home() / "AppData" / "Roaming"
        # An app from the Store has a folder of its own in place of APPDATA.
        packages = (Path(local) if local else Path.home() / "AppData" / "Local") / "Packages"
        for pattern in ("Claude_*", "*.Claude_*"):
            yield from sorted(package / "LocalCache" / "Roaming" for package in packages.glob(pattern))
    else:
        named = environment.get("XDG_CONFIG_HOME")
        yield Path(named) if named else Path.home() / ".config"


def _homes_in(folder: Path) -> Iterator[Home]:
    """Yield the homes below an app's data folder. No link is followed."""
    room = MOST_LOOKED_AT
    waiting = [(folder / SESSIONS, 1)]
    while waiting:
        parent, depth = waiting.pop()
        entries = _entries_of(parent, room)
        room -= len(entries)
        for name, is_folder in entries:
            if not is_folder:
                continue
            path = parent / name
            if not name.startswith(SESSION):
                if depth < DEEPEST:
                    waiting.append((path, depth + 1))
            elif not (path / ".claude").is_symlink() and (home := Home(path / ".claude")).exists:
                yield home


def _entries_of(folder: Path, most: int) -> list[tuple[str, bool]]:
    """Return the names in a folder, each with whether it is a folder and no link."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, most)]
    except OSError:
        return []
