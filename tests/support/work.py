"""How the work of an operation grows with its input, counted in lines of Python that ran: the same on any machine.

What runs in C, such as `in` on a list or a regular expression, is not seen here: `bench.hostile` measures that.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

Sized = Callable[[int], object]


def steps(run: Callable[[], object]) -> int:
    """How many lines of Python `run` takes in this thread."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:  # noqa: ANN401 - as `settrace` wants it
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def growth(counts: tuple[int, int, int]) -> float:
    """How much faster the work grows for inputs of n, 2n and 4n: about 2 where it is linear, 4 where it is a square.

    Differences are compared, so that what does not depend on the input does not hide what does.
    """
    small, middle, large = counts
    return (large - middle) / max(middle - small, 1)


def is_linear(counts: tuple[int, int, int]) -> bool:
    """Whether it is; n log n is taken for linear, and so is work that hardly depends on the input."""
    return growth(counts) < 2.6 or counts[2] - counts[1] < counts[0] // 4
