"""Interpret the typed value of a field."""

import re
from datetime import UTC, datetime
from decimal import Decimal
from math import isinf
from typing import Final, NamedTuple, cast

from backscroll.errors import UsageError
from backscroll.query.fields import FieldInfo, nearest
from backscroll.query.times import HINT as TIME_HINT
from backscroll.query.times import parse_moment
from backscroll.query.tree import Comparison


class InvalidValue(Exception):  # noqa: N818 - it never leaves the package: the parser knows the place, and makes it an error
    """A value that is invalid for its field."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint


class FieldValue(NamedTuple):
    """The meaning of a typed value."""

    comparison: Comparison
    value: str | datetime | float


def meaning(info: FieldInfo, typed: str, now: datetime) -> FieldValue:
    """Return the meaning of the value in this field; raises InvalidValue."""
    if not typed.strip():
        raise InvalidValue(f"{info.name}: has no value", f"write it without a space, as in {info.example}")
    if info.kind == "choice":
        return _choice(info, typed)
    if info.kind == "time":
        return _time(info, typed, now)
    if info.kind == "number":
        return _number(info, typed)
    if info.kind == "text" and typed.startswith("=") and typed[1:].strip():
        return FieldValue("==", typed[1:])
    return FieldValue("=", typed)


def number_text(value: float) -> str:
    """Return a number as it is written in a query."""
    return f"{Decimal(repr(value)):f}"


def _choice(info: FieldInfo, typed: str) -> FieldValue:
    choice = info.choice(typed)
    if choice is None:
        names = [known.name for known in info.choices]
        meant = nearest(typed.lower(), [*names, *(alias for known in info.choices for alias in known.aliases)])
        guess = f"did you mean {info.name}:{meant}? " if meant else ""
        raise InvalidValue(
            f"{info.name}: does not have this value", f"{guess}{'It' if guess else 'it'} can be {', '.join(names)}"
        )
    return FieldValue("=", choice.name)


def _time(info: FieldInfo, typed: str, now: datetime) -> FieldValue:
    if typed[0] in "<>=":
        raise InvalidValue(f"{info.name}: does not take a comparison", "write after:2026-01-05, or before:2026-01-05")
    try:
        # A day means its beginning for both: after:2026-01-05 before:2026-01-06 is one whole day.
        moment = parse_moment(typed, now).astimezone(UTC)
    except (UsageError, ValueError, OverflowError):  # the latter two for a number out of range
        raise InvalidValue("this is not a time", TIME_HINT) from None
    return FieldValue("<" if info.name == "before" else ">=", moment)


def _number(info: FieldInfo, typed: str) -> FieldValue:
    match = NUMBER.fullmatch(typed)
    if match is None:
        raise InvalidValue("this is not a number", f"write it as in {info.example}")
    suffix = match["suffix"].lower()
    if suffix and info.name != "tokens":
        raise InvalidValue(f"{info.name}: takes a plain number", f"write it as in {info.example}")
    value = float(Decimal(re.sub("[_,]", "", match["number"])) * SUFFIXES[suffix])
    if isinf(value):
        raise InvalidValue("this number is too large", f"write it as in {info.example}")
    return FieldValue(cast(Comparison, match["comparison"] or "="), value)


NUMBER: Final = re.compile(
    r"(?P<comparison>[<>]=?|=?)\s*\$?(?P<number>[0-9][0-9_,]*(?:\.[0-9]*)?|\.[0-9]+)(?P<suffix>[kKmM]?)"
)
SUFFIXES: Final = {"": 1, "k": 1_000, "m": 1_000_000}
