"""The homes of a request, and their settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from backscroll.errors import NothingFound
from backscroll.files.homes import Home, cache_folder, find_homes
from backscroll.files.live import is_running
from backscroll.files.opening import read_small
from backscroll.settings import Settings

if TYPE_CHECKING:
    from backscroll.records.sidecars import LiveSession


def open_homes(settings: Settings, *, with_caches: bool = True) -> list[Home]:
    """The homes to read: those the user named, which must exist, otherwise the one Claude Code would use.

    Cache folders with logs of the first clients are read like homes, where they exist: the platform's own, unless the
    user named homes, and those that the settings name.
    """
    homes = find_homes(settings.homes)
    for home in homes:
        if settings.homes and not home.exists:
            inside = home.path.name == "projects" and home.path.is_dir()
            hint = f"did you mean {home.path.parent}?" if inside else "a home is the folder that holds `projects`"
            raise NothingFound(f"no Claude Code home at {home.path}", f"{hint}; {TRY_THE_DEMO}")
    return [*homes, *(home for home in caches(settings) if with_caches and home.is_cache and home not in homes)]


def caches(settings: Settings) -> list[Home]:
    """The cache folders to look into, whether they exist or not."""
    own = [] if settings.homes or settings.is_demo else [cache_folder()]
    named = [*own, *settings.caches]
    return find_homes(named) if named else []


def no_history(homes: Sequence[Home]) -> NothingFound:
    """The error that says where we looked, how to name another folder, and how to try backscroll without one."""
    places = ", ".join(str(home.path) for home in homes)
    what = "no sessions yet in" if any(home.exists for home in homes) else "no Claude Code home at"
    return NothingFound(f"{what} {places}", f"{NAME_ANOTHER}; {TRY_THE_DEMO}")


NAME_ANOTHER: Final = "name another folder with --home, CLAUDE_CONFIG_DIR or homes in the settings file"
TRY_THE_DEMO: Final = "or try it on sample conversations: backscroll --demo list, backscroll demo"


def cleanup_days(home: Home) -> int | None:
    """After how many days sessions are deleted, by the home's settings; None if not set or not readable."""
    from backscroll.records.sidecars import cleanup_period

    try:
        return cleanup_period(read_small(home.path / "settings.json"))
    except OSError:
        return None


def live_sessions(homes: Iterable[Home]) -> dict[str, LiveSession]:
    """The sessions that a client has open now, by their ids."""
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
