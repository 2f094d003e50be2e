"""What a store hands over to learn what an answer costs: it counts tokens, and knows no prices."""

from collections.abc import Callable
from typing import NamedTuple


class CountedAnswer(NamedTuple):
    """An answer and what it took: of each field the maximum over its rows, at the time of the first."""

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
    """In nanodollars, as old rows say."""
    version: str | None
    git_branch: str | None
    cost: int | None
    """In nanodollars; None where there is no price."""
    records: int
    files: int


AnswerPrice = Callable[[CountedAnswer], int | None]
"""What an answer costs, in nanodollars; None where no price is known."""
