"""Charts of characters."""

import pytest

from backscroll.render.charts import heatmap, measure_text, sparkline
from backscroll.render.reports import duration


def test_a_sparkline_has_a_character_for_each_value() -> None:
    assert sparkline([0, 1, 4, 8, None]) == " ▂▅█ "
    assert sparkline([0, 0]) == "  "
    assert sparkline([]) == ""


def test_a_heatmap_is_darker_where_there_is_more() -> None:
    rows = [("Monday", *([0] * 22), 1, 8, 9)]
    head, monday, legend = heatmap(rows)
    assert head.split() == ["0", "3", "6", "9", "12", "15", "18", "21"]
    assert monday == "Mon  " + "··" * 22 + "░░██  9"
    assert legend.split() == "· none ░ to 2 ▒ to 4 ▓ to 6 █ to 8".split()


def test_a_heatmap_of_nothing() -> None:
    assert len(list(heatmap([("Monday", *([0] * 25))]))) == 3


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0s"), (2.44, "2.4s"), (59.4, "59s"), (60, "1m 00s"), (3599, "59m 59s"), (5000, "1h 23m")],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_measures_are_written_as_their_names_say() -> None:
    assert measure_text("cost_microdollars", 1_500_000) == "$1.50"
    assert measure_text("cost_microdollars", -1_500_000, signed=True) == "-$1.50"
    assert measure_text("rework_share", 0.125) == "12.5 %"
    assert measure_text("rework_share", 0.125, signed=True) == "+12.5 points"
    assert measure_text("active_seconds", -90, signed=True) == "-1m 30s"
    assert measure_text("prompts", None) == "-"
