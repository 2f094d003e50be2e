"""Reports as tables for a terminal: numbers people can read, bars, a total, and columns that fit."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from backscroll.conversation.usage import BOUNDED
from backscroll.render.layout import Column
from backscroll.render.tables import FittedTable, TableBar, fit, is_numeric
from backscroll.render.terminal import short_id

TEXT: Final = 16
"""Least width of a text: other columns are left out before it becomes narrower."""


NAME: Final = 26
"""Width of a name: that of a model with its date."""


def report_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    bar: str | None,
    width: int | None,
    total: Mapping[str, Any] | None = None,
    zone: str = "",
) -> FittedTable:
    """Return a report as a table, with bars for one of its columns and, if there is one, the total as the last line.

    Without a `width` it is complete: no column is left out, nothing is cut, and ids are whole. `zone` is named once, in
    the head of the first column with times of the day.
    """
    bounds = [lower_bounds(dict(zip(columns, row, strict=True))) for row in rows]
    columns, rows = without_placeholders(columns, rows)
    right = [is_numeric(row[number] for row in rows) for number in range(len(columns))]
    texts = [
        [f"{AT_LEAST}{_cell(name, value, width)}" if name in bound else _cell(name, value, width)
         for name, value in zip(columns, row, strict=True)]
        for row, bound in zip(rows, bounds, strict=True)
    ]  # fmt: skip
    shaped = [_column(name, side) for name, side in zip(columns, right, strict=True)]
    if zone:
        timed = next((n for n, name in enumerate(columns) if name in TIMES and _has_clock(texts, n)), None)
        if timed is not None:
            shaped[timed] = shaped[timed]._replace(name=f"{shaped[timed].name} {zone}")
    has_total = bool(total and rows)
    if total and rows:
        texts.append(["total", *(_sum_cell(name, total, width) for name in columns[1:])])
    if bar is not None and bar in columns and rows:
        at = list(columns).index(bar)
        most = max((row[at] or 0 for row in rows), default=0)
        shaped.append(Column("", shrinks="bar"))
        for number, text in enumerate(texts):
            text.append("" if has_total and number == len(rows) else TableBar(rows[number][at] or 0, most))
    return fit(shaped, texts, width)


def _column(name: str, right: bool) -> Column:
    extra, short_name = EXTRA.get(name, 0), SHORT_NAMES.get(name, "")
    if right or name in IDS or name in TIMES:
        return Column(heading(name), right, "never", extra=extra, short=short_name)
    least = NAME if name in NAMES else TEXT
    return Column(heading(name), False, "start" if name in PATHS else "end", least, extra, short_name)


def _cell(name: str, value: Any, width: int | None) -> Any:  # noqa: ANN401 - whatever a report holds
    if width is not None and name in IDS and isinstance(value, str):
        return short_id(value)
    return value_text(name, value)


def _sum_cell(name: str, total: Mapping[str, Any], width: int | None) -> Any:  # noqa: ANN401
    if name not in total:
        return None
    text = _cell(name, total[name], width)
    return f"{AT_LEAST}{text}" if name in lower_bounds(total) else text


def _has_clock(texts: Sequence[Sequence[Any]], number: int) -> bool:
    return any(isinstance(row[number], str) and ":" in row[number] for row in texts)


def cost_of_row(row: Mapping[str, Any]) -> str:
    """Return the cost of a row in dollars, with `≥` if it is a lower bound."""
    bound = AT_LEAST if "cost_microdollars" in lower_bounds(row) else ""
    return f"{bound}{dollars(row['cost_microdollars'])}"


def lower_bounds(row: Mapping[str, Any]) -> frozenset[str]:
    """Return the columns of a row that are lower bounds: it has answers whose final output count is not known."""
    bound = {name for name in BOUNDED if row.get(name) is not None} if row.get("placeholders") else set()
    if row.get("placeholders_before") and row.get("before_microdollars") is not None:
        bound.add("before_microdollars")
    return frozenset(bound)


def without_placeholders(
    columns: Sequence[str], rows: Sequence[Sequence[Any]]
) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
    """Return a table without the number of answers that make lower bounds: `≥` stands before the sums instead."""
    kept = [at for at, name in enumerate(columns) if not name.startswith("placeholders")]
    if len(kept) == len(columns):
        return columns, rows
    return [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]


def dollars(microdollars: int | None) -> str:
    """Return an amount in dollars; `-` if no price is known."""
    if microdollars is None:
        return "-"
    sign, amount = "-" if microdollars < 0 else "", abs(microdollars)
    return sign + (f"${amount / 1e6:,.2f}" if amount >= 10_000 or amount == 0 else f"${amount / 1e6:.4f}")


def short(count: float) -> str:
    """Return a large number in a few characters."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(count) >= size:
            scaled = count / (1e3 if unit == "k" else size)
            return f"{scaled:,.1f}{unit}" if scaled < 100 else f"{scaled:,.0f}{unit}"
    return f"{count:,.0f}"


def duration(seconds: float | None) -> str:
    """Return a time span in two units at most."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f}s" if 0 < seconds < 10 else f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02}s"
    return f"{whole // 3600:,}h {whole % 3600 // 60:02}m"


def heading(name: str) -> str:
    for suffix in ("_tokens", "_bytes", "_characters", "_microdollars", "_share", "_seconds"):
        name = HEADINGS.get(name, name.removesuffix(suffix))
    return name.replace("_", " ").upper()


def value_text(name: str, value: Any) -> Any:  # noqa: ANN401 - whatever a report holds
    if name.endswith("_microdollars") or name == "cost_microdollars":
        return dollars(value)
    if name.endswith("_seconds"):
        return duration(value)
    if name.endswith(("tokens", "_bytes", "characters", "characters_each")) and value is not None:
        return short(value)
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if name.endswith("_share") else f"{value:,.1f}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else value


AT_LEAST: Final = "≥ "
HEADINGS: Final = {
    "cache_creation_input_tokens": "cache write",
    "cache_read_input_tokens": "cache read",
    "cost_microdollars": "cost",
    "failed_calls": "failed",
    "failed_calls_share": "failed %",
    **{f"total_{part}_tokens": f"tokens {part}" for part in ("p50", "p90", "p95", "max")},
}
IDS: Final = {"chat", "session", "message", "agent"}
TIMES: Final = {"day", "week", "month", "hour", "start", "end", "first", "last", "time"}
NAMES: Final = {"model", "version"}
PATHS: Final = {"project", "file", "folder", "path"}
"""Columns of paths, which are cut at the start: the end tells most."""
SHORT_NAMES: Final = {
    "messages": "MSGS",
    "cache_creation_input_tokens": "C.WRITE",
    "cache_read_input_tokens": "C.READ",
    "largest_context_tokens": "LARGEST",
    "characters": "CHARS",
    "characters_each": "EACH",
}
EXTRA: Final = {
    # of an answer
    "path": 16, "files": 15, "records": 15, "final": 15, "reported_cost_microdollars": 15, "session": 14, "agent": 12,
    # of usage and of windows
    "models": 9, "end": 8, "cache_creation_input_tokens": 5, "input_tokens": 4, "output_tokens": 3,
    # of tools
    "max_seconds": 7, "interrupted": 9, "missing": 9, "input_bytes": 6, "output_characters": 5,
    # of time
    "other_seconds": 8, "turn_p90_seconds": 7, "turn_p50_seconds": 6, "away_seconds": 5,
    # of prompts
    "queued": 8, "length_p90": 7, "repeated": 6, "abandoned": 6, "characters": 2,
    # of the cache
    "missed_tokens": 8, "answers": 7,
    # of the context
    "other_share": 9, "lost_tokens": 8, "compactions": 7, "calls_share": 6, "thinking_share": 6, "largest_tool": 5,
    # of spending
    "tokens": 11,
    # of chats
    **{name.format("p95"): 10 for name in ("turns_{}", "total_{}_tokens", "cost_{}_microdollars", "active_{}_seconds")},
    "active_max_seconds": 9, "total_max_tokens": 9, "cost_max_microdollars": 8, "turns_max": 8, "active_p90_seconds": 7,
    "total_p90_tokens": 6, "active_p50_seconds": 5, "total_p50_tokens": 4,
    # of files
    "failed": 9, "removed": 3, "added": 3,
}  # fmt: skip
"""Columns that are left out where the others do not fit, those with the highest number first."""
