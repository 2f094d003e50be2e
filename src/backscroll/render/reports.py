"""Reports as tables for a terminal: numbers people can read, bars, a total, and columns that fit."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from backscroll.render.layout import Column
from backscroll.render.tables import FittedTable, TableBar, fit, is_numeric

SHORT_ID: Final = 8
TEXT: Final = 16
"""A text that is narrower says too little: other columns are left out before."""


NAME: Final = 26
"""As wide as the name of a model with its date."""


def report_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    bar: str | None,
    width: int | None,
    total: Mapping[str, Any] | None = None,
    zone: str = "",
) -> FittedTable:
    """A report as a table, with bars for one of its columns and, if there is one, the total as the last line.

    Without a `width` it is complete: no column is left out, nothing is cut, and ids are whole. `zone` is named once,
    in the head of the first column with times of the day.
    """
    right = [is_numeric(row[number] for row in rows) for number in range(len(columns))]
    texts = [[_cell(name, value, width) for name, value in zip(columns, row, strict=True)] for row in rows]
    shaped = [_column(name, side) for name, side in zip(columns, right, strict=True)]
    if zone:
        timed = next((n for n, name in enumerate(columns) if name in TIMES and _has_clock(texts, n)), None)
        if timed is not None:
            shaped[timed] = shaped[timed]._replace(name=f"{shaped[timed].name} {zone}")
    has_total = bool(total and rows)
    if total and rows:
        texts.append(["total", *(_cell(name, total[name], width) if name in total else None for name in columns[1:])])
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


def short_id(name: str) -> str:
    """An id as people copy it: so much of it that it is found, whatever stands before its own characters."""
    prefix = PREFIX.match(name)
    return name[: SHORT_ID + (prefix.end() if prefix else 0)] if ID.fullmatch(name) else name


def _has_clock(texts: Sequence[Sequence[Any]], number: int) -> bool:
    return any(isinstance(row[number], str) and ":" in row[number] for row in texts)


def dollars(microdollars: int | None) -> str:
    """An amount in dollars; `-` if no price is known."""
    if microdollars is None:
        return "-"
    sign, amount = "-" if microdollars < 0 else "", abs(microdollars)
    return sign + (f"${amount / 1e6:,.2f}" if amount >= 10_000 or amount == 0 else f"${amount / 1e6:.4f}")


def short(count: float) -> str:
    """A large number in a few characters."""
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e4, "k")):
        if abs(count) >= size:
            scaled = count / (1e3 if unit == "k" else size)
            return f"{scaled:,.1f}{unit}" if scaled < 100 else f"{scaled:,.0f}{unit}"
    return f"{count:,.0f}"


def duration(seconds: float | None) -> str:
    """A time span in two units at most."""
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


HEADINGS: Final = {
    "cache_creation_input_tokens": "cache write",
    "cache_read_input_tokens": "cache read",
    "cost_microdollars": "cost",
    **{f"total_{part}_tokens": f"tokens {part}" for part in ("p50", "p90", "p95", "max")},
}
IDS: Final = {"chat", "session", "message", "agent"}
ID: Final = re.compile(r"[A-Za-z]*_?[0-9A-Za-z-]*[0-9][0-9A-Za-z-]{7,}")
PREFIX: Final = re.compile(r"[A-Za-z]+_|agent-")
TIMES: Final = {"day", "week", "month", "hour", "start", "end", "first", "last", "time"}
NAMES: Final = {"model", "version"}
PATHS: Final = {"project", "file", "folder", "path"}
"""Of a path, its end says most."""
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
