"""Turn a line of a file into the bytes that leave: the whole line, masked secrets, or only the counted fields.

Equal lines always give equal bytes, on any day and after any crash: a mask is made of the name of its rule and of a
keyed hash of the secret, under a key that never leaves the device. Equal secrets get equal masks.
A line that cannot be inspected is withheld: a marker takes its place.
"""

import hashlib
import hmac
from collections import Counter
from typing import Any, Final

import msgspec

from backscroll.redaction.duplicate_keys import has_duplicate_keys
from backscroll.redaction.redactor import Redactor
from backscroll.redaction.rules import RULES, VERSION
from backscroll.sync.policy import SyncMode

MASK_VERSION: Final = 2
METRICS_VERSION: Final = 3
WITHHELD: Final = "withheld"
LONGEST_LINE: Final = 64 << 20
"""A longer line is withheld: decoding it would take many times its size in memory."""


def rules_digest(mode: SyncMode) -> str:
    """Return a digest that changes when lines may come out differently, so that they are sent again."""
    if mode is SyncMode.FULL:
        return "full"
    if mode is SyncMode.METRICS:
        return f"metrics {METRICS_VERSION}"
    rules_text = repr([VERSION, *((rule.name, rule.patterns, rule.optional) for rule in RULES)])
    return f"redacted {MASK_VERSION} {hashlib.sha256(rules_text.encode()).hexdigest()[:16]}"


class Outgoing:
    """Turns lines of files into lines that may leave."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._redactor = Redactor(mask=self._mask)
        self.withheld = 0

    @property
    def masked(self) -> Counter[str]:
        """Number of masked places, by rule."""
        return self._redactor.places

    def line(self, mode: SyncMode, line: bytes, *, is_json: bool) -> bytes | None:
        """Return the bytes of a line that leave; None if nothing does."""
        if mode is SyncMode.FULL:
            return line
        if mode is SyncMode.REDACTED:
            return self._redacted(line, is_json=is_json)
        return self._metrics(line) if mode is SyncMode.METRICS and is_json else None

    def cut_line(self, line: bytes) -> bytes:
        """Return a marker for a last line that was cut off, perhaps within a secret."""
        return self._marker(line, "it was cut off") if line.strip() else line

    def hidden_name(self, name: str) -> str:
        """Return a keyed hash of a name, equal for equal names."""
        return self._hash(name.encode("utf-8", "surrogateescape"))[:12]

    def _redacted(self, line: bytes, *, is_json: bool) -> bytes:
        body = line.removesuffix(b"\n")
        end = line[len(body) :]
        if not body.strip():
            return line
        if len(body) <= LONGEST_LINE and self._redactor.is_clean_line(body):
            return line
        if len(body) > LONGEST_LINE:
            return self._marker(body, "it is too long") + end
        if is_json and body.lstrip()[:1] in b"{[":
            try:
                value = msgspec.json.decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # not a record: masked as text, like any other file
            else:
                masked = self._redactor.value(value)
                is_same = masked is value and not has_duplicate_keys(body, value)
                return line if is_same else msgspec.json.encode(masked) + end
        try:
            text = body.decode()
        except UnicodeDecodeError:
            return self._marker(body, "it is not text") + end
        masked = self._redactor.text(text)
        return line if masked is text else masked.encode() + end

    def _metrics(self, line: bytes) -> bytes | None:
        """Return the counted fields of a record; None if it is not counted."""
        try:
            record = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if not isinstance(record, dict):
            return None
        if record.get("type") == "progress":
            kept = _agent_progress(record)
        elif record.get("type") == "cost-state":
            kept = _totals(record)
        else:
            kept = _counted(record) if record.get("type") in COUNTED_TYPES else None
        if kept is None:
            return None
        if isinstance(record.get("cwd"), str):
            kept["cwd"] = f"/{self.hidden_name(record['cwd'])}"
        return msgspec.json.encode(kept) + b"\n"

    def _marker(self, body: bytes, why: str) -> bytes:
        self.withheld += 1
        return msgspec.json.encode({"type": WITHHELD, "why": why, "bytes": len(body), "hash": self._hash(body)[:16]})

    def _mask(self, rule: str, secret: bytes) -> str:
        number = int(self._hash(rule.encode() + b"\0" + secret)[:12], 16) % 10**10
        return f"[redacted: {rule} {number:010}]"

    def _hash(self, data: bytes) -> str:
        return hmac.new(self._key, data, "sha256").hexdigest()


def _counted(record: dict[str, Any]) -> dict[str, Any]:
    """Return the counted fields of a record, without its folder."""
    kept: dict[str, Any] = {name: record[name] for name in KEPT_FIELDS if name in record}
    message = record.get("message")
    if isinstance(message, dict):
        kept["message"] = {name: message[name] for name in KEPT_MESSAGE_FIELDS if name in message}
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        kept["message"]["content"] = [_block(block) for block in blocks if isinstance(block, dict)]
    return kept


def _agent_progress(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return the counted fields of a row that repeats a sub-agent's: all there is if the agent's file is gone."""
    data = record.get("data")
    if not isinstance(data, dict) or data.get("type") != "agent_progress":
        return None
    row = data.get("message")
    if not isinstance(row, dict) or row.get("type") not in COUNTED_TYPES:
        return None
    kept: dict[str, Any] = {name: record[name] for name in KEPT_PROGRESS_FIELDS if name in record}
    kept["data"] = {"type": "agent_progress", "message": _counted(row)}
    if "agentId" in data:
        kept["data"]["agentId"] = data["agentId"]
    return kept


def _totals(record: dict[str, Any]) -> dict[str, Any]:
    """Return the client's own totals: names of models, and numbers."""
    kept: dict[str, Any] = {name: record[name] for name in KEPT_TOTAL_FIELDS if name in record}
    models = record.get("modelUsage")
    kept["modelUsage"] = {
        model: {name: used[name] for name in KEPT_USAGE_FIELDS if isinstance(used.get(name), int | float)}
        for model, used in (models.items() if isinstance(models, dict) else ())
        if isinstance(used, dict)
    }
    return kept


def _block(block: dict[str, Any]) -> dict[str, Any]:
    """Return the kind of a block, and of a call its tool and its id."""
    return {name: block[name] for name in KEPT_BLOCK_FIELDS if name in block}


COUNTED_TYPES: Final = frozenset({"user", "assistant", "system", "summary"})
KEPT_FIELDS: Final = (
    "type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "agentId", "isSidechain", "timestamp",
    "version", "requestId", "isMeta", "isCompactSummary", "leafUuid",
)  # fmt: skip
KEPT_PROGRESS_FIELDS: Final = (*KEPT_FIELDS, "toolUseID", "parentToolUseID")
KEPT_TOTAL_FIELDS: Final = ("type", "sessionId", "startTime")
KEPT_USAGE_FIELDS: Final = (
    "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens",
    "cacheCreationEphemeral5mInputTokens", "cacheCreationEphemeral1hInputTokens", "webSearchRequests", "costUSD",
)  # fmt: skip
KEPT_MESSAGE_FIELDS: Final = ("id", "type", "role", "model", "stop_reason", "usage")
KEPT_BLOCK_FIELDS: Final = ("type", "id", "name", "tool_use_id", "is_error")
