"""An option that makes no difference to a command is refused; every other global option makes one."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import pytest

from backscroll.cli import main
from backscroll.cli.main import backscroll
from backscroll.cli.options import OPTIONS, Request, UnusedOption
from backscroll.settings import Settings
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file

VALUES = {"--home": ["/nowhere"], "--library": ["/nowhere"]}


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inside = command.get_command(context, name)
            assert inside is not None
            yield from _commands(inside, (*path, name))


COMMANDS = dict(_commands(backscroll))
UNUSED = [
    (path, option.opts[0])
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, UnusedOption)
]


@pytest.mark.parametrize(("path", "option"), UNUSED, ids=lambda value: " ".join(value) if value else "")
def test_an_option_that_a_command_does_not_use_is_refused(
    path: tuple[str, ...], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [option, *VALUES.get(option, [])]
    for arguments in ([*path, *words], [*words, *path], [path[0], *words, *path[1:]]):
        assert main.run(arguments) == 2
        told = capsys.readouterr()
        assert f"does not use {option}" in told.err
        assert not told.out
    assert main.run([*path, "--help"]) == 0
    assert f"  {option} " not in capsys.readouterr().out


def test_a_group_uses_what_its_commands_use() -> None:
    for path, option in UNUSED:
        below = [other for other in COMMANDS if other[: len(path)] == path]
        assert all((other, option) in UNUSED for other in below), path


def test_a_server_does_not_ignore_a_library(tmp_path: Path) -> None:
    done = run_command("server", "--library", tmp_path / "mine", "--data", tmp_path / "data")
    assert done.returncode == 2
    assert "backscroll server does not use --library; it keeps everything below --data" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_environment_is_for_all_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BACKSCROLL_LIBRARY", str(tmp_path))
    assert run_command("completion", "bash").returncode == 0
    assert run_command("prices").returncode == 0


S1 = session_uuid("S1")[:8]
WORK = r"""@ cwd=/home/ada/shop
a <- - user: fix the parser
b <- a call(m1) t1 Write {"file_path": "/home/ada/shop/x.py", "content": "x = 1\n"}
c <- b result t1: done {"toolUseResult": {"type": "create", "filePath": "/home/ada/shop/x.py", "content": "x = 1\n"}}
d <- c assistant(m2): done"""
RUNS = (
    "search parser", "recall parser", "recalls --save answer", "recalls", "list", f"show {S1}", f"tree {S1}",
    f"export {S1} --out {{out}}/x.html", f"resume {S1}", f"pin {S1}", f"tag {S1} good", f"note {S1} hello",
    "search parser --save mine", "saved", "prompts save one --text hi",
    f"prompts save two {S1}", "prompts", "prompts list", "prompts show one",
    "prompts fill one", "prompts edit one --text ho", "prompts import {library}/prompts.json",
    "prompts install one --yes", "prompts uninstall one --yes", "prompts delete one", "sql 'select 1'", "prices",
    "stats", *(" ".join(path) for path in COMMANDS if path[:1] == ("stats",) and path[1:] not in ((), ("compare",))),
    "stats compare 2026-01 2026-02", "statusline", "blame x.py", "file x.py", "update", "keep", "archive status",
    "archive verify", f"archive versions {S1}", "archive backup {out}/backup", "archive repair",
    f"archive restore {S1} --to {{out}}/back", "sync add far {out}/remote --create --yes", "sync", "sync preview far",
    "sync status", "sync verify", "sync rules far", "sync trust",
    "sync pause far", "sync resume far", "sync enroll", "sync remove far",
    "status", "doctor", "inspect", "install hooks --print", "uninstall hooks --yes", "uninstall claude --yes",
    "install timer --print",
    f"archive forget {S1} --yes",
)  # fmt: skip
"""Commands that end by themselves, in an order in which each finds what it needs. They are run with and without what
an option could change, so that one that is read by none of these runs is one that the command ignores.
"""
ENDLESS = {
    "open", "find", "follow", "watch", "mcp", "server", "server web", "server worker", "demo", "connect", "completion",
    "archive restore-backup", "uninstall", "install", "sync recovery", "sync forgets", "sync withdraw",
}  # fmt: skip
"""Not run here: they serve, need a terminal or another machine, or have been looked through by hand."""


@pytest.mark.all
def test_every_other_option_makes_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, library, out = tmp_path / ".claude", tmp_path / "library", tmp_path / "out"
    for relative, data in session_file("S1", WORK).items():
        file = home / relative
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    out.mkdir()
    typed = tmp_path / "typed"
    typed.write_text("an answer")
    read: set[str] = set()

    def of_settings(settings: Settings, name: str) -> object:
        if name in ("homes", "library"):
            read.add(name.removesuffix("s"))
        return object.__getattribute__(settings, name)

    def of_request(request: Request, name: str) -> object:
        if name == "json" and sys._getframe(1).f_code.co_name != "_store_json":
            read.add(name)
        return object.__getattribute__(request, name)

    monkeypatch.setattr(Settings, "__getattribute__", of_settings)
    monkeypatch.setattr(Request, "__getattribute__", of_request)
    used: dict[str, set[str]] = {}
    for line in RUNS:
        words = shlex.split(line.format(out=out, library=library))
        path = tuple(words[:2]) if tuple(words[:2]) in COMMANDS else tuple(words[:1])
        unused = {option for other, option in UNUSED if other == path}
        where = [("--home", str(home)), ("--library", str(library))]
        read.clear()
        with monkeypatch.context() as environment, ExitStack() as stack:
            environment.setattr(sys, "stdin", stack.enter_context(typed.open()))
            environment.setenv("BACKSCROLL_LIBRARY", str(library))
            environment.setenv("CLAUDE_CONFIG_DIR", str(home))
            code = main.run([*words, *(word for pair in where if pair[0] not in unused for word in pair)])
        told = capsys.readouterr()
        assert code in (0, 3), f"{line}: {told.err}"
        used.setdefault(" ".join(path), set()).update(read)
    declared = {name: {option[2:] for path, option in UNUSED if " ".join(path) == name} for name in used}
    used["export"].add("json")  # of its errors; the format of a file is an option of its own
    ignored = {name: {"home", "library", "json"} - options - declared[name] for name, options in used.items()}
    assert {name: options for name, options in ignored.items() if options} == {}, "accepted, and not used"
    assert {name: options & declared[name] for name, options in used.items() if options & declared[name]} == {}
    groups = {" ".join(path) for path, command in COMMANDS.items() if isinstance(command, click.Group)}
    of_server = {" ".join(path) for path in COMMANDS if path[:1] == ("server",)}
    left = {" ".join(path) for path in COMMANDS} - set(used) - groups - of_server - ENDLESS
    assert not left, "add these to RUNS"


def test_options_about_looks_are_for_all_commands() -> None:
    data = {"home", "library", "demo", "json"}
    assert {option.removeprefix("--") for _, option in UNUSED} == data
    assert [name for name in OPTIONS if name not in data] == ["no-color", "no-pager", "verbose", "quiet"]
