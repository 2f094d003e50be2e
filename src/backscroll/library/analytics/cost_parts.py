"""The parts of an answer's cost; they add up to the cost.

The context before an answer is read from the prompt cache, or written to it. Written tokens are new, unless the answer
before already had them: then the cache had lost them, after a pause, after a change of the model, or for a reason that
transcripts do not show. A context of less than half the size of the one before was compacted: nothing of it counts as
written again. Nor does less than a tenth of a context: its end is normally written twice.

Pure: takes rows of the store and prices, returns numbers.
"""

from typing import Final

from backscroll.pricing.money import WEB_SEARCH
from backscroll.pricing.prices import Prices
from backscroll.store.spend_rows import SpentAnswer

PARTS: Final = {
    "context": "Context read again",
    "new": "New context",
    "pause": "Cache lost in a pause",
    "switch": "Cache lost by a model change",
    "lost": "Cache lost otherwise",
    "output": "Output",
    "agents": "Agents",
    "uncached": "Input without cache",
    "searches": "Web searches",
}
"""The parts by name, with their titles. Everything that an agent costs is in `agents`."""
LOSSES: Final = ("pause", "switch", "lost")
"""The parts that pay for tokens lost from the cache: a cache miss has one of them."""
SHORT_PAUSE: Final = 5 * 60 * 1_000_000
"""Shortest lifetime of the prompt cache, in microseconds."""

CostParts = dict[str, int]
"""Nanodollars by part of the cost."""


def rewritten_tokens(answer: SpentAnswer) -> int:
    """Return the number of tokens written to the cache although the answer before already had them."""
    before = answer.context_before
    if before is None or 2 * answer.context < before:
        return 0
    again = min(answer.cache_write, before - answer.cache_read)
    return again if 10 * again >= before > 0 else 0


def cause_of_rewriting(answer: SpentAnswer) -> str:
    """Return the part that names why the cache had lost these tokens, as far as the transcript shows it."""
    if answer.model_before is not None:
        return "switch"
    return "pause" if (answer.gap or 0) > SHORT_PAUSE else "lost"


def rewriting_cost(answer: SpentAnswer, prices: Prices) -> int:
    """Return the nanodollars for writing tokens again; also for an agent's answer, whose parts are not separated."""
    parts = cost_parts(answer._replace(agent=None), prices)
    return sum(parts.get(name, 0) for name in LOSSES)


def cost_parts(answer: SpentAnswer, prices: Prices) -> CostParts:
    """Return the parts of an answer's cost; empty if it has no known price."""
    if not answer.cost:
        return {}
    if answer.agent is not None:
        return {"agents": answer.cost}
    rates = prices.rates(answer.model, answer.time, answer.context, answer.speed)
    if rates is None:
        return {"context": answer.cost}  # priced once, by prices that have changed since
    hour = min(answer.cache_write_1h, answer.cache_write)
    writing = (answer.cache_write - hour) * rates.cache_write_5m + hour * rates.cache_write_1h
    again = writing * rewritten_tokens(answer) // answer.cache_write if answer.cache_write else 0
    weights = {
        "context": answer.cache_read * rates.cache_read,
        "new": writing - again,
        "output": answer.output * rates.output,
        "uncached": answer.input * rates.input,
        "searches": answer.web_searches * WEB_SEARCH,
    }
    if again:
        weights[cause_of_rewriting(answer)] = again
    return divided_by(weights, answer.cost)


def divided_by(weights: CostParts, total: int) -> CostParts:
    """Divide the total by weights, in whole numbers that add up to it."""
    whole = sum(weights.values())
    if whole == total:
        return {name: weight for name, weight in weights.items() if weight}
    if not whole:
        return {"output": total}
    parts = {name: total * weight // whole for name, weight in weights.items() if weight}
    parts[max(parts, key=lambda name: parts[name])] += total - sum(parts.values())
    return parts
