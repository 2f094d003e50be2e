"""What can go wrong in a way that the user can act on.

    BackscrollError      1   it failed
    ├── UsageError       2   the command was not understood
    ├── NothingFound     3   there is nothing to answer with
    └── Busy             4   somebody else is at work here

Odd data is never an exception: it is a Problem, counted and reported. Each class has its exit code here, and nowhere
else; each error carries the next step as a hint. A door catches BackscrollError once.
"""

from typing import ClassVar, Final

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C."""


class BackscrollError(Exception):
    """Something failed; `hint` says what to do next."""

    kind: ClassVar[str] = "failure"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.add_note(f"next: {hint}")  # for whoever sees a traceback


class UsageError(BackscrollError):
    """The command, an option or a setting makes no sense."""

    kind = "usage"
    exit_code = 2


class NothingFound(BackscrollError):  # noqa: N818 - it is what the user reads
    """The question was fine, and there is nothing to answer it with."""

    kind = "nothing-found"
    exit_code = 3


class Busy(BackscrollError):  # noqa: N818
    """Another process holds what is needed."""

    kind = "busy"
    exit_code = 4
