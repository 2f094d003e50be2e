"""Charts show what they are given: as long and as dark as it is much, with the same figures as text."""

from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.render.html.axes import label_positions, tick_text, ticks
from backscroll.render.html.charts import Axis, Bar, Series, bars, lines, sparkline, stacked_bars
from backscroll.render.html.element import Html
from backscroll.render.html.heatmaps import heatmap, hours, level_of

HOSTILE = "<script>alert(1)</script>\"'><svg onload=alert(2)>\x1b[31m\u202e"
DAYS = Axis(["2026-01-05", "2026-01-06", "2026-01-07"], [("2026-01-05", "2026-01-05")] * 3)


def parsed(drawn: Html) -> ElementTree.Element:
    """The markup as XML: ours is well formed, and needs no repairs by a browser."""
    return ElementTree.fromstring(drawn)


def texts(found: list[ElementTree.Element]) -> list[str]:
    return ["".join(one.itertext()) for one in found]


def cells(drawn: Html) -> list[list[str]]:
    return [texts(list(row)) for row in parsed(drawn).findall(".//tbody/tr")]


def classed(drawn: Html, name: str) -> list[ElementTree.Element]:
    return [one for one in parsed(drawn).iter() if name in one.get("class", "").split()]


@given(st.floats(0.001, 1e15), st.booleans())
def test_ticks_begin_at_nothing_and_end_at_the_first_that_covers_everything(most: float, seconds: bool) -> None:
    marks = ticks(most, seconds=seconds)
    assert marks[0] == 0
    assert marks[-1] >= most * 0.999999
    assert marks[-2] < most
    assert 2 <= len(marks) <= 7


@given(st.integers(1, 10**9))
def test_ticks_of_what_has_no_parts_are_whole(most: int) -> None:
    assert all(mark == int(mark) for mark in ticks(most, whole=True))


@pytest.mark.parametrize(
    ("measure", "value", "told"),
    [
        ("cost_microdollars", 20_000_000, "$20"),
        ("cost_microdollars", 2_500_000, "$2.50"),
        ("input_tokens", 20_000_000, "20M"),
        ("hit_share", 0.5, "50 %"),
        ("active_seconds", 5400, "1.5h"),
        ("active_seconds", 90, "1.5m"),
        ("active_seconds", 172_800, "2d"),
        ("prompts", 0, "0"),
    ],
)
def test_a_tick_reads_shortly(measure: str, value: float, told: str) -> None:
    assert tick_text(measure, value) == told


@given(st.integers(0, 5000), st.integers(1, 12))
def test_names_below_an_axis_are_few_and_evenly_apart(count: int, most: int) -> None:
    shown = label_positions(count, most)
    assert len(shown) <= most
    assert len({after - before for before, after in pairwise(shown)}) <= 1


def test_columns_are_as_high_as_what_they_show() -> None:
    series = [Series("opus", [4_000_000, 0, 1_000_000]), Series("haiku", [2_000_000, None, 1_000_000])]
    drawn = stacked_bars(DAYS, series, label="Cost", measure="cost_microdollars")
    heights: dict[str, float] = {}
    for rect in parsed(drawn).iter("rect"):
        if "series" in rect.get("class", ""):
            heights[rect.get("class", "") + rect.get("x", "")] = float(rect.get("height", ""))
    first, second, *rest = heights.values()
    assert first == pytest.approx(2 * second, abs=0.1)
    assert rest == pytest.approx([first / 4, first / 4], abs=0.1)
    assert cells(drawn) == [
        ["2026-01-07", "$1.00", "$1.00"],
        ["2026-01-06", "$0.00", ""],
        ["2026-01-05", "$4.00", "$2.00"],
    ]
    titles = texts([one for one in parsed(drawn).iter("title") if one.text != "Cost"])
    assert titles[0] == "2026-01-05\nopus: $4.00\nhaiku: $2.00\nTotal: $6.00"


def test_a_line_has_gaps_where_nothing_is_known() -> None:
    axis = Axis([str(number) for number in range(5)])
    drawn = lines(axis, [Series("hits", [0.5, 0.6, None, 0.7, 0.8])], label="Hits", measure="hit_share")
    assert len([one for one in parsed(drawn).iter("line") if one.get("class", "").startswith("series")]) == 2
    assert cells(drawn)[2] == ["2", ""]


@pytest.mark.parametrize("draw", [stacked_bars, lines])
def test_a_chart_of_nothing_says_so(draw: Callable[..., Html]) -> None:
    assert "No data." in draw(Axis([]), [], label="Cost", measure="cost_microdollars")
    assert "No data." in bars([], label="Cost")


def test_bars_are_as_long_as_they_are_part_of_the_longest() -> None:
    drawn = bars([Bar("Bash", [30, 10], "40"), Bar("Read", [20], "20", "/search?q=tool:Read")], label="Calls")
    assert [rect.get("width") for rect in parsed(drawn).iter("rect")] == ["75%", "25%", "50%"]
    assert texts(classed(drawn, "bar-value")) == ["40", "20"]
    assert [link.get("href") for link in parsed(drawn).iter("a")] == ["/search?q=tool:Read"]


def test_drawings_are_named_and_described_for_those_who_cannot_see_them() -> None:
    series = [Series("opus", [1, 2, 3])]
    for drawn in (
        stacked_bars(DAYS, series, label="Cost by day", measure="answers"),
        lines(DAYS, series, label="Cost by day", measure="answers"),
        hours([("Monday", [1] * 24)], label="Cost by day"),
    ):
        (image,) = [one for one in parsed(drawn).iter("svg") if one.get("role") == "img"]
        assert image[0].tag == "title"
        assert image[0].text == "Cost by day"
        assert image[1].tag == "desc"
        assert cells(drawn)
    assert parsed(sparkline([1, None, 3], label="Prompts")).find("title") is not None


def test_every_day_of_the_period_is_drawn_and_no_other() -> None:
    last = date(2026, 2, 15)
    days = {last - timedelta(days=number): number for number in range(400)}
    drawn = heatmap(days, label="Prompts")
    squares = list(parsed(drawn).iter("rect"))
    assert len(squares) == 400
    titles = texts(list(parsed(drawn).iter("title")))
    assert titles[-1] == "Sun 2026-02-15: 0"
    assert titles[0] == "Sun 2025-01-12: 399"
    assert squares[0].get("class") == "level-4"
    assert squares[-1].get("class") == "level-0"
    assert len(cells(drawn)) == 399
    assert len({part.get("width") for part in parsed(drawn).iter("svg")}) == 1, "all parts are equally large"
    assert classed(drawn, "calendar")[0].get("role") == "img"
    week = heatmap({date(2026, 2, 14): 2}, label="Prompts", first=date(2026, 2, 11), last=last)
    assert texts(list(parsed(week).iter("title"))) == [
        "Wed 2026-02-11: 0", "Thu 2026-02-12: 0", "Fri 2026-02-13: 0", "Sat 2026-02-14: 2", "Sun 2026-02-15: 0",
    ]  # fmt: skip
    assert "2026-02-11 to 2026-02-15: 2" in week


def test_a_calendar_says_what_it_does_not_draw() -> None:
    drawn = heatmap({date(2020, 1, 1): 5, date(2026, 2, 15): 1}, label="Prompts")
    assert "2022-01-24 to 2026-02-15: 1. Not drawn, of other days: 5" in drawn


def test_days_lead_where_the_caller_says() -> None:
    drawn = heatmap({date(2026, 2, 14): 2, date(2026, 2, 15): 0}, label="Prompts", link=lambda day: f"/on/{day}")
    assert {link.get("href") for link in parsed(drawn).iter("a")} == {"/on/2026-02-14"}
    assert classed(drawn, "calendar")[0].get("role") == "group"
    assert "No data." in heatmap({}, label="Prompts")


def test_days_of_clocks_out_of_order_do_no_harm() -> None:
    assert "2026-02-14 to 2026-02-14: 1. Not drawn, of other days: 1" in heatmap(
        {date.max: 1, date(2026, 2, 14): 1}, label="Prompts"
    )
    assert heatmap({date(2, 1, 1): 3}, label="Prompts")


@given(st.integers(1, 10_000))
def test_the_most_is_darkest_and_one_is_not_nothing(most: int) -> None:
    assert most < 4 or level_of(most, most) == 4
    assert level_of(0, most) == 0
    assert 1 <= level_of(1, most) <= level_of(most, most) <= 4


def test_hours_of_a_week_are_each_a_square() -> None:
    week = [(name, [int(hour == 9) for hour in range(24)]) for name in ("Monday", "Tuesday")]
    drawn = hours(week, label="Prompts", unit="prompts")
    assert len(list(parsed(drawn).iter("rect"))) == 48
    assert "Tuesday 09:00 to 10:00: 1 prompts" in drawn
    assert cells(drawn)[0][0] == "Monday"


def test_names_from_transcripts_are_text_and_charts_have_no_inline_style() -> None:
    series = [Series(HOSTILE, [1.0])]
    for drawn in (
        stacked_bars(Axis([HOSTILE], [(HOSTILE, HOSTILE)]), series, label=HOSTILE, measure="answers"),
        lines(Axis([HOSTILE]), series, label=HOSTILE, measure="answers"),
        bars([Bar(HOSTILE, [1], HOSTILE, "/x", HOSTILE)], label=HOSTILE, legend=(HOSTILE, HOSTILE)),
        hours([(HOSTILE, [1] * 24)], label=HOSTILE),
        heatmap({date(2026, 2, 14): 2}, label=HOSTILE),
    ):
        tags = {one.tag for one in parsed(drawn).iter()}
        assert "script" not in tags
        assert not any(name.startswith("on") or name == "style" for one in parsed(drawn).iter() for name in one.keys())  # noqa: SIM118
        assert "\x1b" not in drawn
        assert "\u202e" not in drawn
