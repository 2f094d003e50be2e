"""Chart axes: positions of ticks, labels of ticks, and which of many labels are shown."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, Final

from backscroll.render.charts import measure_text

ValueFormat = Callable[[float], str]
TICKS: Final = 4
"""Approximate number of intervals on an axis."""
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
WEEK: Final = re.compile(r"(\d{4})-W(\d{2})")
SECONDS: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
"""Round durations for time axes."""


def ticks(most: float, *, seconds: bool = False, whole: bool = False) -> list[float]:
    """Return round numbers from 0 to the first that is at least `most`; `whole` for counts."""
    if most <= 0 or not math.isfinite(most):
        return [0.0, 1.0]
    rough = most / TICKS
    if seconds and rough <= SECONDS[-1]:
        step = float(next(step for step in SECONDS if step >= rough))
    else:
        unit = 86_400.0 if seconds else 1.0
        size = 10.0 ** math.floor(math.log10(rough / unit))
        step = unit * next(size * part for part in STEPS if size * part >= rough / unit * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    return [step * number for number in range(math.ceil(round(most / step, 9)) + 1)]


def measure_format(measure: str) -> ValueFormat:
    """Return the function that formats values of a measure."""
    return lambda value: measure_text(measure, value)


def week_name(name: str, *, with_year: bool = False) -> str:
    """Return the days of a week: `2026-W05` is `Jan 26 – Feb 1`. Any other text stays as it is."""
    match = WEEK.fullmatch(name)
    if not match:
        return name
    try:
        monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
        sunday = monday + timedelta(days=6)
    except (ValueError, OverflowError):
        return name
    end = f"{sunday.day}" if sunday.month == monday.month else f"{sunday:%b} {sunday.day}"
    return f"{monday:%b} {monday.day} – {end}" + (f", {sunday.year}" if with_year else "")


def day_name(name: str, *, with_year: bool = False) -> str:
    """Return a day: `2026-01-05` is `Jan 5`. Any other text stays as it is."""
    try:
        day = date.fromisoformat(name)
    except ValueError:
        return name
    return f"{day:%b} {day.day}" + (f", {day.year}" if with_year else "")


def tick_text(measure: str, value: float) -> str:
    """Return the label of a tick, as short as possible."""
    if measure.endswith("_seconds"):
        return _clock(value)
    text = measure_text(measure, value)
    if measure.endswith("_share"):
        return text.replace(".0 %", " %")
    if measure.endswith("_microdollars"):
        return text.removesuffix(".00")
    return re.sub(r"\.0([kMG])$", r"\1", text)


def label_positions(count: int, most: int) -> list[int]:
    """Return the indexes of the labels to show, at most `most`, evenly spaced."""
    return list(range(0, count, max(1, math.ceil(count / most)))) if count else []


def percent(part: float) -> str:
    """Return a share as an SVG percentage."""
    return f"{100 * part:.3f}".rstrip("0").rstrip(".") + "%"


def pixels(value: float) -> str:
    """Return a length in pixels, rounded."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def largest(values: Sequence[Any]) -> float:
    """Return the largest value that is not None; 0 if there is none."""
    return max((float(value) for value in values if value is not None), default=0.0)


def _clock(seconds: float) -> str:
    if seconds >= 86_400 and seconds % 86_400 == 0:
        return f"{seconds / 86_400:,.0f}d"
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:,.1f}".removesuffix(".0") + unit
    return f"{seconds:.0f}s" if seconds else "0"
