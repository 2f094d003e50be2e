"""Charts of characters: sparklines, heatmaps, durations, and the overview of everything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from backscroll.conversation.usage import BOUNDED
from backscroll.render.reports import AT_LEAST, cost_of_row, dollars, duration, short
from backscroll.render.tables import table
from backscroll.render.terminal import clean_line, plural

LEVELS: Final = "▁▂▃▄▅▆▇█"
SHADES: Final = ("·", "░", "▒", "▓", "█")


def sparkline(values: Sequence[float | None]) -> str:
    """Draw one character for each value; None is a space."""
    most = max((value or 0 for value in values), default=0)
    return "".join(" " if not value else LEVELS[min(7, int(8 * value / most))] for value in values)


def heatmap(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield weekdays below one another, hours side by side, darker where there is more."""
    most = max((count for row in rows for count in row[1:-1]), default=0)
    yield " " * 5 + "".join(f"{hour:<6}" for hour in range(0, 24, 3)).rstrip()
    for name, *counts, total in rows:
        cells = "".join(_shade(count, most) * 2 for count in counts)
        yield f"{name[:3]}  {cells}  {total:,}"
    yield f"     {SHADES[0]} none  " + "  ".join(
        f"{shade} to {-(-most * (number + 1) // 4)}" for number, shade in enumerate(SHADES[1:])
    )


def measure_text(name: str, value: float | None, *, signed: bool = False) -> str:
    """Format a measure as its name demands."""
    if value is None:
        return "-"
    sign = ("+" if value > 0 else "-" if value < 0 else "") if signed else ""
    size = abs(value) if signed else value
    if name.endswith("_microdollars"):
        return sign + dollars(round(size))
    if name.endswith("_share"):
        return f"{sign}{100 * size:.1f} {'points' if signed else '%'}"
    if name.endswith("_seconds"):
        return sign + duration(size)
    return sign + (short(size) if name.endswith("_tokens") else f"{size:,.0f}")


def compared_bounds(rows: Sequence[Sequence[Any]]) -> tuple[bool, bool]:
    """Return whether output and cost of each of two sides are lower bounds."""
    counts = next((row for row in rows if row[0] == "answers_without_final_output"), (0, 0, 0))
    return bool(counts[1]), bool(counts[2])


def bounded_text(name: str, value: float | None, is_bound: bool) -> str:
    """Format a measure of a side, with `≥` if it is a lower bound."""
    is_bound = is_bound and name in BOUNDED and value is not None
    return f"{AT_LEAST if is_bound else ''}{measure_text(name, value)}"


def overview_lines(found: Mapping[str, Any], width: int | None) -> Iterator[str]:
    """Yield the overview on one screen."""
    activity, usage = found["activity"], found["usage"]
    tokens = sum(value for name, value in usage.items() if name.endswith("_tokens"))
    yield (
        f"Activity  {plural(activity['chats'], 'chat')}, {plural(activity['prompts'], 'prompt')},"
        f" {duration(activity['active_seconds'])} active on {plural(activity['active_days'], 'day')}"
    )
    streak = activity["longest_streak"]
    if streak["days"]:
        yield (
            f"          longest streak {plural(streak['days'], 'day')}, until {streak['to']};"
            f" current streak {plural(activity['current_streak']['days'], 'day')}"
        )
    bound = AT_LEAST if usage.get("placeholders") else ""
    parts = (f"{bound if name in BOUNDED else ''}{short(usage[name])} {label}" for name, label in TOKENS)
    yield f"Tokens    {bound}{short(tokens)}: " + ", ".join(parts)
    yield f"Cost      {bound}{dollars(usage['cost_microdollars'])} for {plural(usage['messages'], 'answer')}"
    if unrecorded := found["unrecorded"]:
        yield f"          {unrecorded_line(unrecorded)}"
    days = found["last_days"]
    yield f"30 days   {sparkline([day['prompts'] for day in days])}| {sum(day['prompts'] for day in days):,} prompts"
    costs = [day["cost_microdollars"] for day in days]
    yield f"          {sparkline(costs)}| {dollars(sum(cost or 0 for cost in costs))}"
    yield from _deletion_lines(found["deletion"])
    for title, name, column in (("PROJECT", "projects", "project"), ("MODEL", "models", "model")):
        if found[name]:
            yield ""
            rows = [(row[column], f"{row['messages']:,}", cost_of_row(row)) for row in found[name]]
            yield from table((title, "ANSWERS", "COST"), rows, width, [False, True, True])
    if found["tools"]:
        yield ""
        rows = [(row["tool"], f"{row['calls']:,}", f"{row['failed']:,}") for row in found["tools"]]
        yield from table(("TOOL", "CALLS", "FAILED"), rows, width, [False, True, True])


def unrecorded_line(unrecorded: Mapping[str, Any]) -> str:
    """Return the usage of requests without a record, beside the cost of answers."""
    tokens = sum(value for name, value in unrecorded.items() if name.endswith("_tokens"))
    cost = unrecorded["cost_microdollars"]
    amount = "without a known price" if cost is None else f"{dollars(cost)} more"
    return f"{amount} for requests without a record, {short(tokens)} tokens"


def _deletion_lines(deletion: Mapping[str, Any] | None) -> Iterator[str]:
    if deletion is None:
        yield "Archived  nothing yet: run backscroll keep"
        return
    yield (
        f"Archived  {plural(deletion['sessions_kept'], 'session')},"
        f" {deletion['only_in_archive']:,} of them deleted by Claude Code"
    )
    yield expiring_line(deletion)


def expiring_line(deletion: Mapping[str, Any]) -> str:
    """Return what Claude Code deletes within a week, and whether it is archived."""
    if not deletion["due"]:
        return "Expiring  no sessions within 7 days"
    missing = deletion["not_kept"]
    rest = f"{missing:,} NOT archived: run backscroll keep" if missing else "all archived"
    parts = [f"{plural(deletion['overdue'], 'session')} overdue"] if deletion["overdue"] else []
    if soon := deletion["due"] - deletion["overdue"]:
        when = clean_line(deletion["first_due"][:10])
        parts.append(f"{plural(soon, 'session')} within 7 days, the first on {when}")
    return f"Expiring  {'; '.join(parts)}: {rest}"


def _shade(count: int, most: int) -> str:
    return SHADES[0] if not count else SHADES[1 + min(3, 4 * (count - 1) // max(1, most))]


TOKENS: Final = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_creation_input_tokens", "cache write"),
    ("cache_read_input_tokens", "cache read"),
)
