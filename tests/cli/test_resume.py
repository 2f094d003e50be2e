"""`backscroll resume`, as a user runs it. What the real client makes of it: `scripts/check-restore`."""

import json
import os
import pty
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backscroll.files.names import project_folder
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import live_session, write_home

ROOT = Path(__file__).parents[2]
S1 = session_uuid("S1")
ROWS = """
a <- - user: Fix the cart
b <- a assistant: done
"""


class User:
    """A user with a home, a project, and a client that says how it was started."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.library = root, root / "home" / ".claude", root / "library"
        self.shop = root / "home" / "shop"
        self.shop.mkdir(parents=True)
        self.file = self.home / "projects" / project_folder(str(self.shop)) / f"{S1}.jsonl"
        self.write(ROWS)
        self.set_client("2.1.327 (Claude Code)")
        run = {"HOME": str(root / "home"), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
        self.environment = os.environ | run | {"BACKSCROLL_LIBRARY": str(self.library)}

    def write(self, rows: str, session: str = "S1", cwd: Path | None = None) -> None:
        folder = project_folder(str(cwd or self.shop))
        drawn = f"@ session={session} cwd={cwd or self.shop}\n{rows}"
        write_home(self.home, {f"projects/{folder}/{session_uuid(session)}.jsonl": jsonl(draw(drawn))})

    def set_client(self, version: str) -> None:
        program = self.root / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        told = f'[ "$1" = --version ] && echo "{version}" && exit\n'
        program.write_text(f'#!/bin/sh\n{told}echo "started in $PWD:" "$@" "$CLAUDE_CONFIG_DIR"\n')
        program.chmod(0o755)

    def run(self, *words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return run_command("resume", *words, cwd=cwd or self.root, environment=self.environment)

    def run_client(self, *words: object) -> subprocess.CompletedProcess[str]:
        """With --run, which becomes the client."""
        command = [sys.executable, "-P", "-m", "backscroll", "resume", *map(str, words), "--run"]
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )

    def ask(self, *words: object) -> Any:  # noqa: ANN401 - whatever JSON says
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def keep(self) -> None:
        done = run_command("update", "--quiet", environment=self.environment)
        assert done.returncode == 0, done.stderr

    def in_terminal(self, *words: str, answers: list[tuple[str, str]]) -> str:
        """On a terminal: wait for each text, and answer it."""
        program = [sys.executable, "-P", "-m", "backscroll", "resume", *words]
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execvpe(program[0], program, self.environment)
        shown = ""
        waiting = list(answers)
        while select.select([terminal], [], [], 60)[0]:
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            shown += data.decode("utf-8", "replace")
            while waiting and waiting[0][0] in shown:
                os.write(terminal, waiting.pop(0)[1].encode())
        os.waitpid(pid, 0)
        os.close(terminal)
        assert not waiting, shown
        return shown.replace("\r\n", "\n")


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_what_is_there_is_resumed_in_its_folder(user: User) -> None:
    assert user.run(S1[:8]).stdout == f"cd {user.shop} && claude --resume {S1}\n"
    assert user.run_client(S1).stdout == f"started in {user.shop}: --resume {S1} \n"


def test_what_claude_code_deleted_is_restored_first(user: User) -> None:
    user.keep()
    written = user.file.read_bytes()
    shutil.rmtree(user.home / "projects")
    assert user.run(S1).stdout.splitlines() == [
        f"backscroll archive restore {S1} --in-place",
        f"cd {user.shop} && claude --resume {S1}",
    ]
    assert not user.file.exists()
    done = user.run_client(S1)
    assert done.stdout == f"started in {user.shop}: --resume {S1} \n"
    assert user.file.read_bytes() == written


def test_a_file_that_is_newer_than_the_kept_one_is_left_as_it_is(user: User) -> None:
    user.keep()
    kept = user.file.read_bytes()
    user.file.unlink()
    user.keep()
    newer = kept + jsonl(draw("c <- b user: and more", session="S1"))
    user.file.write_bytes(newer)
    assert user.run_client(S1).returncode == 0
    assert user.file.read_bytes() == newer
    # Something appears where the plan saw nothing.
    user.keep()
    user.file.unlink()
    user.keep()
    user.file.mkdir()
    done = user.run_client(S1)
    assert (done.returncode, done.stdout) == (1, "")
    assert "another file is there" in done.stderr


def test_a_client_that_looks_in_one_project_only_finds_a_copy_there(user: User) -> None:
    other = user.root / "other"
    other.mkdir()
    assert user.run(S1, "--in", other).stdout == f"cd {other} && claude --resume {S1}\n"
    copy = user.home / "projects" / project_folder(str(other)) / f"{S1}.jsonl"
    user.set_client("2.1.222 (Claude Code)")
    assert user.run(S1, "--in", other).stdout.splitlines() == [
        f"backscroll archive restore {S1} --in-place --project {other}",
        f"cd {other} && claude --resume {S1}",
    ]
    assert user.run_client(S1, "--in", other).stdout == f"started in {other}: --resume {S1} \n"
    assert copy.read_bytes() == user.file.read_bytes()


def test_another_home_is_named_for_the_client(user: User, tmp_path: Path) -> None:
    work = tmp_path / "claude work"
    shutil.copytree(user.home, work)
    done = user.run(S1, "--home", work)
    assert done.stdout == f"cd {user.shop} && CLAUDE_CONFIG_DIR='{work}' claude --resume {S1}\n"
    assert user.run_client(S1, "--home", work).stdout == f"started in {user.shop}: --resume {S1} {work}\n"


def test_the_usual_home_is_used_by_naming_none(user: User, tmp_path: Path) -> None:
    """Claude Code has the settings of the usual home beside it, and looks for them inside of one that is named."""
    work = tmp_path / "work"
    shutil.copytree(user.home, work)
    user.environment["CLAUDE_CONFIG_DIR"] = str(work)
    done = user.run(S1, "--home", user.home)
    assert done.stdout == f"cd {user.shop} && env -u CLAUDE_CONFIG_DIR claude --resume {S1}\n"
    assert user.run_client(S1, "--home", user.home).stdout == f"started in {user.shop}: --resume {S1} \n"
    assert user.ask(S1, "--home", user.home)["environment"] == {"CLAUDE_CONFIG_DIR": None}
    assert user.run(S1).stdout == f"cd {user.shop} && claude --resume {S1}\n"


def test_without_an_id_it_is_the_newest_chat_of_the_folder(user: User) -> None:
    later = session_uuid("S2")
    user.write("@ time=2027-01-01T10:00\nx <- - user: later\ny <- x assistant: yes", "S2")
    user.write("v <- - user: elsewhere\nw <- v assistant: yes", "S3", user.root / "other")
    for path in user.home.rglob("*.jsonl"):
        path.write_bytes(
            path.read_bytes().replace(b"2026-01-05", b"2026-01-09") if "S2" in path.name else path.read_bytes()
        )
    (user.shop / "src").mkdir()
    for folder in (user.shop, user.shop / "src"):
        assert user.run(cwd=folder).stdout == f"cd {user.shop} && claude --resume {later}\n"
    done = user.run(cwd=user.root / "bin")
    assert done.returncode == 3
    assert "no chat of" in done.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_without_an_id_a_clone_has_the_chats_of_one_that_is_gone(user: User) -> None:
    """As on a new computer."""

    def clone(folder: Path) -> Path:
        for words in (["init", "-q"], ["remote", "add", "origin", "https://git.example/fruit/shop.git"]):
            subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True)
        return folder

    clone(user.shop)
    user.keep()
    again = user.root / "home" / "work" / "again"
    again.mkdir(parents=True)
    clone(again)
    assert user.run(cwd=again).returncode == 3, "as long as the other one is there, it is another project"
    shutil.rmtree(user.shop)
    (again / "src").mkdir()
    assert user.run(cwd=again / "src").stdout == f"cd {again} && claude --resume {S1}\n"


def test_where_it_would_have_to_guess_run_stops_and_says_how_to_go_on(user: User) -> None:
    user.keep()
    user.shop.rename(user.root / "home" / "market")
    done = user.run_client(S1)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"the folder {user.shop} is gone" in done.stderr
    assert f"--in DIR; it may be {user.root / 'home' / 'market'}" in done.stderr
    # In a pipe it is printed as it was, with a note beside it.
    assert user.run(S1).stdout == f"cd {user.shop} && claude --resume {S1}\n"
    assert user.run(S1, "--in", user.root / "nowhere").returncode == 2


@pytest.mark.skipif(os.geteuid() == 0 and shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_what_is_in_the_home_of_another_user_is_restored_into_the_own_one(user: User) -> None:
    """It is kept, and its folder may not be entered any more."""
    eve = user.root / "eve"
    user.write(ROWS.replace("a ", "e ").replace("b ", "f "), "S5")
    user.home.rename(eve)
    done = run_command("update", "--quiet", "--home", eve, environment=user.environment)
    assert done.returncode == 0, done.stderr
    (user.home / "projects").mkdir(parents=True)
    eve.chmod(0)
    without_powers = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    session = session_uuid("S5")
    try:
        done = subprocess.run(
            [*without_powers, sys.executable, "-P", "-m", "backscroll", "resume", session, "--run"],
            cwd=user.root, env=user.environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        eve.chmod(0o700)
    assert done.stdout == f"started in {user.shop}: --resume {session} \n", done.stderr
    (back,) = user.home.rglob(f"{session}.jsonl")
    assert back.read_bytes() == next(eve.rglob(f"{session}.jsonl")).read_bytes()


def test_what_is_open_elsewhere_is_not_resumed_but_forked(user: User, sleeper: subprocess.Popen[bytes]) -> None:
    started = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(") ")[2].split()[19]
    write_home(user.home, live_session("S1", sleeper.pid, started))
    refused = user.run_client(S1)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert f"open in another terminal: process {sleeper.pid}" in refused.stderr
    assert user.run_client(S1, "--fork").stdout == f"started in {user.shop}: --resume {S1} --fork-session \n"
    assert "fork it with --fork" in user.run(S1).stderr
    assert user.ask(S1)["running"]["pid"] == sleeper.pid
    shown = user.in_terminal(S1, answers=[("[f]ork it", "\n")])
    assert f"--resume {S1} --fork-session" in shown.splitlines()[-1]
    assert "started" not in user.in_terminal(S1, answers=[("[f]ork it", "n\n")])


def test_on_a_terminal_it_shows_what_it_will_do_and_asks(user: User) -> None:
    user.keep()
    user.file.unlink()
    market = user.root / "home" / "market"
    user.shop.rename(market)
    shown = user.in_terminal(S1, answers=[("a path [1]:", "\n"), ("Resume it? [Y/n]:", "\n")])
    assert "Claude Code has deleted it" in shown
    assert "restored 1 file" in shown
    assert f"started in {market}: --resume {S1}" in shown
    shown = user.in_terminal(
        S1, answers=[("a path [1]:", "/no/such\n"), ("there is no folder", f"{user.root}\n"), ("Resume it?", "n\n")]
    )
    assert "started" not in shown


def test_the_plan_as_json_has_all_of_it(user: User) -> None:
    user.keep()
    user.file.unlink()
    plan = user.ask(S1)
    assert (plan["session"], plan["folder"], plan["command"]) == (S1, str(user.shop), ["claude", "--resume", S1])
    assert plan["first"] == [["backscroll", "archive", "restore", S1, "--in-place"]]
    assert plan["restored_because"] == "Claude Code has deleted it"
    assert (plan["environment"], plan["running"], plan["folder_is_sure"]) == ({}, None, True)


def test_nothing_in_a_folder_commands_the_terminal(user: User) -> None:
    evil = "/home/\x1b]0;owned\x07\u202e"
    user.write(ROWS, "S4")
    for path in user.home.rglob(f"{session_uuid('S4')}.jsonl"):
        path.write_bytes(path.read_bytes().replace(str(user.shop).encode(), json.dumps(evil)[1:-1].encode()))
    done = user.run(session_uuid("S4"))
    assert not set("\x1b\x07\u202e") & set(done.stdout + done.stderr)


@pytest.mark.all
def test_the_real_client_goes_on_wherever_it_is_resumed() -> None:
    """Deleted files, moved projects, removed worktrees, renamed users, new computers, other homes, open sessions."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check-restore", "--resume", "2.1.327", "2.1.112"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 3:
        pytest.skip(f"the client cannot be installed: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("resumes, and remembers") == 24, done.stdout
