"""What doctor and status say of hooks, timer, plugin and watcher: installed, working, and when each last captured."""

import json
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from backscroll.archive.archive import Archive
from backscroll.files.homes import Home
from backscroll.library.captures import STARTED_BY, find_watcher, note_begin, note_captured, note_failure, read_note
from backscroll.library.keeping.keep import keep_watching
from backscroll.library.setup.program import own_command
from backscroll.settings import Settings
from tests.support.command import run_command
from tests.support.homes import session_file, session_path, write_home
from tests.support.processes import until

TALK = "a1 <- - user: fix the parser\nb1 <- a1 assistant: done"


class Place:
    """A home, a library, and a program that the user may move or break."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = write_home(root / "claude", {**session_file("S1", TALK), "settings.json": b"{}"})
        self.library = root / "library"
        self.program = root / "bin" / "backscroll"
        self.program.parent.mkdir()
        self.program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m backscroll "$@"\n')
        self.program.chmod(0o755)

    @property
    def settings(self) -> Settings:
        return Settings(homes=(self.home,), library=self.library, file=self.root / "settings.toml")

    def run(self, *arguments: object) -> CompletedProcess[str]:
        return run_command(*arguments, "--home", self.home, "--library", self.library)

    def ways(self, command: str = "doctor") -> dict[str, Any]:
        done = self.run(command, "--json")
        return {way["way"]: way for way in json.loads(done.stdout)["capturing"]}

    def install_hooks(self) -> None:
        """Install them, for the program of this place instead of the one that runs."""
        assert self.run("install", "hooks", "--yes").returncode == 0
        self.change_hooks(lambda command: command.replace(shlex.join(own_command()), shlex.quote(str(self.program))))

    def change_hooks(self, change: Callable[[str], str]) -> None:
        settings = json.loads((self.home / "settings.json").read_text())
        for groups in settings["hooks"].values():
            for hook in groups[0]["hooks"]:
                hook["command"] = change(hook["command"])
        (self.home / "settings.json").write_text(json.dumps(settings))

    def end_session(self, shell: str = "sh") -> None:
        """As Claude Code runs the hook; it must see nothing of it."""
        hooks = json.loads((self.home / "settings.json").read_text())["hooks"]["SessionEnd"]
        for hook in (hook for group in hooks for hook in group["hooks"]):
            words = [shell, "-c", hook["command"]]
            done = subprocess.run(words, input=b"{}", capture_output=True, timeout=60)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def has_captured(self) -> bool:
        return bool(read_note(self.settings, "hooks", Home(self.home)).captured)

    def kept(self) -> set[str]:
        return {file.path for file in Archive(self.library / "archive").files.values()}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_without_anything_installed_it_says_what_to_do(place: Place) -> None:
    done = place.run("doctor")
    assert done.returncode == 0, done.stderr
    assert "  hooks    not installed: backscroll install hooks --home " in done.stdout
    assert "nothing archives new sessions by itself: run backscroll install hooks" in done.stdout
    assert "nothing archives new sessions by itself" in place.run("status").stdout
    ways = place.ways()
    assert [(way["installed"], way["works"]) for way in ways.values()] == [(False, None)] * 4
    assert list(ways) == ["hooks", "plugin", "timer", "watcher"]


def test_a_hook_that_works_says_when_it_last_captured_and_what_is_newer(place: Place) -> None:
    place.install_hooks()
    assert place.ways()["hooks"]["last_captured"] is None
    assert "  hooks    ok; has captured nothing yet\n" in place.run("doctor").stdout
    place.end_session()
    until(place.has_captured)
    hooks = place.ways()["hooks"]
    assert (hooks["installed"], hooks["works"], hooks["problems"], hooks["newer_sessions"]) == (True, True, [], 0)
    assert hooks["command"][:2] == [str(place.program), "hook"]
    write_home(place.home, session_file("S2", TALK.replace("1", "2")))
    later = place.home / session_path("S2")
    os.utime(later, (later.stat().st_mtime + 60,) * 2)
    assert place.ways()["hooks"]["newer_sessions"] == 1
    assert "1 session changed since" in place.run("doctor").stdout
    assert place.run("status").stdout.splitlines()[-1].startswith("Capture   hooks just now; not installed: plugin")


def test_a_hook_whose_program_is_gone_is_found(place: Place) -> None:
    """The user moved backscroll: Claude Code goes on, nothing is archived, and doctor says so and how to mend it."""
    place.install_hooks()
    place.end_session()
    until(place.has_captured)
    place.program.rename(place.program.with_name("moved"))
    write_home(place.home, session_file("S2", TALK.replace("1", "2")))
    place.end_session()
    assert session_path("S2") not in place.kept()

    done = place.run("doctor")
    assert done.returncode == 1
    assert "hooks    PROBLEM; last captured " in done.stdout
    assert f"    the program {place.program} is gone\n" in done.stdout
    assert f"    next: backscroll install hooks --home {place.home}\n" in done.stdout
    assert "capturing needs attention: hooks" in done.stderr
    assert f"hooks: the program {place.program} is gone" in place.run("status").stdout
    for told in (place.run("status"), place.run("status", "--json")):
        assert told.returncode == 1
        assert "capturing needs attention: hooks" in told.stderr

    assert place.run("install", "hooks", "--yes").returncode == 0
    assert place.run("doctor").returncode == 0
    assert place.run("status").returncode == 0
    place.end_session()
    until(lambda: session_path("S2") in place.kept())


@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd"])
def test_each_of_the_hooks_is_checked(place: Place, event: str) -> None:
    place.install_hooks()
    settings = json.loads((place.home / "settings.json").read_bytes())
    (hook,) = [hook for group in settings["hooks"][event] for hook in group["hooks"]]
    hook["command"] = hook["command"].replace(str(place.program), "/no/such/backscroll")
    (place.home / "settings.json").write_text(json.dumps(settings))
    done = place.run("doctor")
    assert done.returncode == 1
    assert "    the program /no/such/backscroll is gone\n" in done.stdout


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("#!/no/such/python\n", "does not start: No such file or directory"),
        ("#!/bin/sh\necho 'ModuleNotFoundError: No module named backscroll' >&2\nexit 1\n", "does not run: ModuleNot"),
        ("#!/bin/sh\necho 7.1\n", "is not backscroll"),
        (None, "cannot be executed"),
    ],
)
def test_a_program_that_does_not_run_is_found_and_the_failed_hook_left_a_line(
    place: Place, script: str | None, problem: str
) -> None:
    place.install_hooks()
    if script:
        place.program.write_text(script)
    else:
        place.program.chmod(0o644)
    place.end_session()
    done = place.run("doctor")
    assert done.returncode == 1
    assert problem in done.stdout
    if script != "#!/bin/sh\necho 7.1\n":
        (left,) = (place.library / "captures").glob("hooks-*.failed")
        assert left.read_text().startswith("exit 1")
        assert left.stat().st_size <= 1001


def test_a_failure_counts_until_everything_is_captured_in_any_way(place: Place) -> None:
    home = [Home(place.home)]
    place.install_hooks()
    assert place.run("keep").returncode == 0
    note_failure(place.settings, "hooks", home, "no space left on device")
    after = next((place.library / "captures").glob("hooks-*.json"))
    note = json.loads(after.read_text())
    after.write_text(json.dumps({**note, "failed": "2099-01-01T00:00:00Z"}))
    done = place.run("doctor")
    assert done.returncode == 1
    assert "the last run failed (2099-01-01T00:00:00Z): no space left on device" in done.stdout
    assert "next: see the reason, then run backscroll keep" in done.stdout
    after.write_text(json.dumps({**note, "failed": "2001-01-01T00:00:00Z"}))
    done = place.run("doctor")
    assert done.returncode == 0
    assert "no space left on device; everything was captured later, in another way" in done.stdout
    note_begin(place.settings, "hooks", home)
    after.write_text(json.dumps({"way": "hooks", "home": str(place.home), "began": "2001-01-01T00:00:00Z"}))
    assert "the last run did not end; it began at 2001-01-01T00:00:00Z" in place.run("doctor").stdout
    note_captured(place.settings, "hooks", home)
    assert place.ways()["hooks"]["notes"][1:] == []


def test_a_real_failure_of_the_capture_reaches_doctor(place: Place) -> None:
    """The hook starts, and what it starts in the background cannot write."""
    place.install_hooks()
    place.library.joinpath("archive").write_text("a file is in its place")
    place.end_session()
    until(lambda: read_note(place.settings, "hooks", Home(place.home)).failed)
    assert "the last run failed" in place.ways()["hooks"]["problems"][0]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda text: text.replace("{", '{"disableAllHooks": true, ', 1), "switched off by disableAllHooks"),
        (lambda text: text.replace("{", "{ // mine\n", 1), "Claude Code ignores the whole file"),
        (lambda text: text.replace("--home ", "--home /other"), "they archive /other"),
        (lambda text: text.replace("hook keep", "hook keep; touch x"), ""),
        (lambda text: text.replace("|| true", ""), ""),
    ],
)
def test_hooks_that_claude_code_does_not_run_are_found(
    place: Place, change: Callable[[str], str], problem: str
) -> None:
    place.install_hooks()
    file = place.home / "settings.json"
    file.write_text(change(file.read_text()))
    hooks = place.ways()["hooks"]
    assert hooks["installed"]
    assert any(problem in found for found in hooks["problems"]) is bool(problem)


def test_settings_that_cannot_be_read_are_told_and_stop_nothing(place: Place) -> None:
    (place.home / "settings.json").write_text('{"hooks": ')
    done = place.run("doctor")
    assert done.returncode == 0
    assert f"{place.home}/settings.json cannot be read" in done.stdout


def test_hooks_of_an_earlier_version_work_and_are_to_be_renewed(place: Place) -> None:
    place.install_hooks()
    words = shlex.join([str(place.program), "hook", "keep", "--home", str(place.home), "--library", str(place.library)])
    place.change_hooks(lambda _: f"{words} 2>/dev/null || true # added by backscroll install hooks")
    place.end_session()
    until(place.has_captured)
    hooks = place.ways()["hooks"]
    assert (hooks["works"], hooks["command"]) == (True, shlex.split(words))
    assert "install them again to renew them" in hooks["notes"][0]
    place.program.unlink()
    assert place.ways()["hooks"]["problems"] == [f"the program {place.program} is gone"]


# Timers.


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The programs of schedulers: each says what stands in the file of its name, and fails if that says so."""
    folder = tmp_path / "scheduler"
    folder.mkdir()
    for name in ("systemctl", "launchctl", "crontab"):
        (folder / name).write_text(
            f'#!/bin/sh\ncat {folder}/{name}.says\n! grep -q "disabled\\|no crontab" {folder}/{name}.says\n'
        )
        (folder / name).chmod(0o755)
        (folder / f"{name}.says").write_text("")
    (folder / "crontab.says").write_text("no crontab for you\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def test_a_timer_of_systemd_is_found_with_what_is_wrong_with_it(place: Place, scheduler: Path) -> None:
    assert place.run("install", "timer", "--kind", "systemd", "--yes").returncode == 0
    timer = place.ways()["timer"]
    assert (timer["works"], timer["notes"]) == (True, ["systemd"])
    assert timer["command"] == [
        *own_command(), "keep", "--quiet", "--home", str(place.home), "--library", str(place.library),
    ]  # fmt: skip
    (scheduler / "systemctl.says").write_text("disabled\n")
    assert place.ways()["timer"]["problems"] == ["systemd says that it is disabled"]
    assert place.run("doctor").returncode == 1
    (scheduler / "systemctl.says").write_text("")
    units = Path(os.environ["XDG_CONFIG_HOME"]) / "systemd" / "user"
    service = units / "backscroll-keep.service"
    service.write_text(service.read_text().replace(own_command()[0], str(place.program)))
    assert "install it again to renew it" in place.ways()["timer"]["notes"][1]
    place.program.unlink()
    assert place.ways()["timer"]["problems"] == [f"the program {place.program} is gone"]
    (units / "backscroll-keep.timer").unlink()
    assert place.ways()["timer"]["problems"][0] == f"{units}/backscroll-keep.timer is gone"
    service.unlink()
    assert place.ways()["timer"]["installed"] is False


@pytest.mark.usefixtures("scheduler")
def test_a_timer_of_launchd_is_found(place: Place) -> None:
    assert place.run("install", "timer", "--kind", "launchd", "--yes").returncode == 0
    timer = place.ways()["timer"]
    assert (timer["works"], timer["notes"], timer["command"][-4]) == (True, ["launchd"], "--home")
    (Path.home() / "Library" / "LaunchAgents" / "backscroll.keep.plist").write_text("not a plist")
    assert place.ways()["timer"]["command"] == []


def test_a_line_for_cron_is_found(place: Place, scheduler: Path) -> None:
    assert place.ways()["timer"]["installed"] is False
    line = json.loads(place.run("install", "timer", "--kind", "cron", "--json").stdout)["cron"]
    table = f"# my jobs, with backscroll keep\n*/5 * * * * /usr/bin/true 'x\n{line}\n"
    (scheduler / "crontab.says").write_text(table)
    timer = place.ways()["timer"]
    assert (timer["works"], timer["notes"]) == (True, ["cron"])
    assert timer["command"] == [
        *own_command(), "keep", "--quiet", "--home", str(place.home), "--library", str(place.library),
    ]  # fmt: skip
    earlier = line.replace(f"{STARTED_BY}=timer ", "").replace(own_command()[0], str(place.program))
    (scheduler / "crontab.says").write_text(earlier.replace("17 * * * *", "@hourly"))
    assert place.ways()["timer"]["command"][0] == str(place.program)
    assert "renew" in place.ways()["timer"]["notes"][1]


def test_the_run_of_a_timer_is_noted_as_such(place: Place, scheduler: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.loads(place.run("install", "timer", "--kind", "cron", "--json").stdout)["cron"]
    (scheduler / "crontab.says").write_text(line)
    assert place.ways()["timer"]["last_captured"] is None
    monkeypatch.setenv(STARTED_BY, "timer")
    assert place.run("keep", "--quiet").returncode == 0
    monkeypatch.delenv(STARTED_BY)
    assert place.ways()["timer"]["last_captured"]


# A watcher.


def test_a_process_that_watches_is_named_and_keep_beside_it_is_done(place: Place) -> None:
    stop = threading.Event()
    watching = threading.Thread(target=lambda: list(keep_watching(place.settings, [Home(place.home)], stop)))
    watching.start()
    try:
        until(lambda: find_watcher(place.settings))
        done = place.run("keep")
        name = f"backscroll keep --watch (process {os.getpid()})"
        assert (done.returncode, done.stderr) == (0, f"nothing to do: {name} has kept everything that is there\n")
        assert json.loads(place.run("keep", "--json").stdout)["kept_by"] == name
        watcher = place.ways()["watcher"]
        assert (watcher["installed"], watcher["works"], watcher["notes"]) == (True, True, [name])
        assert watcher["last_captured"]
        assert name in place.run("status").stdout
    finally:
        stop.set()
        watching.join()
    assert place.ways()["watcher"]["installed"] is False
