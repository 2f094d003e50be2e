"""The time zone of the reader: the browser's on a team server, else that of this machine."""

from contextvars import ContextVar
from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

COOKIE: Final = "backscroll-zone"
"""Cookie with the time zone of a browser; `base.js` sets it on the pages of a team server."""
READER_ZONE: ContextVar[tzinfo | None] = ContextVar("reader_zone", default=None)
"""Time zone of the browser that asks; None for that of this machine."""


def zone_named(name: str) -> tzinfo | None:
    """Return a time zone by name, None if there is none. Only known names are looked up, because names become paths."""
    if name == "UTC":
        return UTC
    return ZoneInfo(name) if name in _names() else None


def reader_now() -> datetime:
    """Return the current time in the reader's zone."""
    zone = READER_ZONE.get()
    return datetime.now(zone) if zone else datetime.now().astimezone()


def reader_time(when: datetime) -> datetime:
    """Convert a time to the reader's zone."""
    try:
        return when.astimezone(READER_ZONE.get())
    except OverflowError:  # a broken clock: the first or last hours of the calendar
        return when


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())
