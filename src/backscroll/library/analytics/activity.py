"""Activity: prompts by weekday and hour, and streaks of days.

Every time is converted to the user's time zone separately, so that daylight saving time shifts nothing.
"""

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

from backscroll.library.analytics.moments import local
from backscroll.library.analytics.prompts import count_prompts
from backscroll.library.analytics.reports import Report, ReportRequest
from backscroll.library.analytics.wording import count
from backscroll.library.library import Library

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOURS: Final = tuple(f"{hour:02}" for hour in range(24))


def activity(library: Library, asked: ReportRequest, today: date) -> Report:
    """Return the report of prompts by weekday and hour."""
    counted = count_prompts(library, asked)
    whens = [local(asked, time) for time in counted.times]
    cells = Counter((when.weekday(), when.hour) for when in whens)
    days = Counter(when.date() for when in whens)
    rows = []
    for weekday, name in enumerate(WEEKDAYS):
        counts = [cells[weekday, hour] for hour in range(24)]
        rows.append((name, *counts, sum(counts)))
    facts = {
        "prompts": len(whens),
        "active_days": len(days),
        **streaks(days, today),
        "copies": counted.copies,
    }
    notes = [
        (
            f"{count(len(whens), 'prompt')}, each counted once; "
            f"{count(counted.copies, 'copy', 'copies')} not counted again; hours are in your time zone"
        )
    ]
    if counted.without_time:
        notes.append(f"{count(counted.without_time, 'prompt')} without a time not included")
    return Report(("weekday", *HOURS, "prompts"), rows, facts, notes)


def streaks(days: Counter[date], today: date) -> dict[str, Any]:
    """The longest and the current streak of days with a prompt, and the busiest day.

    A streak that reaches yesterday is current: today is not over.
    """
    runs: list[list[date]] = []
    ordered = sorted(days)
    for before, day in pairwise([None, *ordered]):
        assert day is not None  # noqa: S101 - only the first is none
        if before is not None and day - before == timedelta(days=1):
            runs[-1].append(day)
        else:
            runs.append([day])
    longest = max(runs, key=len, default=[])
    goes_on = bool(runs) and today - runs[-1][-1] <= timedelta(days=1) and runs[-1][-1] <= today
    busiest = min(days, key=lambda day: (-days[day], day), default=None)
    return {
        "longest_streak": _streak(longest),
        "current_streak": _streak(runs[-1] if goes_on else []),
        "busiest_day": None if busiest is None else {"day": str(busiest), "prompts": days[busiest]},
    }


def _streak(days: list[date]) -> dict[str, Any]:
    return {
        "days": len(days),
        "from": str(days[0]) if days else None,
        "to": str(days[-1]) if days else None,
    }
