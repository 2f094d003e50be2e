"""Turn one line of a session file into a Record.

Decoding never raises: an unknown kind becomes an UnknownRecord that keeps its raw fields, and bytes that are not a JSON
object become a Problem. Joined, the `raw` of all items on a line is the line.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from backscroll.records import lenient
from backscroll.records.kinds import KnownRecord
from backscroll.records.large_values import MAX_PARTS, is_large
from backscroll.records.record import Record
from backscroll.records.salvage import RECORD_TYPES, salvage

ProblemKind = Literal["blank", "nul", "not-json", "damaged", "too-long", "unfinished"]


class Problem(Struct, frozen=True, gc=False, kw_only=True):
    """Bytes that are not a record.

    blank: white space only, which is harmless. nul: NUL bytes, left where a crash lost written data.
    not-json: no JSON object begins here. damaged: an object begins, and breaks off or apart. too-long: a line so
    long that it cannot be taken into memory, even with its long strings cut. unfinished: the last line of a file, which
    may still be being written.
    """

    kind: ProblemKind
    detail: str
    raw: bytes


def decode_line(line: bytes) -> Record | Problem:
    """Return the first item on the line, which is nearly always all of it.

    Where objects were glued together, or one broke off and the next was written behind it, the rest of the line
    begins after `raw`; `decode_all` returns that too.
    """
    try:
        record = FAST.decode(line)
    except NOT_FAST:
        return next(_decode_odd(line))
    force_setattr(record, "raw", line)
    return record


def decode_all(line: bytes) -> Sequence[Record | Problem]:
    """Return all items on the line, in order, at least one; their `raw` joined is the line."""
    try:
        record = FAST.decode(line)
    except NOT_FAST:
        return list(_decode_odd(line))
    force_setattr(record, "raw", line)
    return (record,)


def value_of(raw: Raw | bytes) -> Any:  # noqa: ANN401
    """Return the JSON value of an undecoded field. Never raises: an unreadable value is None."""
    try:
        return msgspec.json.decode(raw)
    except NOT_FAST:
        text = lenient.text_of(bytes(raw))
        try:
            return lenient.parse_at(text, _skip_blank(text, 0))[0]
        except (ValueError, RecursionError):
            return None


def readable_value(raw: Raw | bytes) -> Any:  # noqa: ANN401
    """Return the JSON value of a field for display; a value with too many parts is replaced by its size.

    A list of small numbers takes many times its bytes: once as values, and again when it is written line by line.
    """
    data = bytes(raw)
    if is_large(data):
        return {"not shown": f"{len(data):,} bytes with more than {MAX_PARTS:,} values; they are in the jsonl export"}
    return value_of(raw)


def fields_of(record: Record) -> dict[str, Any]:
    """Return all fields of a record, known or not, as plain JSON; none for a record that was not read from bytes."""
    value = value_of(record.raw)
    if value is None:
        # One field may be nested too deep to be read: then it alone is None.
        try:
            value = {name: value_of(raw) for name, raw in TOP.decode(record.raw).items()}
        except NOT_FAST:
            return {}
    return value if isinstance(value, dict) else {}


def _decode_odd(line: bytes) -> Iterator[Record | Problem]:
    """Decode on the slow path, for about one line in two thousand. Yields at least once."""
    text = lenient.text_of(line)
    begin = 0  # start of the next part, in text
    offset = 0  # start of the next part, in line
    budget = MAX_SCANS * len(text)
    while begin < len(text) or begin == 0:
        first = _skip_blank(text, begin)
        if first == len(text):
            yield _nothing(line[offset:])
            return
        try:
            record, end = _record_at(text, first)
        except (ValueError, RecursionError) as error:
            end, budget = _next_record(text, first + 1, budget)
            size = lenient.size_of(text[begin:end])
            detail = "nested too deep" if isinstance(error, RecursionError) else str(error)
            kind: ProblemKind = "damaged" if text[first] == "{" else "not-json"
            yield Problem(kind=kind, detail=detail, raw=line[offset : offset + size])
        else:
            # White space behind the last object belongs to it, so that it is no problem of its own.
            if SPACE_TO_THE_END.match(text, end):
                end = len(text)
            size = lenient.size_of(text[begin:end])
            force_setattr(record, "raw", line[offset : offset + size])
            yield record
        begin = end
        offset += size


def _record_at(text: str, begin: int) -> tuple[Record, int]:
    """Return the record at `begin`, and its end. ValueError or RecursionError if there is none."""
    if text[begin] != "{":
        raise ValueError("no JSON object begins here")
    fields, end = lenient.parse_at(text, begin)
    return salvage(fields, []), end


def _nothing(rest: bytes) -> Problem:
    if b"\0" in rest:
        return Problem(kind="nul", detail=f"{rest.count(0)} NUL bytes", raw=rest)
    return Problem(kind="blank", detail="an empty line", raw=rest)


def _next_record(text: str, begin: int, budget: int) -> tuple[int, int]:
    """Return the start of the next whole record after a damaged part, or the end; and the remaining search budget.

    A `{"` inside a JSON string would be written `{\\"`, so an apparent beginning of a record is one, or is an object
    nested in the damaged one: their contents and the text after them distinguish the two.
    """
    for match in BEGINNING.finditer(text, begin):
        try:
            fields, end = lenient.parse_at(text, match.start())
        except json.JSONDecodeError as error:
            budget -= error.pos - match.start()
        except (ValueError, RecursionError):
            budget -= DEEPEST
        else:
            budget -= end - match.start()
            follows = _skip_blank(text, end)
            if _looks_like_record(fields) and (follows == len(text) or text[follows] == "{"):
                return match.start(), budget
        if budget < 0:
            break
    return len(text), budget


def _looks_like_record(fields: dict[str, Any]) -> bool:
    name = fields.get("type")
    return isinstance(name, str) and (name in RECORD_TYPES or "sessionId" in fields or "uuid" in fields)


def _skip_blank(text: str, begin: int) -> int:
    blanks = BLANKS.match(text, begin)
    return blanks.end() if blanks else begin


FAST: Final[msgspec.json.Decoder[Record]] = msgspec.json.Decoder(KnownRecord)
TOP: Final = msgspec.json.Decoder(dict[str, Raw])
NOT_FAST: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
MAX_SCANS: Final = 4  # scans of a damaged line for a record in it: a bound on time
DEEPEST: Final = 1000  # least number of characters scanned before nesting is too deep
BEGINNING: Final = re.compile(r'\{"(?:parentUuid|logicalParentUuid|isSidechain|type|uuid|sessionId|leafUuid)":')
BLANKS: Final = re.compile("[\\s\0\ufeff]*")
SPACE_TO_THE_END: Final = re.compile(r"\s+\Z")
