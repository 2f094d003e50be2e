"""Cited passages: their sources, and their cost in tokens."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from backscroll.library.memory.budget import in_lines
from backscroll.query.tree import Field, Part
from backscroll.store.batches import EPOCH
from backscroll.store.reader import Hit, StoredChat

DEFAULT_TOKENS: Final = 2000
FEWEST_TOKENS: Final = 200
"""Smaller budgets are raised to this one, which is just enough for one useful passage with its source."""
HEADING: Final = 84
"""Tokens that a door may add around an answer. The longest is that of an MCP tool, which explains its quotations."""
AROUND_PASSAGE: Final = 57
"""Tokens that a door may add around a passage, such as its time, besides its source and text. MCP needs the most, for
the names of its fields and the frame; text needs 36, but a budget holds the same passages in every format.
"""
A_LINE: Final = 3
"""Tokens that a door may add around each line of a passage."""


@dataclass(frozen=True)
class Citation:
    """The source of a passage."""

    chat: str
    title: str
    project: str | None
    message: str
    when: datetime | None
    role: str
    agent: str | None = None


@dataclass(frozen=True)
class RecalledPassage:
    """A passage. `why` has the words that it has in common with the question."""

    source: Citation
    text: str
    is_cut: bool
    score: float
    why: tuple[str, ...]


def source_of(hit: Hit, chat: StoredChat) -> Citation:
    """Return the citation of a passage."""
    when = EPOCH + timedelta(microseconds=hit.time) if hit.time is not None else None
    role = "error" if hit.is_error else str(hit.role)
    title = " ".join(chat.overview.title.split())[:LONGEST_TITLE]
    return Citation(chat.overview.id, title, chat.overview.project, hit.uuid or "", when, role, hit.agent)


def cost_of(passage: RecalledPassage) -> int:
    """Return an upper bound for the tokens of a passage with its source in an answer."""
    source = passage.source
    project = (source.project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    labels = (source.title, project[:LONGEST_PROJECT], source.chat[:ID], source.message[:ID], source.role)
    return AROUND_PASSAGE + sum(in_lines(label, 0) for label in labels) + in_lines(passage.text, A_LINE)


def times(since: datetime | None, until: datetime | None) -> tuple[Part, ...]:
    """Return the time restrictions of a query."""
    after = () if since is None else (Field("after", ">=", since),)
    return after if until is None else (*after, Field("before", "<", until))


def is_project(wanted: str, project: str | None) -> bool:
    """Whether a project is the wanted one, or above or below it; a name is enough."""
    if not project:
        return False
    ours, theirs = wanted.rstrip("/\\"), project.rstrip("/\\")
    if "/" not in ours:
        return ours.lower() in theirs.lower()
    return ours == theirs or theirs.startswith(f"{ours}/") or ours.startswith(f"{theirs}/")


LONGEST_TITLE: Final = 60
LONGEST_PROJECT: Final = 30
ID: Final = 8
"""Number of characters of an id in texts: enough to find it."""
