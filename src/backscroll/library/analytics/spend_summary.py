"""Changes between two periods, in sentences. Pure."""

from typing import Final

from backscroll.conversation.model_names import short_model
from backscroll.library.analytics.cost_parts import PARTS
from backscroll.library.analytics.spend import Spend, SpendGroup, Spending
from backscroll.library.analytics.wording import count

LARGE: Final = 0.25
"""A group is named if it makes at least this part of the difference."""
CENT: Final = 10_000_000


def headline(found: Spend) -> str:
    """Describe the cost against the period before."""
    now, before = found.total.cost, found.before.cost
    if found.period.before is None:
        return f"{least(found.total)} in {count(found.total.answers, 'answer')}"
    if not found.is_comparable and before:
        return f"{least(found.total)}; {least(found.before)} in the period before; lower bounds are not compared"
    if not found.is_comparable:
        return f"{least(found.total)}; the period before cost nothing"
    if abs(now - before) < CENT:
        return f"{money(now)}, as much as in the period before"
    if not before:
        return f"{money(now)}; the period before cost nothing"
    more = "more" if now > before else "less"
    change = f"{money(abs(now - before))} {more} ({_percent(now, before)})"
    return f"{money(now)}, {change} than in the period before ({money(before)})"


def what_changed(found: Spend) -> list[str]:
    """List the sources of the difference, the most important first; empty if the difference is negligible."""
    difference = found.total.cost - found.before.cost
    if not found.is_comparable or abs(difference) < CENT or not found.before.cost:
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
    changed = [
        f"{PARTS[name].lower()} {signed(changes[name])}"
        for name in largest
        if abs(changes[name]) >= max(CENT, 0.15 * abs(difference))
    ]
    return [f"what the money paid for: {', '.join(changed)}"] if changed else []


def _movers(found: Spend, difference: int) -> list[str]:
    sentences = []
    for dimension in ("project", "model"):
        groups = found.groups[dimension]
        moved = [group for group in groups if abs(group.change) >= max(CENT, LARGE * abs(difference))]
        if len(groups) < 2 or not moved:
            continue
        most = max(moved, key=lambda group: abs(group.change))
        sentences.append(
            f"{dimension} {_name(dimension, most)}: {money(most.now.cost)} instead of {money(most.before.cost)}"
        )
    return sentences


def _name(dimension: str, group: SpendGroup) -> str:
    if dimension == "model":
        return short_model(group.name)
    return "/".join(group.name.rstrip("/").split("/")[-2:]) or group.name


def least(sums: Spending) -> str:
    """Format the cost of answers, with `≥` if the final output count of one of them is not known."""
    return f"{'≥ ' if sums.placeholders else ''}{money(sums.cost)}"


def money(nano: float) -> str:
    """Format nanodollars as dollars and cents."""
    return f"${nano / 1e9:,.2f}"


def signed(nano: int) -> str:
    """Format nanodollars as a difference, with a sign."""
    return f"{'+' if nano >= 0 else '-'}{money(abs(nano))}"


def _percent(now: int, before: int) -> str:
    return f"{100 * (now - before) / before:+,.0f} %"
