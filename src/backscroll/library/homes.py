"""The homes of a request, and their settings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.files.app_homes import find_app_folders
from backscroll.files.homes import CHOSEN, Home, cache_folder, find_homes
from backscroll.files.layout import FileKind
from backscroll.files.live import is_running
from backscroll.files.opening import read_small
from backscroll.library.archives import find_archive
from backscroll.library.gone_homes import gone_homes
from backscroll.library.machine import read_machine
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.records.sidecars import LiveSession

HomeState = Literal["open", "gone", "on another machine", "not shown"]
"""State of a known home in a request: only an existing home that was not named is not shown."""


def open_homes(settings: Settings, *, with_caches: bool = True, may_be_missing: bool = False) -> list[Home]:
    """Return the homes to read: those the user named, which must exist unless they `may_be_missing`, otherwise the one
    Claude Code would use.

    A home that the user named may be gone if the library has it. If the user named none and there is no usual one,
    those that the library has are read. Cache folders with logs of the first clients are read like homes, where they
    exist: the platform's own, unless the user named homes, and those that the settings name. So are the homes of the
    desktop app, if the user agreed to it. Without `with_caches`, these are the homes to write to: no caches, no homes
    of an app, and none that only the library names.
    """
    homes = named_homes(settings, may_be_missing=may_be_missing)
    # An existing library continues to work, and `doctor --deep` explains the fix.
    if not has_library(settings) and (message := overlap(settings, homes)):
        raise UsageError(message, APART)
    if with_caches and not settings.homes and not os.environ.get(CHOSEN) and not homes[0].path.is_dir():
        known = (Home(Path(home.path)) for home in known_homes(settings, homes) if home.state == "not shown")
        homes += dict.fromkeys(known)
    if with_caches:
        homes += [home for home in caches(settings) if home.is_cache and home not in homes]
        homes += [home for home in app_homes(settings) if home not in homes]
    return homes


def named_homes(settings: Settings, *, may_be_missing: bool = False) -> list[Home]:
    """Return the homes that the user named, otherwise the one Claude Code would use, wherever the library is."""
    homes = find_homes(settings.homes)
    for home in homes:
        if settings.homes and not home.exists and not may_be_missing and not is_kept(settings, home):
            inside = home.path.name == "projects" and home.path.is_dir()
            hint = f"did you mean {home.path.parent}?" if inside else "a home is the folder that holds `projects`"
            raise NothingFound(f"no Claude Code home at {home.path}", f"{hint}; {TRY_THE_DEMO}")
    return homes


def has_library(settings: Settings) -> bool:
    """Whether there is a library already, and not just a folder of that name."""
    return any((settings.library / name).exists() for name in ("archive", "index"))


def overlap(settings: Settings, homes: Sequence[Home]) -> str | None:
    """Describe how a home and the library are inside one another; None if they are apart."""
    library = settings.library.resolve()
    for home in homes:
        path = home.path.resolve()
        if library.is_relative_to(path):
            return f"the library {settings.library} is inside the Claude Code home {home.path}"
        if path.is_relative_to(library):
            return f"the Claude Code home {home.path} is inside the library {settings.library}"
    return None


def is_kept(settings: Settings, home: Home) -> bool:
    """Whether the library has files of this home, on this machine or another."""
    archive = find_archive(settings)
    return archive is not None and any(str(home.path) == kept for _, kept in archive.homes)


class KnownHome(NamedTuple):
    """A home that the library has files of."""

    path: str
    machine: str
    state: HomeState
    sessions: int
    """Number of kept sessions of the home."""

    @property
    def is_shown(self) -> bool:
        """Whether its chats are shown without naming it."""
        return self.state != "not shown"


def known_homes(settings: Settings, homes: Sequence[Home]) -> list[KnownHome]:
    """Return the homes that the library has files of, with their states: see docs/why/scope.md."""
    archive, machine = find_archive(settings), read_machine(settings.library)
    if archive is None:
        return []
    opened = {str(home.path) for home in homes}
    gone = gone_homes(machine, archive.homes)
    sessions = Counter((file.machine, file.home) for file in archive.files.values() if file.kind is FileKind.SESSION)
    known = []
    for owner, path in sorted(archive.homes, key=lambda home: home[::-1]):
        state: HomeState = "open" if path in opened else "not shown"
        if not machine.is_own(owner):
            state = "on another machine"
        elif path in gone:
            state = "gone"
        known.append(KnownHome(path, owner, state, sessions[owner, path]))
    return known


def caches(settings: Settings) -> list[Home]:
    """Return the cache folders to read, whether they exist or not."""
    own = [] if settings.homes or settings.is_demo else [cache_folder()]
    named = [*own, *settings.caches]
    return find_homes(named) if named else []


def app_homes(settings: Settings) -> list[Home]:
    """Return the homes of Claude's desktop app that the user agreed to read: none if others were chosen here."""
    if not settings.apps or (os.environ.get(CHOSEN) and not settings.homes):
        return []
    return [home for folder in find_app_folders(settings.apps) for home in folder.homes]


def no_history(homes: Sequence[Home]) -> NothingFound:
    """Return the error that names the searched places, and offers to name another folder or to try the demo."""
    places = ", ".join(str(home.path) for home in homes)
    what = "no sessions yet in" if any(home.exists for home in homes) else "no Claude Code home at"
    folders = [home.path for home in homes if os.path.isdir(home.path)]  # noqa: PTH112
    if closed := next((folder for folder in folders if not os.access(folder, os.R_OK | os.X_OK)), None):
        return NothingFound(f"cannot read the Claude Code home {closed}", "check the permissions of the folder")
    in_apps = any(home not in homes for folder in find_app_folders() for home in folder.homes)
    ask = f"{ASK_ABOUT_APPS}; " if in_apps else ""
    return NothingFound(f"{what} {places}", f"{ask}{NAME_ANOTHER}; {TRY_THE_DEMO}")


APART: Final = "move one out of the other, or name another folder for the library with --library"
ASK_ABOUT_APPS: Final = "backscroll doctor asks about the homes of Claude's desktop app, which are here"
NAME_ANOTHER: Final = "name another folder with --home, CLAUDE_CONFIG_DIR or homes in the settings file"
TRY_THE_DEMO: Final = "or try it on sample conversations: backscroll --demo list, backscroll demo"


def cleanup_days(home: Home) -> int | None:
    """Return the number of days after which sessions are deleted, by the home's settings; None if unset."""
    from backscroll.records.sidecars import cleanup_period

    try:
        return cleanup_period(read_small(home.path / "settings.json"))
    except OSError:
        return None


def live_sessions(homes: Iterable[Home]) -> dict[str, LiveSession]:
    """Return the sessions that a client has open now, by their ids."""
    live = {}
    for home in homes:
        for path in sorted((home.path / "sessions").glob("*.json")) if home.exists else ():
            from backscroll.records.sidecars import live_session

            try:
                session = live_session(read_small(path))
            except OSError:
                continue
            if session and session.session_id and is_running(session.pid, session.process_start):
                live[session.session_id.lower()] = session
    return live
