"""The interface through which a store gets the cost of an answer: it counts tokens and knows no prices."""

from collections.abc import Callable
from typing import NamedTuple


class CountedAnswer(NamedTuple):
    """An answer and its usage: the maximum of each field over its rows, at the time of the first."""

    message: str
    file: int
    agent: int
    time: int | None
    model: str | None
    input: int
    output: int
    cache_write: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    web_fetches: int
    tier: str | None
    speed: str | None
    geo: str | None
    final: int
    reported_cost: int | None
    """The cost in nanodollars, as stated by old rows."""
    version: str | None
    git_branch: str | None
    cost: int | None
    """The cost in nanodollars; None without a price."""
    records: int
    files: int


AnswerPrice = Callable[[CountedAnswer], int | None]
"""The cost of an answer in nanodollars; None if no price is known."""
