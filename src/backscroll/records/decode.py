"""Turn one line of a session file into a Record.

Decoding never raises: a kind we have not met becomes an UnknownRecord that keeps its raw fields, and what is not a
JSON object becomes a Problem. Together, the `raw` of all that stands on a line is the line.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from backscroll.records import lenient
from backscroll.records.kinds import KnownRecord, Record
from backscroll.records.salvage import RECORD_TYPES, salvage

ProblemKind = Literal["blank", "nul", "not-json", "damaged", "too-long", "unfinished"]


class Problem(Struct, frozen=True, gc=False, kw_only=True):
    """Bytes that are no record.

    blank: white space only, which is harmless. nul: NUL bytes, left where a crash lost what was written.
    not-json: no JSON object begins here. damaged: an object begins, and breaks off or apart. too-long: a line so
    long that it cannot be taken into memory, even with its long strings cut. unfinished: the last line of a file, which
    may still be being written.
    """

    kind: ProblemKind
    detail: str
    raw: bytes


def decode_line(line: bytes) -> Record | Problem:
    """What stands first on the line, which is nearly always all of it.

    Where objects were glued together, or one broke off and the next was written behind it, the rest of the line
    begins after `raw`; `decode_all` gives that too.
    """
    try:
        record = FAST.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return next(_decode_odd(line))
    force_setattr(record, "raw", line)
    return record


def decode_all(line: bytes) -> Iterator[Record | Problem]:
    """Everything on the line, in order; joined, their `raw` is the line."""
    try:
        record = FAST.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        yield from _decode_odd(line)
    else:
        force_setattr(record, "raw", line)
        yield record


def value_of(raw: Raw | bytes) -> Any:  # noqa: ANN401
    """The JSON value of a field that was left undecoded. Never raises: what cannot be read is None."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return lenient.parse_at(lenient.text_of(bytes(raw)), 0)[0]
        except (ValueError, RecursionError):
            return None


def fields_of(record: Record) -> dict[str, Any]:
    """All fields of a record, known or not, as plain JSON values; none for a record that was not read from bytes."""
    value = value_of(record.raw.lstrip(BLANK).removeprefix(BYTE_ORDER_MARK))
    return value if isinstance(value, dict) else {}


def _decode_odd(line: bytes) -> Iterator[Record | Problem]:
    """The slow path, for about one line in two thousand. Yields at least once."""
    text = lenient.text_of(line)
    begin = 0  # of the part that comes next, in text
    offset = 0  # the same in line
    attempts = MOST_ATTEMPTS
    while True:
        first = _skip_blank(text, begin)
        if first == len(text):
            if first > begin or begin == 0:
                yield _nothing(line[offset:])
            return
        end = first
        failure = "no JSON object begins here"
        if text[first] == "{":
            try:
                fields, end = lenient.parse_at(text, first)
            except ValueError as error:
                failure = str(error)
            except RecursionError:
                failure = "nested too deep"
        if end > first:
            # White space behind the last object belongs to it, so that it is no problem of its own.
            if text[end:].isspace():
                end = len(text)
            size = lenient.size_of(text[begin:end])
            record = salvage(fields, [])
            force_setattr(record, "raw", line[offset : offset + size])
            yield record
        else:
            end, attempts = _next_record(text, first + 1, attempts)
            size = lenient.size_of(text[begin:end])
            kind: ProblemKind = "damaged" if text[first] == "{" else "not-json"
            yield Problem(kind=kind, detail=failure, raw=line[offset : offset + size])
        begin = end
        offset += size
        if begin == len(text):
            return


def _nothing(rest: bytes) -> Problem:
    if b"\0" in rest:
        return Problem(kind="nul", detail=f"{rest.count(0)} NUL bytes", raw=rest)
    return Problem(kind="blank", detail="an empty line", raw=rest)


def _next_record(text: str, begin: int, attempts: int) -> tuple[int, int]:
    """Where behind a damaged part the next whole record begins, or the end; and how many attempts are left.

    A `{"` inside a JSON string would be written `{\\"`, so what looks like the beginning of a record is one, or is an
    object nested in the damaged one: those are told apart by what they hold and by what follows them.
    """
    for match in BEGINNING.finditer(text, begin):
        if attempts == 0:
            break
        attempts -= 1
        try:
            fields, end = lenient.parse_at(text, match.start())
        except (ValueError, RecursionError):
            continue
        follows = _skip_blank(text, end)
        if _looks_like_record(fields) and (follows == len(text) or text[follows] == "{"):
            return match.start(), attempts
    return len(text), attempts


def _looks_like_record(fields: dict[str, Any]) -> bool:
    name = fields.get("type")
    return isinstance(name, str) and (name in RECORD_TYPES or "sessionId" in fields or "uuid" in fields)


def _skip_blank(text: str, begin: int) -> int:
    blanks = BLANKS.match(text, begin)
    return blanks.end() if blanks else begin


FAST: Final[msgspec.json.Decoder[Record]] = msgspec.json.Decoder(KnownRecord)
MOST_ATTEMPTS: Final = 64  # to find a record in a damaged line, each as long as the line: a bound on time
BEGINNING: Final = re.compile(r'\{"(?:parentUuid|logicalParentUuid|isSidechain|type|uuid|sessionId|leafUuid)":')
BLANK: Final = b" \t\r\n\x0b\x0c\0"
BLANKS: Final = re.compile("[\\s\0\ufeff]*")
BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
