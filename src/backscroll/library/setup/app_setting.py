"""The setting for the homes of Claude's desktop app: their usual places, and the user's choice to read them.

The choice is written into the settings file.
"""

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.files.app_homes import find_app_folders
from backscroll.files.homes import CHOSEN, Home
from backscroll.library.homes import app_homes
from backscroll.library.setup.edits import Edit, apply, read_or_none
from backscroll.settings import Settings


class AppPlace(NamedTuple):
    """A place where the desktop app may have its data, and the homes in it."""

    path: Path
    exists: bool
    homes: tuple[Home, ...]
    is_read: bool


def app_places(settings: Settings) -> list[AppPlace]:
    """Return every place that homes of the app may be in, and those that the settings name; in a demo, none."""
    if settings.is_demo:
        return []
    read = set(app_homes(settings))
    usual = find_app_folders()
    named = find_app_folders(set(settings.apps or ()) - {folder.path for folder in usual})
    return [AppPlace(*folder, bool(folder.homes) and read.issuperset(folder.homes)) for folder in (*usual, *named)]


def must_ask(settings: Settings) -> bool:
    """Whether the user has not chosen yet, and has not named other homes."""
    return settings.apps is None and not settings.is_demo and not os.environ.get(CHOSEN)


def set_apps(settings: Settings, *, are_read: bool) -> Settings:
    """Write whether the homes of the app on this machine are read from now on; return the new settings."""
    places = app_places(settings)
    folders = [place.path for place in places if place.homes] if are_read else []
    if are_read and not folders:
        looked = ", ".join(str(place.path) for place in places)
        raise NothingFound(f"no homes of Claude's desktop app in {looked}", "start a Cowork session in the app first")
    path = Path(os.path.realpath(settings.file))
    before = read_or_none(path)
    apply(Edit(path, before, with_app_folders((before or b"").decode(), folders).encode()))
    return replace(settings, apps=tuple(folders))


def with_app_folders(text: str, folders: Sequence[Path]) -> str:
    """Return the text of a settings file with these folders; everything else in it stays as it is."""
    setting = setting_for(folders)
    lines = text.splitlines(keepends=True)
    own = [number for number, line in enumerate(lines) if SETTING.match(line)]
    if own:
        end = lines[own[0]][len(lines[own[0]].rstrip("\r\n")) :]
        after = "".join((*lines[: own[0]], setting + end, *lines[own[0] + 1 :]))
    else:
        after = f"{COMMENT}\n{setting}\n{text}"
    try:
        is_same = tomllib.loads(after) == {**tomllib.loads(text), "apps": [str(folder) for folder in folders]}
    except ValueError:
        is_same = False
    if not is_same:
        raise UsageError("apps in the settings file cannot be changed where it stands", f"write {setting} yourself")
    return after


def setting_for(folders: Sequence[Path]) -> str:
    """Return the line of the settings file."""
    return f"apps = [{', '.join(json.dumps(str(folder), ensure_ascii=False) for folder in folders)}]"


SETTING: Final = re.compile(r"\s*apps\s*=")
COMMENT: Final = "# The folders of Claude's desktop app whose homes are read; change it with: backscroll doctor --apps"
