"""The prices of the package genai-prices, as `scripts/make-prices` copied them to `snapshot.json`."""

import json
import pkgutil
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from backscroll.pricing.money import Price, Rates


@dataclass(frozen=True)
class PriceSnapshot:
    """The prices, the package and version that they are from, and the day they were copied."""

    package: str
    version: str
    made: date
    prices: tuple[Price, ...]
    """The prices of a model are in the order they came into force."""


@cache
def snapshot() -> PriceSnapshot:
    """Return the snapshot that comes with this version of backscroll."""
    # Part of the code, and read like it: once, from wherever the code is, a zip file too.
    data = pkgutil.get_data("backscroll.pricing", "snapshot.json")
    assert data is not None  # noqa: S101 - as an import that fails
    return read_snapshot(data)


def read_snapshot(data: bytes) -> PriceSnapshot:
    """Decode a snapshot from its JSON."""
    written = json.loads(data)
    source = f"{written['package']} {written['version']}"
    prices = tuple(
        _price(name, source, model["retired"], price)
        for name, model in written["models"].items()
        for price in model["prices"]
    )
    return PriceSnapshot(written["package"], written["version"], date.fromisoformat(written["made"]), prices)


def _price(model: str, source: str, is_retired: bool, written: dict[str, Any]) -> Price:
    long = written.get("long")
    return Price(
        model,
        Rates.of(*written["rates"]),
        source,
        since=date.fromisoformat(written["from"]) if "from" in written else None,
        long_from=long["from"] if long else None,
        long_rates=Rates.of(*long["rates"]) if long else None,
        is_retired=is_retired,
    )
