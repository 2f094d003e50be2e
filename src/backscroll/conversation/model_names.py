"""Short names of models, where the whole name would be too long."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final


def short_model(model: str | None) -> str:
    """Return a model without the maker and the date: `claude-opus-4-5-20251101` is `opus-4-5`."""
    name = (model or "no model").removeprefix("claude-")
    stem, _, end = name.rpartition("-")
    return stem if stem and len(end) == 8 and end.isdigit() else name


def undated_model(model: str) -> str:
    """Return a model without its date and variant: the client's `claude-opus-4-5[1m]` has its date in answers."""
    name = VARIANT.sub("", model)
    stem, _, end = name.rpartition("-")
    return stem if stem and len(end) == 8 and end.isdigit() else name


def short_models(models: Iterable[str]) -> dict[str, str]:
    """Return the short names of models, with their dates where two would be equal."""
    names = {model: short_model(model) for model in models}
    often = Counter(names.values())
    return {model: name if often[name] == 1 else model.removeprefix("claude-") for model, name in names.items()}


VARIANT: Final = re.compile(r"\[[^\]]*\]$")
"""The variant of a model, such as `[1m]` for the long context."""
