"""`backscroll --demo COMMAND`: every command answers from the sample, and leaves nothing behind."""

import json
import signal
from pathlib import Path

import pytest

from tests.demo.support import DemoMachine
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home
from tests.support.processes import until

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture(scope="module")
def chats(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """The chats of the sample, as it is today."""
    found: list[dict[str, str]] = DemoMachine(tmp_path_factory.mktemp("machine")).answer("--demo", "list")["chats"]
    return found


def check(machine: DemoMachine, *arguments: object, expected: str) -> None:
    """The command answers with this in it, says on stderr that it is the demo, and leaves nothing behind."""
    done = machine.run("--demo", *arguments)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert done.stderr.startswith("demo: sample conversations")
    assert machine.is_clean()


def test_chats_are_listed_found_and_shown(machine: DemoMachine, chats: list[dict[str, str]]) -> None:
    name, title = chats[0]["id"][:8], chats[0]["title"]
    check(machine, "list", expected=title)
    check(machine, "search", title, expected=name)
    check(machine, "show", name, expected=title)
    check(machine, "tree", name, expected=title)
    check(machine, "recall", title, expected=title)
    check(machine, "resume", name, expected="claude --resume")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("stats", "usage"), "$"),
        (("stats", "tools"), "Bash"),
        (("stats", "files"), "FILE"),
        (("doctor", "--deep"), "ok:"),
        (("inspect",), "records"),
        (("archive", "status"), "last captured"),
        (("archive", "verify"), ""),
        (("sql", "select count(*) as amount from v_chats"), "amount"),
        (("prices",), "claude"),
        (("update",), ""),
        (("keep",), ""),
        (("statusline",), "Claude"),
    ],
)
def test_every_command_that_looks_over_them_answers(
    machine: DemoMachine, arguments: tuple[str, ...], expected: str
) -> None:
    check(machine, *arguments, expected=expected)


def test_an_export_is_written_where_the_user_is(
    machine: DemoMachine, chats: list[dict[str, str]], tmp_path: Path
) -> None:
    page = tmp_path / "chat.html"
    done = machine.run("--demo", "export", chats[0]["id"], "--out", page)
    assert done.returncode == 0, done.stderr
    assert chats[0]["title"] in page.read_text()
    assert machine.is_clean()


def test_json_is_all_that_is_written_for_a_program(machine: DemoMachine) -> None:
    done = machine.run("list", "--demo", "--json")
    assert json.loads(done.stdout)["chats"]
    assert done.stderr == ""
    assert machine.run("--demo", "list", "-q").stderr == ""


def test_an_agent_can_ask(machine: DemoMachine, chats: list[dict[str, str]]) -> None:
    call = {"name": "search", "arguments": {"query": chats[0]["title"]}}
    requests = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    with machine.running("--demo", "mcp") as process:
        assert process.stdin and process.stdout
        for request in requests:
            process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        while json.loads(line := process.stdout.readline()).get("id") != 2:
            pass
        assert chats[0]["id"][:8] in line
        process.stdin.close()
        assert process.wait(60) == 0
    assert machine.is_clean()


def test_the_users_own_home_library_and_settings_are_neither_read_nor_changed(machine: DemoMachine) -> None:
    write_home(machine.home / ".claude", {session_path("S1"): jsonl(draw("a <- - user: my own secret words"))})
    assert machine.run("keep").returncode == 0
    settings = machine.home / ".config/backscroll/settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("this is no TOML")
    before = machine.files
    for arguments in (("list",), ("doctor",), ("stats", "usage"), ("archive", "status"), ("saved",), ("prices",)):
        done = machine.run("--demo", *arguments)
        assert done.returncode in (0, 3), done.stderr
        assert "TOML" not in done.stderr
        assert str(machine.home) not in done.stdout
    assert machine.run("--demo", "search", '"my own secret words"').returncode == 3
    assert machine.files == before
    assert not list(machine.temporary.iterdir())


@pytest.mark.parametrize("arguments", [("--home", "x", "list"), ("--library", "x", "list")])
def test_a_home_or_a_library_of_ones_own_makes_no_sense(machine: DemoMachine, arguments: tuple[str, ...]) -> None:
    done = machine.run("--demo", *arguments)
    assert done.returncode == 2
    assert "leave out --home and --library" in done.stderr
    assert machine.is_clean()


def test_nothing_is_installed_or_started_from_the_demo(machine: DemoMachine, chats: list[dict[str, str]]) -> None:
    for arguments in (
        ("install", "hooks", "--yes"),
        ("install", "timer", "--yes"),
        ("uninstall", "timer", "--yes"),
        ("resume", chats[0]["id"], "--run"),
    ):
        done = machine.run("--demo", *arguments)
        assert done.returncode == 2, done.stderr
        assert "the demo does not" in done.stderr
    assert machine.is_clean()


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_it_and_it_is_removed(machine: DemoMachine, ending: signal.Signals, code: int) -> None:
    if signal.getsignal(ending) == signal.SIG_IGN:
        signal.signal(ending, signal.SIG_DFL)  # under nohup a process ignores it, and so do those that it starts
    with machine.running("--demo", "watch") as process:
        until(lambda: list(machine.temporary.glob("*/library/index/*/rows.sqlite")))
        process.send_signal(ending)
        assert process.wait(60) == code
    assert machine.is_clean()


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_server_that_waits_for_its_client(
    machine: DemoMachine, ending: signal.Signals, code: int
) -> None:
    with machine.running("--demo", "mcp") as process:
        assert process.stdin and process.stdout
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        process.stdin.write(json.dumps(hello) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(ending)
        assert process.wait(60) == code
    assert machine.is_clean()


def test_it_is_removed_when_its_reader_has_seen_enough(machine: DemoMachine, chats: list[dict[str, str]]) -> None:
    with machine.running("--demo", "show", chats[0]["id"]) as process:
        assert process.stdout
        process.stdout.close()
        process.wait(60)
    assert machine.is_clean()


def test_what_a_killed_demo_left_is_removed_by_the_next(machine: DemoMachine) -> None:
    with machine.running("--demo", "watch") as process:
        until(lambda: machine.rooms)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert len(machine.rooms) == 1
    check(machine, "list", expected="")
