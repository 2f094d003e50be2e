"""The content of messages: content blocks, API messages and token usage.

The wire names of everything inside a record's `message`. Records themselves are in `kinds`.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Raw, Struct

from backscroll.records.record import Id, Label, ModelName


class RecordPart(Struct, frozen=True, gc=False, kw_only=True):
    """Anything inside a record.

    `also` names fields that we know of and do not decode; `free` says that any field is allowed.
    """

    also: ClassVar[frozenset[str]] = frozenset()
    free: ClassVar[bool] = False


class Block(RecordPart, frozen=True, gc=False, kw_only=True, tag_field="type"):
    """A piece of a message's content."""


class Text(Block, frozen=True, gc=False, kw_only=True, tag="text"):
    """Text by the user or the model."""

    text: str = ""
    also: ClassVar[frozenset[str]] = frozenset({"citations", "cache_control"})


class Thinking(Block, frozen=True, gc=False, kw_only=True, tag="thinking"):
    """The model's reasoning. Empty since 2.1.101, where only its signature is written."""

    thinking: str = ""
    also: ClassVar[frozenset[str]] = frozenset({"signature", "cache_control"})


class RedactedThinking(Block, frozen=True, gc=False, kw_only=True, tag="redacted_thinking"):
    """Reasoning that only the API can read."""

    also: ClassVar[frozenset[str]] = frozenset({"data"})


class ToolUse(Block, frozen=True, gc=False, kw_only=True, tag="tool_use"):
    """A tool call. `input` stays JSON until it is needed: see `value_of`."""

    id: Id | None = None
    name: str | None = None
    input: Raw = Raw(b"{}")
    also: ClassVar[frozenset[str]] = frozenset({"caller", "cache_control"})


class ServerToolUse(ToolUse, frozen=True, gc=False, kw_only=True, tag="server_tool_use"):
    """A call that the API itself runs, such as a web search."""


class MediaSource(RecordPart, frozen=True, gc=False, kw_only=True):
    """The content of an image or document: `data` is its base64 as a JSON string, not decoded until needed."""

    type: str | None = None
    media_type: str | None = None
    data: Raw = Raw(b"null")
    url: str | None = None
    file_id: Id | None = None


class Image(Block, frozen=True, gc=False, kw_only=True, tag="image"):
    """A picture that was pasted, or that a tool returned."""

    source: MediaSource | None = None
    also: ClassVar[frozenset[str]] = frozenset({"cache_control"})


class Document(Block, frozen=True, gc=False, kw_only=True, tag="document"):
    """A PDF or text file given to the model."""

    source: MediaSource | None = None
    title: str | None = None
    also: ClassVar[frozenset[str]] = frozenset({"cache_control", "citations", "context"})


class ToolReference(Block, frozen=True, gc=False, kw_only=True, tag="tool_reference"):
    """A tool that was found by a tool search."""

    tool_name: str | None = None


class ToolResult(Block, frozen=True, gc=False, kw_only=True, tag="tool_result"):
    """The result that a tool returned to the model. Belongs to the call with the same id, wherever that call is."""

    tool_use_id: Id | None = None
    content: "Content" = ""
    is_error: bool = False
    also: ClassVar[frozenset[str]] = frozenset({"cache_control"})


class WebSearchResult(Block, frozen=True, gc=False, kw_only=True, tag="web_search_tool_result"):
    """The result of a web search that the API ran."""

    tool_use_id: Id | None = None
    content: Raw = Raw(b"null")
    also: ClassVar[frozenset[str]] = frozenset({"caller", "cache_control"})


class WebFetchResult(WebSearchResult, frozen=True, gc=False, kw_only=True, tag="web_fetch_tool_result"):
    """A page that the API fetched."""


class UnknownBlock(Block, frozen=True, gc=False, kw_only=True, tag="backscroll:unknown"):
    """A block of an unknown kind, with all of its fields. Only `salvage` creates it."""

    name: str
    fields: dict[str, Any]


if TYPE_CHECKING:
    Content = str | list[Block]
else:
    # The decoder needs every kind by name; a reader of the code needs only the base class.
    KnownBlock = (
        Text | Thinking | RedactedThinking | ToolUse | ServerToolUse | ToolResult | Image | Document | ToolReference
    ) | (WebSearchResult | WebFetchResult)
    Content = str | list[KnownBlock]


class CacheCreation(RecordPart, frozen=True, gc=False, kw_only=True):
    """Tokens written to the prompt cache, by their lifetime there."""

    ephemeral_5m_input_tokens: int = 0
    ephemeral_1h_input_tokens: int = 0


class ServerToolCounts(RecordPart, frozen=True, gc=False, kw_only=True):
    """Number of times that the API ran tools of its own."""

    web_search_requests: int = 0
    web_fetch_requests: int = 0
    also: ClassVar[frozenset[str]] = frozenset({"code_execution_requests", "tool_search_requests"})


class OutputDetails(RecordPart, frozen=True, gc=False, kw_only=True):
    """Uses of the output tokens."""

    thinking_tokens: int = 0


class Usage(RecordPart, frozen=True, gc=False, kw_only=True):
    """The tokens of one API response, as its row has them.

    Each row of a response repeats this, and up to about 2.1.96 the earlier rows hold placeholders: only the maximum
    over the rows of one message is a count.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolCounts | None = None
    service_tier: str | None = None
    speed: Label | None = None
    inference_geo: str | None = None
    output_tokens_details: OutputDetails | None = None
    also: ClassVar[frozenset[str]] = frozenset({"iterations", "cache_deleted_input_tokens", "fallback_credit"})


class UserMessage(RecordPart, frozen=True, gc=False, kw_only=True):
    """The message of a user row to the model: a prompt, tool results, or text made by the client."""

    role: str | None = None
    content: Content = ""


class AssistantMessage(RecordPart, frozen=True, gc=False, kw_only=True):
    """An API response, or one block of it: rows with one `id` are one message."""

    id: Id | None = None
    role: str | None = None
    model: ModelName | None = None
    content: Content = ""
    stop_reason: str | None = None
    usage: Usage | None = None
    also: ClassVar[frozenset[str]] = frozenset(
        {"type", "stop_sequence", "stop_details", "container", "context_management", "diagnostics"}
    )
