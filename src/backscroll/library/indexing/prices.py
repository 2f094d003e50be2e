"""Model prices with the user's settings applied, and a list of them."""

from dataclasses import dataclass
from functools import cache

from backscroll.errors import NothingFound
from backscroll.pricing.money import Price
from backscroll.pricing.names import plain_name
from backscroll.pricing.prices import Prices
from backscroll.pricing.snapshot import PriceSnapshot, snapshot
from backscroll.settings import Settings


@dataclass(frozen=True)
class ListedPrice:
    """A price, and whether it is the newest of its model."""

    price: Price
    is_current: bool


@dataclass(frozen=True)
class PriceList:
    """Prices by model, and the snapshot that most of them come from."""

    prices: list[ListedPrice]
    snapshot: PriceSnapshot


def load_prices(settings: Settings) -> Prices:
    """Return the prices used to compute costs."""
    return Prices(settings.prices) if settings.prices else _usual_prices()


@cache
def _usual_prices() -> Prices:
    """Return the prices without any settings. Cached: a server needs them with every append."""
    return Prices({})


def list_prices(settings: Settings, model: str | None = None, *, past: bool = False) -> PriceList:
    """Return today's prices of available models; with `past` also all others, with `model` all of that model."""
    listed = _listed(load_prices(settings).all())
    if model is not None:
        listed = [item for item in listed if item.price.model == plain_name(model)]
        if not listed:
            raise NothingFound(
                f"no price is known for {model}",
                f'set one in {settings.file}, as [prices."{model}"]; see backscroll prices',
            )
    elif not past:
        listed = [item for item in listed if item.is_current and not item.price.is_retired]
    return PriceList(listed, snapshot())


def _listed(prices: list[Price]) -> list[ListedPrice]:
    newest = {(price.model, price.is_fast): price for price in prices}
    return [ListedPrice(price, newest[price.model, price.is_fast] is price) for price in prices]
