"""Dates are moved by whole days; anything else stays unchanged."""

import json
from datetime import UTC, date, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from backscroll.demo.dates import days_until_yesterday, last_moment, move
from tests.support.cases import for_each

RECORDED = date(2026, 3, 10)


def check(text: str, days: int, expected: str) -> None:
    assert move(text.encode(), RECORDED, days) == expected.encode()


def test_times_dates_and_milliseconds_are_moved() -> None:
    check('{"timestamp":"2026-03-10T09:08:07.123Z"}', 30, '{"timestamp":"2026-04-09T09:08:07.123Z"}')
    check("# Log of 2025-12-31", 1, "# Log of 2026-01-01")
    check('"timestamp":1773133687123,', 1, '"timestamp":1773220087123,')


def test_dates_that_belong_to_the_world_outside_stay() -> None:
    for text in ("anthropic-version: 2023-06-01", "released 2030-01-01", "2026-02-31", "12026-03-10", "2026-03-100"):
        check(text, 30, text)


def test_digits_in_ids_and_numbers_stay() -> None:
    for text in ("msg_1773133687123", "0.1773133687123", "17731336871234", "a+1773133687123/b", "1973133687123"):
        check(text, 30, text)


@given(st.text(), st.integers(-2000, 2000))
def test_moving_keeps_the_length_of_any_text(text: str, days: int) -> None:
    data = text.encode()
    assert len(move(data, RECORDED, days)) == len(data)


def test_the_newest_was_yesterday_wherever_the_user_is() -> None:
    recorded = datetime(2026, 3, 10, 14, 50, tzinfo=UTC)

    def check_at(now: datetime) -> None:
        newest = recorded + timedelta(days=days_until_yesterday(recorded, now))
        assert newest.astimezone(now.tzinfo).date() == date(2026, 12, 31)

    zones = [timezone(timedelta(hours=hours)) for hours in range(-12, 15)]
    for_each((datetime(2027, 1, 1, hour, 30, tzinfo=zone) for zone in zones for hour in range(0, 24, 3)), check_at)


def test_the_latest_time_counts_at_any_position() -> None:
    times = ("2026-03-10T09:08:07.123Z", "2026-03-10T09:08:06.999Z", "2026-13-45T99:99:99Z", "2030-01-01T00:00:00Z")
    rows = [{"timestamp": time, "text": '{"timestamp":"2026-03-10T23:59:59Z"}'} for time in times]
    text = b"\n".join(json.dumps(row, separators=(",", ":")).encode() for row in rows)
    assert last_moment(text, RECORDED) == datetime(2026, 3, 10, 9, 8, 7, 123_000, UTC)
    assert last_moment(b"never", RECORDED) is None
