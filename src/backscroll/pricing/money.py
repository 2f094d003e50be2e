"""Money, and the cost of a request at a price. Integers only: floats would lose a cent in a million requests."""

from dataclasses import astuple, dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Self


@dataclass(frozen=True, slots=True)
class Rates:
    """Nanodollars (1e-9 USD) for one token. One dollar for a million tokens, as in price lists, is 1,000 of these."""

    input: int
    output: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int

    @classmethod
    def of(cls, *dollars_per_million: str) -> Self:
        """Return the rates from the numbers of a price list, in the order of the fields."""
        return cls(*(nanodollars_per_token(dollars) for dollars in dollars_per_million))


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model from some day on, and its source."""

    model: str
    rates: Rates
    source: str
    since: date | None = None
    """First day of the price; None if it is as old as the model."""
    long_from: int | None = None
    """A request whose prompt has more tokens than this pays `long_rates` for all of them."""
    long_rates: Rates | None = None
    is_fast: bool = False
    is_retired: bool = False

    def __str__(self) -> str:
        numbers = astuple(self.rates) + (astuple(self.long_rates) if self.long_rates else ())
        return f"{self.model} {self.is_fast} {self.since} {self.long_from} {numbers}"


def cost_of(
    price: Price,
    input_tokens: int,
    output_tokens: int,
    cache_write: int,
    cache_read: int,
    write_5m: int | None = None,
    write_1h: int | None = None,
    web_searches: int = 0,
    tier: str | None = None,
    geo: str | None = None,
) -> int:
    """Return the cost of a request in nanodollars.

    Tokens written to the cache stay for five minutes, except those declared to stay for an hour. A rest of a half or a
    tenth of a nanodollar, possible in a batch or in the US only, is rounded once, half to even.
    """
    hour = write_1h or 0
    short = cache_write - hour
    if write_5m and write_5m > short:
        short = write_5m
    if short < 0:
        short = 0
    rates = rates_for(price, input_tokens + cache_read + short + hour)
    nano = (
        input_tokens * rates.input
        + output_tokens * rates.output
        + short * rates.cache_write_5m
        + hour * rates.cache_write_1h
        + cache_read * rates.cache_read
    )
    if geo == "us":
        nano = divided(nano * 11, 20) if tier == "batch" else divided(nano * 11, 10)
    elif tier == "batch":
        nano = divided(nano, 2)
    # Searches have the same price in batches and everywhere.
    return nano + web_searches * WEB_SEARCH if web_searches else nano


def rates_for(price: Price, prompt: int) -> Rates:
    """Return the rates for a prompt of this many tokens in all."""
    is_long = price.long_from is not None and prompt > price.long_from
    return (price.long_rates or price.rates) if is_long else price.rates


def microdollars(nano: int) -> int:
    """Convert to millionths of a dollar, rounded half to even: do so once, after adding everything up."""
    return divided(nano, 1000)


def nanodollars_per_token(dollars_per_million: str) -> int:
    """Convert a rate of a price list to a whole number of nanodollars; raise if it is not whole."""
    nano = Decimal(dollars_per_million) * 1000
    if nano != int(nano):
        raise ValueError(f"{dollars_per_million} USD per million tokens is not a whole number of nanodollars")
    return int(nano)


def divided(number: int, by: int) -> int:
    """Return the quotient, rounded half to even."""
    whole, rest = divmod(number, by)
    return whole + (2 * rest > by or (2 * rest == by and whole % 2 == 1))


WEB_SEARCH: Final = 10_000_000
"""Price of a search in nanodollars: $0.01."""
RULES: Final = 1
"""Raise this when a change gives prices another cost, or a name another model: stored costs are then recomputed."""
