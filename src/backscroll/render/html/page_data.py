"""The data of a chat page: everything that `render` needs to draw it, and the addresses of its links."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.overview import Overview
from backscroll.render.html.element import Html
from backscroll.render.html.time_limit import Clock

Detail = Literal["everything", "normal", "talk"]
ChatState = Literal["idle", "working", "waiting", "permission"]


class Links(Protocol):
    """Addresses of links. The viewer has all of them, an exported file some; None means no link."""

    def message(self, message: str) -> str:
        """Address of a message of this chat, by its id."""

    def agent(self, agent: str) -> str | None:
        """Address of a sub-agent's own page."""

    def agent_messages(self, agent: str) -> str | None:
        """Address of a fragment with a sub-agent's messages, to be inserted into the page."""

    def picture(self, row: str, number: int) -> str | None:
        """Address of an image, by its row and its index in that row."""

    def raw(self, row: str) -> str | None:
        """Address of the raw row."""

    def prompt(self, message: str) -> str | None:
        """Address of the form that saves a prompt to be used again."""

    def whole(self, call: str) -> str | None:
        """Address of a fragment with a tool call and its result in full, if the page truncates it."""

    def file(self, path: str) -> str | None:
        """Address of the history of a file."""


@dataclass(frozen=True)
class View:
    """The way messages are shown, and facts that are not in the messages themselves."""

    links: Links
    costs: Mapping[str, int | None] = field(default_factory=dict)
    """Cost of answers in nanodollars, by message id; None if no price is known."""
    agents: Mapping[str, Sequence[Agent]] = field(default_factory=dict)
    """Sub-agents by the id of the call that started them."""
    inline: Mapping[str, Html] = field(default_factory=dict)
    """The messages of agents, by agent id, if they are part of the page (in exported files)."""
    whole: bool = False
    """Whether long inputs and outputs are shown in full."""
    clock: Clock | None = None
    """Clock that measures how long highlighting takes."""
    local: Callable[[datetime], datetime] | None = None
    """Function that converts a time to the reader's zone. With it, messages have clock times, and dividers have their
    dates."""
    forks: Mapping[str, "Fork"] = field(default_factory=dict)
    """Rewinds, by the id of the first message of each branch."""
    author: str = "You"
    """Author of the prompts."""


@dataclass(frozen=True)
class Fork:
    """The branches that continue from one point."""

    here: int
    """The index of the shown branch."""
    ways: Sequence[tuple[int, str, str]]
    """For each way, in order of time: the branch number, its first message, and the text of that message."""
    compare: str | None = None
    """The page that compares branches, without its query; None where there is none."""
    is_rewind: bool = True
    """Whether the user went back inside a session; else the ways are sessions of their own."""


@dataclass(frozen=True)
class BranchOrigin:
    """The place where a branch left another one."""

    number: int
    parent: int | None
    """Branch that it left; None if it begins on its own."""
    text: str
    """Text of the last prompt before."""


@dataclass(frozen=True)
class OutlineItem:
    """A prompt, or a compaction, in the outline of a chat."""

    id: str
    """Id of the message."""
    kind: str
    """`prompt`, `command`, `shell` or `compaction`."""
    text: str
    when: datetime | None
    chunk: int
    """Number of the chunk that contains the message."""
    messages: int = 0
    """Number of messages in the turn."""
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """Tokens of the context at the end of the turn."""
    model: str | None = None
    """Model that gave the last answer of the turn."""
    cost: int | None = None
    """Cost of the turn in nanodollars, with the agents that were started in it; None if no price is known."""
    agents_cost: int | None = 0
    """Part of the cost that agents used."""
    is_lower_bound: bool = False
    """Whether the cost is a lower bound: the final output count of an answer in it is not known."""


@dataclass(frozen=True)
class MessageChunk:
    """About a hundred messages that are loaded together."""

    number: int
    """Number of the chunk, from 0."""
    first: str
    """Id of its first message."""
    messages: int
    """Number of messages, approximately."""


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
    """Messages of the chunks that the page starts with."""
    links: Links
    agent_messages: Html | None = None
    """Messages of the first agent, where the session's own file is not there."""
    cursor: str = ""
    """Position in the chat up to which the page has it, to request newer messages."""
    is_live: bool = False
    is_archived: bool = False
    is_pinned: bool = False
    tags: Sequence[str] = ()
    notes: Sequence[str] = ()
    tokens: int = 0
    cost: int | None = None
    """Total cost in nanodollars."""
    unrecorded_tokens: int = 0
    unrecorded_cost: int | None = None
    """Usage of requests without a record, which the total does not have."""
    resume: str | None = None
    """Command that resumes the chat."""
    origins: Sequence[BranchOrigin] = ()
    """Where its branches left each other: all but the first."""
    holders: Sequence[str] = ()
    """Databases and logs of early clients that the chat is from."""
    state: ChatState = "idle"
    """State of a live chat: whether Claude is working or waiting for the user, or for a permission."""
    asked_tool: str = ""
    """Tool that waits for a permission."""
