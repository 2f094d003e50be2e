"""Compute when Claude Code will delete each session.

It goes by the time a file was last modified, about once a day, and deletes a session's whole folder, too.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from backscroll.files.discovery import HomeFile
from backscroll.files.layout import FileKind

DEFAULT_DAYS: Final = 30
FEWEST_DAYS: Final = 1
MAX_DAYS: Final = 1_000_000  # more than a calendar can hold; people write huge numbers for “never”
FIRST: Final = datetime.min.replace(tzinfo=UTC)
NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Deletion(NamedTuple):
    """A session and its expiry: Claude Code deletes it at its next start after that time."""

    file: HomeFile
    due: datetime


def retention_days(setting: int | None) -> int:
    """Return the days that the client uses for this setting; None is its default."""
    return DEFAULT_DAYS if setting is None else min(max(setting, FEWEST_DAYS), MAX_DAYS)


def deletions(files: Iterable[HomeFile], days: int | None) -> list[Deletion]:
    """Return all sessions with the time after which each is deleted, the next one first."""
    period = timedelta(days=retention_days(days))
    sessions = (file for file in files if file.kind is FileKind.SESSION)
    return sorted((Deletion(file, _due(file, period)) for file in sessions), key=lambda deletion: deletion.due)


def _due(file: HomeFile, period: timedelta) -> datetime:
    try:
        return datetime.fromtimestamp(file.modified_ns / 1e9, UTC) + period
    except (OverflowError, ValueError, OSError):  # a wrong clock, or a period of ten thousand years
        return FIRST if file.modified_ns < 0 else NEVER
