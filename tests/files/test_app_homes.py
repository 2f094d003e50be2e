"""Where homes of Claude's desktop app are found, on each system, and where not."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll.files import app_homes
from backscroll.files.app_homes import app_folders, find_app_folders
from tests.support.homes import write_home

SESSION = "projects/-sessions-keen-owl/0a1b2c3d-0000-4000-8000-00000000000f.jsonl"


def found(folder: Path) -> list[str]:
    """The paths below the sessions of the app where homes are found."""
    (only,) = find_app_folders([folder])
    sessions = folder / "local-agent-mode-sessions"
    return [home.path.relative_to(sessions).as_posix() for home in only.homes]


def test_each_session_of_the_app_has_a_home(tmp_path: Path) -> None:
    root = tmp_path / "local-agent-mode-sessions"
    for place in ("org/account/local_1", "org/account/local_2", "org/account/agent/local_3", "local_4"):
        write_home(root / place / ".claude", {SESSION: "{}"})
        write_home(root / place, {"audit.jsonl": "{}"})
    (root / "org/account/local_5.json").write_text("{}")
    (root / "org/account/local_6/.claude").mkdir(parents=True)
    write_home(root / "org/account/other/.claude", {SESSION: "{}"})
    assert found(tmp_path) == [
        "local_4/.claude",
        "org/account/agent/local_3/.claude",
        "org/account/local_1/.claude",
        "org/account/local_2/.claude",
    ]


def test_no_link_is_followed(tmp_path: Path) -> None:
    outside = write_home(tmp_path / "outside" / "local_1" / ".claude", {SESSION: "{}"})
    root = tmp_path / "app" / "local-agent-mode-sessions"
    root.mkdir(parents=True)
    (root / "org").symlink_to(tmp_path / "outside")
    (root / "local_2").symlink_to(tmp_path / "outside" / "local_1")
    (root / "local_3").mkdir()
    (root / "local_3" / ".claude").symlink_to(outside)
    assert found(tmp_path / "app") == []


def test_the_search_ends_however_much_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "local-agent-mode-sessions"
    write_home(root.joinpath(*"abcdef") / "local_1" / ".claude", {SESSION: "{}"})
    assert found(tmp_path) == []
    monkeypatch.setattr(app_homes, "MOST_LOOKED_AT", 30)
    listed: list[Path] = []
    scan = os.scandir

    def counting(folder: Path) -> Any:  # noqa: ANN401 - an iterator of its own type
        listed.append(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", counting)
    for number in range(100):
        (root / f"org-{number:03}" / "account").mkdir(parents=True)
    found(tmp_path)
    assert len(listed) <= 31


def test_the_app_is_looked_for_where_each_system_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    store = tmp_path / "Local" / "Packages" / "Claude_pzs8sxrjxfjjc" / "LocalCache" / "Roaming"
    (store / "Claude").mkdir(parents=True)
    windows = {"APPDATA": str(tmp_path / "Roaming"), "LOCALAPPDATA": str(tmp_path / "Local")}
    expected = {
        "linux": (tmp_path / ".config",),
        "darwin": (tmp_path / "Library" / "Application Support",),
        "win32": (tmp_path / "Roaming", store),
    }
    for system, bases in expected.items():
        monkeypatch.setattr(sys, "platform", system)
        names = [base / name for base in bases for name in ("Claude", "Claude-3p")]
        assert app_folders(windows if system == "win32" else {}) == names
    monkeypatch.setattr(sys, "platform", "linux")
    assert app_folders({"XDG_CONFIG_HOME": "/x"})[0] == Path("/x/Claude")
