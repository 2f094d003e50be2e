"""What is handed over to be shown: a chat as its page needs it, and where things on it lead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from backscroll.conversation import Agent, Branch, Overview
from backscroll.render.html.element import Html
from backscroll.render.html.time_limit import Clock

Detail = Literal["everything", "normal", "talk"]


class Links(Protocol):
    """Where things lead. The viewer has addresses for all of them, an exported file for some; None is for none."""

    def message(self, message: str) -> str:
        """A message of this chat, by its id."""

    def agent(self, agent: str) -> str | None:
        """A sub-agent's own page."""

    def agent_messages(self, agent: str) -> str | None:
        """What a sub-agent said, as a fragment to be put into the page."""

    def picture(self, row: str, number: int) -> str | None:
        """A picture: the row that it stands in, and which of the pictures in that row it is, from 0."""

    def raw(self, row: str) -> str | None:
        """The row as it was written."""

    def whole(self, call: str) -> str | None:
        """All of a tool call and its result, as a fragment, where the page shows only the beginning."""

    def file(self, path: str) -> str | None:
        """What happened to a file."""


@dataclass(frozen=True)
class View:
    """How messages are shown, and what is known of them that they do not say themselves."""

    links: Links
    costs: Mapping[str, int | None] = field(default_factory=dict)
    """What answers cost, in nanodollars, by message id; None where no price is known."""
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """Sub-agents by the id of the call that started them."""
    inline: Mapping[str, Html] = field(default_factory=dict)
    """What agents said, by agent id, where it is to stand in the page already (in exported files)."""
    whole: bool = False
    """Whether long inputs and outputs are shown to their end."""
    clock: Clock | None = None
    """What measures how long the colours of code take."""
    forks: Mapping[str, "Fork"] = field(default_factory=dict)
    """Where a rewind happened: by the id of the message that each way begins with."""


@dataclass(frozen=True)
class Fork:
    """The ways that lead on from one point. Each begins with another message."""

    here: int
    """Which of them is shown, from 0."""
    ways: Sequence[tuple[int, str, str]]
    """Of each, in the order of time: the branch to be shown, the message that it begins with, how that reads."""


@dataclass(frozen=True)
class OutlineItem:
    """A prompt, or a compaction, in the outline of a chat."""

    id: str
    """The message."""
    kind: str
    """`prompt`, `command`, `shell` or `compaction`."""
    text: str
    when: datetime | None
    chunk: int
    """The chunk that it stands in."""
    messages: int = 0
    """How many messages are in its turn."""
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """The tokens of the context at the end of its turn."""
    cost: int | None = None
    """What its turn cost, in nanodollars; None where a price is not known."""


@dataclass(frozen=True)
class MessageChunk:
    """About a hundred messages, which are loaded together."""

    number: int
    """From 0."""
    first: str
    """The id of its first message."""
    messages: int
    """How many, about."""


@dataclass(frozen=True)
class ChatPageData:
    """A chat, as its page shows it."""

    overview: Overview
    title: str
    branch: int
    branches: Sequence[Branch]
    agents: Sequence[Agent]
    outline: Sequence[OutlineItem] | None
    """None where it is so long that it is to come after the messages."""
    chunks: Sequence[MessageChunk]
    filled: Mapping[int, Html]
    """The messages of those chunks that are in the page from the beginning."""
    links: Links
    cursor: str = ""
    """How much of the chat is shown: what is newer is asked for with it."""
    is_live: bool = False
    is_archived: bool = False
    is_pinned: bool = False
    tags: Sequence[str] = ()
    notes: Sequence[str] = ()
    tokens: int = 0
    cost: int | None = None
    """What all of it cost, in nanodollars."""
    resume: str | None = None
    """The command that goes on with it."""
    state: Literal["idle", "working", "waiting"] = "idle"
    """Of a live chat: whether a tool or the model is at work, or the user is waited for."""
