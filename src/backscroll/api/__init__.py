"""The Python API, a door: what `import backscroll` gives to a program. Described in docs/reference/python.md."""

from backscroll.api.chats import Agent, Branch, Chat, Chats, PullRequest, Todo
from backscroll.api.library import Library, open  # noqa: A004 - read as backscroll.open
from backscroll.api.messages import Call, Message, Usage
from backscroll.api.results import Passage, Result, Results
from backscroll.api.rows import Items, Table
from backscroll.errors import BackscrollError, Busy, NothingFound, UsageError

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
    "open",
]
