"""The charts of each report."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from backscroll.library.analytics.activity import WEEKDAYS
from backscroll.library.analytics.chats import columns_of
from backscroll.library.analytics.moments import local
from backscroll.library.analytics.periods import NO_TIME, PERIODS
from backscroll.library.analytics.prompts import count_prompts
from backscroll.library.analytics.reports import Report
from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.library import Library
from backscroll.render.charts import measure_text
from backscroll.render.html.axes import day_name, week_name
from backscroll.render.html.charts import Axis, Bar, Series, bars, lines, stacked_bars
from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.figures import figure
from backscroll.render.html.heatmaps import heatmap, hours
from backscroll.render.html.reports import heading
from backscroll.render.html.treemap import FolderValue, treemap
from backscroll.render.terminal import plural
from backscroll.web.pages.group_names import group_names, named_series
from backscroll.web.pages.stats_links import chats_of_day, cut_name, link_of
from backscroll.web.pages.stats_periods import axis_of, drawn_over_time, is_drawn, usage_over_time
from backscroll.web.pages.stats_reports import KINDS, ReportPage

MAX_BLOCKS: Final = 60
SHOWN: Final = 15
"""Most bars in a chart: the table has all rows."""
TIMES: Final = ("model_seconds", "tools_seconds", "human_seconds", "other_seconds")
SHARES: Final = ("prompts_share", "answers_share", "thinking_share", "calls_share", "outputs_share", "other_share")
MEASURES: Final = {"cost": "cost_microdollars", "tokens": "all_tokens", "answers": "answers"}
TITLES: Final = {"cost": "Cost", "tokens": "Tokens", "answers": "Answers"}

FIRST_DAY, END = date(1970, 1, 1), date(2200, 1, 1)
"""Earlier or later times were written by a wrong clock."""

Draw = Callable[[Library, About, Mapping[str, Any], Report], list[Html]]


def charts_of(name: str, library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    """Return the charts of a report, if any."""
    return DRAWN[name](library, about, chosen, report) if name in DRAWN and report.rows else []


def has_bars(kind: ReportPage, chosen: Mapping[str, Any]) -> bool:
    """Whether the chart of a report is a bar for each row: then the table needs none."""
    is_over_time = chosen.get("by") in (*PERIODS, "turn")
    return kind in (KINDS[name] for name in BARS) and not is_over_time and not chosen.get("loops")


def usage_chart(library: Library, about: About, stack: str, show: str, period: str) -> Html:
    """Return a chart of usage over time."""
    drawn = usage_over_time(library, about, stack, show, period, about.local(datetime.now(UTC)))
    series = named_series(drawn.series, stack)
    label = f"{TITLES[show]} by {drawn.period} and {stack}"
    return stacked_bars(drawn.axis, series, label=label, measure=MEASURES[show], note=drawn.note)


def prompt_charts(times: Iterable[int], about: About, today: date) -> Html:
    """Return prompts by day of the period, and by hour of the week: side by side where there is room."""
    whens = [local(about, time) for time in times]
    days = Counter(when.date() for when in whens if FIRST_DAY <= when.date() < END)
    first = about.local(about.since).date() if about.since else None
    last = about.local(about.until - timedelta(microseconds=1)).date() if about.until else today
    cells = Counter((when.weekday(), when.hour) for when in whens)
    week = [(name, [cells[weekday, hour] for hour in range(24)]) for weekday, name in enumerate(WEEKDAYS)]
    ends = (first or min(days, default=last), max([last, *days]))
    odd = len(whens) - sum(days.values())
    note = f"{plural(odd, 'prompt')} of impossible days not drawn" if odd else ""
    span = f"{ends[0]} to {ends[1]}: {plural(len(whens), 'prompt')}, all weeks added up."
    return el(
        "div",
        heatmap(days, label="Prompts by day", link=chats_of_day, first=ends[0], last=ends[1], note=note),
        hours(week, label="Prompts by weekday and hour", unit="prompts", note=span),
        class_="calendars",
    )


def period_text(about: About) -> str:
    """Return the period of a chart, as its caption says it."""
    since, until = (about.local(moment) if moment else None for moment in (about.since, about.until))
    if since is None and until is None:
        return "All time"
    first = f"{since:%Y-%m-%d %H:%M}" if since else "The beginning"
    return f"{first} to {f'{until:%Y-%m-%d %H:%M}' if until else 'now'}"


def simple_bars(
    about: About,
    report: Report,
    measures: Sequence[str],
    label: str,
    *,
    values: Sequence[str] = (),
    colours: Sequence[int] = (),
    between: str = " + ",
) -> Html:
    """Return the first rows of a report as bars: length is the sum of the measures, `values` the text beside them."""
    every = report.as_dicts()
    rows, key = every[:SHOWN], report.columns[0]
    stated = values or measures[:1]
    names = [str(row.get("title") or row[key] or "-") for row in rows]
    short = group_names(key, names)
    items = []
    for row, name in zip(rows, names, strict=True):
        name_shown = short[name]
        parts = [max(0.0, float(row[measure] or 0)) for measure in measures]
        figures = between.join(measure_text(measure, row[measure]) for measure in stated)
        items.append(Bar(name_shown, parts, figures, link_of(key, row), name if name_shown != name else ""))
    cut = f": the first {SHOWN} of {len(every):,}; the table has all of them" if len(every) > SHOWN else ""
    note = f"{period_text(about)}{cut}."
    legend = [heading(name) for name in measures] if len(measures) > 1 else ()
    return bars(items, label=label, legend=legend, colours=colours, note=note)


def _usage(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    by, show, period = chosen["by"], chosen["show"], chosen["period"]
    if by in PERIODS:
        return [usage_chart(library, about, chosen["stack"], show, period or by)]
    measure = {"cost": "cost_microdollars", "answers": "messages"}.get(show)
    measures = [measure] if measure else [name for name in report.columns if name.endswith("_tokens")]
    drawn = (
        [simple_bars(about, _sorted(report, measures), measures, f"{TITLES[show]} by {by}")]
        if len(report.rows) > 1
        else []
    )
    if by in ("model", "project"):
        drawn.insert(0, usage_chart(library, about, by, show, period))
    return drawn


def _blocks(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library, about, chosen
    every = report.as_dicts()
    rows = every[:MAX_BLOCKS][::-1]
    axis = Axis(
        [row["start"] for row in rows],
        [(row["start"].replace(" ", "T"), row["end"].replace(" ", "T")) for row in rows],
        ticks=[day_name(row["start"][:10]) for row in rows],
    )
    series = [Series("Cost", [row["cost_microdollars"] for row in rows])]
    note = f"{rows[0]['start']} to {rows[-1]['end']}, {len(rows):,} of {len(every):,} windows"
    if left := sum(row["cost_microdollars"] or 0 for row in every[MAX_BLOCKS:]):
        note += f"; not drawn: {measure_text('cost_microdollars', left)} in earlier ones"
    label = "Cost per five-hour window"
    return [stacked_bars(axis, series, label=label, measure="cost_microdollars", note=f"{note}.")]


def _time(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    label = f"Active time by {chosen['by']}"
    if chosen["by"] == "day":
        return _over_days(about, report, TIMES, label)
    return [simple_bars(about, report, TIMES, label, values=["active_seconds"])]


def _prompts(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    label = f"Prompts by {chosen['by']}"
    return (
        _over_days(about, report, ["prompts"], label)
        if chosen["by"] == "day"
        else [simple_bars(about, report, ["prompts"], label)]
    )


def _chats(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    by, measures = chosen["by"], columns_of(chosen["show"])
    label = f"{CHAT_TITLES[chosen['show']]} of chats by {by}"
    if by in PERIODS:
        axis, rows = _axis_of(report, by)
        series = [Series(name, [row[column] if row else None for row in rows]) for column, name in
                  zip(measures[:2], SIZES, strict=True)]  # fmt: skip
        return [lines(axis, series, label=label, measure=measures[0], note=_days_note(axis, report, ()))]
    steps = [
        (row[by], row["chats"], row[measures[0]], row[measures[1]], row[measures[0]] or 0,
         (row[measures[1]] or 0) - (row[measures[0]] or 0))
        for row in report.as_dicts()
    ]  # fmt: skip
    drawn = Report((by, "chats", *measures[:2], *SIZES), steps)
    return [simple_bars(about, drawn, SIZES, label, values=measures[:2], between=" · ")]


def _topics(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    by = chosen["by"]
    names = list(dict.fromkeys(str(row[0]) for row in report.rows))
    short = {name: week_name(name, with_year=True) for name in names} if by == "week" else group_names(by, names)
    words: dict[str, list[Html]] = {name: [] for name in names}
    for row in report.as_dicts():
        words[str(row[by])].append(el("li", el("a", row["word"], href=link_of("word", row)), class_="badge"))
    groups = [el("div", el("dt", short[name]), el("dd", el("ul", some))) for name, some in words.items()]
    note = f"{period_text(about)}: the words that stand out most first. The table has how often they were said."
    return [figure("words", f"Words that stand out, by {by}", el("dl", groups, class_="topics"), NOTHING, note=note)]


def _activity(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del chosen, report
    return [prompt_charts(count_prompts(library, about).times, about, about.local(datetime.now(UTC)).date())]


def _tools(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    rows = []
    for row in report.as_dicts():
        other = sum(row[name] for name in ("denied", "interrupted", "missing"))
        rows.append((row[report.columns[0]], row["calls"], row["calls"] - row["errors"] - other, row["errors"], other))
    ended = Report((report.columns[0], "calls", "succeeded", "errors", "denied_or_no_result"), rows)
    label = f"Calls by {chosen['by']}"
    return [simple_bars(about, ended, ended.columns[2:], label, values=["calls"], colours=RESULTS)]


def _in_same_period(about: About, link: str | None) -> str | None:
    """Return a link to a report, about the same time as this report."""
    ends = {"since": about.since, "until": about.until}
    period = {name: f"{about.local(moment):%Y-%m-%dT%H:%M}" for name, moment in ends.items() if moment}
    return f"{link}&{urlencode(period)}" if link and period else link


def _errors(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library, chosen
    rows = [
        Bar(cut_name(f"{row['tool']}: {row['signature']}"), [round(row["count"] * (row["solved_share"] or 0)),
            row["count"] - round(row["count"] * (row["solved_share"] or 0))], f"{row['count']:,}",
            _in_same_period(about, link_of("count", row)))
        for row in report.as_dicts()[:SHOWN]
    ]  # fmt: skip
    return [
        bars(
            rows,
            label="Errors by pattern",
            legend=("Next attempt succeeded", "Failed again, or not tried again"),
            note=f"{period_text(about)}: the {len(rows)} most frequent of {len(report.rows):,} in the table.",
        )
    ]


def _sequences(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    return [] if chosen["loops"] else [simple_bars(about, report, ["count"], "Tool sequences")]


def _files(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library, chosen
    return [simple_bars(about, report, ["edits", "reads"], "Edits and reads", values=["edits", "reads"])]


def _folders(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library, chosen
    values = []
    for row in report.as_dicts():
        text = f"{plural(row['edits'], 'edit')}, {plural(row['reads'], 'read')}"
        values.append(FolderValue(row["folder"], row["edits"] + row["reads"], text))
    note = f"{period_text(about)}: the area is the number of edits and reads. The table has every folder."
    label, unit = "Edits and reads by folder", "edits and reads"
    return [treemap(values, label=label, unit=unit, link=lambda path: link_of("folder", {"folder": path}), note=note)]


def _context(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    if chosen["by"] == "turn":
        rows = report.as_dicts()
        axis = Axis([f"turn {row['turn']}" for row in rows])
        series = [Series("Largest context", [row["largest_context_tokens"] or None for row in rows])]
        return [lines(axis, series, label="Context over the chat", measure="largest_context_tokens")]
    if chosen["by"] == "tool":
        return [simple_bars(about, report, ["characters"], "Tool output, in characters")]
    chats = [
        (row["chat"], row["characters"], row["title"], *(row["characters"] * (row[name] or 0) for name in SHARES))
        for row in report.as_dicts()
    ]
    parts = tuple(name.removesuffix("_share") for name in SHARES)
    return [simple_bars(about, Report(("chat", "characters", "title", *parts), chats), parts, "Characters by kind",
                        values=["characters"])]  # fmt: skip


def _cache(library: Library, about: About, chosen: Mapping[str, Any], report: Report) -> list[Html]:
    del library
    by = chosen["by"]
    if by not in PERIODS:
        return [simple_bars(about, report, ["saved_microdollars"], f"Saved by the cache, by {by}")]
    axis, rows = _axis_of(report, by)
    hits = Series("From the cache", [row["hit_share"] if row else None for row in rows])
    saved = Series("Saved", [(row["saved_microdollars"] if row else None) or 0 for row in rows])
    return [
        lines(
            axis,
            [hits],
            label=f"Share of input from the cache, by {by}",
            measure="hit_share",
            note=_days_note(axis, report, ()),
        ),
        stacked_bars(
            axis,
            [saved],
            label=f"Saved by the cache, by {by}",
            measure="saved_microdollars",
            note=_days_note(axis, report, ["saved_microdollars"]),
        ),
    ]


def _over_days(about: About, report: Report, measures: Sequence[str], label: str) -> list[Html]:
    values: dict[str, dict[str, float]] = {heading(name): {} for name in measures}
    untimed = 0.0
    for row in report.as_dicts():
        for name in measures:
            if row["day"] == NO_TIME:
                untimed += float(row[name] or 0)
            else:
                values[heading(name)][str(row["day"])] = float(row[name] or 0)
    ranks = {name: rank for rank, name in enumerate(values)}
    now = about.local(datetime.now(UTC))
    ends = (about.since, about.until)
    drawn = drawn_over_time(values, "day", "", ends, about.local, now, ranks, measures[0], untimed)
    label = label.replace("by day", f"by {drawn.period}")
    return [stacked_bars(drawn.axis, drawn.series, label=label, measure=measures[0], note=drawn.note)]


def _days_note(axis: Axis, report: Report, measures: Sequence[str]) -> str:
    """Return which days, weeks or months are drawn, how many are not, and how much belongs to those."""
    if not axis.names:
        return ""
    by, kept = report.columns[0], set(axis.names)
    span = f"{axis.label(0)} to {axis.label(len(axis.names) - 1)}"
    others = [row for row in report.as_dicts() if row[by] not in kept]
    if not others:
        return f"{span}."
    left = sum(row[name] or 0 for row in others for name in measures)
    much = f", {measure_text(measures[0], left)}" if measures else ""
    return f"{span}; not drawn: {plural(len(others), f'other {by}')}{much}."


def _axis_of(report: Report, by: str) -> tuple[Axis, list[dict[str, Any] | None]]:
    """Return the axis of a report by periods, and the row of each of its places."""
    known = {str(row[by]): row for row in report.as_dicts() if is_drawn(str(row[by]))}
    axis = axis_of(by, min(known), max(known)) if known else Axis([])
    return axis, [known.get(name) for name in axis.names]


def _sorted(report: Report, measures: Sequence[str]) -> Report:
    places = [report.columns.index(name) for name in measures]
    rows = sorted(report.rows, key=lambda row: -sum(row[place] or 0 for place in places))
    return Report(report.columns, rows)


BARS: Final = ("usage", "time", "prompts", "chats", "tools", "errors", "sequences", "files", "context", "cache")
"""Reports that are drawn as a bar for each of the first rows, unless they are about time."""
CHAT_TITLES: Final = {"turns": "Turns", "tokens": "Tokens", "cost": "Cost", "time": "Active time"}
SIZES: Final = ("Median", "Nine of ten")
RESULTS: Final = (2, 1, 4)
"""The colours of calls that succeeded, failed, and were denied or have no result. Nothing that was denied is green."""
DRAWN: Final[dict[str, Draw]] = {
    "usage": _usage,
    "blocks": _blocks,
    "time": _time,
    "prompts": _prompts,
    "chats": _chats,
    "topics": _topics,
    "activity": _activity,
    "tools": _tools,
    "errors": _errors,
    "sequences": _sequences,
    "files": _files,
    "folders": _folders,
    "context": _context,
    "cache": _cache,
}
