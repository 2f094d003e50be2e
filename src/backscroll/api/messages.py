"""What was said in a chat, as plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from backscroll.api.rows import Item


@dataclass(frozen=True, slots=True)
class Usage(Item):
    """The tokens of an answer, as the API counted them."""

    COLUMNS: ClassVar = (
        "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
    )  # fmt: skip

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int


@dataclass(frozen=True, slots=True)
class Call(Item):
    """A tool call and its result."""

    COLUMNS: ClassVar = ("id", "name", "input", "state", "result", "diff")

    id: str
    name: str
    """The tool."""
    input: Any
    """Its input, as JSON; usually a dictionary."""
    state: str
    """`done`, `error`, `denied`, `interrupted`, `running` or `missing`."""
    result: str | None
    """Its result, as text; None if there is none."""
    diff: str | None
    """The change that it made to a file."""


@dataclass(frozen=True, slots=True)
class Message(Item):
    """A prompt, an answer, or an action of the client."""

    COLUMNS: ClassVar = (
        "id", "kind", "when", "text", "thinking", "model", "usage", "stop_reason", "calls", "uuids", "branch", "agent",
    )  # fmt: skip
    SHOWN: ClassVar = ("kind", "when", "text", "model")

    id: str
    kind: str
    """`prompt`, `answer`, `command`, `compact-summary` and so on."""
    when: datetime | None
    text: str
    thinking: str
    model: str | None
    usage: Usage | None
    stop_reason: str | None
    """Why an answer ended; None where the client never learned it."""
    calls: tuple[Call, ...]
    uuids: tuple[str, ...]
    """The rows that it was put together from."""
    branch: int | None
    """The branch that it was read from; None in an agent."""
    agent: str | None
    """The id of the agent that it was read from; None in the chat itself."""


def message_of(
    plain: Mapping[str, Any], when: datetime | None, *, branch: int | None = None, agent: str | None = None
) -> Message:
    """A message from what `--json` says of it, with its time as it is."""
    return Message(
        id=plain["id"],
        kind=plain["kind"],
        when=when,
        text=plain["text"],
        thinking=plain["thinking"],
        model=plain["model"],
        usage=Usage(**plain["usage"]) if plain["usage"] else None,
        stop_reason=plain["stop_reason"],
        calls=tuple(Call(**{name: call[name] for name in Call.COLUMNS}) for call in plain["calls"]),
        uuids=tuple(plain["uuids"]),
        branch=branch,
        agent=agent,
    )
