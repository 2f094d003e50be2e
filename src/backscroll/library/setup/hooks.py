"""Our hooks in the settings.json of a home: added and removed without changing anything else in it.

Claude Code runs them when a session starts and when it ends. Only this module and `plugin` write into a home, and only
when the user has agreed to the change.
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from backscroll.disk import private_folder
from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.library.captures import failure_file
from backscroll.library.homes import no_history
from backscroll.library.setup.edits import Edit, InstallPlan, Words, carry_out, read_or_none, real
from backscroll.library.setup.json_text import (
    JsonText,
    TextChange,
    Value,
    add_children,
    apply_changes,
    new_text,
    parse,
    remove_child,
)
from backscroll.library.setup.program import command_for, library_path
from backscroll.settings import Settings

EVENTS: Final = ("SessionStart", "SessionEnd")
MARKER: Final = "# added by backscroll install hooks"
"""The end of each of our hook commands, which identifies them."""
COMMAND: Final = re.compile(r"e=\$\((.*) 2>&1 >/dev/null\) \|\| printf .*", re.DOTALL)
EARLIER_COMMAND: Final = re.compile(r"(.*) 2>/dev/null \|\| true\b.*", re.DOTALL)
SECONDS: Final = 10
NOT_STRICT: Final = (
    "Claude Code ignores the whole file, because it has comments or trailing commas, which JSON does not have"
)


class OurHook(NamedTuple):
    """One of our hooks in a settings.json."""

    event: str
    command: str
    value: Value
    """The position of the command in the text."""
    path: tuple[Value, ...]
    """The values from the root to the hook."""
    counts: bool
    """Whether Claude Code reads it: a repeated key hides earlier ones."""


@dataclass(frozen=True)
class HooksPlan(InstallPlan):
    """The change to a settings.json, and the folder for reports of failing hooks."""

    failures: Path = Path()

    def carry_out(self) -> list[Words]:
        """Create the folder for failures, and carry out the plan."""
        with suppress(OSError):  # a hook that works makes it, too
            private_folder(self.failures.parent)
            private_folder(self.failures)
        return carry_out(self)


def plan_hooks(home: Home, settings: Settings, program: Sequence[str] = ()) -> HooksPlan:
    """Plan hooks that keep this home when a session starts and when it ends."""
    failures = failure_file(library_path(settings), "hooks", home.path)
    command = hook_command(command_for(["hook", "keep"], settings, [home], program), failures)
    edit = _settings_edit(home, lambda text: add_hooks(text, command))
    document = _parse_settings((edit.after or b"").decode())
    notes = [_link_note(home, edit)]
    if switched_off(document):
        notes.append(f"all hooks are switched off by disableAllHooks in {edit.path}")
    if not document.is_strict:
        notes.append(f"{edit.path}: {NOT_STRICT}")
    note = "; ".join(note for note in notes if note)
    return HooksPlan(edits=real([edit]), note=note, failures=failures.parent)


def plan_no_hooks(home: Home) -> InstallPlan:
    """Plan the removal of our hooks, and of nothing else."""
    edit = _settings_edit(home, remove_hooks)
    return InstallPlan(edits=real([edit]), note=_link_note(home, edit))


def hook_command(words: Sequence[str], failures: Path, marker: str = MARKER) -> str:
    """Return the command of a hook that runs one of our commands, which returns at once.

    Claude Code sees no failure, even if the program is gone: the shell writes the reason into a file, for `doctor`.
    """
    note = f"printf '%.1000s\\n' \"exit $?: $e\" 2>/dev/null >{shlex.quote(str(failures))}"
    return f"e=$({shlex.join(words)} 2>&1 >/dev/null) || {note} || true {marker}".rstrip()


def words_of(command: str) -> list[str]:
    """Return the words that one of our hooks of any version runs; empty for a command that is not ours."""
    match = COMMAND.fullmatch(command) or EARLIER_COMMAND.fullmatch(command)
    try:
        return shlex.split(match[1]) if match else []
    except ValueError:
        return []


def told_command(words: Sequence[str]) -> str:
    """Return the command of a hook whose output Claude Code reads. Failures stay hidden from it."""
    return f"{shlex.join(words)} 2>/dev/null || true"


def add_hooks(text: str | None, command: str) -> str:
    """Return the text of a settings.json, None without a file, with our hooks; unchanged if they are there."""
    document = _parse_settings(text)
    groups = {event: {"hooks": [{"type": "command", "command": command, "timeout": SECONDS}]} for event in EVENTS}
    if document.root is None:
        return new_text({"hooks": {event: [group] for event, group in groups.items()}}, before=text)
    hooks = document.root.member("hooks")
    if hooks is None:
        added: dict[str, Any] = {event: [group] for event, group in groups.items()}
        return apply_changes(document.text, add_children(document, document.root, [("hooks", added)]))
    if hooks.kind != "object":
        raise ValueError("`hooks` is not an object")
    for event in EVENTS:
        if (there := hooks.member(event)) is not None and there.kind != "array":
            raise ValueError(f"`hooks.{event}` is not a list")
    ours = [hook for hook in find_hooks(document) if hook.counts]
    # The existing hooks may be from another place or version.
    changes = [
        TextChange(hook.value.start, hook.value.end, _quoted(command)) for hook in ours if hook.command != command
    ]
    lacking = [event for event in EVENTS if not any(hook.event == event for hook in ours)]
    new = [(event, [groups[event]]) for event in lacking if hooks.member(event) is None]
    if new:
        changes += add_children(document, hooks, new)
    for event in lacking:
        if (there := hooks.member(event)) is not None:
            changes += add_children(document, there, [(None, groups[event])])
    return apply_changes(document.text, changes)


def remove_hooks(text: str | None) -> str | None:
    """Return the text of a settings.json without our hooks, and without the values added to hold them.

    None if the file was made for them.
    """
    while text is not None:
        document = _parse_settings(text)
        hook = next(find_hooks(document), None)
        if hook is None:
            break
        *group, in_group, _ = hook.path
        text = remove_child(document, hook.path if in_group.children[1:] else group)
    return text


def find_hooks(document: JsonText) -> Iterator[OurHook]:
    """Yield our hooks in a settings.json, also those that were moved to another event."""
    if document.root is None:
        return
    for hooks in document.root.members("hooks"):
        for event, groups in hooks.pairs():
            for group in groups.children if groups.kind == "array" else ():
                # Only the last `hooks` of a group counts, but all hooks of ours are removed.
                for in_group in (candidate for candidate in group.members("hooks") if candidate.kind == "array"):
                    for hook in in_group.children:
                        value = hook.member("command")
                        if value is not None and value.kind == "string" and value.text.endswith(MARKER):
                            path = (document.root, hooks, groups, group, in_group, hook)
                            counts = (
                                document.root.member("hooks") is hooks
                                and hooks.member(event) is groups
                                and group.member("hooks") is in_group
                            )
                            yield OurHook(event, value.text, value, path, counts)


def switched_off(document: JsonText) -> bool:
    """Whether a settings.json switches off all hooks."""
    value = document.root.member("disableAllHooks") if document.root is not None else None
    return value is not None and document.text[value.start : value.end] == "true"


def settings_path(home: Home) -> Path:
    """Return the settings.json of a home. Many keep theirs in a folder of dotfiles: returns the file behind a link."""
    return Path(os.path.realpath(home.path / "settings.json"))


def read_settings(home: Home) -> JsonText:
    """Return the settings of a home; OSError or ValueError if they cannot be read."""
    return _parse_settings((read_or_none(settings_path(home)) or b"").decode())


def _settings_edit(home: Home, change: Callable[[str | None], str | None]) -> Edit:
    path = settings_path(home)
    if not home.path.is_dir():
        raise no_history([home])
    before = read_or_none(path)
    try:
        text = None if before is None else before.decode()
        after = change(text)
    except (ValueError, RecursionError) as error:
        raise BackscrollError(f"cannot change {path}: {error}", "repair the file, then try again") from error
    return Edit(path, before, after.encode() if after is not None else None)


def _link_note(home: Home, edit: Edit) -> str:
    link = home.path / "settings.json"
    return f"{link} is a link: the file behind it changes" if link.is_symlink() and edit.before != edit.after else ""


def _parse_settings(text: str | None) -> JsonText:
    """Parse the settings; ValueError if they are not a JSON object. A blank file counts as an empty object."""
    document = parse(text or "")
    if document.root is not None and document.root.kind != "object":
        raise ValueError("it is not a JSON object")
    return document


def _quoted(text: str) -> str:
    """Return a string as JSON."""
    return json.dumps(text, ensure_ascii=False)
