"""install and uninstall, as a user runs them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from backscroll.library.setup.hooks import MARKER
from tests.support.command import run_command
from tests.support.homes import write_home

SETTINGS = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}\n'


def run(*arguments: object, **environment: str) -> CompletedProcess[str]:
    return run_command(*arguments, environment=os.environ | environment)


def run_and_answer(said: str, *arguments: object) -> CompletedProcess[str]:
    """With a terminal for input, on which this was typed."""
    ours, theirs = pty.openpty()
    os.write(ours, said.encode())
    command = [sys.executable, "-m", "backscroll", *map(str, arguments)]
    try:
        return subprocess.run(command, stdin=theirs, capture_output=True, text=True, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)


def answer(*arguments: object, **environment: str) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(*arguments, "--json", **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {"projects/-x/none.txt": b"", "settings.json": SETTINGS.encode()})


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A systemctl that writes down what it is told, refuses what stands in `refused`, and knows what it enabled."""
    folder = tmp_path / "bin"
    folder.mkdir()
    tool = folder / "systemctl"
    tool.write_text(
        f'#!/bin/sh\ncd {folder}\nif [ "$2" = is-enabled ]; then grep -q enable told; exit; fi\n'
        'if [ "$2" = "$(cat refused 2>/dev/null)" ]; then echo "no bus" >&2; exit 1; fi\necho "$@" >>told\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def units() -> list[str]:
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def test_hooks_go_in_and_come_out_again(home: Path) -> None:
    done = run("install", "hooks", "--yes", "--home", home)
    assert done.returncode == 0, done.stderr
    assert '+    "SessionStart": [' in done.stdout
    installed = json.loads((home / "settings.json").read_text())
    for event in ("SessionStart", "SessionEnd"):
        (hook,) = installed["hooks"][event][0]["hooks"]
        assert (hook["type"], hook["timeout"]) == ("command", 10)
        assert f"hook keep --home {home}" in hook["command"]
    again = run("install", "hooks", "--home", home)
    assert (again.returncode, again.stdout) == (0, "Nothing to do: the hooks are already installed.\n")
    assert run("uninstall", "hooks", "-y", "--home", home).returncode == 0
    assert (home / "settings.json").read_text() == SETTINGS
    assert "Nothing to do" in run("uninstall", "hooks", "--home", home).stdout


@pytest.mark.parametrize(("said", "changed"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_nothing_is_done_before_the_user_said_yes(home: Path, said: str, changed: bool) -> None:
    done = run_and_answer(said, "install", "hooks", "--home", home)
    assert done.returncode == 0, done.stderr
    assert "SessionEnd" in done.stdout
    assert f"Change {home / 'settings.json'}?" in done.stderr
    assert ((home / "settings.json").read_text() != SETTINGS) is changed


def test_each_home_is_asked_for(home: Path, tmp_path: Path) -> None:
    other = write_home(tmp_path / "other", {"projects/-x/none.txt": b""})
    done = run_and_answer("n\ny\n", "install", "hooks", "--home", home, "--home", other)
    assert done.returncode == 0, done.stderr
    assert (home / "settings.json").read_text() == SETTINGS
    assert f"--home {other}" in (other / "settings.json").read_text()


@pytest.mark.parametrize("what", ["hooks", "timer"])
def test_without_a_terminal_a_yes_is_needed(home: Path, what: str) -> None:
    done = run("install", what, "--home", home, *(["--kind", "systemd"] if what == "timer" else []))
    assert done.returncode == 2
    assert "add --yes" in done.stderr
    assert done.stdout.startswith("--- ")
    assert (home / "settings.json").read_text() == SETTINGS
    assert units() == []


def test_json_never_asks_and_changes_nothing_without_yes(home: Path) -> None:
    shown = answer("install", "hooks", "--home", home)
    assert (shown["changed"], shown["files"]) == (False, [str(home / "settings.json")])
    assert shown["diff"].startswith(f"--- {home}/settings.json\n")
    assert (home / "settings.json").read_text() == SETTINGS
    done = answer("install", "hooks", "--home", home, "--yes")
    assert done == {**shown, "changed": True}
    assert answer("install", "hooks", "--home", home, "--yes")["changed"] is False
    assert answer("uninstall", "hooks", "--home", home, "--yes")["changed"] is True
    assert (home / "settings.json").read_text() == SETTINGS


def test_one_home_that_cannot_be_changed_leaves_all_unchanged(home: Path, tmp_path: Path) -> None:
    broken = write_home(tmp_path / "broken", {"projects/-x/none.txt": b"", "settings.json": b"{oops"})
    done = run("install", "hooks", "--yes", "--home", home, "--home", broken)
    assert done.returncode == 1
    assert f"cannot change {broken / 'settings.json'}" in done.stderr
    assert (home / "settings.json").read_text() == SETTINGS
    assert (broken / "settings.json").read_text() == "{oops"


def test_nothing_in_the_settings_commands_the_terminal(home: Path) -> None:
    settings = json.dumps({"title": "\x7f\x9b2J\u202e evil"}, ensure_ascii=False)
    (home / "settings.json").write_text(settings)
    done = run("install", "hooks", "--print", "--home", home)
    assert "evil" in done.stdout
    assert not set(done.stdout) & {"\x7f", "\x9b", "\u202e"}
    assert (home / "settings.json").read_text() == settings


@pytest.mark.parametrize(("answers", "changed"), [("y\ny\n", True), ("y\nn\n", False), ("n\n", False)])
def test_a_read_only_file_is_asked_about(home: Path, answers: str, changed: bool) -> None:
    file = home / "settings.json"
    file.chmod(0o444)
    done = run_and_answer(answers, "install", "hooks", "--home", home)
    assert done.returncode == 0, done.stderr
    assert (f"{file} is read-only. Change it anyway?" in done.stderr) is answers.startswith("y")
    assert (file.read_text() != SETTINGS) is changed
    assert file.stat().st_mode & 0o777 == 0o444


def test_a_read_only_file_is_not_changed_without_a_question(home: Path) -> None:
    (home / "settings.json").chmod(0o444)
    for options in (["--yes"], ["--yes", "--json"]):
        done = run("install", "hooks", "--home", home, *options)
        assert done.returncode == 1
        assert "is read-only; nothing was changed" in done.stderr
    assert (home / "settings.json").read_text() == SETTINGS


def test_a_link_into_a_folder_of_dotfiles_is_named_with_what_is_behind_it(home: Path, tmp_path: Path) -> None:
    behind = tmp_path / "dotfiles" / "claude.json"
    behind.parent.mkdir()
    (home / "settings.json").rename(behind)
    (home / "settings.json").symlink_to(behind)
    done = run_and_answer("y\n", "install", "hooks", "--home", home)
    assert f"{home / 'settings.json'} is a link: the file behind it changes" in done.stderr
    assert f"Change {behind}?" in done.stderr
    assert MARKER in behind.read_text()
    assert run("uninstall", "hooks", "--yes", "--home", home).returncode == 0
    assert behind.read_text() == SETTINGS
    assert (home / "settings.json").is_symlink()


def test_a_file_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "systemd").write_text("a file where a folder should be")
    done = run("install", "timer", "--kind", "systemd", "--yes", XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "make the change that is shown above yourself" in done.stderr


def test_comments_stay_and_the_user_learns_that_claude_code_ignores_the_file(home: Path) -> None:
    (home / "settings.json").write_text('{\n  "model": "opus" // the large one\n}\n')
    done = run("install", "hooks", "--yes", "--home", home)
    assert "Claude Code ignores the whole file, because it has comments or trailing commas" in done.stderr
    assert '"opus", // the large one\n' in (home / "settings.json").read_text()


def test_disabled_hooks_are_reported(home: Path) -> None:
    (home / "settings.json").write_text('{"disableAllHooks": true}')
    assert "disableAllHooks" in run("install", "hooks", "--yes", "--home", home).stderr


def test_a_timer_of_systemd_goes_in_and_comes_out_again(system: Path) -> None:
    arguments = ["install", "timer", "--kind", "systemd", "--yes"]
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert units() == ["backscroll-keep.service", "backscroll-keep.timer"]
    told = ["--user daemon-reload", "--user enable --now backscroll-keep.timer"]
    assert (system / "told").read_text().splitlines() == told
    assert "already" in run(*arguments).stdout
    assert (system / "told").read_text().splitlines() == told
    removed = run("uninstall", "timer", "--yes")
    assert removed.returncode == 0, removed.stderr
    assert units() == []
    told += ["--user disable --now backscroll-keep.timer", "--user daemon-reload"]
    assert (system / "told").read_text().splitlines() == told
    assert "timer is not installed" in run("uninstall", "timer").stdout


def test_a_timer_that_systemd_refused_can_be_tried_again(system: Path) -> None:
    (system / "refused").write_text("enable\n")
    done = run("install", "timer", "--kind", "systemd", "--yes")
    assert done.returncode == 1
    assert "`systemctl --user enable --now backscroll-keep.timer` failed: no bus" in done.stderr
    assert "run that command yourself" in done.stderr
    assert len(units()) == 2
    (system / "refused").unlink()
    assert run("install", "timer", "--kind", "systemd", "--yes").returncode == 0
    assert "enable" in (system / "told").read_text()


def test_a_timer_can_be_printed_instead(system: Path) -> None:
    service = run("install", "timer", "--kind", "systemd", "--print")
    assert "ExecStart=" in service.stdout
    assert "OnCalendar=hourly" in service.stdout
    assert "<key>ProgramArguments</key>" in run("install", "timer", "--kind", "launchd", "--print").stdout
    cron = run("install", "timer", "--kind", "cron", "--print").stdout
    assert cron.startswith("17 * * * * BACKSCROLL_STARTED_BY=timer /")
    assert units() == []
    assert not (system / "told").exists()


def test_with_cron_the_line_is_shown() -> None:
    assert "crontab -e" in run("install", "timer", "--kind", "cron").stdout
    shown = answer("install", "timer", "--kind", "cron", "--yes")
    assert (shown["changed"], shown["files"]) == (False, [])
    assert "keep --quiet" in shown["cron"]


def test_the_timer_keeps_what_was_asked_for(home: Path, tmp_path: Path) -> None:
    done = run("install", "timer", "--kind", "cron", "--print", "--home", home, "--library", tmp_path / "my library")
    assert f"keep --quiet --home {home} --library '{tmp_path}/my library'" in done.stdout


def test_a_kind_of_hooks_makes_no_sense(home: Path) -> None:
    assert run("install", "hooks", "--kind", "cron", "--home", home).returncode == 2
