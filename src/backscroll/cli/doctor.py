"""`backscroll doctor`: check the homes and the library, and list what will be deleted soon."""

import platform
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from backscroll import __version__
from backscroll.cli.app_homes import apps_as_json, decide_about_apps, write_app_homes, write_app_places
from backscroll.cli.archive_output import home_as_json, write_known_homes
from backscroll.cli.capture_output import ADVICE, ATTENTION, broken_ways, way_as_json, write_capturing
from backscroll.cli.inspect import unknown_as_json, write_problems, write_totals, write_unknown
from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import ProgressLine, heading, keep_first, warning, write, write_json
from backscroll.cli.paging import width
from backscroll.errors import BackscrollError
from backscroll.render.cells import cut_start
from backscroll.render.terminal import clean_line, minute, moment, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from backscroll.library import Home
    from backscroll.library.setup.app_setting import AppPlace
    from backscroll.library.setup.checkup import Check
    from backscroll.library.setup.doctor import Health, HomeHealth
    from backscroll.library.setup.plugin import PluginHealth
    from backscroll.settings import Settings

SOON = timedelta(days=7)
SHOWN = 10


@click.command("doctor")
@click.option(
    "--deep", is_flag=True, help="Check the library too: its place, archive, index, marks, permissions, free space."
)
@click.option(
    "--apps",
    type=click.Choice(["read", "ignore"]),
    help="Read the homes of Claude's desktop app (Cowork) from now on, or stop; it is written into the settings file.",
)
@global_options()
def command(deep: bool, apps: str | None) -> None:
    """Check your Claude Code homes: what is there, what could not be read, what will be deleted soon.

    Reads every session, so it also reports record types and fields that this version of backscroll does not know.
    Also checks what archives sessions by itself: hooks, plugin, timer, and a running `open` or `watch`. Of each it says
    whether it is installed, whether its program runs, when it last archived everything, and what changed since.

    Changes nothing, unless you answer its question about the homes of Claude's desktop app: these are looked for, and
    read only if you agree.

    With --deep it also checks the whole library: it compares every archived byte with its checksum, reads every page
    and every word of the index, and says what to do about each problem.

    The exit code is 1 if there is a problem: in the library, or with something that is installed and does not work.

    \b
    Examples:
      backscroll doctor
      backscroll doctor --deep
      backscroll doctor --apps read
      backscroll doctor --home /mnt/old-laptop/.claude --json
    """
    from backscroll.library.archives import has_history
    from backscroll.library.homes import known_homes, no_history, open_homes
    from backscroll.library.setup.app_setting import app_places
    from backscroll.library.setup.capturing import check_capturing
    from backscroll.library.setup.doctor import examine
    from backscroll.library.setup.plugin import check_plugin

    request = current_request()
    settings = decide_about_apps(request, apps)
    places = app_places(settings)
    homes = open_homes(settings)
    keep_first(request)
    with ProgressLine("reading", quiet=request.quiet) as progress:
        health = examine(homes, progress.set_total, progress.add)
    checks = _check(request, homes) if deep else None
    now = datetime.now(UTC)
    plugins = {home: check_plugin(home, settings) for home in homes}
    ways = [] if request.demo else check_capturing(settings, homes, now)
    if request.json:
        kept = {"kept_homes": [home_as_json(home) for home in known_homes(settings, homes)]}
        more = {"apps": apps_as_json(places), "capturing": [way_as_json(way) for way in ways]}
        write_json({**_as_json(health, settings, now, plugins), **kept, **more, **_checks_as_json(checks)})
    else:
        _write(health, settings, now, plugins, places, shown=10**9 if request.verbosity > 0 else SHOWN)
        write_known_homes(known_homes(settings, homes))
        if ways:
            write_capturing(ways, now.astimezone())
        _write_checks(checks or ())
    if not any(home.exists for home in health.homes) and not has_history(settings, homes):
        raise no_history(homes)
    if _unreadable(health):
        raise BackscrollError("not everything could be read", "see the list above; check the permissions")
    wrong: dict[str, list[str]] = {
        "the library needs attention": [check.name for check in checks or () if not check.is_sound],
        ATTENTION: broken_ways(ways),
    }
    if problems := [f"{what}: {', '.join(names)}" for what, names in wrong.items() if names]:
        raise BackscrollError("; ".join(problems), ADVICE)


def _check(request: Request, homes: "list[Home]") -> "list[Check]":
    from backscroll.library.setup.checkup import check_library

    with ProgressLine("checking the archive", quiet=request.quiet) as progress:
        return list(check_library(request.settings(), homes, progress.set_total, progress.add))


def _checks_as_json(checks: "list[Check] | None") -> dict[str, object]:
    if checks is None:
        return {}
    return {
        "checks": [
            {
                "check": check.name,
                "ok": check.is_sound,
                "told": check.told,
                "problems": check.problems,
                "hint": None if check.is_sound else check.hint,
            }
            for check in checks
        ]
    }


def _write_checks(checks: "Iterable[Check]") -> None:
    for number, check in enumerate(checks):
        if number == 0:
            write(f"\n{heading('Library')}")
        write(f"  {check.name:<12} {'ok' if check.is_sound else warning('PROBLEM')}: {clean_line(check.told)}")
        for problem in check.problems:
            write(warning(f"    {clean_line(problem)}"))
        if not check.is_sound:
            write(f"    next: {clean_line(check.hint)}")


def _as_json(
    health: "Health", settings: "Settings", now: datetime, plugins: "dict[Home, PluginHealth]"
) -> dict[str, object]:
    from backscroll.cli.inspect import as_json

    return {
        "backscroll": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "library": {"path": str(settings.library), "exists": settings.library.exists()},
        "settings_file": {"path": str(settings.file), "exists": settings.file.exists()},
        "homes": [{**_home_as_json(home, now), "plugin": _plugin_as_json(plugins[home.home])} for home in health.homes],
        "sessions": as_json(health.inspection),
        "unknown": unknown_as_json(health.inspection),
    }


def _home_as_json(home: "HomeHealth", now: datetime) -> dict[str, object]:
    return {
        "path": str(home.home.path),
        "exists": home.exists,
        "projects": sorted(home.projects),
        "files": {kind: {"count": count, "bytes": home.sizes[kind]} for kind, count in home.files.items()},
        "early_sessions": dict(home.early_sessions),
        "left_out": dict(home.left_out),
        "unreadable": [{"file": str(item.path), "reason": item.reason} for item in home.unreadable],
        "live": [{"pid": live.pid, "session": live.session_id, "status": live.status} for live in home.live],
        "retention": {
            "days": home.days,
            "from": "default" if home.cleanup_days is None else "settings.json",
            "due": [
                {
                    "session": item.file.place.session_id,
                    "project": home.project_of.get(item.file.path),
                    "file": str(item.file.path),
                    "bytes": item.file.size,
                    "due": moment(item.due),
                    "overdue": item.due <= now,
                }
                for item in home.deletions
            ],
        },
    }


def _plugin_as_json(plugin: "PluginHealth") -> dict[str, object]:
    return {
        "installed": plugin.is_installed,
        "enabled": bool(plugin.state.is_enabled),
        "version": plugin.state.version,
        "current": plugin.is_current,
        "command": plugin.command,
        "trouble": plugin.trouble or None,
    }


def _write(
    health: "Health",
    settings: "Settings",
    now: datetime,
    plugins: "dict[Home, PluginHealth]",
    places: "Sequence[AppPlace]",
    shown: int,
) -> None:
    from backscroll.library.homes import caches

    write(f"backscroll {__version__}, Python {platform.python_version()}, {platform.system()}")
    write(f"library   {_state(settings.library)}")
    write(f"settings  {_state(settings.file)}")
    for cache in caches(settings):
        logs = "logs of the first clients" if cache.is_cache else "no logs of the first clients"
        write(f"cache     {clean_line(str(cache.path))} ({logs})")
    write_app_places(places)
    in_apps = {home for place in places if place.is_read for home in place.homes}
    for home in health.homes:
        if home.home in in_apps:
            continue
        _write_home(home, now, shown)
        if home.exists and not home.home.is_cache:
            _write_plugin(plugins[home.home])
    write_app_homes([home for home in health.homes if home.home in in_apps], shown)
    _write_sessions(health, shown)
    write_unknown(health.inspection, shown)


def _state(path: "Path") -> str:
    return clean_line(str(path)) + ("" if path.exists() else " (does not exist yet)")


def _write_home(home: "HomeHealth", now: datetime, shown: int) -> None:
    write(f"\n{heading(f'Home {clean_line(str(home.home.path))}')}")
    if not home.exists:
        write(warning("  does not exist, or was never used"))
        return
    for kind, count in home.files.most_common():
        write(f"  {count:>9,}  {kind:<17} {size(home.sizes[kind]):>9}")
    write(f"  {len(home.projects):>9,}  projects")
    for holder, count in home.early_sessions.most_common(shown):
        what = "session" if count == 1 else "sessions"
        write(f"  {count:>9,}  {what} in {clean_line(holder)}, from before session files")
    for reason, count in home.left_out.items():
        write(f"  {count:>9,}  left out: {reason}")
    for live in home.live:
        status = f", {clean_line(live.status)}" if live.status else ""
        write(f"  running: session {clean_line((live.session_id or '?')[:8])} (process {live.pid}{status})")
    for item in home.unreadable[:shown]:
        write(warning(f"  cannot be read: {clean_line(str(item.path))}: {clean_line(item.reason)}"))
    if not home.home.is_cache:
        _write_retention(home, now, shown)


def _write_retention(home: "HomeHealth", now: datetime, shown: int) -> None:
    source = "its default" if home.cleanup_days is None else "cleanupPeriodDays in settings.json"
    write(f"\n  Claude Code deletes a session {plural(home.days, 'day')} after its last change ({source}).")
    overdue = [item for item in home.deletions if item.due <= now]
    soon = [item for item in home.deletions if now < item.due <= now + SOON]
    if overdue:
        write(warning(f"  {plural(len(overdue), 'session')} overdue: Claude Code deletes them when it next starts."))
    if soon:
        write(warning(f"  {plural(len(soon), 'session')} will be deleted within {SOON.days} days."))
    if not overdue and not soon and home.deletions:
        write(f"  None in the next {SOON.days} days; the first on {minute(home.deletions[0].due)[:10]}.")
    for item in (overdue + soon)[:shown]:
        project = clean_line(home.project_of.get(item.file.path, "?"))
        session = clean_line((item.file.place.session_id or "?")[:8])
        room = width()
        shown_project = project if room is None else cut_start(project, room - 44)
        write(f"    {minute(item.due)}  {session}  {size(item.file.size):>8}  {shown_project}")
    if len(overdue + soon) > shown:
        write(f"    … and {len(overdue + soon) - shown:,} more (-v lists all)")


def _write_plugin(plugin: "PluginHealth") -> None:
    if not plugin.is_installed:
        write("\n  Claude Code cannot recall these conversations: run backscroll install claude.")
    elif plugin.trouble:
        write(warning(f"\n  The plugin has a problem: {clean_line(plugin.trouble)}."))
        write("  next: backscroll install claude")
    else:
        write(f"\n  The plugin is installed and up to date ({clean_line(plugin.state.version or '')}).")


def _write_sessions(health: "Health", shown: int) -> None:
    inspection = health.inspection
    if not inspection.files:
        return
    write(f"\n{heading('Sessions')}")
    write_totals(inspection, indent="  ")
    write_problems(inspection, shown, "backscroll inspect -v lists them")


def _unreadable(health: "Health") -> bool:
    return bool(health.inspection.unreadable) or any(home.unreadable for home in health.homes)
