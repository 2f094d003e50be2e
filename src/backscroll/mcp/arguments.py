"""Arguments that several tools share, and how arguments are validated."""

from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from backscroll.errors import UsageError
from backscroll.query.parse import MAX_LENGTH
from backscroll.render.validation import validation_message

LEAST_TOKENS: Final = 600
MAX_TOKENS: Final = 50_000
USUAL_TOKENS: Final = 2_000

MaxTokens = Annotated[int, Meta(ge=LEAST_TOKENS, le=MAX_TOKENS, description="Limit of the answer, in tokens.")]
Offset = Annotated[int, Meta(ge=0, le=10_000_000, description="How many results to skip, to continue a cut answer.")]
Query = Annotated[str, Meta(max_length=MAX_LENGTH)]
Id = Annotated[str, Meta(min_length=4, max_length=128, pattern="^[A-Za-z0-9][A-Za-z0-9_.:-]*$")]
IdOrNone = Annotated[str, Meta(max_length=128, pattern="^([A-Za-z0-9][A-Za-z0-9_.:-]*)?$")]
Since = Annotated[str, Meta(max_length=64, description="Start of the period: 2026-01-05, yesterday, 7d.")]
Until = Annotated[
    str, Meta(max_length=64, description="End of the period, a day (inclusive) or a time: 2026-01-05, 2d.")
]
IncludeCurrent = Annotated[bool, Meta(description="Include the chat you are in.")]


class ToolArguments(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The arguments that every tool takes."""

    max_tokens: MaxTokens = USUAL_TOKENS


Arguments = TypeVar("Arguments", bound=ToolArguments)


def read_arguments(kind: type[Arguments], given: dict[str, Any] | None) -> Arguments:
    """Return the arguments of a call, or raise an error that says which one is wrong."""
    # Some clients send null for omitted arguments.
    named = {name: value for name, value in (given or {}).items() if value is not None}
    try:
        return msgspec.convert(named, kind, strict=False)
    except msgspec.ValidationError as error:
        names = ", ".join(kind.__struct_fields__)
        problem = validation_message(str(error), missing="is missing", unknown="is not an argument of this tool")
        raise UsageError(problem, f"the arguments are {names}; see the tool's input schema") from error
