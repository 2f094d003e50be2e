"""What the cost of an answer pays for: parts that add up to the cost.

The context before an answer is read from the prompt cache, or written to it. What is written is new, unless the answer
before already had it: then the cache had lost it, after a pause, after a change of the model, or for a reason that
transcripts do not show. A context of less than half the size of the one before was compacted: nothing of it counts as
written again. Nor does less than a tenth of a context: the end of it is written twice in the normal course of things.

Pure: rows of the store and prices in, numbers out.
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
"""The parts that pay for what the cache had lost: a cache miss has one of them."""
SHORT_PAUSE: Final = 5 * 60 * 1_000_000
"""How long the prompt cache lasts at least, in microseconds."""

CostParts = dict[str, int]
"""Nanodollars by part."""


def rewritten_tokens(answer: SpentAnswer) -> int:
    """How many tokens were written to the cache although the answer before already had them."""
    before = answer.context_before
    if before is None or 2 * answer.context < before:
        return 0
    again = min(answer.cache_write, before - answer.cache_read)
    return again if 10 * again >= before > 0 else 0


def cause_of_rewriting(answer: SpentAnswer) -> str:
    """Why the cache had lost them, as far as one can see: the name of a part."""
    if answer.model_before is not None:
        return "switch"
    return "pause" if (answer.gap or 0) > SHORT_PAUSE else "lost"


def rewriting_cost(answer: SpentAnswer, prices: Prices) -> int:
    """What writing them again cost, in nanodollars; also of an agent's answer, whose parts are not told apart."""
    parts = cost_parts(answer._replace(agent=None), prices)
    return sum(parts.get(name, 0) for name in LOSSES)


def cost_parts(answer: SpentAnswer, prices: Prices) -> CostParts:
    """The parts of its cost; none if it has no known price."""
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
    """The total, divided by weights: whole numbers that add up to it."""
    whole = sum(weights.values())
    if whole == total:
        return {name: weight for name, weight in weights.items() if weight}
    if not whole:
        return {"output": total}
    parts = {name: total * weight // whole for name, weight in weights.items() if weight}
    parts[max(parts, key=lambda name: parts[name])] += total - sum(parts.values())
    return parts
