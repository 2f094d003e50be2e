"""`backscroll doctor`: check the homes and the library, and list what will be deleted soon."""

import platform
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from backscroll import __version__
from backscroll.cli.inspect import write_problems, write_totals
from backscroll.cli.options import Request, current_request, global_options
from backscroll.cli.output import ProgressLine, heading, keep_first, warning, write, write_json
from backscroll.cli.paging import width
from backscroll.errors import BackscrollError
from backscroll.render.cells import cut_start
from backscroll.render.terminal import clean_line, minute, moment, plural, size

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from backscroll.library import Home
    from backscroll.library.setup.checkup import Check
    from backscroll.library.setup.doctor import Health, HomeHealth
    from backscroll.library.setup.plugin import PluginHealth
    from backscroll.settings import Settings

SOON = timedelta(days=7)
SHOWN = 10


@click.command("doctor")
@click.option("--deep", is_flag=True, help="Check the library too: archive, index, marks, permissions, free space.")
@global_options()
def command(deep: bool) -> None:
    """Check your Claude Code homes: what is there, what could not be read, what will be deleted soon.

    Reads every session, so it also reports record types and fields that this version of backscroll does not know.
    Changes nothing.

    With --deep it also checks the whole library: it compares every archived byte with its checksum, reads every page
    and every word of the index, and says what to do about each problem. The exit code is 1 if there is a problem.

    \b
    Examples:
      backscroll doctor
      backscroll doctor --deep
      backscroll doctor --home /mnt/old-laptop/.claude --json
    """
    from backscroll.library.homes import no_history, open_homes
    from backscroll.library.setup.doctor import examine
    from backscroll.library.setup.plugin import check_plugin

    request = current_request()
    settings = request.settings()
    homes = open_homes(settings)
    keep_first(request)
    with ProgressLine("reading", quiet=request.quiet) as progress:
        health = examine(homes, progress.set_total, progress.add)
    checks = _check(request, homes) if deep else None
    now = datetime.now(UTC)
    plugins = {home: check_plugin(home, settings) for home in homes}
    if request.json:
        write_json({**_as_json(health, settings, now, plugins), **_checks_as_json(checks)})
    else:
        _write(health, settings, now, plugins, shown=10**9 if request.verbosity > 0 else SHOWN)
        _write_checks(checks or ())
    if not any(home.exists for home in health.homes):
        raise no_history(homes)
    if _unreadable(health):
        raise BackscrollError("not everything could be read", "see the list above; check the permissions")
    if wrong := [check for check in checks or () if not check.is_sound]:
        names = ", ".join(check.name for check in wrong)
        raise BackscrollError(f"the library needs attention: {names}", "follow the advice for each problem above")


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
        "unknown": [
            {
                "what": item.drift.what,
                "name": item.drift.name,
                "count": item.count,
                "version": item.version,
                "file": str(item.file),
                "line": item.line,
            }
            for item in health.unknown.values()
        ],
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
    health: "Health", settings: "Settings", now: datetime, plugins: "dict[Home, PluginHealth]", shown: int
) -> None:
    from backscroll.library.homes import caches

    write(f"backscroll {__version__}, Python {platform.python_version()}, {platform.system()}")
    write(f"library   {_state(settings.library)}")
    write(f"settings  {_state(settings.file)}")
    for cache in caches(settings):
        found = "logs of the first clients" if cache.is_cache else "no logs of the first clients"
        write(f"cache     {clean_line(str(cache.path))} ({found})")
    for home in health.homes:
        _write_home(home, now, shown)
        if home.exists and not home.home.is_cache:
            _write_plugin(plugins[home.home])
    _write_sessions(health, shown)
    _write_unknown(health, shown)


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
    found = health.inspection
    if not found.files:
        return
    write(f"\n{heading('Sessions')}")
    write_totals(found, indent="  ")
    write_problems(found, shown, "backscroll inspect -v lists them")


def _write_unknown(health: "Health", shown: int) -> None:
    if not health.inspection.files:
        return
    write(f"\n{heading('Unknown to this version of backscroll')}")
    if not health.unknown:
        write("  nothing")
    for item in sorted(health.unknown.values(), key=lambda item: -item.count)[:shown]:
        version = f", first in {clean_line(item.version)}" if item.version else ""
        write(f"  {item.count:>9,}  {item.drift.what} {clean_line(item.drift.name) or '(none)'}{version}")
    if len(health.unknown) > shown:
        write(f"  … and {len(health.unknown) - shown:,} more (-v lists all)")
    if health.unknown:
        write("  Nothing is lost: it is archived as it is. A newer version of backscroll may know it.")


def _unreadable(health: "Health") -> bool:
    return bool(health.inspection.unreadable) or any(home.unreadable for home in health.homes)
