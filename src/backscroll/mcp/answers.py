"""Answers of tools: structured data and the same as compact text, within a limit of tokens."""

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from backscroll.library.memory.budget import tokens_of

MIN_PIECE_LENGTH: Final = 40
"""Shortest piece of a text worth returning, unless nothing more fits."""

LARGER: Final = "use a larger max_tokens, or read around a message with read"
"""Advice on how to get the rest of an answer without pages."""

Quoted = Annotated[str, Meta(description="A framed quotation; simple names have no frame.")]
Time = Annotated[str, Meta(description="UTC.")]


class ToolAnswer(Struct, kw_only=True, omit_defaults=True):
    """The fields that all answers share."""

    note: Annotated[str, Meta(description="How quotations are framed.")]
    cut: Annotated[bool, Meta(description="Whether the answer was cut.")] = False
    rest: Annotated[str, Meta(description="How to get the rest.")] = ""
    pending: Annotated[str, Meta(description="What is not indexed yet.")] = ""


Made = TypeVar("Made", bound=ToolAnswer)


def rest_of(reached: int, total: int, what: str = "more") -> str:
    """Return how to get the next page; empty if there is none."""
    return f"{total - reached} {what}: call again with offset={reached}" if reached < total else ""


def fit(
    make: Callable[[int, int | None], Made],
    count: int,
    max_tokens: int,
    length_of: Callable[[int], int] = lambda _: 0,
) -> Made:
    """Return the longest answer that fits.

    `make(count, last)` makes it from the first `count` items, the last one cut to `last` characters if given.
    `length_of` is the length of an item's text; 0 for an item that cannot be cut.
    """
    whole = make(count, None)
    if fits(whole, max_tokens):
        return whole
    best: Made | None = None
    low, high = 0, count - 1
    while low <= high:
        middle = (low + high) // 2
        made = make(middle, None)
        if fits(made, max_tokens):
            best, low = made, middle + 1
        else:
            high = middle - 1
    taken = low - 1 if best is not None else 0
    longest = length_of(taken) if taken < count else 0
    least = MIN_PIECE_LENGTH if taken else 1
    low, high = least, min(longest - 1, max_tokens * 8)
    while low <= high:
        middle = (low + high) // 2
        made = make(taken + 1, middle)
        if fits(made, max_tokens):
            best, low = made, middle + 1
        else:
            high = middle - 1
    return best if best is not None else _bare(whole)


def _bare(answer: Made) -> Made:
    """Return the answer without items: not even the first fits."""
    fields = msgspec.structs.asdict(answer)
    empty: dict[str, Any] = {name: [] for name, value in fields.items() if isinstance(value, list)}
    rest = "Nothing fits: call again with a larger max_tokens."
    return msgspec.structs.replace(answer, cut=True, rest=rest, pending="", **empty)


def fits(answer: ToolAnswer, max_tokens: int) -> bool:
    """Whether both forms of an answer are within the limit: a client shows its model one or the other."""
    plain = plain_of(answer)
    text = msgspec.json.encode(plain).decode()
    if len(text) > max_tokens * 12:
        return False  # not worth counting
    return tokens_of(text) <= max_tokens and tokens_of(text_of(plain)) <= max_tokens


def plain_of(answer: ToolAnswer) -> dict[str, Any]:
    """Return an answer as plain data."""
    return msgspec.to_builtins(answer)  # type: ignore[no-any-return]


def text_of(plain: dict[str, Any]) -> str:
    """Return plain data as compact text, for clients that show their model only text."""
    lines = [plain["note"]]
    for name, value in plain.items():
        if name not in LAST and name != "note":
            lines += _lines(name, value, "")
    lines += [f"{name}: {_scalar(plain[name])}" for name in LAST if name in plain]
    return "\n".join(lines)


def _lines(name: str, value: Any, indent: str) -> list[str]:  # noqa: ANN401 - whatever an answer holds
    if isinstance(value, dict):
        return [f"{indent}{name}:", *_fields(value, indent + " ")]
    if not isinstance(value, list):
        return [f"{indent}{name}: {_scalar(value)}"]
    if not any(isinstance(item, (dict, list)) for item in value):
        return [f"{indent}{name}: {' | '.join(map(_scalar, value)) or '-'}"]
    lines = [f"{indent}{name}:"]
    for item in value:
        if isinstance(item, dict):
            first, *others = _fields(item, indent + " ") or [""]
            lines += [f"{indent}-{first[len(indent) :]}", *others]
        else:
            lines.append(f"{indent}- {' | '.join(map(_scalar, item))}")
    return lines


def _fields(value: dict[str, Any], indent: str) -> list[str]:
    """Return short fields on one line, the others below."""
    short = [
        f"{name} {_scalar(item)}"
        for name, item in value.items()
        if not isinstance(item, (dict, list)) and name not in LONG_FIELDS
    ]
    lines = [indent + ", ".join(short)] if short else []
    for name, item in value.items():
        if isinstance(item, (dict, list)) or name in LONG_FIELDS:
            lines += _lines(name, item, indent)
    return lines


def _scalar(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


LAST: Final = ("pending", "cut", "rest")
LONG_FIELDS: Final = frozenset({"text", "error"})


def schema_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a struct, with the struct itself at the root, as the protocol requires."""
    whole = msgspec.json.schema(kind)
    definitions = whole["$defs"]
    root = definitions.pop(whole["$ref"].rpartition("/")[2])
    for shape in (root, *definitions.values()):
        shape.pop("title", None)
        shape.pop("description", None)
    return {**root, "$defs": definitions} if definitions else root
