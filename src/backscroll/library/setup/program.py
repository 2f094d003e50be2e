"""The words that start this program later: from a hook, a timer or a plugin, also after an upgrade."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import backscroll
from backscroll.errors import BackscrollError
from backscroll.files.homes import Home, find_homes
from backscroll.settings import Settings, load_settings


def own_command() -> list[str]:
    """Return the words that start this program from anywhere."""
    checkout = Path(backscroll.__file__).resolve().parents[2]
    script = checkout / "scripts" / "backscroll"
    if Path(sys.prefix) == checkout / ".venv" and os.access(script, os.X_OK):
        return [str(script)]  # it also updates its environment after an update of the checkout
    installed = Path(sys.executable).parent / NAME  # as uv tool, pipx and pip write it
    if os.access(installed, os.X_OK):
        return [str(find_link(installed, Path(sys.prefix)) or installed)]
    # -P: import nothing from the current folder, which may be any project.
    return [sys.executable, "-P", "-m", "backscroll"]


def find_link(installed: Path, prefix: Path, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the command that uv or pipx put on the user's PATH for a program in their environment; None without one.

    It stays in its place when they make the environment again, in another place or with another Python.
    """
    if not any((prefix / mark).is_file() for mark in TOOL_MARKS):
        return None
    for folder in _command_folders(environment):
        link = folder / NAME
        if folder.is_absolute() and link.parent != installed.parent and _is_same(link, installed):
            return link
    return None


def _command_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    """Yield the folders that uv and pipx put commands into, the chosen ones first, and then those on the PATH."""
    for name in ("UV_TOOL_BIN_DIR", "PIPX_BIN_DIR", "XDG_BIN_HOME"):
        if folder := environment.get(name):
            yield Path(folder)
    if data := environment.get("XDG_DATA_HOME"):
        yield Path(os.path.normpath(Path(data, "..", "bin")))
    yield Path.home() / ".local" / "bin"
    yield from map(Path, environment.get("PATH", "").split(os.pathsep))


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def keep_command(settings: Settings, homes: Sequence[Home] = (), program: Sequence[str] = ()) -> list[str]:
    """Return the words that keep these homes, for a caller that knows neither our options nor our environment."""
    return command_for(["keep", "--quiet"], settings, homes, program)


def command_for(
    what: Sequence[str], settings: Settings, homes: Sequence[Home] = (), program: Sequence[str] = ()
) -> list[str]:
    """Return the words that run one of our commands, with the options that it needs in another environment."""
    plain = load_settings(environment={})
    if not homes and (used := find_homes(settings.homes)) != find_homes(plain.homes, {}):
        homes = used
    words = [*(program or own_command()), *what]
    for home in homes:
        words += ["--home", str(home.path)]
    if settings.library != plain.library:
        words += ["--library", str(library_path(settings))]
    try:
        "".join(words).encode()
    except UnicodeEncodeError as error:
        raise BackscrollError("a path that is not valid UTF-8 cannot be written down", "rename it") from error
    return words


def program_words(words: Sequence[str], command: str) -> tuple[str, ...]:
    """Return the words that start the program, from those that run one of its commands."""
    return tuple(words[: words.index(command, 1)]) if command in words[1:] else tuple(words[:1])


def program_problem(words: tuple[str, ...]) -> str:
    """Return why an installed program does not run; empty if it does. Runs it with `--version`."""
    quoted = shlex.join(words)
    if shutil.which(words[0]) is None:
        is_there = os.path.lexists(words[0])
        return f"the program {words[0]} " + ("cannot be executed" if is_there else "is gone")
    try:
        done = subprocess.run(  # noqa: S603
            [*words, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            cwd=Path.home().anchor,
        )
    except subprocess.TimeoutExpired:
        return f"the program {quoted} does not answer within {PATIENCE} seconds"
    except OSError as error:  # its interpreter is gone, for example
        return f"the program {quoted} does not start: {error.strerror or error}"
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        return f"the program {quoted} does not run: {lines[-1][:LONGEST_LINE]}"
    return "" if done.stdout.startswith(NAME.encode()) else f"the program {quoted} is not backscroll"


def library_path(settings: Settings) -> Path:
    """Return the library's path in a form that is valid in any folder."""
    return Path(os.path.abspath(settings.library.expanduser()))  # noqa: PTH100 - links stay as named


PATIENCE: Final = 30
"""Seconds; a checkout may update its environment first."""
LONGEST_LINE: Final = 300
NAME: Final = "backscroll"
TOOL_MARKS: Final = ("uv-receipt.toml", "pipx_metadata.json")
"""Files of uv and pipx in an environment that they made for one program."""
