"""The data of a chat page: what `render` needs to draw it, and where its links lead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch
from backscroll.conversation.overview import Overview
from backscroll.render.html.element import Html
from backscroll.render.html.time_limit import Clock

Detail = Literal["everything", "normal", "talk"]


class Links(Protocol):
    """Link targets. The viewer has all of them, an exported file some; None means no link."""

    def message(self, message: str) -> str:
        """A message of this chat, by its id."""

    def agent(self, agent: str) -> str | None:
        """A sub-agent's own page."""

    def agent_messages(self, agent: str) -> str | None:
        """A fragment with a sub-agent's messages, to be inserted into the page."""

    def picture(self, row: str, number: int) -> str | None:
        """An image, by its row and its index in that row."""

    def raw(self, row: str) -> str | None:
        """The raw row."""

    def prompt(self, message: str) -> str | None:
        """The form that saves a prompt to be used again."""

    def whole(self, call: str) -> str | None:
        """A fragment with a tool call and its result in full, if the page truncates it."""

    def file(self, path: str) -> str | None:
        """The history of a file."""


@dataclass(frozen=True)
class View:
    """How messages are shown, and facts that are not in the messages themselves."""

    links: Links
    costs: Mapping[str, int | None] = field(default_factory=dict)
    """The cost of answers in nanodollars, by message id; None if no price is known."""
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """Sub-agents by the id of the call that started them."""
    inline: Mapping[str, Html] = field(default_factory=dict)
    """The messages of agents, by agent id, if they are part of the page (in exported files)."""
    whole: bool = False
    """Whether long inputs and outputs are shown in full."""
    clock: Clock | None = None
    """Measures how long highlighting takes."""
    local: Callable[[datetime], datetime] | None = None
    """Gives a moment in the reader's time zone. With it, messages have clock times, and dividers have their dates."""
    forks: Mapping[str, "Fork"] = field(default_factory=dict)
    """Rewinds, by the id of the first message of each branch."""
    author: str = "You"
    """Who typed the prompts."""


@dataclass(frozen=True)
class Fork:
    """The branches that continue from one point."""

    here: int
    """The index of the shown branch."""
    ways: Sequence[tuple[int, str, str]]
    """For each, in order of time: the branch number, its first message, and the text of that message."""
    compare: str | None = None
    """The page that compares branches, without its query; None where there is none."""


@dataclass(frozen=True)
class BranchOrigin:
    """Where a branch left another one."""

    number: int
    parent: int | None
    """The branch that it left; None if it begins on its own."""
    text: str
    """The last prompt before."""


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
    """The chunk that contains it."""
    messages: int = 0
    """How many messages are in its turn."""
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """The tokens of the context at the end of its turn."""
    model: str | None = None
    """The model that gave its last answer."""
    cost: int | None = None
    """The cost of its turn in nanodollars; None if no price is known."""


@dataclass(frozen=True)
class MessageChunk:
    """About a hundred messages that are loaded together."""

    number: int
    """From 0."""
    first: str
    """The id of its first message."""
    messages: int
    """The number of messages, approximately."""


@dataclass(frozen=True)
class ChatPageData:
    """The data of a chat's page."""

    overview: Overview
    title: str
    branch: int
    branches: Sequence[Branch]
    agents: Sequence[Agent]
    outline: Sequence[OutlineItem] | None
    """None if it is so long that the page loads it later."""
    chunks: Sequence[MessageChunk]
    filled: Mapping[int, Html]
    """The messages of the chunks that the page starts with."""
    links: Links
    agent_messages: Html | None = None
    """What the first agent said, where the session's own file is not there."""
    cursor: str = ""
    """Marks how much of the chat the page has, to request what is newer."""
    is_live: bool = False
    is_archived: bool = False
    is_pinned: bool = False
    tags: Sequence[str] = ()
    notes: Sequence[str] = ()
    tokens: int = 0
    cost: int | None = None
    """The total cost in nanodollars."""
    resume: str | None = None
    """The command that resumes it."""
    origins: Sequence[BranchOrigin] = ()
    """Where its branches left each other: all but the first."""
    holders: Sequence[str] = ()
    """The databases and logs of early clients that it is from."""
    state: Literal["idle", "working", "waiting"] = "idle"
    """Of a live chat: whether Claude is working or waiting for the user."""
