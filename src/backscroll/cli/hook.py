"""`backscroll hook`: what the hooks of Claude Code call. It returns at once, never fails, and never disturbs.

Not a command for people, and without click: it runs at the start and the end of every session.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from backscroll.system import start_detached

DRAIN: Final = "import os\nwhile os.read(0, 65536): pass"
HINT: Final = (
    "Earlier conversations of this project can be recalled with the tools of backscroll: use recall before asking what "
    "may have been settled, similar_errors when something fails."
)


def run_hook(arguments: Sequence[str]) -> None:
    """`keep OPTIONS` archives and syncs in the background; `plugin OPTIONS` too, unless settings.json has our hooks."""
    what, *options = arguments or [""]
    try:
        if what == "hint":
            sys.stdout.write(f"{HINT}\n")
            sys.stdout.flush()
        elif what == "keep" or (what == "plugin" and not has_own_hooks(os.environ)):
            # -P: import nothing from the current folder, which may be any project.
            detach([sys.executable, "-P", "-m", "backscroll", "keep", "--quiet", "--sync", *options])
        read_input_in_background()
    except OSError:
        pass  # no process to be had: the next hook or the timer archives what this one could not


def detach(words: Sequence[str], **streams: Any) -> None:  # noqa: ANN401 - of Popen
    """Start a program that outlives this process, its terminal and its folder."""
    start_detached(words, cwd=Path(Path.cwd().anchor), **streams)


def read_input_in_background() -> None:
    """Read what Claude Code sends, in a process of its own.

    Claude Code shows an error if its input to a hook is not read, and for some events it never closes its side.
    """
    if not sys.stdin.isatty():
        detach([sys.executable, "-I", "-S", "-c", DRAIN], stdin=None)


def has_own_hooks(environment: Any) -> bool:  # noqa: ANN401 - a mapping
    """Whether `backscroll install hooks` put hooks into the settings of this home."""
    from backscroll.library.setup.install import MARKER

    folder = environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude"
    try:
        return MARKER.encode() in (Path(folder) / "settings.json").read_bytes()
    except OSError:
        return False
