"""The shop's idea of now. Tests replace it."""

from datetime import datetime, timezone


def now() -> datetime:
    return datetime.now(timezone.utc)
