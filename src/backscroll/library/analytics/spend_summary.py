"""What changed between two periods, in sentences. Pure."""

from typing import Final

from backscroll.conversation.model_names import short_model
from backscroll.library.analytics.cost_parts import PARTS
from backscroll.library.analytics.spend import Spend, SpendGroup
from backscroll.library.analytics.wording import count

LARGE: Final = 0.25
"""Named is who makes at least this part of the difference."""
CENT: Final = 10_000_000


def headline(found: Spend) -> str:
    """The cost against the period before."""
    now, before = found.total.cost, found.before.cost
    if found.period.before is None:
        return f"{money(now)} in {count(found.total.answers, 'answer')}"
    if abs(now - before) < CENT:
        return f"{money(now)}, as much as in the period before"
    if not before:
        return f"{money(now)}; the period before cost nothing"
    more = "more" if now > before else "less"
    change = f"{money(abs(now - before))} {more} ({_percent(now, before)})"
    return f"{money(now)}, {change} than in the period before ({money(before)})"


def what_changed(found: Spend) -> list[str]:
    """Where the difference comes from, the most important first; nothing if there is no difference to speak of."""
    difference = found.total.cost - found.before.cost
    if found.period.before is None or abs(difference) < CENT or not found.before.cost:
        return []
    return [*_prompts(found), *_parts(found, difference), *_movers(found, difference)]


def _prompts(found: Spend) -> list[str]:
    now, before = found.prompts, found.prompts_before
    if not now or not before:
        return []
    each, each_before = found.total.cost / now, found.before.cost / before
    typed = f"{count(now, 'prompt')} instead of {before:,}" if now != before else f"{count(now, 'prompt')}, as before"
    if abs(each - each_before) < CENT:
        return [f"{typed}; a prompt cost as much as before"]
    return [f"{typed}; a prompt cost {money(each)} instead of {money(each_before)}"]


def _parts(found: Spend, difference: int) -> list[str]:
    changes = {name: found.total.parts[name] - found.before.parts[name] for name in PARTS}
    largest = sorted(changes, key=lambda name: -abs(changes[name]))[:3]
    told = [
        f"{PARTS[name].lower()} {signed(changes[name])}"
        for name in largest
        if abs(changes[name]) >= max(CENT, 0.15 * abs(difference))
    ]
    return [f"what the money paid for: {', '.join(told)}"] if told else []


def _movers(found: Spend, difference: int) -> list[str]:
    told = []
    for dimension in ("project", "model"):
        groups = found.groups[dimension]
        moved = [group for group in groups if abs(group.change) >= max(CENT, LARGE * abs(difference))]
        if len(groups) < 2 or not moved:
            continue
        most = max(moved, key=lambda group: abs(group.change))
        told.append(
            f"{dimension} {_name(dimension, most)}: {money(most.now.cost)} instead of {money(most.before.cost)}"
        )
    return told


def _name(dimension: str, group: SpendGroup) -> str:
    if dimension == "model":
        return short_model(group.name)
    return "/".join(group.name.rstrip("/").split("/")[-2:]) or group.name


def money(nano: float) -> str:
    """Nanodollars as dollars and cents."""
    return f"${nano / 1e9:,.2f}"


def signed(nano: int) -> str:
    """The same as a difference."""
    return f"{'+' if nano >= 0 else '-'}{money(abs(nano))}"


def _percent(now: int, before: int) -> str:
    return f"{100 * (now - before) / before:+,.0f} %"
