"""Prices that the snapshot lacks. They win over it; when a later snapshot has them, too, their line can go."""

from typing import Final

from backscroll.pricing.money import Price, Rates

SOURCE: Final = "backscroll"

# USD for a million tokens: input, output, cache writes for 5 minutes and for an hour, cache reads.
TABLE: Final = """
claude-mythos-5     standard  10  50   12.5  20  1
claude-mythos-5-1   standard  10  50   12.5  20  0.25
claude-fable-5-2    standard   8  40   10    16  0.2
claude-mythos-5-2   standard   8  40   10    16  0.2
claude-opus-4-6     fast      30  150  37.5  60  3
claude-opus-4-7     fast      30  150  37.5  60  3
claude-opus-4-8     fast      10  50   12.5  20  1
claude-opus-5       fast      10  50   12.5  20  1
claude-opus-5-5     fast       8  40   10    16  0.4
claude-fable-5-2    fast      16  80   20    32  0.4
claude-mythos-5-2   fast      16  80   20    32  0.4
"""


def our_prices() -> list[Price]:
    """Return the prices of the table, which hold at any time and for prompts of any length."""
    rows = [line.split() for line in TABLE.strip().splitlines()]
    return [Price(model, Rates.of(*rates), SOURCE, is_fast=speed == "fast") for model, speed, *rates in rows]
