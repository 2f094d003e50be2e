"""What a model is called where its whole name would be too long."""

from collections import Counter
from collections.abc import Iterable


def short_model(model: str | None) -> str:
    """A model without the maker and the date: `claude-opus-4-5-20251101` is `opus-4-5`."""
    name = (model or "no model").removeprefix("claude-")
    stem, _, end = name.rpartition("-")
    return stem if stem and len(end) == 8 and end.isdigit() else name


def short_models(models: Iterable[str]) -> dict[str, str]:
    """The short names of models, with their dates where two would be equal."""
    names = {model: short_model(model) for model in models}
    often = Counter(names.values())
    return {model: name if often[name] == 1 else model.removeprefix("claude-") for model, name in names.items()}
