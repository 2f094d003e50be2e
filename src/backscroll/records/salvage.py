"""Make the best record of a JSON object that does not fit its type.

A field of the wrong type costs that field and no other: it is left at its default and named in `lost`. Blocks and
records of an unknown kind become UnknownBlock and UnknownRecord with all their fields.
"""

import json
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from backscroll.records.content import Block, Text, UnknownBlock
from backscroll.records.kinds import KnownRecord, UnknownRecord
from backscroll.records.outside import ApiRequest
from backscroll.records.record import Record

RECORD_TYPES: Final[dict[str, type[Record]]] = {str(kind.__struct_config__.tag): kind for kind in get_args(KnownRecord)}
AnyStruct = TypeVar("AnyStruct", bound=Struct)
LOST: Final = object()
OURS: Final = "~"  # fields with such a name are filled by us, never from the line


def salvage(fields: dict[str, Any], lost: list[str]) -> Record:
    """Return the record in `fields`. The names of fields with the wrong type are added to `lost`."""
    name = fields.get("type")
    name = name if isinstance(name, str) else ""
    if name.startswith("api-request"):
        return ApiRequest()
    kind = RECORD_TYPES.get(name)
    if kind is None:
        return _structure(UnknownRecord, fields, lost, name, {"name": name, "fields": fields})
    return _structure(kind, fields, lost, name)


def _structure(
    kind: type[AnyStruct], fields: dict[str, Any], lost: list[str], where: str, ours: dict[str, Any] | None = None
) -> AnyStruct:
    values = dict(ours or {})
    for field in _fields(kind):
        name = field.encode_name
        if name in fields and not name.startswith(OURS):
            value = _value(fields[name], field.type, lost, f"{where}.{name}")
            if value is not LOST:
                values[field.name] = value
    return kind(**values)


def _value(value: Any, hint: Any, lost: list[str], where: str) -> Any:  # noqa: ANN401
    """Return `value` as the type `hint`, or as much of it as fits, or LOST."""
    try:
        return _decoder(hint).decode(json.dumps(value).encode())
    except (msgspec.DecodeError, RecursionError):  # ValidationError is a DecodeError
        pass
    options = _options(hint)
    if isinstance(value, dict):
        return _object(value, options, lost, where)
    if isinstance(value, list):
        for option in options:
            if get_origin(option) is list:
                return _elements(value, get_args(option)[0], lost, where)
    if isinstance(value, str) and Text in options:
        return Text(text=value)  # a bare string among blocks
    if value is not None:
        lost.append(where)
    return LOST


def _object(value: dict[str, Any], options: tuple[Any, ...], lost: list[str], where: str) -> Any:  # noqa: ANN401
    blocks = _blocks(options)
    if blocks:
        name = value.get("type")
        if isinstance(name, str) and name in blocks:
            return _structure(blocks[name], value, lost, where)
        return UnknownBlock(name=name if isinstance(name, str) else "", fields=value)
    for option in options:
        if _is_structure(option, Struct):
            return _structure(option, value, lost, where)
        if get_origin(option) is dict:
            item_hint = get_args(option)[1]
            items = {key: _value(item, item_hint, lost, f"{where}.{key}") for key, item in value.items()}
            return {key: item for key, item in items.items() if item is not LOST}
    lost.append(where)
    return LOST


def _elements(values: list[Any], hint: Any, lost: list[str], where: str) -> list[Any]:  # noqa: ANN401
    elements = (_value(value, hint, lost, f"{where}[]") for value in values)
    return [element for element in elements if element is not LOST]


def _is_structure(option: Any, base: type[Struct]) -> bool:  # noqa: ANN401
    return isinstance(option, type) and issubclass(option, base)


# Inspecting types is slow, and there are few of them.
@cache
def _options(hint: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Return the types that `hint` allows, without Annotated and Optional."""
    if get_origin(hint) is Annotated:
        return _options(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return tuple(option for part in get_args(hint) for option in _options(part))
    return () if hint is type(None) else (hint,)


@cache
def _blocks(options: tuple[Any, ...]) -> dict[str, type[Block]]:
    return {str(option.__struct_config__.tag): option for option in options if _is_structure(option, Block)}


@cache
def _fields(kind: type[Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


@cache
def _decoder(hint: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401
    return msgspec.json.Decoder(hint)
