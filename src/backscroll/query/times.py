"""Moments as people write them: `2026-01-05`, `2026-01-05T10:00`, `today`, `yesterday`, `3d`, `2w`, `12h`."""

import re
from datetime import datetime, timedelta
from typing import Final

from backscroll.errors import UsageError

HINT: Final = "write a date (2026-01-05), a date and time (2026-01-05T10:00), today, yesterday, or an age (12h, 3d, 2w)"


def parse_moment(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The moment that `text` means, in the time zone of `now`. A day is its beginning; with `end`, its end."""
    words = text.strip().lower()
    if age := AGE.fullmatch(words):
        try:
            return now - int(age[1]) * UNITS[age[2]]
        except OverflowError:
            raise UsageError(f"{text} is too long ago", HINT) from None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if words in DAYS:
        return midnight - timedelta(days=DAYS[words] - end)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(f"not a time: {text}", HINT) from None
    if DATE.fullmatch(words):
        moment += timedelta(days=int(end))
    return moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)


AGE: Final = re.compile(r"(\d+)([mhdw])")
DATE: Final = re.compile(r"\d{4}-?\d{2}-?\d{2}")
UNITS: Final = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
DAYS: Final = {"today": 0, "yesterday": 1}
