"""The Claude Code homes to read."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.files.layout import DATABASE, LOGS

CHOSEN: Final = "CLAUDE_CONFIG_DIR"
"""The variable by which a user tells Claude Code which home to use."""
CACHE_NAME: Final = "claude-cli-nodejs"


class Home(NamedTuple):
    """A Claude Code config folder. `path` is absolute, with links in it resolved."""

    path: Path
    machine: str = ""
    """The id of the machine that the home is on; a library fills it in."""

    @property
    def exists(self) -> bool:
        """Whether the folder exists, can be entered, and Claude Code has written a session into it."""
        is_used = os.path.isdir(self.path / "projects") or os.path.isfile(self.path / DATABASE)  # noqa: PTH112, PTH113
        return is_used or self.is_cache

    @property
    def is_cache(self) -> bool:
        """Whether it is a cache folder with the logs of the first clients, and no home of later ones."""
        return not os.path.isdir(self.path / "projects") and any(self.path.glob(f"*/{LOGS}"))  # noqa: PTH112

    @property
    def has_sessions(self) -> bool:
        """Whether there is at least one session in it."""
        places = ("projects/*/*.jsonl", DATABASE, f"*/{LOGS}/*.json")
        return any(any(self.path.glob(place)) for place in places)


def is_gone(path: str) -> bool:
    """Whether there is no longer a home at this path that we can read.

    A path of another system, such as `C:\\Users\\ada\\.claude` on Linux, names no folder here.
    """
    try:
        return not Path(path).is_absolute() or not Home(Path(path)).exists
    except (OSError, ValueError):  # of another user, on a disk that fails, or no name for a file here
        return True


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder where the first clients kept their logs, by the rules of the platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / CACHE_NAME
    if sys.platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / CACHE_NAME / "Cache"
    named = environment.get("XDG_CACHE_HOME")
    return (Path(named) if named else Path.home() / ".cache") / CACHE_NAME


def find_homes(named: Sequence[Path] = (), environment: Mapping[str, str] = os.environ) -> list[Home]:
    """Return the chosen homes, or the one that Claude Code itself would use. They need not exist."""
    if not named:
        configured = environment.get(CHOSEN)
        named = [Path(configured) if configured else Path.home() / ".claude"]
    homes = {Home(Path(os.path.realpath(_expand(path)))): None for path in named}
    return list(homes)  # each once, in the order given


def _expand(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # ~name of an unknown user: treat it as a plain name
        return path
