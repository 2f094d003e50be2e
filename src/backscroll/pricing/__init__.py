"""What it cost. Pure: prices by day, and what a request costs at them."""

from backscroll.pricing.money import Price, Rates, cost_of, microdollars
from backscroll.pricing.names import plain_name
from backscroll.pricing.prices import Prices
from backscroll.pricing.snapshot import PriceSnapshot, snapshot

__all__ = ["Price", "PriceSnapshot", "Prices", "Rates", "cost_of", "microdollars", "plain_name", "snapshot"]
