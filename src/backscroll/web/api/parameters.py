"""The parameters of the endpoints, with their limits: for the handlers and for the OpenAPI description."""

from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta, Struct

from backscroll.errors import UsageError
from backscroll.query.parse import MAX_LENGTH
from backscroll.render.validation import validation_message

Name = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]*$",
        description="The id of a chat, or of a session, message or agent in it. A prefix is enough.",
    ),
]
Text = Annotated[str, Meta(max_length=MAX_LENGTH)]
Query = Annotated[Text, Meta(description="A query, as `backscroll search` takes it.")]
Offset = Annotated[int, Meta(ge=0, le=10_000_000, description="How many results to skip.")]
Since = Annotated[str, Meta(max_length=64, description="Start of the period: 2026-01-05, yesterday, 7d.")]
Until = Annotated[str, Meta(max_length=64, description="End of the period: a day (inclusive) or a time.")]
ReportName = Literal[
    "overview", "usage", "spend", "blocks", "time", "prompts", "chats", "topics", "activity", "tools", "errors",
    "sequences", "files", "folders", "context", "cache",
]  # fmt: skip


class NoParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class ChatsParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Which chats."""

    q: Query = ""
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many results to return at most.")] = 100
    offset: Offset = 0
    sort: Literal["newest", "oldest"] = "newest"


class ChatParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Which chat."""

    id: Name


class MessagesParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Which messages of a chat."""

    id: Name
    branch: Annotated[
        int, Meta(ge=0, le=1_000_000, description="The branch; 1 is the active one, 0 that of a session.")
    ] = 0
    agent: Annotated[str, Meta(max_length=128, description="Messages of this agent instead; its full id.")] = ""
    offset: Offset = 0
    limit: Annotated[int, Meta(ge=1, le=500, description="How many results to return at most.")] = 100


class CompareParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """Which branches of a chat."""

    id: Name
    left: Annotated[int, Meta(ge=1, le=1_000_000, description="A branch; 1 is the active one.")] = 1
    right: Annotated[int, Meta(ge=1, le=1_000_000, description="Another branch.")] = 2


class SearchParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """A search."""

    q: Annotated[Query, Meta(min_length=1)]
    limit: Annotated[int, Meta(ge=1, le=100, description="How many chats to return at most.")] = 20
    offset: Offset = 0
    cursor: Annotated[
        str,
        Meta(max_length=100_000, description="The cursor of the page before, to go on after it, not offset."),
    ] = ""
    sort: Literal["relevance", "newest", "oldest"] = "relevance"
    hits: Annotated[int, Meta(ge=1, le=100, description="How many passages to return per chat.")] = 3


class ReportParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """A report and its scope."""

    report: ReportName
    q: Query = ""
    by: Annotated[str, Meta(max_length=32, description="What to group by, as on the command line.")] = ""
    period: Annotated[
        str, Meta(max_length=64, description="2026, 2026-01, 2026-W05, 2026-01-05, today, yesterday, or from..to.")
    ] = ""
    since: Since = ""
    until: Until = ""
    limit: Annotated[int, Meta(ge=1, le=10_000, description="How many rows to return at most.")] = 1000


Parameters = TypeVar("Parameters", bound=Struct)


def read_parameters(kind: type[Parameters], path: dict[str, Any], query: bytes) -> Parameters:
    """The parameters of a request, or an error that says which one is wrong."""
    fields = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace"))
    if doubled := sorted(path.keys() & fields.keys()):
        raise UsageError(f"{doubled[0]} is part of the path", "remove it from the query string")
    try:
        return msgspec.convert({**fields, **path}, kind, strict=False)
    except msgspec.ValidationError as error:
        problem = validation_message(str(error), missing="is missing", unknown="is not a parameter of this endpoint")
        raise UsageError(problem, HINT) from error


HINT: Final = "see /api/v1/openapi.json for the parameters"
