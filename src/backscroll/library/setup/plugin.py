"""The plugin of Claude Code: our files for it, with the commands of this installation, and the commands that add it.

A plugin inside a package cannot know how this program is started. So a copy of it is written into the library, with the
full command in it, and that folder is added to Claude Code as a local marketplace: by its own `claude plugin`, since
only that works in every version. Claude Code's own records of it are only read here.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import backscroll
from backscroll import __version__
from backscroll.disk import open_private, private_folder
from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.files.opening import read_small
from backscroll.library.captures import captures_folder, failure_file
from backscroll.library.homes import no_history
from backscroll.library.setup.edits import Edit, InstallPlan, Words, carry_out, read_or_none, real
from backscroll.library.setup.hooks import hook_command, told_command
from backscroll.library.setup.program import (
    command_for,
    library_path,
    own_command,
    program_problem,
    program_words,
)
from backscroll.settings import Settings

NAME: Final = "backscroll"
PLUGIN: Final = f"{NAME}@{NAME}"
SHIPPED: Final = Path(backscroll.__file__).resolve().parent / "plugin"
OLDEST: Final = (2, 0, 12)
"""The first Claude Code with plugins; an older one would take `plugin` as a prompt."""
MCP: Final = ".mcp.json"
HOOKS: Final = "hooks/hooks.json"
MANIFEST: Final = ".claude-plugin/plugin.json"
SAVING: Final = "backscroll recalls --save"
"""The placeholder in the shipped files for the full command."""


@dataclass(frozen=True)
class PluginPlan(InstallPlan):
    """The changes to the copy of the plugin in `folder`, and the commands for Claude Code."""

    folder: Path = Path()
    library: Path = Path()

    @property
    def summary(self) -> str:
        """The names of the files: their full diffs would hide the commands."""
        signs = {(True, False): "+", (False, True): "-"}
        lines = [
            f"  {signs.get((edit.before is None, edit.after is None), '~')} {edit.path.relative_to(self.folder)}"
            for edit in self.edits
        ]
        return "\n".join([f"files in {self.folder}:", *lines]) + "\n" if lines else ""

    def carry_out(self) -> list[Words]:
        """Carry out the plan; remove folders that became empty."""
        private_folder(self.library)
        left = carry_out(self)
        if any(edit.after is not None for edit in self.edits):
            private_folder(captures_folder(self.library))
        elif self.edits:
            with suppress(OSError):  # there are notes in it
                captures_folder(self.library).rmdir()
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.close(open_private(path, os.O_RDONLY))  # an earlier version may have let others read it
        for folder in sorted(self.folder.glob("**/"), reverse=True):
            if any(folder.iterdir()):
                private_folder(folder)
            else:
                folder.rmdir()
        return left


@dataclass(frozen=True)
class PluginState:
    """The state of the plugin in a home."""

    marketplace: Path | None = None
    version: str | None = None
    is_enabled: bool | None = None
    place: Path | None = None
    """The folder of Claude Code's own copy; newer versions read ours."""


@dataclass(frozen=True)
class PluginHealth:
    """The state of the plugin in a home, with problems."""

    state: PluginState
    is_current: bool
    command: str | None
    """The program that it starts."""
    trouble: str
    """The problem; empty if there is none, or if it is not installed."""
    is_broken: bool = False
    """Whether the problem prevents it from working."""

    @property
    def is_installed(self) -> bool:
        """Whether it is installed in Claude Code."""
        return self.state.version is not None


def plugin_folder(settings: Settings) -> Path:
    """Return the folder of the copy that Claude Code uses."""
    return library_path(settings) / "plugin"


def plan_plugin(
    homes: Sequence[Home], settings: Settings, *, hint: bool | None = None, program: Sequence[str] = ()
) -> PluginPlan:
    """Plan to install the plugin in these homes. `hint` None keeps the current setting."""
    for home in homes:
        if not home.path.is_dir():
            raise no_history([home])
    folder = plugin_folder(settings)
    files = plugin_files(settings, hint=_has_hint(folder) if hint is None else hint, program=program)
    client = _client()
    version = _version_in(files)
    states = {home: state_of(home) for home in homes}
    then = tuple(words for home in homes for words in _adding(states[home], _asking(home, client), folder, version))
    if then:
        _must_know_plugins(client)
    return PluginPlan(_edits(folder, files), then=then, folder=folder, library=folder.parent)


def plan_no_plugin(homes: Sequence[Home], settings: Settings) -> PluginPlan:
    """Plan to remove the plugin from Claude Code, and delete the copy."""
    folder = plugin_folder(settings)
    first: list[Words] = []
    for home in homes:
        state, ask = state_of(home), _asking(home, _client())
        if state.version is not None:
            first.append((*ask, "uninstall", PLUGIN))
        if state.marketplace is not None:
            first.append((*ask, "marketplace", "remove", NAME))
    return PluginPlan(_edits(folder, {}), tuple(first), folder=folder, library=folder.parent)


def plugin_files(settings: Settings, *, hint: bool, program: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files of the plugin by name, with the commands of this installation."""
    files = {
        path.relative_to(SHIPPED).as_posix(): path.read_bytes()
        for path in sorted(SHIPPED.rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    }
    command, *rest = command_for(["mcp"], settings, program=program)
    servers = {"mcpServers": {NAME: {"command": command, "args": rest}}}
    files[MCP] = _json(servers)
    files[HOOKS] = _json(_hooks(settings, hint=hint, program=program))
    saving = shlex.join(command_for(["recalls"], settings, program=program)) + " --save"
    for name in [name for name in files if name.startswith("commands/")]:
        files[name] = files[name].replace(SAVING.encode(), saving.encode())
    manifest = json.loads(files[MANIFEST])
    # Claude Code notices changes, also of a command, only by a new version.
    digest = hashlib.sha256(b"\0".join(part for item in sorted(files.items()) for part in (item[0].encode(), item[1])))
    files[MANIFEST] = _json({**manifest, "version": f"{__version__}+{digest.hexdigest()[:8]}"})
    return files


def _hooks(settings: Settings, *, hint: bool, program: Sequence[str]) -> dict[str, Any]:
    """Return a hook that keeps each session when it ends, unless our own hooks do; optionally a hint at the start."""
    failures = failure_file(library_path(settings), "plugin", None)
    keep = hook_command(command_for(["hook", "plugin"], settings, program=program), failures, marker="")
    shipped = json.loads((SHIPPED / HOOKS).read_bytes())
    hooks: dict[str, Any] = {"SessionEnd": [{"hooks": [{"type": "command", "command": keep, "timeout": 10}]}]}
    if hint:
        hint_command = told_command([*(program or own_command()), "hook", "hint"])
        hooks["SessionStart"] = [
            {"matcher": "startup|clear", "hooks": [{"type": "command", "command": hint_command, "timeout": 10}]}
        ]
    return {**shipped, "hooks": hooks}


def state_of(home: Home) -> PluginState:
    """Return Claude Code's own records about the plugin in this home."""
    installed = _at(_load_json(home.path / "plugins" / "installed_plugins.json"), "plugins", PLUGIN)
    records = installed if isinstance(installed, list) else [installed]  # the first form had no scopes
    # A plugin installed for one project only is not ours.
    entries = (entry for entry in records if isinstance(entry, dict) and entry.get("scope", "user") == "user")
    entry = next(entries, {})
    source = _at(_load_json(home.path / "plugins" / "known_marketplaces.json"), NAME, "source", "path")
    enabled = _at(_load_json(home.path / "settings.json"), "enabledPlugins", PLUGIN)
    version, place = entry.get("version"), entry.get("installPath")
    return PluginState(
        marketplace=Path(source) if isinstance(source, str) else None,
        version=version if isinstance(version, str) else None,
        is_enabled=enabled if isinstance(enabled, bool) else None,
        place=Path(place) if isinstance(place, str) else None,
    )


def check_plugin(
    home: Home, settings: Settings, ask: Callable[[tuple[str, ...]], str] = program_problem
) -> PluginHealth:
    """Return the state of the plugin in this home. `ask` returns why a program does not run."""
    state = state_of(home)
    folder = plugin_folder(settings)
    is_current = state.version is not None and state.version == _version_in(
        plugin_files(settings, hint=_has_hint(folder))
    )
    words = next(
        (start_words for place in (folder, state.place) if place is not None and (start_words := _words_in(place))), []
    )
    command = words[0] if words else None
    if state.version is None:
        return PluginHealth(state, is_current, command, "")
    trouble, is_broken = "", True
    if state.marketplace is None or not (state.marketplace / MANIFEST).is_file():
        trouble = f"its files are gone from {state.marketplace or folder}"
    elif command is None or shutil.which(command) is None:
        trouble = f"the program that it starts is gone: {command}"
    elif problem := ask(program_words(words, "mcp")):
        trouble = problem
    else:
        is_broken = False
        if not state.is_enabled:
            trouble = "it is switched off"
        elif not is_current:
            trouble = "it is of another version or place of backscroll"
    return PluginHealth(state, is_current, command, trouble, is_broken)


def _words_in(place: Path) -> list[str]:
    """Return the words that start the server of the plugin in this folder; empty if they are not there."""
    server = _at(_load_json(place / MCP), "mcpServers", NAME)
    command, arguments = _at(server, "command"), _at(server, "args")
    rest = [word for word in arguments if isinstance(word, str)] if isinstance(arguments, list) else []
    return [command, *rest] if isinstance(command, str) else []


def _adding(state: PluginState, ask: Words, folder: Path, version: str) -> list[Words]:
    """Return the commands that make Claude Code use this version from this folder."""
    words: list[Words] = []
    is_elsewhere = state.marketplace is not None and state.marketplace != folder
    if is_elsewhere:
        words.append((*ask, "marketplace", "remove", NAME))
    if state.marketplace != folder:
        words.append((*ask, "marketplace", "add", str(folder)))
    if state.version is None or state.is_enabled is None or is_elsewhere:
        return [*words, (*ask, "install", PLUGIN)]
    if state.version != version:
        words += [(*ask, "marketplace", "update", NAME), (*ask, "update", PLUGIN)]
    if state.is_enabled is False:
        words.append((*ask, "enable", PLUGIN))
    return words


def _asking(home: Home, client: str, environment: Mapping[str, str] = os.environ) -> Words:
    """Return a `claude plugin` command for a home."""
    if home.path != Path(os.path.realpath(Path.home() / ".claude")):
        return ("env", f"CLAUDE_CONFIG_DIR={home.path}", client, "plugin")
    return (*(("env", "-u", "CLAUDE_CONFIG_DIR") if environment.get("CLAUDE_CONFIG_DIR") else ()), client, "plugin")


def _client() -> str:
    """Return the Claude Code program; only its name if it is on the PATH or not found at all."""
    if shutil.which(CLIENT) is None:
        for place in (Path.home() / ".local" / "bin" / CLIENT, Path.home() / ".claude" / "local" / CLIENT):
            if os.access(place, os.X_OK):
                return str(place)
    return CLIENT


def _must_know_plugins(client: str) -> None:
    if shutil.which(client) is None:
        return  # then the user gets the command to run
    try:
        output = subprocess.run(  # noqa: S603
            [client, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=30
        ).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BackscrollError(f"{client} does not say its version: {error}", "check that it starts") from error
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", output)
    if match and tuple(map(int, match.groups())) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        hint = "update Claude Code, or use `claude mcp add` and backscroll install hooks"
        raise BackscrollError(f"Claude Code {match[0]} has no plugins; they came with {oldest}", hint)


def _edits(folder: Path, files: Mapping[str, bytes]) -> tuple[Edit, ...]:
    """Return the edits that replace the contents of the folder by these files."""
    there = {path for path in folder.rglob("*") if path.is_file()}
    wanted = {folder / name: data for name, data in files.items()}
    return real(Edit(path, read_or_none(path), wanted.get(path)) for path in sorted({*there, *wanted}))


def _has_hint(folder: Path) -> bool:
    return _at(_load_json(folder / HOOKS), "hooks", "SessionStart") is not None


def _version_in(files: Mapping[str, bytes]) -> str:
    version: str = json.loads(files[MANIFEST])["version"]
    return version


def _json(value: object) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def _load_json(path: Path) -> object:
    """Return the content of a small JSON file; None if there is none or it cannot be read."""
    try:
        return json.loads(read_small(path))
    except (OSError, ValueError, RecursionError):
        return None


def _at(value: Any, *names: str) -> Any:  # noqa: ANN401 - whatever JSON says
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


CLIENT: Final = "claude"
