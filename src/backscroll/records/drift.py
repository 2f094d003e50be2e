"""Detect unknown parts of records: signs that the format of Claude Code has changed."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal, NamedTuple, get_args

import msgspec

from backscroll.records.content import Block, RecordPart, UnknownBlock
from backscroll.records.decode import FAST, fields_of
from backscroll.records.kinds import UnknownRecord, type_of
from backscroll.records.record import Record
from backscroll.records.salvage import salvage


class Drift(NamedTuple):
    """A part of a record that this version of backscroll does not know, such as the field `assistant.message.mood`."""

    what: Literal["record type", "block type", "field", "wrong type"]
    name: str


def drift(record: Record) -> Iterator[Drift]:
    """Yield all unknown parts of a record. Decodes the record again, so it is too slow for every read."""
    fields = fields_of(record)
    name = type_of(record)
    if isinstance(record, UnknownRecord):
        if name not in NAMED_ONLY:
            yield Drift("record type", name)
        return
    if name == OPAQUE:
        return
    for lost in _lost(record, fields):
        yield Drift("wrong type", lost)
    try:
        yield from _unknown(record, fields, name)
    except RecursionError:
        yield Drift("field", f"{name}…")  # blocks nested too deep: an unknown format in any case


def _lost(record: Record, fields: dict[str, Any]) -> list[str]:
    lost: list[str] = []
    try:
        FAST.decode(record.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        salvage(fields, lost)
    return lost


def _unknown(part: Record | RecordPart, fields: dict[str, Any], where: str) -> Iterator[Drift]:
    if isinstance(part, UnknownBlock):
        yield Drift("block type", f"{where}:{part.name}")
        return
    attributes, known = _names(type(part))
    for name in fields.keys() - known:
        yield Drift("field", f"{where}.{name}")
    for attribute, name in attributes:
        value = getattr(part, attribute)
        yield from _unknown_inside(value, fields.get(name), f"{where}.{name}")


def _unknown_inside(value: object, json: object, where: str) -> Iterator[Drift]:
    if isinstance(value, RecordPart) and isinstance(json, dict):
        kind = f":{value.__struct_config__.tag}" if isinstance(value, Block) else ""
        yield from _unknown(value, json, where if isinstance(value, UnknownBlock) else where + kind)
    elif isinstance(value, list) and isinstance(json, list) and len(value) == len(json):
        for element, element_json in zip(value, json, strict=True):
            yield from _unknown_inside(element, element_json, where)
    elif isinstance(value, dict) and isinstance(json, dict):
        for key in value:
            yield from _unknown_inside(value[key], json.get(key), f"{where}.*")


@cache
def _names(kind: type[Record] | type[RecordPart]) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Return the attributes of a class with their wire names, and all wire names that are known there."""
    fields = msgspec.structs.fields(kind)
    tag = kind.__struct_config__.tag_field
    known = kind.also | {field.encode_name for field in fields} | ({tag} if tag else set())
    return [(field.name, field.encode_name) for field in fields if _holds_parts(field.type)], known


def _holds_parts(hint: object) -> bool:
    if isinstance(hint, type) and issubclass(hint, RecordPart):
        return not hint.free
    return any(map(_holds_parts, get_args(hint)))


NAMED_ONLY: Final = frozenset({
    "artifact-autoreact-ledger", "artifact-comment-monitor", "data-flow-incomplete", "data-flow-records", "dev-mods",
    "frame-link", "history-suppression", "isolation-latch", "memory-mode", "observer-ref", "repl-mode",
    "resume-head-vouch", "session-owner",
})  # fmt: skip
"""Record types that Claude Code 2.1.327 names but was never seen to write: kept and shown as they are."""
OPAQUE: Final = "api-request"  # whole requests, which we keep and never decode
