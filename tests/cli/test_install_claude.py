"""install claude, uninstall claude, what doctor says of it, and saved recalls, as a user runs them."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

CHAT = """
@ session=S1 cwd=/work/shop
aaaa1111 <- - user: what is the retry budget?
bbbb2222 <- aaaa1111 assistant: five tries, then it gives up
"""
CHAT_ID = session_uuid("S1")

# Writes down what the real one does, in the same files; `scripts/check-plugin` asks the real one.
CLIENT = """#!{python}
import json, os, sys
from pathlib import Path

home = Path(os.environ["CLAUDE_CONFIG_DIR"]) if "CLAUDE_CONFIG_DIR" in os.environ else Path.home() / ".claude"
told = sys.argv[1:]
if told == ["--version"]:
    sys.exit(print("2.1.325 (Claude Code)"))
with open(Path(__file__).with_name("told"), "a") as log:
    print(" ".join(told), file=log)


def change(name, how):
    path = home / name
    value = json.loads(path.read_text()) if path.exists() else {{}}
    how(value)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value))


match told[1:]:
    case ["marketplace", "add", folder]:
        source = {{"source": {{"source": "directory", "path": folder}}}}
        change("plugins/known_marketplaces.json", lambda known: known.update(backscroll=source))
    case ["marketplace", "remove", name]:
        change("plugins/known_marketplaces.json", lambda known: known.pop(name))
    case ["install" | "update", name]:
        known = json.loads((home / "plugins/known_marketplaces.json").read_text())
        folder = Path(known["backscroll"]["source"]["path"])
        version = json.loads((folder / ".claude-plugin/plugin.json").read_text())["version"]
        entry = {{"scope": "user", "installPath": str(folder), "version": version}}
        change("plugins/installed_plugins.json", lambda all: all.setdefault("plugins", {{}}).update({{name: [entry]}}))
        change("settings.json", lambda settings: settings.setdefault("enabledPlugins", {{}}).update({{name: True}}))
    case ["uninstall", name]:
        change("plugins/installed_plugins.json", lambda all: all["plugins"].pop(name))
        change("settings.json", lambda settings: settings["enabledPlugins"].pop(name))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(CHAT)), "settings.json": b"{}"})


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(CLIENT.format(python=sys.executable))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def run(home: Path, *arguments: object, said: str | None = None) -> CompletedProcess[str]:
    """With this for input; without a terminal."""
    return run_command(*arguments, "--home", home, "--library", home.parent / "library", given=said or "")


def answer(home: Path, *arguments: object) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(home, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def told(client: Path) -> list[str]:
    return (client / "told").read_text().splitlines() if (client / "told").exists() else []


def plugin(home: Path) -> Any:  # noqa: ANN401
    done = run(home, "doctor", "--json")
    found = json.loads(done.stdout)["homes"][0]["plugin"]
    is_broken = "gone" in (found["trouble"] or "")
    assert done.returncode == is_broken, done.stderr
    return found


def test_the_plugin_goes_in_is_checked_and_comes_out_again(home: Path, client: Path) -> None:
    library = home.parent / "library"
    assert plugin(home)["installed"] is False
    assert "backscroll install claude" in run(home, "doctor").stdout
    done = run(home, "install", "claude", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"files in {library}/plugin:\n  + .claude-plugin/marketplace.json\n" in done.stdout
    assert f"run: env CLAUDE_CONFIG_DIR={home} claude plugin marketplace add {library}/plugin\n" in done.stdout
    assert done.stdout.endswith("Done.\n")
    assert plugin(home) | {"version": "", "command": ""} == {
        "installed": True, "enabled": True, "version": "", "current": True, "command": "", "trouble": None,
    }  # fmt: skip
    assert "The plugin is installed and up to date" in run(home, "doctor").stdout
    again = run(home, "install", "claude")
    assert (again.returncode, again.stdout) == (0, "Nothing to do: the plugin is already installed.\n")

    assert run(home, "uninstall", "claude", "--yes").returncode == 0
    assert plugin(home)["installed"] is False
    assert not (library / "plugin").exists()
    assert "plugin is not installed" in run(home, "uninstall", "claude").stdout
    assert told(client)[-2:] == ["plugin uninstall backscroll@backscroll", "plugin marketplace remove backscroll"]


def test_nothing_is_done_before_the_user_said_yes(home: Path, client: Path) -> None:
    done = run(home, "install", "claude")
    assert (done.returncode, told(client)) == (2, [])
    assert "add --yes" in done.stderr
    shown = answer(home, "install", "claude")
    assert (shown["changed"], told(client)) == (False, [])
    assert any(words[-2:] == ["install", "backscroll@backscroll"] for words in shown["commands"])
    assert '+      "command": ' in run(home, "install", "claude", "--print").stdout
    assert not (home.parent / "library" / "plugin").exists()
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    options = ["--home", str(home), "--library", str(home.parent / "library")]
    command = [sys.executable, "-m", "backscroll", "install", "claude", *options]
    asked = subprocess.run(command, stdin=theirs, capture_output=True, text=True, timeout=60)
    os.close(ours)
    os.close(theirs)
    assert "Do this?" in asked.stderr
    assert (asked.returncode, told(client)) == (0, [])


def test_plugin_problems_are_reported_with_the_next_step(home: Path, client: Path) -> None:
    assert run(home, "install", "claude", "--yes").returncode == 0
    assert run(home, "install", "claude", "--hint", "--print").returncode == 0
    mcp = home.parent / "library" / "plugin" / ".mcp.json"
    mcp.write_text(mcp.read_text().replace('"command": "', '"command": "/gone'))
    assert "is gone: /gone" in plugin(home)["trouble"]
    assert "next: backscroll install claude" in run(home, "doctor").stdout
    assert run(home, "install", "claude", "--yes").returncode == 0
    assert plugin(home)["trouble"] is None
    assert told(client)


def test_without_claude_it_does_not_say_done(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(home, "install", "claude", "--yes")
    assert done.returncode == 1
    assert "Done" not in done.stdout
    assert "not finished: claude is not on the PATH, so this was not run:\n  env CLAUDE_CONFIG_DIR=" in done.stderr
    assert "  next: install claude or add it to the PATH" in done.stderr
    again = run(home, "install", "claude", "--yes", "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["not_run"][-1][-2:] == ["install", "backscroll@backscroll"]


@pytest.mark.parametrize("arguments", [["hooks", "--hint"], ["timer", "--no-hint"], ["claude", "--kind", "cron"]])
def test_options_of_the_others_make_no_sense(home: Path, arguments: list[str]) -> None:
    assert run(home, "install", *arguments).returncode == 2


def test_an_answer_is_saved_with_its_sources_listed_shown_and_removed(home: Path) -> None:
    empty = run(home, "recalls")
    assert (empty.returncode, empty.stdout) == (3, "")
    source = f"{CHAT_ID[:8]}/bbbb2222"
    done = run(home, "recalls", "--save", "What is the retry budget?", "--source", source, said="Five **tries**.\n")
    assert done.returncode == 0, done.stderr
    name = done.stdout.removeprefix("saved: ").strip()
    assert name.endswith("-retry-budget")
    (listed,) = answer(home, "recalls", "RETRY")["recalls"]
    assert (listed["name"], listed["question"]) == (name, "What is the retry budget?")
    assert [(one["chat"], one["message"]) for one in listed["sources"]] == [(CHAT_ID, "bbbb2222")]
    assert "(1 source)" in run(home, "recalls").stdout
    shown = run(home, "recalls", "--show", name[:12]).stdout
    assert "Five **tries**." in shown
    assert f"{CHAT_ID[:8]}/bbbb2222" in shown
    assert run(home, "recalls", "nothing of it").returncode == 3
    assert answer(home, "recalls", "--remove", name)["removed"]["name"] == name
    assert run(home, "recalls").returncode == 3


def test_without_an_answer_the_recalled_passages_are_saved(home: Path) -> None:
    saved = answer(home, "recalls", "--save", "retry budget")["saved"]
    assert CHAT_ID in {source["chat"] for source in saved["sources"]}
    assert "five tries" in answer(home, "recalls", "--show", saved["name"])["recall"]["text"]
    assert run(home, "recalls", "--save", "zebra").returncode == 3


@pytest.mark.parametrize(
    "arguments",
    [
        ["--save", "q", "--source", f"{CHAT_ID[:8]}/dddd4444"],
        ["--save", "q", "--source", "oops"],
        ["--source", f"{CHAT_ID[:8]}/bbbb2222"],
        ["--save", "q", "--show", "q"],
        ["--remove", "../library"],
    ],
)
def test_what_makes_no_sense_saves_nothing(home: Path, arguments: list[str]) -> None:
    done = run(home, "recalls", *arguments, said="an answer")
    assert done.returncode in (2, 3)
    assert "next: " in done.stderr
    assert run(home, "recalls").returncode == 3


def test_nothing_in_a_saved_recall_commands_the_terminal(home: Path) -> None:
    said = "ok \x1b]0;evil\x07 \u202e\x9b2J end\n"
    assert run(home, "recalls", "--save", "odd \x1b[2J question", said=said).returncode == 0
    for arguments in ([], ["--show", "2"]):
        shown = run(home, "recalls", *arguments).stdout
        assert "question" in shown
        assert not set(shown) & {"\x1b", "\x07", "\x9b", "\u202e"}
