"""Hooks and timers: what is written, that it comes out again without a trace, and that the hook really runs."""

import dataclasses
import json
import os
import plistlib
import select
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import BackscrollError, Busy, NothingFound
from backscroll.files.homes import Home
from backscroll.library.captures import STARTED_BY
from backscroll.library.setup.edits import Edit, apply, carry_out
from backscroll.library.setup.hooks import (
    EVENTS,
    hook_command,
    plan_hooks,
    plan_no_hooks,
)
from backscroll.library.setup.program import find_link, keep_command, own_command
from backscroll.library.setup.timers import cron_line, launchd_files, plan_no_timer, plan_timer, systemd_files
from backscroll.settings import load_settings
from tests.support.processes import until

OTHER = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hello"}]}
SETTINGS = {"model": "opus", "hooks": {"SessionStart": [OTHER], "PreToolUse": []}, "env": {"A": "é"}}


def text_of(settings: object, indent: int | str = 2) -> str:
    return json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"


def commands_in(text: str, event: str) -> list[str]:
    return [hook["command"] for group in json.loads(text)["hooks"][event] for hook in group["hooks"]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "claude" / "projects").mkdir(parents=True)
    return Home(tmp_path / "claude")


def install(home: Home) -> None:
    carry_out(plan_hooks(home, load_settings()))


def test_settings_that_are_missing_are_made(home: Home) -> None:
    install(home)
    file = home.path / "settings.json"
    assert set(json.loads(file.read_text())["hooks"]) == set(EVENTS)
    assert file.stat().st_mode & 0o777 == 0o600
    assert plan_hooks(home, load_settings()).is_empty
    carry_out(plan_no_hooks(home))
    assert not file.exists()
    assert plan_no_hooks(home).is_empty


def test_the_file_keeps_its_permissions_and_no_other_file_is_left(home: Home) -> None:
    file = home.path / "settings.json"
    file.write_text(text_of(SETTINGS))
    file.chmod(0o640)
    install(home)
    assert file.stat().st_mode & 0o777 == 0o640
    carry_out(plan_no_hooks(home))
    assert file.read_text() == text_of(SETTINGS)
    assert sorted(path.name for path in home.path.iterdir()) == ["projects", "settings.json"]


def test_the_target_of_a_link_is_changed(home: Home, tmp_path: Path) -> None:
    behind = tmp_path / "dotfiles" / "claude.json"
    behind.parent.mkdir()
    behind.write_text(text_of(SETTINGS))
    (home.path / "settings.json").symlink_to("../dotfiles/claude.json")
    install(home)
    assert (home.path / "settings.json").is_symlink()
    assert commands_in(behind.read_text(), "SessionEnd")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "a string is missing or does not end in line 1, column 2"),
        (b"[]", "not a JSON object"),
        (b'{"a": NaN}', "a value is missing"),
        (b'{"a": 01}', "a value is missing"),
        (b'{"a": 1,, "b": 2}', "a string is missing"),
        (b'{"a": "\\x"}', "a string is missing or does not end"),
        (b'{"a": 1}\n}', "there is more after the end in line 2, column 1"),
        (b'{"a": "\xff"}', "utf-8"),
        (b'{"hooks": []}', "`hooks` is not an object"),
        (b'{"hooks": {"SessionEnd": {}}}', "`hooks.SessionEnd` is not a list"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_settings_that_are_not_understood_are_left_alone(home: Home, data: bytes, reason: str) -> None:
    file = home.path / "settings.json"
    file.write_bytes(data)
    with pytest.raises(BackscrollError, match=reason):
        plan_hooks(home, load_settings())
    assert file.read_bytes() == data


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NothingFound):
        plan_hooks(Home(tmp_path / "none"), load_settings())


@pytest.mark.parametrize("meanwhile", [b"{}", None])
@pytest.mark.parametrize("after", [b"new", None])
def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, meanwhile: bytes | None, after: bytes) -> None:
    file = tmp_path / "settings.json"
    file.write_bytes(b"old")
    edit = Edit(file, b"old", after)
    if meanwhile is None:
        edit = Edit(file, None, after)
    else:
        file.write_bytes(meanwhile)
    with pytest.raises(Busy, match="meanwhile"):
        apply(edit)
    assert file.read_bytes() == (meanwhile or b"old")
    assert list(tmp_path.iterdir()) == [file]


def test_a_diff_shows_what_changes(tmp_path: Path) -> None:
    edit = Edit(tmp_path / "a", b"one\ntwo\xe2\x80\xa8", b"one\nthree\n")
    assert edit.diff == (
        f"--- {tmp_path}/a\n+++ {tmp_path}/a\n@@ -1,2 +1,2 @@\n one\n-two\u2028\n\\ No newline at end of file\n+three\n"
    )
    assert Edit(tmp_path / "a", None, b"x\n").diff.startswith(f"--- /dev/null\n+++ {tmp_path}/a\n")


# The command itself.


def wait_for(fifo: int) -> bytes:
    """What is written to a FIFO, once it is; nothing if that takes far too long."""
    ready, _, _ = select.select([fifo], [], [], 60)
    return os.read(fifo, 10_000) if ready else b""


def test_a_hook_returns_at_once_and_the_program_runs_on(tmp_path: Path) -> None:
    """The program says that it began, and ends only when it is told to: after the hook has returned."""
    folder = tmp_path / "it's a $(touch odd) folder"
    folder.mkdir()
    began, end, program = folder / "began", folder / "end", folder / "program"
    os.mkfifo(began)
    os.mkfifo(end)
    program.write_text(
        '#!/bin/sh\nhere=$(dirname "$0")\necho "$PWD" "$@" >"$here/began"\nread -r word <"$here/end"\n'
        'echo "$word" >"$here/began"\necho noise\necho noise >&2\nexit 3\n'
    )
    program.chmod(0o755)
    reading = os.open(began, os.O_RDWR)  # for writing too, so that it does not end when the program closes its side
    start = f"from backscroll.cli.hook import detach; detach([{str(program)!r}, 'keep'])"
    done = subprocess.run([sys.executable, "-c", start], input=b"", capture_output=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert wait_for(reading).decode() == "/ keep\n"
    end.write_text("over\n")
    assert wait_for(reading) == b"over\n"
    os.close(reading)
    assert not list(tmp_path.rglob("odd"))


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_a_hook_is_one_line_that_archives(tmp_path: Path, home: Home, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    session = home.path / "projects" / "-x" / "0a1b2c3d-0000-4000-8000-000000000000.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text('{"type":"user","uuid":"u","message":{"role":"user","content":"hello"}}\n')
    library = tmp_path / "it's a $(touch odd) library"
    settings = dataclasses.replace(load_settings(), library=library)
    carry_out(plan_hooks(home, settings, [sys.executable, "-m", "backscroll"]))
    (command,) = commands_in((home.path / "settings.json").read_text(), "SessionEnd")
    words = ["hook", "keep", "--home", str(home.path), "--library", str(library)]
    assert command.startswith(f"e=$({shlex.join([sys.executable, '-m', 'backscroll', *words])} 2>&1 >/dev/null) || ")
    done = subprocess.run([shell, "-c", command], input=b"{}\n", capture_output=True, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    until(lambda: any(path.stat().st_size for path in library.rglob("archive/**/*") if path.is_file()))
    assert not list(tmp_path.rglob("odd"))


def test_a_hook_reads_all_of_its_input() -> None:
    """A megabyte does not fit into a pipe: writing it ends only if it is read."""
    hook = subprocess.Popen(
        [sys.executable, "-m", "backscroll", "hook", ""],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert hook.wait(60) == 0  # although nothing was said yet, and the pipe is open
    assert hook.stdin is not None
    hook.stdin.write(b"x" * 1_000_000)
    assert hook.communicate(timeout=60) == (b"", b"")


SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "busybox") if shutil.which(shell)]


def run_in(shell: str, command: str) -> tuple[int, bytes, bytes]:
    """As Claude Code runs a hook."""
    words = [shell, "sh", "-c", command] if shell == "busybox" else [shell, "-c", command]
    done = subprocess.run(words, input=b"{}", capture_output=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_a_hook_whose_program_is_gone_is_silent_and_leaves_a_line(tmp_path: Path, shell: str) -> None:
    failures = tmp_path / "it's a $(touch odd) folder" / "failed"
    failures.parent.mkdir()
    command = hook_command([str(tmp_path / "no-such-program"), "hook", "keep"], failures)
    assert run_in(shell, command) == (0, b"", b"")
    line = failures.read_text()
    assert line.startswith("exit 127: ")
    assert "no-such-program" in line
    assert not list(tmp_path.rglob("odd"))
    failures.unlink()
    failures.parent.rmdir()  # nowhere to write: nothing is said, and nothing is made
    assert run_in(shell, command) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_what_a_hook_leaves_is_what_its_program_said_last_and_short(tmp_path: Path, shell: str) -> None:
    program, failures = tmp_path / "program", tmp_path / "failed"
    command = hook_command([str(program)], failures)
    program.write_text("#!/bin/sh\necho noise\nprintf '%%s %100000d' 7 >&2\nexit 3\n")
    program.chmod(0o755)
    for _ in range(2):
        assert run_in(shell, command) == (0, b"", b"")
        assert failures.read_text().startswith("exit 3: %s ")
        assert failures.stat().st_size == 1001
    program.write_text("#!/bin/sh\necho noise\necho noise >&2\n")
    failures.unlink()
    assert run_in(shell, command) == (0, b"", b"")
    assert not failures.exists()


def test_a_hook_that_cannot_start_a_process_says_so(tmp_path: Path) -> None:
    hook = (
        "import subprocess, sys\ndef refuse(*_, **__): raise BlockingIOError(11, 'no process to be had')\n"
        "subprocess.Popen.__init__ = refuse\nsys.argv = ['backscroll', 'hook', 'keep']\n"
        "from backscroll.cli.start import main\nmain()"
    )
    assert run_in("sh", hook_command([sys.executable, "-c", hook], tmp_path / "failed")) == (0, b"", b"")
    assert (tmp_path / "failed").read_text() == "exit 1: BlockingIOError: [Errno 11] no process to be had\n"


def test_the_program_is_named_so_that_it_runs_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "backscroll.py").write_text("raise SystemExit('not me')")
    words = own_command()
    assert Path(words[0]).is_absolute()
    if words[1:]:  # else it is scripts/backscroll, which makes its environment
        done = subprocess.run([*words, "--version"], capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.stdout.startswith("backscroll ")


def test_the_keep_command_has_all_options_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = ["backscroll"]
    assert keep_command(load_settings(), (), program) == ["backscroll", "keep", "--quiet"]
    monkeypatch.setenv("BACKSCROLL_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    told = ["--home", str(tmp_path / "claude"), "--library", str(tmp_path / "library")]
    assert keep_command(load_settings(), (), program) == ["backscroll", "keep", "--quiet", *told]
    with pytest.raises(BackscrollError, match="UTF-8"):
        keep_command(load_settings(), [Home(Path("/odd\udcff"))], program)


# Timers.

ODD = ["/opt/my programs/50%/$x", "keep", "--home", '/home/ada/"q"\\$HOME\n%h', ""]


def test_words_are_quoted_for_systemd() -> None:
    service = next(iter(systemd_files(ODD).values())).decode()
    (start,) = [line for line in service.splitlines() if line.startswith("ExecStart=")]
    assert start == (
        'ExecStart="/opt/my programs/50%%/$x" "keep" "--home" "/home/ada/\\x22q\\x22\\x5c$$HOME\\x0a%%h" ""'
    )


def test_unit_files_are_right_in_the_eyes_of_systemd(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    program = tmp_path / "a 50% program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    files = systemd_files([str(program), "keep"])
    for path, data in files.items():
        (tmp_path / path.name).write_bytes(data)
    names = [str(tmp_path / path.name) for path in files]
    environment = os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", *names], capture_output=True, text=True, timeout=60, env=environment
    )
    assert str(tmp_path) not in done.stderr
    assert "backscroll-keep" not in done.stderr


def test_words_are_kept_by_launchd_and_cron() -> None:
    (agent,) = (plistlib.loads(data) for data in launchd_files(ODD[:3]).values())
    assert agent["ProgramArguments"] == ODD[:3]
    assert agent["StartInterval"] == 3600
    assert agent["EnvironmentVariables"] == {STARTED_BY: "timer"}
    line = cron_line(ODD[:3])
    assert line.startswith("17 * * * * ")
    assert shlex.split(line.replace("\\%", "%"))[5:9] == [f"{STARTED_BY}=timer", *ODD[:3]]


def test_units_are_where_systemd_looks_for_them(tmp_path: Path) -> None:
    there = systemd_files(["x"], {"XDG_CONFIG_HOME": str(tmp_path)})
    assert {path.parent for path in there} == {tmp_path / "systemd" / "user"}
    for environment in ({}, {"XDG_CONFIG_HOME": ""}, {"XDG_CONFIG_HOME": "relative"}):
        default = Path.home() / ".config" / "systemd" / "user"
        assert {path.parent for path in systemd_files(["x"], environment)} == {default}


def test_cron_is_not_ours_to_change() -> None:
    plan = plan_timer("cron", ["backscroll", "keep"])
    assert plan.is_empty
    assert plan.cron == f"17 * * * * {STARTED_BY}=timer backscroll keep >/dev/null 2>&1"


@pytest.mark.parametrize("kind", ["systemd", "launchd"])
def test_without_the_system_tool_its_commands_are_shown(
    kind: Any,  # noqa: ANN401 - a Kind
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    plan = plan_timer(kind, ["backscroll", "keep"])
    left = carry_out(plan)
    assert left == list(plan.then)
    assert plan_timer(kind, ["backscroll", "keep"]).is_empty
    carry_out(plan_no_timer())
    assert plan_no_timer().is_empty
    assert not any(edit.path.exists() for edit in plan.edits)


# The command that uv and pipx put on the PATH.


@pytest.mark.parametrize("receipt", ["uv-receipt.toml", "pipx_metadata.json", None])
def test_the_program_of_uv_and_pipx_is_named_by_its_link(tmp_path: Path, receipt: str | None) -> None:
    prefix, folder, elsewhere = tmp_path / "tools" / "backscroll", tmp_path / "bin", tmp_path / "elsewhere"
    installed = prefix / "bin" / "backscroll"
    for made in (installed.parent, folder, elsewhere):
        made.mkdir(parents=True)
    installed.write_text("#!/bin/sh\n")
    if receipt:
        (prefix / receipt).write_text("")
    own_first = {"PATH": f"relative::{installed.parent}:{folder}"}
    assert find_link(installed, prefix, own_first) is None  # nothing on the PATH is this program
    (folder / "backscroll").write_text("another program\n")
    assert find_link(installed, prefix, own_first) is None
    (folder / "backscroll").unlink()
    (folder / "backscroll").symlink_to(installed)
    assert find_link(installed, prefix, own_first) == (folder / "backscroll" if receipt else None)
    (elsewhere / "backscroll").symlink_to(installed)
    chosen = own_first | {"XDG_BIN_HOME": str(elsewhere)}
    assert find_link(installed, prefix, chosen) == (elsewhere / "backscroll" if receipt else None)
