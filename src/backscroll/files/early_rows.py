"""Write the rows of early clients as lines of a session file, like the first clients with session files.

A row of `__store.db` and a message of a log have the content of such a line, under other names: the same ids and
parents, the message of the API word for word. Nothing is invented: a line lacks whatever its row lacks.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET

Value = bytes | int | float | None
"""A value that SQLite returns for a column, with texts as bytes."""
MILLISECONDS: Final = 100_000_000_000
"""The lowest number that counts as milliseconds: in seconds, it is the year 5138."""


def row_line(base: Mapping[str, Value], message: Mapping[str, Value]) -> bytes:
    """Return the line of a row, from its columns in `base_messages` and in `user_messages` or `assistant_messages`."""
    line = {
        "parentUuid": _text(base.get("parent_uuid")),
        "isSidechain": bool(base.get("isSidechain")),
        "userType": _text(base.get("user_type")),
        "cwd": _text(base.get("cwd")),
        "originalCwd": _text(base.get("original_cwd")) or UNSET,
        "sessionId": _text(base.get("session_id")),
        "version": _text(base.get("version")),
        "type": _text(base.get("message_type")),
        "message": _json(message.get("message")),
        "costUSD": _number(message.get("cost_usd")),
        "durationMs": _number(message.get("duration_ms")),
        "isApiErrorMessage": True if message.get("is_api_error_message") else UNSET,
        "isMeta": True if message.get("is_meta") else UNSET,
        "uuid": _text(base.get("uuid")),
        "timestamp": _moment(message.get("timestamp", base.get("timestamp"))),
        "toolUseResult": _json(message.get("tool_use_result")),
    }
    return ENCODE({name: value for name, value in line.items() if value is not UNSET})


def summary_line(leaf: Value, summary: Value) -> bytes:
    """Return the line that gives a conversation its title."""
    return ENCODE({"type": "summary", "summary": _text(summary), "leafUuid": _text(leaf)})


def message_line(message: Mapping[str, msgspec.Raw], known: Mapping[str, object]) -> bytes:
    """Return the line of a message in a log, with the fields that follow from the log's order and name."""
    line = {**known, **{name: value for name, value in message.items() if bytes(value) != b"null"}}
    return _one_line(ENCODE(line))


def problem_line(text: str) -> bytes:
    """Return a line that is no record: it is reported, with its text as the reason."""
    return b"#" + _one_line(text.encode("utf-8", "replace"))


def _text(value: Value) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)


def _number(value: Value) -> int | float | msgspec.UnsetType:
    return value if isinstance(value, (int, float)) else UNSET


def _json(value: Value) -> msgspec.Raw | msgspec.UnsetType:
    """Return a column that holds JSON. Other content is left as it is: the decoder of records reports the problem."""
    return msgspec.Raw(_one_line(value)) if isinstance(value, bytes) and value not in (b"", b"null") else UNSET


def _one_line(value: bytes) -> bytes:
    return value.replace(b"\n", b" ") if b"\n" in value else value


def _moment(value: Value) -> str | msgspec.UnsetType:
    if not isinstance(value, (int, float)):
        return UNSET
    try:
        moment = datetime.fromtimestamp(value / 1000 if abs(value) >= MILLISECONDS else value, UTC)
    except (ValueError, OverflowError, OSError):
        return UNSET
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


ENCODE: Final = msgspec.json.Encoder().encode
