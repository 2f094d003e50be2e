"""Have `backscroll keep` run by itself: as hooks of Claude Code, or by a timer of the system.

An `InstallPlan` says what would be written, so that it can be shown first. Only this module and `plugin` write into a
home, and only when the user has agreed to the change.
"""

import json
import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import backscroll
from backscroll.errors import BackscrollError, Busy
from backscroll.files.homes import Home, find_homes
from backscroll.library.homes import no_history
from backscroll.library.setup.edits import Edit, InstallPlan, Words, read_or_none, real
from backscroll.settings import Settings, load_settings
from backscroll.system import user_id

Kind = Literal["systemd", "launchd", "cron"]

EVENTS: Final = ("SessionStart", "SessionEnd")
MARKER: Final = "# added by backscroll install hooks"
"""The end of each of our hook commands, by which we recognise it."""
UNIT: Final = "backscroll-keep"
LABEL: Final = "backscroll.keep"
MADE_BY: Final = "made by backscroll install timer; backscroll uninstall timer removes it"


def own_command() -> list[str]:
    """The words that start this program from anywhere."""
    checkout = Path(backscroll.__file__).resolve().parents[2]
    script = checkout / "scripts" / "backscroll"
    if Path(sys.prefix) == checkout / ".venv" and os.access(script, os.X_OK):
        return [str(script)]  # it also updates its environment after an update of the checkout
    installed = Path(sys.executable).parent / "backscroll"  # as uv tool, pipx and pip write it
    if os.access(installed, os.X_OK):
        return [str(installed)]
    # -P: import nothing from the current folder, which may be any project.
    return [sys.executable, "-P", "-m", "backscroll"]


def keep_command(settings: Settings, homes: Sequence[Home] = (), program: Sequence[str] = ()) -> list[str]:
    """The words that keep these homes, said by something that knows neither our options nor our environment."""
    return command_for(["keep", "--quiet"], settings, homes, program)


def command_for(
    what: Sequence[str], settings: Settings, homes: Sequence[Home] = (), program: Sequence[str] = ()
) -> list[str]:
    """The words that run one of our commands, with what it cannot know by itself."""
    plain = load_settings(environment={})
    if not homes and (used := find_homes(settings.homes)) != find_homes(plain.homes, {}):
        homes = used
    words = [*(program or own_command()), *what]
    for home in homes:
        words += ["--home", str(home.path)]
    if settings.library != plain.library:
        words += ["--library", os.path.abspath(settings.library.expanduser())]  # noqa: PTH100 - links stay as named
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise BackscrollError("a path that is not valid UTF-8 cannot be written down", "rename it") from error
    return words


def plan_hooks(home: Home, settings: Settings, program: Sequence[str] = ()) -> InstallPlan:
    """Have Claude Code keep this home when a session starts and when it ends."""
    command = hook_command(command_for(["hook", "keep"], settings, [home], program))
    edit = _settings_edit(home, lambda text: add_hooks(text, command))
    off = _parse_settings(edit.after or b"{}").get("disableAllHooks") is True
    note = f"all hooks are switched off by disableAllHooks in {edit.path}" if off else ""
    return InstallPlan(edits=real([edit]), note=note)


def plan_no_hooks(home: Home) -> InstallPlan:
    """Remove our hooks, and nothing else."""
    return InstallPlan(edits=real([_settings_edit(home, remove_hooks)]))


def hook_command(words: Sequence[str], marker: str = MARKER) -> str:
    """The command of a hook: one of ours, which returns at once. Claude Code is told nothing if the program is gone."""
    return f"{shlex.join(words)} 2>/dev/null || true {marker}".rstrip()


def add_hooks(text: str, command: str) -> str:
    """The text of a settings.json with our hooks added; unchanged if they are already there."""
    settings = _parse_settings(text)
    wanted = {"type": "command", "command": command, "timeout": 10}
    hooks = settings.setdefault("hooks", {})
    if not isinstance(hooks, dict):
        raise ValueError("`hooks` is not an object")
    for event in EVENTS:
        groups = hooks.setdefault(event, [])
        if not isinstance(groups, list):
            raise ValueError(f"`hooks.{event}` is not a list")
        ours = next((hook for group in groups for hook in _hooks_in(group) if _is_ours(hook)), None)
        if ours is None:
            groups.append({"hooks": [wanted]})
        else:
            ours.update(wanted)  # perhaps from another place or version
    return text if settings == _parse_settings(text) else _format_settings(settings, like=text)


def remove_hooks(text: str) -> str:
    """The text of a settings.json without our hooks, and without what became empty by removing them."""
    settings = _parse_settings(text)
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return text
    for event, groups in list(hooks.items()):
        if not isinstance(groups, list) or not any(_is_ours(hook) for group in groups for hook in _hooks_in(group)):
            continue
        hooks[event] = [left for group in groups for left in _without_ours(group)]
        if not hooks[event]:
            del hooks[event]
            if not hooks:
                del settings["hooks"]
    return text if settings == _parse_settings(text) else _format_settings(settings, like=text)


def _hooks_in(group: object) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and command.endswith(MARKER)


def _without_ours(group: Any) -> list[Any]:  # noqa: ANN401 - whatever JSON says
    """The rest of a group: all, part or nothing of it."""
    hooks = _hooks_in(group)
    left = [hook for hook in hooks if not _is_ours(hook)]
    if len(left) == len(hooks):
        return [group]
    return [{**group, "hooks": left}] if left else []


def _settings_edit(home: Home, change: Callable[[str], str]) -> Edit:
    # Many keep their settings in a folder of dotfiles and only a link here: it is the file behind it that changes.
    path = Path(os.path.realpath(home.path / "settings.json"))
    if not home.path.is_dir():
        raise no_history([home])
    before = read_or_none(path)
    try:
        text = (before or b"").decode()
        after = change(text)
    except (ValueError, RecursionError) as error:
        raise BackscrollError(f"cannot change {path}: {error}", "repair the file, then try again") from error
    return Edit(path, before, before if after == text else after.encode())


def _parse_settings(text: str | bytes) -> dict[str, Any]:
    """ValueError if it is not a JSON object. An empty file is an empty object, as for Claude Code."""
    settings = json.loads(text, parse_constant=_refuse) if text.strip() else {}
    if not isinstance(settings, dict):
        raise ValueError("it is not a JSON object")
    return settings


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _format_settings(settings: dict[str, Any], like: str) -> str:
    """The settings as text, with the indentation and line endings of the original."""
    indent = re.match(r'\s*\{\r?\n([ \t]+)"', like)
    text = json.dumps(settings, ensure_ascii=False, indent=indent[1] if indent else 2, allow_nan=False)
    text = re.sub("[\ud800-\udfff]", lambda lone: f"\\u{ord(lone[0]):04x}", text)  # it could not be written otherwise
    if not like.strip() or like.endswith("\n"):
        text += "\n"
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def timer_kind() -> Kind:
    """The scheduler of this system."""
    if sys.platform == "darwin":
        return "launchd"
    return "systemd" if Path("/run/systemd/system").is_dir() and shutil.which("systemctl") else "cron"


def plan_timer(kind: Kind, words: Sequence[str]) -> InstallPlan:
    """Have the system run this command every hour."""
    if kind == "cron":
        return InstallPlan(cron=cron_line(words))
    files = systemd_files(words) if kind == "systemd" else launchd_files(words)
    edits = real(Edit(path, read_or_none(path), data) for path, data in files.items())
    if kind == "systemd":
        enable = ("systemctl", "--user", "enable", "--now", f"{UNIT}.timer")
        plan = InstallPlan(edits, then=(("systemctl", "--user", "daemon-reload"), enable))
        is_running = _agrees(("systemctl", "--user", "is-enabled", "--quiet", f"{UNIT}.timer"))
    else:
        is_running = _agrees(("launchctl", "print", f"{_domain()}/{LABEL}"))
        stop = ("launchctl", "bootout", f"{_domain()}/{LABEL}")
        plan = InstallPlan(
            edits, (stop,) if is_running else (), (("launchctl", "bootstrap", _domain(), str(launchd_file())),)
        )
    # Even with the files in place, a command may have failed the last time.
    return plan if edits or is_running is False else InstallPlan()


def plan_no_timer() -> InstallPlan:
    """Remove every timer that `plan_timer` may have created; not a cron line, which the user wrote."""
    units = real(Edit(path, read_or_none(path), None) for path in systemd_files(()))
    agents = real(Edit(path, read_or_none(path), None) for path in launchd_files(()))
    first: list[Words] = []
    if units:
        first.append(("systemctl", "--user", "disable", "--now", f"{UNIT}.timer"))
    if agents and _agrees(("launchctl", "print", f"{_domain()}/{LABEL}")):
        first.append(("launchctl", "bootout", f"{_domain()}/{LABEL}"))
    return InstallPlan(units + agents, tuple(first), (("systemctl", "--user", "daemon-reload"),) if units else ())


def systemd_files(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[Path, bytes]:
    """The unit files, with their paths."""
    configured = Path(environment.get("XDG_CONFIG_HOME", ""))
    folder = (configured if configured.is_absolute() else Path.home() / ".config") / "systemd" / "user"
    start = " ".join(_systemd_word(word, is_first=not index) for index, word in enumerate(words))
    service = (
        f"# {MADE_BY}\n[Unit]\nDescription=Keep the conversations of Claude Code\n\n"
        f"[Service]\nType=oneshot\nExecStart={start}\n"
        # It is not a failure if another process is keeping.
        f"SuccessExitStatus={Busy.exit_code}\nNice=10\nIOSchedulingClass=idle\n"
    )
    timer = (
        f"# {MADE_BY}\n[Unit]\nDescription=Keep the conversations of Claude Code, every hour\n\n"
        "[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=5min\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {folder / f"{UNIT}.service": service.encode(), folder / f"{UNIT}.timer": timer.encode()}


def _systemd_word(word: str, *, is_first: bool) -> str:
    r"""Quoted as in systemd.service(5): `%` and `$` stand for themselves when doubled, but the program has no `$`."""
    escaped = "".join(f"\\x{ord(char):02x}" if char in '"\\' or char < " " else char for char in word)
    return f'"{escaped.replace("%", "%%").replace("$", "$" if is_first else "$$")}"'


def launchd_file() -> Path:
    """The path of the launchd agent."""
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def launchd_files(words: Sequence[str]) -> dict[Path, bytes]:
    """The launchd agent, with its path."""
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "StartInterval": 3600,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "StandardOutPath": os.devnull,
        "StandardErrorPath": os.devnull,
    }
    return {launchd_file(): plistlib.dumps(agent).replace(b"<plist ", f"<!-- {MADE_BY} -->\n<plist ".encode(), 1)}


def cron_line(words: Sequence[str]) -> str:
    """A line for `crontab -e`. To cron, a bare `%` ends the line."""
    return f"17 * * * * {shlex.join(words)} >/dev/null 2>&1".replace("%", "\\%")


def _domain() -> str:
    return f"gui/{user_id()}"


def _agrees(question: Words) -> bool | None:
    """Whether the command succeeds; None if its program is not installed."""
    if shutil.which(question[0]) is None:
        return None
    return subprocess.run(question, capture_output=True, check=False).returncode == 0  # noqa: S603
