"""Moments as people write them."""

import time
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from backscroll.errors import UsageError
from backscroll.query.times import parse_moment

ZONE = timezone(timedelta(hours=2))
NOW = datetime(2026, 3, 10, 15, 30, tzinfo=ZONE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-05", datetime(2026, 1, 5, tzinfo=ZONE)),
        (" 2026-01-05T10:30 ", datetime(2026, 1, 5, 10, 30, tzinfo=ZONE)),
        ("2026-01-05T10:30Z", datetime(2026, 1, 5, 10, 30, tzinfo=UTC)),
        ("today", datetime(2026, 3, 10, tzinfo=ZONE)),
        ("Yesterday", datetime(2026, 3, 9, tzinfo=ZONE)),
        ("90m", datetime(2026, 3, 10, 14, 0, tzinfo=ZONE)),
        ("12h", datetime(2026, 3, 10, 3, 30, tzinfo=ZONE)),
        ("3d", datetime(2026, 3, 7, 15, 30, tzinfo=ZONE)),
        ("2w", datetime(2026, 2, 24, 15, 30, tzinfo=ZONE)),
        ("3mo", datetime(2025, 12, 10, 15, 30, tzinfo=ZONE)),
        ("1y", datetime(2025, 3, 10, 15, 30, tzinfo=ZONE)),
        ("3 days ago", datetime(2026, 3, 7, 15, 30, tzinfo=ZONE)),
        ("2-weeks", datetime(2026, 2, 24, 15, 30, tzinfo=ZONE)),
        ("20260105", datetime(2026, 1, 5, tzinfo=ZONE)),
        ("2026-02", datetime(2026, 2, 1, tzinfo=ZONE)),
        ("2026", datetime(2026, 1, 1, tzinfo=ZONE)),
        ("2026-W05", datetime(2026, 1, 26, tzinfo=ZONE)),
        ("tue", datetime(2026, 3, 10, tzinfo=ZONE)),  # today is a Tuesday
        ("mon", datetime(2026, 3, 9, tzinfo=ZONE)),
        ("Wednesday", datetime(2026, 3, 4, tzinfo=ZONE)),
        ("last tuesday", datetime(2026, 3, 3, tzinfo=ZONE)),
        ("this week", datetime(2026, 3, 9, tzinfo=ZONE)),
        ("last week", datetime(2026, 3, 2, tzinfo=ZONE)),
        ("last-week", datetime(2026, 3, 2, tzinfo=ZONE)),
        ("last month", datetime(2026, 2, 1, tzinfo=ZONE)),
        ("last year", datetime(2025, 1, 1, tzinfo=ZONE)),
    ],
)
def test_a_moment_is_what_people_mean(text: str, expected: datetime) -> None:
    assert parse_moment(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-05", datetime(2026, 1, 6, tzinfo=ZONE)),
        ("2026-01-05T10:30", datetime(2026, 1, 5, 10, 30, tzinfo=ZONE)),
        ("today", datetime(2026, 3, 11, tzinfo=ZONE)),
        ("yesterday", datetime(2026, 3, 10, tzinfo=ZONE)),
        ("2026-02", datetime(2026, 3, 1, tzinfo=ZONE)),
        ("2025-12", datetime(2026, 1, 1, tzinfo=ZONE)),
        ("2025", datetime(2026, 1, 1, tzinfo=ZONE)),
        ("last week", datetime(2026, 3, 9, tzinfo=ZONE)),
        ("mon", datetime(2026, 3, 10, tzinfo=ZONE)),
        ("1y", datetime(2025, 3, 10, 15, 30, tzinfo=ZONE)),
    ],
)
def test_until_a_period_is_until_its_end(text: str, expected: datetime) -> None:
    assert parse_moment(text, NOW, end=True) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-13", "last", "99999999999w", "9999y", "d3", "week"])
def test_an_invalid_time_is_reported_with_the_valid_formats(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_moment(text, NOW)
    assert "2026-01-05" in caught.value.hint


@pytest.mark.parametrize(
    ("now", "age", "expected"),
    [
        ("2026-03-29T03:30+02:00", "90m", "2026-03-29T00:00Z"),  # clocks went from 2 to 3
        ("2026-03-29T03:30+02:00", "1h", "2026-03-29T00:30Z"),
        ("2026-10-25T02:30+01:00", "90m", "2026-10-25T00:00Z"),  # from 3 back to 2
        ("2026-03-29T12:00+02:00", "1d", "2026-03-28T11:00Z"),
        ("2026-10-25T12:00+01:00", "1w", "2026-10-18T10:00Z"),
    ],
)
def test_an_age_across_a_change_of_the_clock(now: str, age: str, expected: str) -> None:
    moment = datetime.fromisoformat(now).astimezone(ZoneInfo("Europe/Berlin"))
    assert parse_moment(age, moment).astimezone(UTC) == datetime.fromisoformat(expected)


def test_a_month_before_the_31st_is_the_last_day_of_a_shorter_month() -> None:
    assert parse_moment("1mo", datetime(2026, 3, 31, 12, tzinfo=UTC)) == datetime(2026, 2, 28, 12, tzinfo=UTC)
    assert parse_moment("1y", datetime(2024, 2, 29, tzinfo=UTC)) == datetime(2023, 2, 28, tzinfo=UTC)


def test_a_day_in_another_season_begins_at_its_own_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        summer = datetime(2026, 7, 1, 12, tzinfo=UTC).astimezone()
        assert parse_moment("2026-01-05", summer) == datetime(2026, 1, 4, 23, tzinfo=UTC)
        assert parse_moment("2026-06-05", summer) == datetime(2026, 6, 4, 22, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()
