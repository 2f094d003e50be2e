"""Reasons for a cost: its largest parts, in words and numbers. Pure."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from backscroll.conversation.model_names import short_model
from backscroll.library.analytics.cost_parts import PARTS, cause_of_rewriting, rewritten_tokens
from backscroll.library.analytics.spend import SpentItem
from backscroll.library.analytics.wording import count

MAX_REASONS: Final = 3
LEAST_SHARE: Final = 0.12
"""A part with a smaller share of the cost explains nothing."""
LONG_OUTPUT: Final = 4_000
"""Output tokens from which an answer is called long."""
MINUTE: Final = 60 * 1_000_000


class Reason(NamedTuple):
    """A part of a cost, and its cause."""

    part: str
    cost: int
    """The cost in nanodollars."""
    share: float
    text: str

    @property
    def title(self) -> str:
        """The name of the part."""
        return PARTS[self.part]


def reasons(items: Sequence[SpentItem]) -> list[Reason]:
    """Return the parts that explain the cost of some answers, the largest first; none if nothing has a price."""
    parts: dict[str, int] = {}
    for item in items:
        for name, cost in item.parts.items():
            parts[name] = parts.get(name, 0) + cost
    total = sum(parts.values())
    if not total:
        return []
    largest = sorted(parts, key=lambda name: (-parts[name], name))[:MAX_REASONS]
    return [
        Reason(name, parts[name], parts[name] / total, TEXTS[name](items))
        for name in largest
        if parts[name] / total >= LEAST_SHARE
    ]


def _context(items: Sequence[SpentItem]) -> str:
    own = [item.answer for item in items if item.answer.agent is None]
    sizes = [answer.context for answer in own]
    mean = sum(sizes) // len(sizes)
    grown = f", grown from {tokens(sizes[0])} to {tokens(max(sizes))}" if max(sizes) >= 1.5 * max(1, sizes[0]) else ""
    return f"{count(len(own), 'answer')} read a context of {tokens(mean)} on average{grown}"


def _new(items: Sequence[SpentItem]) -> str:
    written = sum(item.answer.cache_write - rewritten_tokens(item.answer) for item in _own(items))
    return f"{tokens(written)} of prompts, files and tool output were new in the context"


def _again(cause: str) -> Callable[[Sequence[SpentItem]], str]:
    def text(items: Sequence[SpentItem]) -> str:
        hit = [
            item.answer
            for item in _own(items)
            if rewritten_tokens(item.answer) and cause_of_rewriting(item.answer) == cause
        ]
        lost = tokens(sum(map(rewritten_tokens, hit)))
        if cause == "pause":
            longest = max(answer.gap or 0 for answer in hit)
            pauses = "a pause" if len(hit) == 1 else f"{len(hit):,} pauses"
            length = f"of {pause(longest)}" if len(hit) == 1 else f"of up to {pause(longest)}"
            return f"{pauses} {length} outlasted the cache: {lost} were written to it again"
        if cause == "switch":
            changes = dict.fromkeys(f"{short_model(after.model_before)} → {short_model(after.model)}" for after in hit)
            examples = ", ".join(list(changes)[:2]) + (" …" if len(changes) > 2 else "")
            return f"{count(len(hit), 'model change')} ({examples}): {lost} were written to the cache again"
        return f"{lost} were not in the cache any more, {count(len(hit), 'time')} without a pause"

    return text


def _output(items: Sequence[SpentItem]) -> str:
    written = [item.answer.output for item in _own(items)]
    long = sum(1 for size in written if size >= LONG_OUTPUT)
    output = f"{tokens(sum(written))} of answers, thinking and tool input"
    return output + (f"; {count(long, 'answer')} of {tokens(LONG_OUTPUT)} or more" if long else "")


def _agents(items: Sequence[SpentItem]) -> str:
    agents = {(item.answer.chat, item.answer.agent) for item in items if item.answer.agent is not None}
    answers = sum(1 for item in items if item.answer.agent is not None)
    return f"{count(len(agents), 'agent')} gave {count(answers, 'answer')}"


def _uncached(items: Sequence[SpentItem]) -> str:
    return f"{tokens(sum(item.answer.input for item in _own(items)))} were sent without the cache"


def _searches(items: Sequence[SpentItem]) -> str:
    return count(sum(item.answer.web_searches for item in _own(items)), "web search", "web searches")


def _own(items: Sequence[SpentItem]) -> list[SpentItem]:
    return [item for item in items if item.answer.agent is None]


def tokens(number: float) -> str:
    """Format a number of tokens: `950 tokens`, `12k tokens`, `1.2M tokens`."""
    if number >= 999_500:
        return f"{number / 1e6:,.1f}M tokens"
    return f"{number / 1e3:,.0f}k tokens" if number >= 1_000 else count(round(number), "token")


def pause(time: int) -> str:
    """Format a pause, to the minute, hour or day."""
    minutes = time / MINUTE
    if minutes < 90:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 48 * 60 else f"{minutes / 60 / 24:.0f} days"


TEXTS: Final[dict[str, Callable[[Sequence[SpentItem]], str]]] = {
    "context": _context,
    "new": _new,
    "pause": _again("pause"),
    "switch": _again("switch"),
    "lost": _again("lost"),
    "output": _output,
    "agents": _agents,
    "uncached": _uncached,
    "searches": _searches,
}
"""A function that describes the cause of each part."""
