"""When one works: hours in the user's time zone, over the change to summer time, and days in a row."""

from collections import Counter
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from backscroll.library.analytics.activity import activity, streaks
from backscroll.library.analytics.reports import Report, ReportRequest
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path

# Clocks in Berlin go from 02:00 to 03:00 on 2026-03-29, at 01:00 of UTC.
SPRING = """
@ time=2026-03-28T07:30:00
a <- - user: on saturday
@ time=2026-03-29T00:30:00
b <- a user: before
@ time=2026-03-29T01:30:00
c <- b user: after
@ time=2026-03-29T22:30:00
d <- c user: at night
"""


def report(tmp_path: Path, zone: ZoneInfo) -> Report:
    shelf = Shelf(tmp_path).write({session_path("S1"): jsonl(draw(SPRING))})
    shelf.update()
    with shelf.open() as library:
        return activity(library, ReportRequest(zone=zone), date(2026, 3, 30))


def test_hours_are_those_of_the_clock_on_the_wall(tmp_path: Path) -> None:
    found = report(tmp_path, ZoneInfo("Europe/Berlin"))
    used = {(row["weekday"], hour) for row in found.as_dicts() for hour, count in row.items() if count == 1}
    assert used >= {("Saturday", "08"), ("Sunday", "01"), ("Sunday", "03"), ("Monday", "00")}
    assert sum(row[-1] for row in found.rows) == found.facts["prompts"] == 4
    assert found.facts["busiest_day"] == {"day": "2026-03-29", "prompts": 2}
    assert found.facts["longest_streak"] == {"days": 3, "from": "2026-03-28", "to": "2026-03-30"}
    assert found.facts["current_streak"]["days"] == 3


def test_another_zone_has_other_days(tmp_path: Path) -> None:
    found = report(tmp_path, ZoneInfo("Asia/Tokyo"))
    used = {(row["weekday"], hour) for row in found.as_dicts() for hour, count in row.items() if count == 1}
    assert used >= {("Saturday", "16"), ("Sunday", "09"), ("Sunday", "10"), ("Monday", "07")}


def test_a_streak_continues_until_a_whole_day_is_missed() -> None:
    days = Counter({date(2026, 1, day): 1 for day in (1, 2, 3, 7, 8)})
    assert streaks(days, date(2026, 1, 8))["current_streak"]["days"] == 2
    assert streaks(days, date(2026, 1, 9))["current_streak"]["days"] == 2
    assert streaks(days, date(2026, 1, 10))["current_streak"]["days"] == 0
    assert streaks(days, date(2026, 1, 10))["longest_streak"] == {"days": 3, "from": "2026-01-01", "to": "2026-01-03"}


def test_nothing_has_no_streaks() -> None:
    assert streaks(Counter(), date(2026, 1, 8))["busiest_day"] is None
    assert streaks(Counter(), date(2026, 1, 8))["longest_streak"]["days"] == 0
