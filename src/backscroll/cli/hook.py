"""`backscroll hook`: called by the hooks of Claude Code. It returns at once, never fails, and never disturbs.

Not a command for people, and without click: it runs at the start and the end of every session.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from backscroll.disk import read_own
from backscroll.system import start_detached

DRAIN: Final = "import os\nwhile os.read(0, 65536): pass"
STARTED_BY: Final = "BACKSCROLL_STARTED_BY"
"""Variable that names the starter; as in `library.captures`, which takes too long to import."""
HINT: Final = (
    "Earlier conversations of this project can be recalled with the tools of backscroll: use recall before asking what "
    "may have been settled, similar_errors when something fails."
)


def run_hook(arguments: Sequence[str]) -> None:
    """Run a hook.

    `keep OPTIONS` archives and syncs in the background; `plugin OPTIONS` too, unless settings.json has our hooks.
    """
    what, *options = arguments or [""]
    try:
        if what == "hint":
            sys.stdout.write(f"{HINT}\n")
            sys.stdout.flush()
        elif what == "keep" or (what == "plugin" and not has_own_hooks(os.environ)):
            # -P: import nothing from the current folder, which may be any project.
            words = [sys.executable, "-P", "-m", "backscroll", "keep", "--quiet", "--sync", *options]
            detach(words, env={**os.environ, STARTED_BY: "hooks" if what == "keep" else what})
        read_input_in_background()
    except OSError as error:
        # No process to be had: the next hook or the timer archives what this one could not. The shell notes why.
        sys.exit(f"{type(error).__name__}: {error}")


def detach(words: Sequence[str], **streams: Any) -> None:  # noqa: ANN401 - of Popen
    """Start a program that outlives this process, its terminal and its folder."""
    start_detached(words, cwd=Path(Path.cwd().anchor), **streams)


def read_input_in_background() -> None:
    """Read the input from Claude Code, in a process of its own.

    Claude Code shows an error if its input to a hook is not read, and for some events it never closes its side.
    """
    if not sys.stdin.isatty():
        detach([sys.executable, "-I", "-S", "-c", DRAIN], stdin=None)


def has_own_hooks(environment: Any) -> bool:  # noqa: ANN401 - a mapping
    """Whether `backscroll install hooks` put hooks into the settings of this home."""
    from backscroll.library.setup.hooks import MARKER

    folder = environment.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude"
    try:
        return MARKER.encode() in read_own(Path(folder) / "settings.json")
    except OSError:
        return False
