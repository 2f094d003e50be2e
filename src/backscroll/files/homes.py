"""The Claude Code homes to read."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Home(NamedTuple):
    """A Claude Code config folder. `path` is absolute, with links in it resolved."""

    path: Path
    machine: str = ""
    """The id of the machine that it is on; a library fills it in."""

    @property
    def exists(self) -> bool:
        """Whether the folder exists and Claude Code has written a session into it."""
        return (self.path / "projects").is_dir()

    @property
    def has_sessions(self) -> bool:
        """Whether there is at least one session in it."""
        return any(self.path.glob("projects/*/*.jsonl"))


def find_homes(named: Sequence[Path] = (), environment: Mapping[str, str] = os.environ) -> list[Home]:
    """The chosen homes, or the one that Claude Code itself would use. They need not exist."""
    if not named:
        configured = environment.get("CLAUDE_CONFIG_DIR")
        named = [Path(configured) if configured else Path.home() / ".claude"]
    homes = {Home(Path(os.path.realpath(_expand(path)))): None for path in named}
    return list(homes)  # each once, in the order given


def _expand(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # ~name of an unknown user: treat it as a plain name
        return path
