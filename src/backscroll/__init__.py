"""Keeps, finds, reads and counts every conversation a person had with Claude Code."""

from typing import TYPE_CHECKING

__all__ = [
    "Agent",
    "BackscrollError",
    "Branch",
    "Busy",
    "Call",
    "Chat",
    "Chats",
    "Items",
    "Library",
    "Message",
    "NothingFound",
    "Passage",
    "PullRequest",
    "Result",
    "Results",
    "Table",
    "Todo",
    "Usage",
    "UsageError",
    "__version__",
    "open",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from backscroll.api import (
        Agent,
        BackscrollError,
        Branch,
        Busy,
        Call,
        Chat,
        Chats,
        Items,
        Library,
        Message,
        NothingFound,
        Passage,
        PullRequest,
        Result,
        Results,
        Table,
        Todo,
        Usage,
        UsageError,
        open,  # noqa: A004 - read as backscroll.open
    )
else:

    def __getattr__(name: str) -> object:
        # Only on demand: the commands import this package too, and must start at once.
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from backscroll import api

        return globals().setdefault(name, getattr(api, name))

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
