"""Axes: where ticks stand, how numbers read beside them, and which of many names are shown."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from backscroll.render.charts import measure_text

Told = Callable[[float], str]
TICKS: Final = 4
"""About how many spaces there are between ticks."""
STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
SECONDS: Final = (
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
)  # fmt: skip
"""What clocks are divided by."""


def ticks(most: float, *, seconds: bool = False, whole: bool = False) -> list[float]:
    """Round numbers from 0 to the first that is not below the most there is; `whole` for what has no parts."""
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


def told_as(measure: str) -> Told:
    """How a measure reads, by its name."""
    return lambda value: measure_text(measure, value)


def tick_text(measure: str, value: float) -> str:
    """How a round number of a measure reads beside an axis: in as few characters as it can."""
    if measure.endswith("_seconds"):
        return _clock(value)
    text = measure_text(measure, value)
    if measure.endswith("_share"):
        return text.replace(".0 %", " %")
    if measure.endswith("_microdollars"):
        return text.removesuffix(".00")
    return re.sub(r"\.0([kMG])$", r"\1", text)


def shown_names(count: int, most: int) -> list[int]:
    """Which of so many names stand below an axis, at most so many, evenly apart."""
    return list(range(0, count, max(1, math.ceil(count / most)))) if count else []


def percent(part: float) -> str:
    """A part of the width, as SVG has it."""
    return f"{100 * part:.3f}".rstrip("0").rstrip(".") + "%"


def pixels(value: float) -> str:
    """A length, rounded to what is visible."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def largest(values: Sequence[Any]) -> float:
    """The largest of those that are there; 0 of none."""
    return max((float(value) for value in values if value is not None), default=0.0)


def _clock(seconds: float) -> str:
    if seconds >= 86_400 and seconds % 86_400 == 0:
        return f"{seconds / 86_400:,.0f}d"
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:,.1f}".removesuffix(".0") + unit
    return f"{seconds:.0f}s" if seconds else "0"
