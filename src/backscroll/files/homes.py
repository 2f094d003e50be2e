"""The Claude Code homes to read."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.files.layout import DATABASE, LOGS

CACHE_NAME: Final = "claude-cli-nodejs"


class Home(NamedTuple):
    """A Claude Code config folder. `path` is absolute, with links in it resolved."""

    path: Path
    machine: str = ""
    """The id of the machine that it is on; a library fills it in."""

    @property
    def exists(self) -> bool:
        """Whether the folder exists and Claude Code has written a session into it."""
        return (self.path / "projects").is_dir() or (self.path / DATABASE).is_file() or self.is_cache

    @property
    def is_cache(self) -> bool:
        """Whether it is a cache folder with the logs of the first clients, and no home of later ones."""
        return not (self.path / "projects").is_dir() and any(self.path.glob(f"*/{LOGS}"))

    @property
    def has_sessions(self) -> bool:
        """Whether there is at least one session in it."""
        places = ("projects/*/*.jsonl", DATABASE, f"*/{LOGS}/*.json")
        return any(any(self.path.glob(place)) for place in places)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the first clients kept their logs, by the rules of the platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / CACHE_NAME
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / CACHE_NAME / "Cache"
    named = environment.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / CACHE_NAME


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
