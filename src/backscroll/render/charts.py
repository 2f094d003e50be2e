"""Charts of characters: sparklines, heatmaps, durations, and the overview of everything."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from backscroll.render.reports import dollars, duration, short
from backscroll.render.tables import table
from backscroll.render.terminal import clean_line, plural

LEVELS: Final = "▁▂▃▄▅▆▇█"
SHADES: Final = ("·", "░", "▒", "▓", "█")


def sparkline(values: Sequence[float | None]) -> str:
    """One character for each value; what is nothing is a space."""
    most = max((value or 0 for value in values), default=0)
    return "".join(" " if not value else LEVELS[min(7, int(8 * value / most))] for value in values)


def heatmap(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Weekdays below one another, hours side by side, darker where there is more."""
    most = max((count for row in rows for count in row[1:-1]), default=0)
    yield " " * 5 + "".join(f"{hour:<6}" for hour in range(0, 24, 3)).rstrip()
    for name, *counts, total in rows:
        cells = "".join(_shade(count, most) * 2 for count in counts)
        yield f"{name[:3]}  {cells}  {total:,}"
    yield f"     {SHADES[0]} none  " + "  ".join(
        f"{shade} to {-(-most * (number + 1) // 4)}" for number, shade in enumerate(SHADES[1:])
    )


def measure_text(name: str, value: float | None, *, signed: bool = False) -> str:
    """A measure as its name says it is to be read."""
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


def overview_lines(found: Mapping[str, Any], width: int | None) -> Iterator[str]:
    """The overview on one screen."""
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
    yield f"Tokens    {short(tokens)}: " + ", ".join(f"{short(usage[name])} {label}" for name, label in TOKENS)
    yield f"Cost      {dollars(usage['cost_microdollars'])} for {plural(usage['messages'], 'answer')}"
    days = found["last_days"]
    yield f"30 days   {sparkline([day['prompts'] for day in days])}| {sum(day['prompts'] for day in days):,} prompts"
    costs = [day["cost_microdollars"] for day in days]
    yield f"          {sparkline(costs)}| {dollars(sum(cost or 0 for cost in costs))}"
    yield from _deletion_lines(found["deletion"])
    for title, name, column in (("PROJECT", "projects", "project"), ("MODEL", "models", "model")):
        if found[name]:
            yield ""
            rows = [(row[column], f"{row['messages']:,}", dollars(row["cost_microdollars"])) for row in found[name]]
            yield from table((title, "ANSWERS", "COST"), rows, width, [False, True, True])
    if found["tools"]:
        yield ""
        rows = [(row["tool"], f"{row['calls']:,}", f"{row['failed']:,}") for row in found["tools"]]
        yield from table(("TOOL", "CALLS", "FAILED"), rows, width, [False, True, True])


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
    """What Claude Code deletes within a week, and whether it is archived."""
    if not deletion["due"]:
        return "Expiring  no sessions within 7 days"
    missing = deletion["not_kept"]
    rest = f"{missing:,} NOT archived: run backscroll keep" if missing else "all archived"
    told = [f"{plural(deletion['overdue'], 'session')} overdue"] if deletion["overdue"] else []
    if soon := deletion["due"] - deletion["overdue"]:
        when = clean_line(deletion["first_due"][:10])
        told.append(f"{plural(soon, 'session')} within 7 days, the first on {when}")
    return f"Expiring  {'; '.join(told)}: {rest}"


def _shade(count: int, most: int) -> str:
    return SHADES[0] if not count else SHADES[1 + min(3, 4 * (count - 1) // max(1, most))]


TOKENS: Final = (
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_creation_input_tokens", "cache write"),
    ("cache_read_input_tokens", "cache read"),
)
