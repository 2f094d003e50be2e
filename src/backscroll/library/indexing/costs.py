"""Compute the cost of an answer for the store."""

from backscroll.pricing.prices import Prices
from backscroll.store.prices import AnswerPrice, CountedAnswer


def cost_with(prices: Prices) -> AnswerPrice:
    """Return a function that computes costs with these prices."""
    cost = prices.cost

    def price(row: CountedAnswer) -> int | None:
        return cost(
            row.model, row.time, row.input, row.output, row.cache_write, row.cache_read, row.cache_write_5m,
            row.cache_write_1h, row.web_searches, row.tier, row.speed, row.geo,
        )  # fmt: skip

    return price
