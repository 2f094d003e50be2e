"""Reports as lines for a terminal: numbers people can read, bars, and columns below one another."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from backscroll.render.tables import is_numeric, table

BAR: Final = 12
STEPS: Final = " ▏▎▍▌▋▊▉█"


def report_lines(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], bar: str | None, width: int | None
) -> Iterator[str]:
    """A table whose first line is its head; with bars for one of the columns."""
    names = [heading(name) for name in columns]
    right = [is_numeric(row[number] for row in rows) for number in range(len(columns))]
    texts: list[list[Any]] = [
        [value_text(name, value) for name, value in zip(columns, row, strict=True)] for row in rows
    ]
    if bar is not None and bar in columns and rows:
        at = list(columns).index(bar)
        most = max((row[at] or 0 for row in rows), default=0)
        names.append("")
        right.append(False)
        for text, row in zip(texts, rows, strict=True):
            text.append(bar_of(row[at] or 0, most))
    yield from table(names, texts, width, right)


def bar_of(value: float, most: float, width: int = BAR) -> str:
    """A bar as long as the value is part of the most there is."""
    eighths = round(8 * width * value / most) if most > 0 else 0
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (STEPS[rest] if rest else "")


def dollars(microdollars: int | None) -> str:
    """An amount in dollars; empty if no price is known."""
    if microdollars is None:
        return "-"
    sign, amount = "-" if microdollars < 0 else "", abs(microdollars)
    return sign + (f"${amount / 1e6:,.2f}" if amount >= 10_000 or amount == 0 else f"${amount / 1e6:.4f}")


def short(count: float) -> str:
    """A large number in a few characters."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
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
    if name.endswith(("_tokens", "_bytes", "_characters")) and value is not None:
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
}
