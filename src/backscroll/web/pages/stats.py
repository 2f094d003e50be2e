"""The statistics: an overview, and a page for every report."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from starlette.responses import JSONResponse, Response, StreamingResponse

from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.library.analytics.chats import columns_of
from backscroll.library.analytics.overview import overview
from backscroll.library.analytics.prompts import count_prompts
from backscroll.library.analytics.reports import Report
from backscroll.library.analytics.reports import ReportRequest as About
from backscroll.library.library import Library
from backscroll.render.charts import unrecorded_line
from backscroll.render.html.charts import Bar, bars
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.html.reports import compared_table, notes_list, report_table
from backscroll.render.reports import cost_of_row, dollars, duration, short, value_text
from backscroll.render.tables import csv_lines, plain_value
from backscroll.render.terminal import plural
from backscroll.web.layout import document, empty_state, error_html, page_frame
from backscroll.web.pages import first_run
from backscroll.web.pages.group_names import group_names
from backscroll.web.pages.stats_charts import RESULTS, charts_of, has_bars, period_text, prompt_charts, usage_chart
from backscroll.web.pages.stats_form import address, carried, ranges, report_form, tabs
from backscroll.web.pages.stats_links import link_of
from backscroll.web.pages.stats_reports import KINDS, ReportPage, about_of
from backscroll.web.requests import PageRequest

FORMATS: Final = ("", "csv", "json")
ERROR_COLUMNS: Final = ("signature", "tool", "count", "chats", "solved_share", "last")
EXPLAINED: Final = 500
"""Number of answers on a page; the download has all of them."""


def overview_page(request: PageRequest) -> Response:
    """Return the overview. Its head is sent first: there is something to see while the rest is counted."""
    about, now = about_of(request, with_query=False)
    head = _head(request, "Overview", "Notes below each report say what was counted and what was left out.", "overview")
    common = carried(request)

    def count() -> Html:
        with request.state.library() as library:
            return _overview(library, about, now, common)

    key = ("overview", str(request.http.query_params), now.date())
    counted = partial(request.state.counted_parts.get, key, count)
    return StreamingResponse(_overview_pieces(head, counted), media_type="text/html")


def _overview_pieces(head: Html, counted: Callable[[], Html]) -> Iterator[str]:
    begin, end = page_frame("Stats", here="/stats", styles=("stats.css",), scripts=("stats.js",))
    yield begin
    yield head
    yield el("div", [el("span") for _ in range(6)], class_="skeleton-lines while-counting", aria_hidden="true")
    try:
        body = counted()
    except BackscrollError as error:  # too late for another status
        body = error_html(error)
    yield body
    yield end


def _overview(library: Library, about: About, now: datetime, common: Mapping[str, str]) -> Html:
    if not library.totals().chats:
        return first_run.no_chats()
    prompts = count_prompts(library, about)
    totals = overview(library, about, now.astimezone(UTC), prompts, has_deletion=False)
    return join([
        _cards(common, totals),
        usage_chart(library, about, "model", "cost", ""),
        prompt_charts(prompts.times, about, now.date()),
        el("div", _most(totals, "projects", "project", "Cost by project", period_text(about)),
           _most(totals, "models", "model", "Cost by model", period_text(about)), _tools(totals, period_text(about)),
           class_="side-by-side"),
        el("details", el("summary", "What was counted"), notes_list(totals["notes"]), class_="counted"),
    ])  # fmt: skip


def report(request: PageRequest) -> Html | Response:
    """Return a report, as a page or as a file."""
    name = request.path("report")
    if first_run.is_first_run(request.library):
        return first_run.page("Stats", "/stats")
    if name == "overview":
        return overview_page(request)
    kind = KINDS.get(name)
    if kind is None:
        raise NothingFound(f"unknown report {name}", f"use one of {', '.join(KINDS)}")
    if request.get("format") not in FORMATS:
        raise UsageError(f"unknown format {request.get('format')}", "use csv or json")
    about, now = about_of(request, with_query=kind.has_query)
    chosen = kind.chosen(request)
    if request.get("format") and not request.get("limit"):
        chosen["limit"] = 0  # a download has all rows
    answer = kind.run(request.library, about, chosen, now)
    if request.get("format"):
        return _download(name, replace(answer, rows=answer.rows[: chosen["limit"] or None]), request.get("format"))
    rows = answer.rows[: chosen["limit"] or None]
    counted = el("details", el("summary", "What was counted"), notes_list(answer.notes), class_="counted")
    body = join([
        _facts(name, chosen, answer),
        charts_of(name, request.library, about, chosen, answer),
        _table(kind, chosen, answer, rows, carried(request)),
        _more(request, name, len(answer.rows) - len(rows)),
        _explanation(answer.explanation),
        counted if answer.notes else NOTHING,
    ])  # fmt: skip
    downloads = _downloads(request, name) if answer.rows else NOTHING
    main = join([
        _head(request, kind.title, kind.about, name, downloads),
        report_form(request, name, kind, chosen),
        el("div", body, id="report"),
    ])  # fmt: skip
    return _page(kind.title, main)


def _page(title: str, main: Html) -> Html:
    scripts = ("stats.js", "report_form.js")
    return document(title, main, here="/stats", styles=("stats.css",), scripts=scripts)


def _head(request: PageRequest, title: str, about: str, name: str, downloads: Html = NOTHING) -> Html:
    return el(
        "header",
        tabs(request, name),
        el("div", el("h1", title), downloads, class_="report-title"),
        el("p", about, class_="muted"),
        ranges(request, name),
        class_="report-head",
        id="report-head",
    )


def _cards(common: Mapping[str, str], found: Mapping[str, Any]) -> Html:
    activity, usage = found["activity"], found["usage"]
    tokens = sum(value for name, value in usage.items() if name.endswith("_tokens"))
    streak = activity["longest_streak"]["days"]
    facts = (
        ("Cost", cost_of_row(usage), plural(usage["messages"], "answer") + _unrecorded(found), "usage"),
        ("Tokens", short(tokens), f"{short(usage['output_tokens'])} output", "usage"),
        ("Prompts", f"{activity['prompts']:,}", f"in {plural(activity['chats'], 'chat')}", "prompts"),
        ("Active time", duration(activity["active_seconds"]), f"on {plural(activity['active_days'], 'day')}", "time"),
        (
            "Longest streak",
            plural(streak, "day"),
            f"current: {plural(activity['current_streak']['days'], 'day')}",
            "activity",
        ),
        ("Tool calls", f"{found['calls']:,}", "by result", "tools"),
    )
    cards = [
        el("a", el("span", name, class_="muted"), el("strong", value), el("span", more, class_="muted"),
           href=address(to, {**common, "show": "tokens"} if name == "Tokens" else common), class_="card fact")
        for name, value, more, to in facts
    ]  # fmt: skip
    return el("div", cards, class_="facts")


def _unrecorded(facts: Mapping[str, Any]) -> str:
    return f"; {unrecorded_line(facts['unrecorded'])}" if facts.get("unrecorded") else ""


def _most(found: Mapping[str, Any], part: str, key: str, label: str, period: str) -> Html:
    short = group_names(key, [row[key] for row in found[part]])
    rows = [
        Bar(short[row[key]], [row["cost_microdollars"] or 0], cost_of_row(row), link_of(key, row))
        for row in found[part]
    ]
    return bars(rows, label=label, note=f"{period}: the {len(rows)} most expensive.")


def _tools(found: Mapping[str, Any], period: str) -> Html:
    rows = [
        Bar(row["tool"], [row["calls"] - row["failed"], row["failed"]], f"{row['calls']:,}", link_of("tool", row))
        for row in found["tools"]
    ]
    return bars(
        rows,
        label="Tool calls",
        legend=("Succeeded", "Failed"),
        colours=RESULTS[:2],
        note=f"{period}: the {len(rows)} most frequent.",
    )


def _facts(name: str, chosen: Mapping[str, Any], answer: Report) -> Html:
    """Return the main figures of a report, above its table."""
    if name == "activity" and answer.facts["busiest_day"]:
        longest, current, busiest = (answer.facts[key] for key in ("longest_streak", "current_streak", "busiest_day"))
        days = longest["from"] if longest["days"] == 1 else f"{longest['from']} to {longest['to']}"
        figures = [
            ("Active days", f"{answer.facts['active_days']:,}"),
            ("Longest streak", f"{plural(longest['days'], 'day')}, {days}"),
            ("Current streak", plural(current["days"], "day")),
            ("Busiest day", f"{busiest['day']}, {plural(busiest['prompts'], 'prompt')}"),
        ]
    elif name == "chats" and answer.rows:
        total = answer.facts["total"]
        texts = (value_text(column, total[column]) for column in columns_of(chosen["show"]))
        figures = [("All chats", f"{total['chats']:,}"), *zip(("Median", "Nine of ten", "19 of 20", "Largest"), texts,
                                                          strict=True)]  # fmt: skip
    elif name == "blocks" and (burning := answer.facts["active"]):
        hourly = dollars(burning["cost_microdollars_per_hour"])
        projected = dollars(burning["projected_cost_microdollars"])
        figures = [
            ("Open until", f"{burning['end']}, {burning['minutes_left']:,.0f} minutes left"),
            ("So far", f"{short(burning['tokens'])} tokens, {dollars(burning['cost_microdollars'])}"),
            ("Rate", f"{short(burning['tokens_per_minute'])} tokens a minute, {hourly} an hour"),
            ("At the end", f"{short(burning['projected_tokens'])} tokens, {projected}, at this rate"),
        ]
    elif name == "blocks":
        return el("p", "No window is open; the next answer starts one.", class_="muted")
    elif (total := answer.facts.get("total") or {}).get("cost_microdollars") is not None:
        return el("p", el("strong", cost_of_row(total)), " in total", _unrecorded(answer.facts), class_="sum")
    else:
        return NOTHING
    return el("dl", [el("div", el("dt", term), el("dd", text)) for term, text in figures], class_="told")


def _table(
    kind: ReportPage, chosen: Mapping[str, Any], answer: Report, rows: list[tuple[Any, ...]], common: Mapping[str, str]
) -> Html:
    if "a" in chosen and "b" in chosen:
        if not rows:
            return empty_state("chart", "Compare two of anything.", "Enter two periods or two queries above.")
        return compared_table(rows, chosen["a"], chosen["b"])
    if not rows and kind is KINDS["topics"] and answer.facts["prompts"]:
        return empty_state("chart", "No word stands out.", "There must be two chats with it, and others without it.")
    if not rows:
        return empty_state("chart", "Nothing to count here.", "Choose a longer time, or another query.")
    if kind is KINDS["activity"]:
        return NOTHING  # the chart has its own table
    columns = _people_columns(kind, chosen, answer)
    places = [answer.columns.index(name) for name in columns]
    kept = [tuple(row[place] for place in places) for row in rows]

    def link(column: str, row: Mapping[str, Any]) -> str | None:
        target = link_of(column, row)
        is_report = target is not None and target.startswith("/stats/") and common
        return f"{target}&{urlencode(common)}" if is_report else target  # about the same time

    return report_table(
        columns, kept, caption=kind.title, bar=None if has_bars(kind, chosen) else answer.bar, link=link,
        more=_named(answer, rows), below=next((BELOW[name] for name in columns[:1] if name in BELOW), None),
    )  # fmt: skip


def _people_columns(kind: ReportPage, chosen: Mapping[str, Any], answer: Report) -> list[str]:
    """Return the columns of the page; downloads have all columns."""
    columns = list(answer.columns)
    if kind is KINDS["tools"]:
        gone = {name for name in ("denied", "interrupted", "missing") if not answer.facts["total"][name]}
        return [name for name in columns if name not in gone]
    if kind is KINDS["chats"]:
        return [*columns[:2], *columns_of(chosen["show"])]
    if kind is KINDS["errors"]:
        return [name for name in ERROR_COLUMNS if name in columns]
    if kind is KINDS["failures"]:
        return ["example", "tool", "time"]
    if kind is KINDS["interruptions"]:
        return ["prompt", "time"]
    if kind is KINDS["sequences"] and "signature" in columns:
        return ["signature", "tool", "count", "first", "chat", "message"]
    for name in ("prompt", "title"):
        if name in columns:
            columns.remove(name)
            columns.insert(0, name)
    if columns[0] == "title" and "chat" in columns:
        columns.remove("chat")  # its title leads to it
    return columns


BELOW: Final = {"signature": "example", "example": "title", "prompt": "title"}
"""Column whose text is below that of another column in the same cell: an example, or the source of the text."""


def _named(answer: Report, rows: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(answer.columns, row, strict=True)) for row in rows]


def _explanation(explained: Report | None) -> Html:
    if explained is None:
        return NOTHING
    rows = explained.rows[:EXPLAINED]
    note = f"The first {EXPLAINED:,} of {len(explained.rows):,}; download the report for all of them."
    return el(
        "section",
        el("h2", "Every counted answer"),
        el("p", note, class_="muted") if len(rows) < len(explained.rows) else NOTHING,
        report_table(explained.columns, rows, caption="Every counted answer", link=link_of),
    )


def _more(request: PageRequest, name: str, left: int) -> Html:
    if left <= 0:
        return NOTHING
    whole = address(name, {**carried(request, every=True), "limit": "0"})
    return el("p", f"{left:,} more rows. ", el("a", "Show all", href=whole))


def _downloads(request: PageRequest, name: str) -> Html:
    fields = {key: value for key, value in carried(request, every=True).items() if key != "limit"}
    links = [
        el("a", icon("download"), format_.upper(), class_="button quiet", download=True,
           aria_label=f"Download as {format_.upper()}", title=f"Download as {format_.upper()}",
           href=address(name, {**fields, "format": format_}))
        for format_ in FORMATS[1:]
    ]  # fmt: skip
    return el("div", links, class_="downloads")


def _download(name: str, answer: Report, format_: str) -> Response:
    """Return a report as a file with the same content as from the command line."""
    headers = {"Content-Disposition": f'attachment; filename="backscroll-{name}.{format_}"'}
    if format_ == "csv":
        table = answer.explanation or answer
        text = "".join(f"{line}\n" for line in csv_lines(table.columns, table.rows))
        return Response(text, HTTPStatus.OK, headers, "text/csv; charset=utf-8")
    rows = [{key: plain_value(value) for key, value in row.items()} for row in answer.as_dicts()]
    body: dict[str, Any] = {"rows": rows, **answer.facts, "notes": answer.notes}
    if answer.explanation is not None:
        body["explanation"] = answer.explanation.as_dicts()
    return JSONResponse(body, HTTPStatus.OK, headers)
