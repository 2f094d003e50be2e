"""Moments as people write them."""

from datetime import UTC, datetime, timedelta, timezone

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
    ],
)
def test_until_a_day_is_until_its_end(text: str, expected: datetime) -> None:
    assert parse_moment(text, NOW, end=True) == expected


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "3y", "99999999999w", "d3"])
def test_what_is_no_moment_is_told_with_the_ways_to_write_one(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_moment(text, NOW)
    assert "2026-01-05" in caught.value.hint
