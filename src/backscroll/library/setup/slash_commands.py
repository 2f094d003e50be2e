"""Saved prompts as slash commands: the file that Claude Code reads, shown before it is written.

A file that we did not write is never replaced or removed.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from backscroll.errors import NothingFound, UsageError
from backscroll.library.prompts.prompt import SavedPrompt, checked_name
from backscroll.library.setup.edits import Edit, InstallPlan, read_or_none, real

MARKER: Final = "# written by backscroll prompts install"
"""The line that identifies our files. A comment: Claude Code does not read it."""


def slash_command(prompt: SavedPrompt) -> str:
    """Return the file of a slash command.

    `$ARGUMENTS`, the text after the name, is the one placeholder with the same meaning in every version of the client:
    `$1` is the first argument in some and the second in others. So one variable becomes `$ARGUMENTS`; with more of them
    the text keeps its variables, and a last line gives their values to the model.
    """
    names = prompt.variables
    head = ["---", MARKER, f"description: {_yaml(prompt.description or _first_line(prompt.text))}"]
    if names:
        head.append(f"argument-hint: {_yaml(' '.join(f'[{name}]' for name in names))}")
    if len(names) == 1:
        text = prompt.filled({names[0]: "$ARGUMENTS"})
    else:
        text = prompt.filled({name: f"{{{{{name}}}}}" for name in names})
    if len(names) > 1:
        listed = ", ".join(f"{{{{{name}}}}}" for name in names)
        text += f"\n\nIn the text above, replace {listed} by these values, given in this order: $ARGUMENTS"
    return "\n".join([*head, "---", "", text, ""])


def plan_command(prompt: SavedPrompt, folders: Sequence[Path]) -> InstallPlan:
    """Plan to write a prompt as `/NAME` into the `commands` folder of these `.claude` folders."""
    edits = []
    for path in (command_file(folder, prompt.name) for folder in folders):
        before = read_or_none(path)
        if before is not None and not _is_ours(before):
            hint = "install the prompt under another name (backscroll prompts edit --name), or move that file away"
            raise UsageError(f"{path} was not written by backscroll and is left alone", hint)
        edits.append(Edit(path, before, slash_command(prompt).encode()))
    special = dict.fromkeys(match[0] for match in SPECIAL.finditer(prompt.text))
    note = f"Claude Code replaces or runs this in a slash command: {' '.join(special)}" if special else ""
    return InstallPlan(edits=real(edits), note=note)


def plan_no_command(name: str, folders: Sequence[Path]) -> InstallPlan:
    """Plan to remove the slash command of a prompt, which may have been deleted already."""
    edits = []
    for path in (command_file(folder, checked_name(name)) for folder in folders):
        before = read_or_none(path)
        if before is not None and not _is_ours(before):
            raise UsageError(f"{path} was not written by backscroll and is left alone", "remove it yourself")
        edits.append(Edit(path, before, None))
    edits_with_changes = real(edits)
    if not edits_with_changes:
        raise NothingFound(f"/{name} is not installed", "see backscroll prompts")
    return InstallPlan(edits=edits_with_changes)


def is_installed(name: str, folders: Sequence[Path]) -> bool:
    """Whether one of these folders has a slash command of ours with this name."""
    contents = (read_or_none(command_file(folder, name)) for folder in folders)
    return any(data is not None and _is_ours(data) for data in contents)


def command_file(folder: Path, name: str) -> Path:
    """Return the path of the file of `/NAME`."""
    return folder / "commands" / f"{name}.md"


def _is_ours(data: bytes) -> bool:
    return data.startswith(f"---\n{MARKER}\n".encode())


def _first_line(text: str) -> str:
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= LONGEST_HINT else f"{line[: LONGEST_HINT - 1]}…"


def _yaml(text: str) -> str:
    """Return a string that YAML reads unchanged: JSON is YAML."""
    return json.dumps(text, ensure_ascii=False)


LONGEST_HINT: Final = 80
SPECIAL: Final = re.compile(r"\$(?:ARGUMENTS|\d)|!`[^`\n]*`")
"""Text that the client itself replaces or runs in a command."""
