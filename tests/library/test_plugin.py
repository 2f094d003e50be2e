"""The plugin for Claude Code: its files, the commands that Claude Code gets, and a hook that keeps once."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backscroll import __version__
from backscroll.cli.hook import has_own_hooks
from backscroll.errors import BackscrollError, NothingFound
from backscroll.files.homes import Home
from backscroll.library.setup.hooks import add_hooks, hook_command
from backscroll.library.setup.plugin import (
    HOOKS,
    MANIFEST,
    MCP,
    PLUGIN,
    SHIPPED,
    check_plugin,
    plan_no_plugin,
    plan_plugin,
    plugin_files,
    plugin_folder,
    state_of,
)
from backscroll.settings import Settings, load_settings
from tests.support.homes import write_home
from tests.support.processes import until

PROGRAM = ["/opt/my python", "-P", "-m", "backscroll"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(write_home(tmp_path / "claude", {"projects/-x/none.txt": b"", "settings.json": b"{}"}))


@pytest.fixture
def settings(home: Home, tmp_path: Path) -> Settings:
    return load_settings([home.path], tmp_path / "library")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A claude that says its version, and writes down what else it is told, and in which home."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --version ]; then cat {folder}/version; exit; fi\n'
        f'echo "${{CLAUDE_CONFIG_DIR:-usual}} $*" >>{folder}/told\n'
    )
    program.chmod(0o755)
    (folder / "version").write_text("2.1.325 (Claude Code)\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def told(client: Path) -> list[str]:
    return (client / "told").read_text().splitlines() if (client / "told").exists() else []


def write_state(home: Home, folder: Path, version: str, *, enabled: bool = True) -> None:
    """What Claude Code writes down when it installs the plugin."""
    entry = {"scope": "user", "installPath": str(home.path / "plugins" / "cache"), "version": version}
    files: dict[str, object] = {
        "plugins/installed_plugins.json": {"version": 2, "plugins": {PLUGIN: [entry]}},
        "plugins/known_marketplaces.json": {"backscroll": {"source": {"source": "directory", "path": str(folder)}}},
        "settings.json": {"enabledPlugins": {PLUGIN: enabled}},
    }
    write_home(home.path, {name: json.dumps(value).encode() for name, value in files.items()})


def version_in(folder: Path) -> str:
    return str(json.loads((folder / MANIFEST).read_bytes())["version"])


def loaded(files: dict[str, bytes], name: str) -> Any:  # noqa: ANN401 - whatever JSON says
    return json.loads(files[name])


def test_the_shipped_files_are_a_valid_plugin() -> None:
    names = {path.relative_to(SHIPPED).as_posix() for path in SHIPPED.rglob("*") if path.is_file()}
    commands = {"commands/recall.md", "commands/recall-save.md", "commands/retro.md"}
    assert names >= {MANIFEST, ".claude-plugin/marketplace.json", MCP, HOOKS, "skills/recall/SKILL.md"} | commands
    assert json.loads((SHIPPED / MANIFEST).read_bytes())["version"] == __version__
    for name in sorted(names):
        text = (SHIPPED / name).read_text("utf-8")
        if name.startswith(("commands/", "skills/")):
            assert re.match(r"---\n(?:[a-z-]+: .+\n)+---\n\n", text), f"{name} has no head"
            assert "$ARGUMENTS" in text
        if name.endswith(".json"):
            json.loads(text)


def test_commands_and_skill_name_only_tools_that_there_are() -> None:
    from backscroll.mcp.tools import TOOLS

    for path in SHIPPED.glob("commands/*.md"):
        for tool in re.findall(r"mcp__plugin_backscroll_backscroll__(\w+)", path.read_text("utf-8")):
            assert tool in TOOLS, f"{path.name} allows {tool}"
    skill = (SHIPPED / "skills" / "recall" / "SKILL.md").read_text("utf-8")
    assert {"recall", "search", "read", "similar_errors", "file_history", "timeline", "stats"} <= set(TOOLS)
    for tool in TOOLS.keys() - {"query"}:
        assert f"`{tool}`" in skill


def test_every_command_in_the_copy_is_this_installation(settings: Settings, home: Home) -> None:
    files = plugin_files(settings, hint=False, program=PROGRAM)
    options = ["--home", str(home.path), "--library", str(settings.library)]
    server = loaded(files, MCP)["mcpServers"]["backscroll"]
    assert [server["command"], *server["args"]] == [*PROGRAM, "mcp", *options]
    (group,) = loaded(files, HOOKS)["hooks"]["SessionEnd"]
    assert shlex.join([*PROGRAM, "hook", "plugin", *options]) in group["hooks"][0]["command"]
    assert "SessionStart" not in loaded(files, HOOKS)["hooks"]
    saving = shlex.join([*PROGRAM, "recalls", *options]) + " --save"
    assert files["commands/recall-save.md"].decode().count(saving) == 2
    assert b"\nbackscroll recalls" not in files["commands/recall-save.md"]


def test_any_change_gives_another_version(settings: Settings) -> None:
    versions = [
        loaded(plugin_files(settings, hint=hint, program=program), MANIFEST)["version"]
        for hint in (False, True)
        for program in (PROGRAM, ["/other/python"])
    ]
    assert len(set(versions)) == 4
    assert all(version.startswith(f"{__version__}+") for version in versions)
    assert versions[0] == loaded(plugin_files(settings, hint=False, program=PROGRAM), MANIFEST)["version"]


def test_the_plugin_goes_in_and_comes_out_without_a_trace(settings: Settings, home: Home, client: Path) -> None:
    folder = plugin_folder(settings)
    plan = plan_plugin([home], settings)
    assert not folder.exists()
    assert f"+ {MANIFEST}" in plan.summary
    assert plan.carry_out() == []
    assert told(client) == [
        f"{home.path} plugin marketplace add {folder}",
        f"{home.path} plugin install {PLUGIN}",
    ]
    assert (settings.library.stat().st_mode & 0o777) == 0o700
    write_state(home, folder, version_in(folder))
    assert plan_plugin([home], settings).is_empty

    out = plan_no_plugin([home], settings)
    assert f"- {MANIFEST}" in out.summary
    assert out.carry_out() == []
    assert told(client)[2:] == [
        f"{home.path} plugin uninstall {PLUGIN}",
        f"{home.path} plugin marketplace remove backscroll",
    ]
    assert list(settings.library.iterdir()) == []


def test_only_claude_code_writes_to_the_home(settings: Settings, home: Home, client: Path) -> None:
    before = {path: path.read_bytes() for path in home.path.rglob("*") if path.is_file()}
    plan_plugin([home], settings).carry_out()
    assert told(client)
    assert {path: path.read_bytes() for path in home.path.rglob("*") if path.is_file()} == before


def test_another_version_is_shown_as_an_update(settings: Settings, home: Home, client: Path) -> None:
    folder = plugin_folder(settings)
    plan_plugin([home], settings).carry_out()
    write_state(home, folder, "0.0.1+old")
    (folder / "commands" / "gone.md").write_text("of an older version")
    plan = plan_plugin([home], settings, hint=True)
    assert "- commands/gone.md" in plan.summary
    assert f"~ {HOOKS}" in plan.summary
    plan.carry_out()
    assert told(client)[2:] == [
        f"{home.path} plugin marketplace update backscroll",
        f"{home.path} plugin update {PLUGIN}",
    ]
    write_state(home, folder, version_in(folder))
    assert plan_plugin([home], settings).is_empty, "without a word about the hint it stays"
    assert not plan_plugin([home], settings, hint=False).is_empty


def test_a_plugin_that_is_switched_off_or_elsewhere_is_brought_back(
    settings: Settings, home: Home, client: Path, tmp_path: Path
) -> None:
    folder = plugin_folder(settings)
    plan_plugin([home], settings).carry_out()
    write_state(home, folder, version_in(folder), enabled=False)
    assert [words[3:] for words in plan_plugin([home], settings).then] == [("plugin", "enable", PLUGIN)]
    write_state(home, tmp_path / "old library" / "plugin", version_in(folder))
    assert [words[4:] for words in plan_plugin([home], settings).then] == [
        ("marketplace", "remove", "backscroll"),
        ("marketplace", "add", str(folder)),
        ("install", PLUGIN),
    ]
    assert client.exists()


def test_the_usual_home_needs_no_word_about_it(tmp_path: Path, client: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    usual = Home(write_home(tmp_path / "me" / ".claude", {"projects/-x/none.txt": b""}))
    settings = load_settings([], tmp_path / "library")
    assert [words[:2] for words in plan_plugin([usual], settings).then] == [("claude", "plugin")] * 2
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/somewhere/else")
    plan_plugin([usual], settings).carry_out()
    assert told(client)[0].startswith("usual plugin marketplace add ")


def test_without_claude_the_commands_come_back(
    settings: Settings, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    left = plan_plugin([home], settings).carry_out()
    assert [words[2:5] for words in left] == [("claude", "plugin", "marketplace"), ("claude", "plugin", "install")]
    assert (plugin_folder(settings) / MANIFEST).is_file()


def test_a_claude_that_is_only_an_alias_is_found(
    settings: Settings, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program = Path.home() / ".claude" / "local" / "claude"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho 2.1.20\n")
    program.chmod(0o755)
    assert {words[2] for words in plan_plugin([home], settings).then} == {str(program)}
    assert tmp_path


def test_a_claude_without_plugins_is_not_called(settings: Settings, home: Home, client: Path) -> None:
    (client / "version").write_text("1.0.126 (Claude Code)\n")
    with pytest.raises(BackscrollError, match=r"1\.0\.126 has no plugins"):
        plan_plugin([home], settings)
    assert told(client) == []


def test_a_home_that_is_not_there_is_an_error(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(NothingFound, match="no Claude Code home"):
        plan_plugin([Home(tmp_path / "nowhere")], settings)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{oops", b'{"plugins": 3}', b'{"plugins": {"backscroll@backscroll": 1}}']
)
def test_odd_files_of_claude_code_are_no_plugin(home: Home, text: bytes) -> None:
    names = ("plugins/installed_plugins.json", "plugins/known_marketplaces.json", "settings.json")
    write_home(home.path, dict.fromkeys(names, text))
    state = state_of(home)
    assert (state.version, state.marketplace, state.is_enabled) == (None, None, None)


def test_the_health_of_the_plugin_is_reported(settings: Settings, home: Home, client: Path) -> None:
    assert client.exists()
    folder = plugin_folder(settings)
    assert not check_plugin(home, settings).is_installed
    plan_plugin([home], settings).carry_out()
    write_state(home, folder, version_in(folder))
    found = check_plugin(home, settings)
    assert (found.is_installed, found.is_current, found.trouble) == (True, True, "")
    write_state(home, folder, version_in(folder), enabled=False)
    assert check_plugin(home, settings).trouble == "it is switched off"
    write_state(home, folder, "0.0.1+old")
    assert "another version" in check_plugin(home, settings).trouble
    (folder / MCP).write_text('{"mcpServers": {"backscroll": {"command": "/gone/python"}}}')
    assert check_plugin(home, settings).trouble == "the program that it starts is gone: /gone/python"
    (folder / MANIFEST).unlink()
    assert "its files are gone" in check_plugin(home, settings).trouble


def run_hook(command: str, home: Home) -> None:
    environment = os.environ | {"CLAUDE_CONFIG_DIR": str(home.path)}
    done = subprocess.run(
        ["/bin/sh", "-c", command], input="{}", text=True, capture_output=True, env=environment, timeout=300
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("is_hooked", [False, True])
def test_the_hook_keeps_unless_the_hooks_in_the_settings_do(settings: Settings, home: Home, is_hooked: bool) -> None:
    if is_hooked:
        hook = hook_command(["/opt/backscroll", "hook", "keep"], settings.library / "failed")
        (home.path / "settings.json").write_text(add_hooks("{}", hook))
    files = plugin_files(settings, hint=False, program=[sys.executable, "-m", "backscroll"])
    command = loaded(files, HOOKS)["hooks"]["SessionEnd"][0]["hooks"][0]["command"]
    assert " hook plugin " in command
    run_hook(command, home)
    assert has_own_hooks({"CLAUDE_CONFIG_DIR": str(home.path)}) is is_hooked
    until(lambda: is_hooked or (settings.library / "archive").exists())


def test_the_hint_is_one_line_from_us_alone(settings: Settings) -> None:
    hooks = loaded(plugin_files(settings, hint=True), HOOKS)["hooks"]
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    done = subprocess.run(["/bin/sh", "-c", command], input="{}", text=True, capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert "recall" in done.stdout
