"""Move the dates in a text by whole days. Hours and minutes stay, and so does the length of the text."""

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Final

LONGEST_AGE: Final = timedelta(days=366)
"""Greatest age, before the day of the recording, of a date that is moved. Older dates belong to the world outside:
versions of an API, releases, licences."""
DAY_MS: Final = 86_400_000

# The look-behind comes after the first characters: an expression that begins with plain text is found much faster.
DATE: Final = re.compile(rb"20(?<![0-9]20)[0-9]{2}-[01][0-9]-[0-3][0-9](?![0-9])")
MILLISECONDS: Final = re.compile(rb"1(?<![0-9A-Za-z_.+/-]1)[0-9]{12}(?![0-9A-Za-z_.+/=-])")
TIMESTAMP: Final = re.compile(
    rb'"timestamp": ?"(20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z)"'
)
"""Timestamp of a row. In a text inside a row, the quotes would be escaped."""


def days_until_yesterday(newest: datetime, now: datetime) -> int:
    """Return by how many days to move a time so that it was yesterday, in the time zone of `now`."""
    return (now.date() - timedelta(days=1) - newest.astimezone(now.tzinfo).date()).days


def move(text: bytes, recorded: date, days: int) -> bytes:
    """Return the text with its dates, times and milliseconds since 1970 moved, if they are not long before the
    recording."""
    first, last = recorded - LONGEST_AGE, recorded + timedelta(days=2)

    def moved_date(found: re.Match[bytes]) -> bytes:
        try:
            day = date.fromisoformat(found[0].decode())
        except ValueError:
            return found[0]
        return str(day + timedelta(days=days)).encode() if first <= day <= last else found[0]

    def moved_number(found: re.Match[bytes]) -> bytes:
        day = datetime.fromtimestamp(int(found[0]) / 1000, UTC).date()
        return str(int(found[0]) + days * DAY_MS).encode() if first <= day <= last else found[0]

    return MILLISECONDS.sub(moved_number, DATE.sub(moved_date, text))


def last_moment(text: bytes, recorded: date) -> datetime | None:
    """Return the latest time of the rows in a session, of those that are not after the day of the recording."""
    end = f"{recorded}U".encode()  # behind every time of that day, whose date a T follows
    for moment in sorted({time for time in TIMESTAMP.findall(text) if time < end}, reverse=True):
        with suppress(ValueError):
            return datetime.fromisoformat(moment.decode())
    return None
