"""Open a terminal of the desktop that resumes a session.

The terminal runs `backscroll resume SESSION --run`, word by word: the only part of a transcript on that command line is
the id of the session, which has the form of a UUID. The folder is looked up again there, and never goes through a
shell.
"""

import os
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from backscroll.errors import BackscrollError, UsageError
from backscroll.files.layout import is_session_id
from backscroll.library.chats.resume import Resume, obstacle
from backscroll.settings import Settings
from backscroll.system import start_detached

TERMINALS: Final = (
    ("x-terminal-emulator", "-e"),
    ("gnome-terminal", "--"),
    ("ptyxis", "--"),
    ("kgx", "--"),
    ("konsole", "-e"),
    ("xfce4-terminal", "-x"),
    ("mate-terminal", "-x"),
    ("ghostty", "-e"),
    ("kitty",),
    ("alacritty", "-e"),
    ("wezterm", "start", "--"),
    ("foot",),
    ("xterm", "-e"),
)
"""Terminals of Linux desktops, each with the words before a command."""
MACOS: Final = (
    "osascript",
    *("-e", "on run argv"),
    *("-e", 'tell application "Terminal"'),
    *("-e", "activate"),
    *("-e", "do script (item 1 of argv)"),
    *("-e", "end tell"),
    *("-e", "end run"),
)
"""Terminal of macOS takes a command as one line."""
HINT: Final = "copy the command instead"


def find_terminal(
    settings: Settings,
    environment: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
    which: Callable[[str], str | None] = shutil.which,
) -> tuple[str, ...] | None:
    """Return the words that start a terminal: as set by the user, else of this desktop; None if there is none."""
    if settings.is_demo:
        return None
    if settings.terminal is not None:
        return settings.terminal if settings.terminal and which(settings.terminal[0]) else None
    if platform == "darwin":
        return MACOS if which(MACOS[0]) else None
    if platform != "linux" or not (environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")):
        return None
    return next((words for words in TERMINALS if which(words[0])), None)


def words_to_run(terminal: Sequence[str], resume: Resume, settings: Settings, homes: Sequence[Path]) -> list[str]:
    """Return the command that opens a terminal and resumes a session in it."""
    if not is_session_id(resume.session):
        raise UsageError("the id of this session is not one that Claude Code gives", HINT)
    # -P: no module in the terminal's folder can replace a part of backscroll.
    program = [sys.executable, "-P", "-m", "backscroll", "resume", resume.session, "--run"]
    program += ["--library", str(settings.library.absolute())]
    for home in homes:
        program += ["--home", str(home.absolute())]
    return [*terminal, shlex.join(program)] if tuple(terminal) == MACOS else [*terminal, *program]


def open_terminal(resume: Resume, settings: Settings, homes: Sequence[Path]) -> None:
    """Open a terminal that resumes a session; raises an error if that is not possible here."""
    terminal = find_terminal(settings)
    if terminal is None:
        raise UsageError("there is no terminal to open", f"{HINT}, or name one: terminal in [web] in the settings")
    if (missing := obstacle(resume)) is not None:
        raise BackscrollError(missing, HINT)
    words = words_to_run(terminal, resume, settings, homes)
    try:
        process = start_detached(words, cwd=Path.home())  # the user's own terminal, with words that were checked
    except OSError as error:
        raise BackscrollError(f"cannot start {terminal[0]}: {error.strerror}", HINT) from error
    threading.Thread(target=process.wait, daemon=True).start()  # reap the process, so that it does not stay as a zombie
