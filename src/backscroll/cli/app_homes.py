"""The homes of Claude's desktop app in `doctor`: places searched, homes that exist, homes that are read, and the
question."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from backscroll.cli.output import heading, warning, write, write_note
from backscroll.errors import UsageError
from backscroll.render.terminal import clean_line, plural, size

if TYPE_CHECKING:
    from backscroll.cli.options import Request
    from backscroll.library.setup.app_setting import AppPlace
    from backscroll.library.setup.doctor import HomeHealth
    from backscroll.settings import Settings

AGREE: Final = "backscroll doctor --apps read"
IGNORE: Final = "backscroll doctor --apps ignore"


def decide_about_apps(request: "Request", answer: str | None) -> "Settings":
    """Apply `--apps`, or ask on a terminal, and return the settings with the answer. Nothing is read before."""
    from backscroll.library.setup.app_setting import app_places, must_ask

    settings = request.settings()
    if answer is not None:
        return _write_answer(request, settings, are_read=answer == "read")
    if request.json or request.quiet or not sys.stdin.isatty() or not sys.stdout.isatty() or not must_ask(settings):
        return settings
    places = [place for place in app_places(settings) if place.homes]
    if not places:
        return settings
    write("Claude's desktop app has homes of its own, for Cowork:")
    for place in places:
        write(f"  {clean_line(str(place.path))}: {plural(len(place.homes), 'home')}")
    write(
        "If you agree, their chats are kept, listed, searched and recalled like the others, and sync sends them by the"
    )
    write("same rules. Until then nothing in them is read.")
    return _write_answer(request, settings, are_read=click.confirm("Read them?", default=False))


def write_app_places(places: "Sequence[AppPlace]") -> None:
    """Print where homes of the app were searched, and the result of each place."""
    for place in places:
        if not place.exists:
            outcome = "not there"
        elif not place.homes:
            outcome = "no homes of Cowork"
        else:
            outcome = f"{plural(len(place.homes), 'home')} of Cowork, {'read' if place.is_read else 'not read'}"
        write(f"app       {clean_line(str(place.path))} ({outcome})")
    if any(place.homes and not place.is_read for place in places):
        write(f"          to read them: {AGREE}")
    elif any(place.homes for place in places):
        write(f"          to stop: {IGNORE}")


def write_app_homes(homes: "Sequence[HomeHealth]", shown: int) -> None:
    """Print the contents of the app's homes, a line for each."""
    if not homes:
        return
    write(f"\n{heading('Homes of Cowork')}")
    for home in homes[:shown]:
        sessions = plural(len(home.deletions), "session")
        write(f"  {clean_line(home.home.path.parent.name)}: {sessions}, {size(sum(home.sizes.values()))}")
    if len(homes) > shown:
        write(f"  … and {len(homes) - shown:,} more (-v lists all)")
    for item in [item for home in homes for item in home.unreadable][:shown]:
        write(warning(f"  cannot be read: {clean_line(str(item.path))}: {clean_line(item.reason)}"))


def apps_as_json(places: "Sequence[AppPlace]") -> list[dict[str, object]]:
    """Return the places, for `--json`."""
    return [
        {
            "path": str(place.path),
            "exists": place.exists,
            "homes": [str(home.path) for home in place.homes],
            "read": place.is_read,
        }
        for place in places
    ]


def _write_answer(request: "Request", settings: "Settings", *, are_read: bool) -> "Settings":
    from backscroll.library.setup.app_setting import set_apps

    if request.homes or request.demo:
        raise UsageError("--apps is about every request, not one", "leave out --home and --demo")
    settings = set_apps(settings, are_read=are_read)
    if not request.quiet:
        what = f"they are read from now on; {IGNORE} takes it back" if are_read else f"not read; {AGREE} changes it"
        write_note(f"{what} ({clean_line(str(settings.file))})")
    return settings
