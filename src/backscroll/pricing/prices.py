"""Find the price of a request by model, day and speed, and compute its cost."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Final

from backscroll.pricing.money import RULES, WEB_SEARCH, Price, Rates, cost_of, divided, nanodollars_per_token, rates_for
from backscroll.pricing.names import plain_name
from backscroll.pricing.overrides import our_prices
from backscroll.pricing.snapshot import snapshot

SETTINGS: Final = "settings"
"""The source of prices that the user has set."""
NONE_SET: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType({})


class Prices:
    """All prices that we know: the user's win over ours, and ours over the snapshot's."""

    def __init__(self, overrides: Mapping[str, Mapping[str, float]] = NONE_SET) -> None:
        self._periods: dict[tuple[str, bool], tuple[Price, ...]] = {}
        for price in snapshot().prices:
            key = price.model, price.is_fast
            self._periods[key] = (*self._periods.get(key, ()), price)
        for price in (*our_prices(), *(_set_price(name, rates) for name, rates in overrides.items())):
            self._periods[price.model, price.is_fast] = (price,)
        self._found: dict[tuple[str, str | None, int | None], Price | None] = {}
        self._fingerprint: str | None = None

    def cost(
        self,
        model: str | None,
        time_us: int | None,
        input: int,  # noqa: A002 - the name of the column
        output: int,
        cache_write: int,
        cache_read: int,
        write_5m: int | None = None,
        write_1h: int | None = None,
        web_searches: int = 0,
        tier: str | None = None,
        speed: str | None = None,
        geo: str | None = None,
    ) -> int | None:
        """Return the cost of a request in nanodollars; None if unknown, which is not 0.

        `time_us` is in microseconds since 1970; a request without a time has the newest price.
        """
        price = self._found_price(model, time_us, speed)
        if price is None:
            return None
        return cost_of(price, input, output, cache_write, cache_read, write_5m, write_1h, web_searches, tier, geo)

    def rates(self, model: str | None, time_us: int | None, prompt: int, speed: str | None = None) -> Rates | None:
        """Return the rates of a request whose prompt has this many tokens in all; None if unknown."""
        price = self._found_price(model, time_us, speed)
        return None if price is None else rates_for(price, prompt)

    def price_of(self, model: str, when: datetime | None = None, *, speed: str | None = None) -> Price | None:
        """Return the price of a model at a time, by default the newest; None for `<synthetic>` and unknown models.

        A time without a zone is UTC. Fast mode has a price of its own: a model whose fast price is unknown has none.
        """
        if when is None:
            return self._find(model, speed, None)
        utc = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        return self._find(model, speed, _day(utc.date()))

    def all(self) -> list[Price]:
        """Return every price, by model, from the first to the newest of each, fast mode last."""
        return [price for key in sorted(self._periods) for price in self._periods[key]]

    @property
    def fingerprint(self) -> str:
        """A hash that changes whenever a request might have another cost than before."""
        if self._fingerprint is None:
            listed = "\n".join([f"{RULES} {WEB_SEARCH}", *map(str, self.all())])
            self._fingerprint = hashlib.sha256(listed.encode()).hexdigest()[:16]
        return self._fingerprint

    def _found_price(self, model: str | None, time_us: int | None, speed: str | None) -> Price | None:
        if model is None:
            return None
        key = (model, speed, None if time_us is None else time_us // DAY)
        try:
            return self._found[key]
        except KeyError:
            price = self._found[key] = self._find(*key)
            return price

    def _find(self, model: str, speed: str | None, day: int | None) -> Price | None:
        periods = self._periods.get((plain_name(model), speed == "fast"), ())
        for price in reversed(periods):
            if day is None or price.since is None or _day(price.since) <= day:
                return price
        return None


def _set_price(model: str, rates: Mapping[str, float]) -> Price:
    """Return a price from the user's settings. Missing cache rates have their usual ratio to the input."""
    # repr, because it is the text as written: 0.1 is then a tenth, and no float is ever added or multiplied.
    nano_rates = {name: nanodollars_per_token(repr(value)) for name, value in rates.items()}
    input_rate = nano_rates["input"]
    complete = Rates(
        input_rate,
        nano_rates["output"],
        nano_rates.get("cache_write_5m", divided(input_rate * 5, 4)),
        nano_rates.get("cache_write_1h", input_rate * 2),
        nano_rates.get("cache_read", divided(input_rate, 10)),
    )
    return Price(plain_name(model), complete, SETTINGS)


def _day(day: date) -> int:
    return (day - EPOCH).days


EPOCH: Final = date(1970, 1, 1)
DAY: Final = 86_400_000_000
