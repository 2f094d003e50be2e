"""The charts of the Spend page: cost over time by model, and the 5-hour blocks."""

from collections import defaultdict
from datetime import datetime, timedelta
from typing import Final

from backscroll.library.analytics.moments import local
from backscroll.library.analytics.reports import QUARTER, Report
from backscroll.library.analytics.spend import Spend
from backscroll.library.library import Library
from backscroll.render.html.charts import Axis, Level, Series, stacked_bars
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.web.pages.group_names import named_series
from backscroll.web.pages.spend_request import SpendRequest
from backscroll.web.pages.stats_periods import colour_ranks, drawn_over_time, hour_or_day

BLOCKS: Final = 60
DAYS_OF: Final = {"day": 1, "week": 7}


def cost_chart(library: Library, asked: SpendRequest, found: Spend, budget: float | None) -> Html:
    """Return the cost by model over time, with the budget as a line."""
    values: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    base = hour_or_day(asked.period.since, asked.period.until, asked.now, (item.answer.time for item in found.items))
    shape = "%Y-%m-%d %H:00" if base == "hour" else "%Y-%m-%d"
    names: dict[int, str] = {}
    untimed = 0
    for item in found.items:
        time = item.answer.time
        if time is None:
            untimed += item.cost
            continue
        quarter = time // QUARTER
        if quarter not in names:
            names[quarter] = f"{local(asked.about, quarter * QUARTER):{shape}}"
        values[item.answer.model or "-"][names[quarter]] += item.cost / 1000
    drawn = drawn_over_time(
        values, base, "", (asked.period.since, asked.period.until), asked.about.local, asked.now,
        colour_ranks(library, "model"), "cost_microdollars", untimed / 1000,
    )  # fmt: skip
    level = None
    if budget and drawn.period in DAYS_OF:
        days = (asked.now.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        name = "Budget a day" if drawn.period == "day" else "Budget a week"
        level = Level(budget * 1e6 / days.day * DAYS_OF[drawn.period], name)
    label = f"Cost by {drawn.period} and model"
    return stacked_bars(
        drawn.axis,
        named_series(drawn.series, "model"),
        label=label,
        measure="cost_microdollars",
        note=drawn.note,
        level=level,
    )


def block_chart(asked: SpendRequest, windows: Report) -> Html:
    """Return the 5-hour blocks of the period."""
    since, until = (asked.about.local(moment).strftime("%Y-%m-%d %H:%M") if moment else "" for moment in
                    (asked.period.since, asked.period.until))  # fmt: skip
    rows = [
        row for row in windows.as_dicts()
        if (not since or row["end"] > since) and (not until or row["start"] < until)
    ][::-1]  # fmt: skip
    if not rows:
        return NOTHING
    latest = rows[-BLOCKS:]
    axis = Axis(
        [row["start"] for row in latest],
        [(row["start"].replace(" ", "T"), row["end"].replace(" ", "T")) for row in latest],
        [_block_name(row["start"]) for row in latest],
    )
    series = [Series("Cost", [row["cost_microdollars"] for row in latest])]
    total = sum(row["cost_microdollars"] or 0 for row in rows)
    note = f"{len(rows):,} blocks, ${total / 1e6:,.2f}. A block begins with the first answer after the last one ended"
    if asked.only.chosen:
        note += "; of everything, not only of what is filtered"
    if len(latest) < len(rows):
        note += f"; the {len(latest)} latest are drawn"
    chart = stacked_bars(axis, series, label="Cost by 5-hour block", measure="cost_microdollars", note=f"{note}.")
    every = el("p", el("a", "All blocks as a table", href="/stats/blocks"), class_="muted")
    title = el("h2", "5-hour blocks", el("span", f"{len(rows):,} in this period", class_="chart-note"))
    return el("details", el("summary", title), chart, every, class_="panel", id="blocks")


def _block_name(start: str) -> str:
    moment = datetime.fromisoformat(start)
    return f"{moment:%b} {moment.day}, {moment:%H:%M}"
