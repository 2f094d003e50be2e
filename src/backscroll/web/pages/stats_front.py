"""The front page of the statistics: findings that deserve attention, with a sentence, a picture and passages each."""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from backscroll.errors import BackscrollError
from backscroll.library.analytics.attention import Finding, attention, by_weeks
from backscroll.library.analytics.reports import ReportRequest, reports_about
from backscroll.library.library import Library
from backscroll.render.html.charts import sparkline
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.icons import icon
from backscroll.render.terminal import clean_line, plural
from backscroll.web.addresses import chat_address
from backscroll.web.layout import empty_state, error_html, page_frame
from backscroll.web.pages import first_run
from backscroll.web.pages.stats_form import address, tabs
from backscroll.web.pages.stats_links import cut_name, file_address
from backscroll.web.pages.stats_reports import about_of
from backscroll.web.requests import PageRequest
from backscroll.web.state import ViewerState

USUAL: Final = "30d"
SPANS: Final = (("7d", "7 days"), (USUAL, "30 days"), ("90d", "90 days"), ("365d", "1 year"), ("all", "All"))
ICONS: Final = {
    "error": "warning", "tool": "terminal", "denied": "close", "file": "file", "cache": "coin", "interruption": "chat",
}  # fmt: skip


def show(request: PageRequest) -> Html | Response:
    """Return the page. Its head is sent first: there is something to see while the findings are counted."""
    if first_run.is_first_run(request.library):
        return first_run.page("Stats", "/stats")
    about, now = about_of(request)
    since = request.get("since").strip()
    if not since and about.until is None:
        about = replace(about, since=now - timedelta(days=int(USUAL.removesuffix("d"))))
    head = join([
        tabs(request, ""),
        el("h1", "What deserves attention"),
        _spans(since or ("" if about.until else USUAL)),
    ])  # fmt: skip
    key = None if about.query else ("attention", str(request.http.query_params), now.date())
    return StreamingResponse(_pieces(request.state, about, now, head, key), media_type="text/html")


def _pieces(state: ViewerState, about: ReportRequest, now: datetime, head: Html, asked: Hashable) -> Iterator[str]:
    begin, end = page_frame("Stats", here="/stats", styles=("stats.css",), scripts=("stats.js",))
    yield begin
    yield head
    yield el("div", [el("span") for _ in range(6)], class_="skeleton-lines while-counting", aria_hidden="true")
    try:
        body = state.counted_parts.get(asked, lambda: _counted(state, about, now))
    except BackscrollError as error:  # too late for another status
        body = error_html(error)
    yield body
    yield end


def _counted(state: ViewerState, about: ReportRequest, now: datetime) -> Html:
    with state.library() as library:
        return _findings(library, about, now)


def _findings(library: Library, about: ReportRequest, now: datetime) -> Html:
    findings = attention(library, about)
    first, last = _ends(library, about, now)
    titles = library.titles()
    period = f"{first} to {last}"
    if not findings:
        what = (f"Nothing stands out from {period}.", "Choose a longer time, or look at the reports.")
        return join([empty_state("check", what[0], what[1]), _more()])
    items = [_finding(finding, about, first, last, titles) for finding in findings]
    note = f"From {period}. Only what repeats or costs is listed; the reports have everything."
    return join([el("p", note, class_="muted"), el("ul", items, class_="findings"), _more()])


def _finding(one: Finding, about: ReportRequest, first: date, last: date, titles: dict[str, str]) -> Html:
    columns = by_weeks(one.days, first, last)
    step = "day" if (last - first).days + 1 <= 35 else "week"
    total = f"${sum(columns) / 1e9:,.2f}" if one.kind == "cache" else f"{sum(columns):,}"
    picture = el(
        "figure",
        sparkline(columns, label=f"By {step}, {first} to {last}"),
        el("figcaption", f"{total} by {step}, {_day(first, last)} – {_day(last, first)}", class_="chart-note"),
        class_="small-chart",
    )
    where, what = _passages(one, about)
    places = [
        el("li", el("a", cut_name(place.text or titles.get(place.chat, "") or "chat"),
                    href=chat_address(place.chat, place.message)))
        for place in one.places
        if place.chat
    ]  # fmt: skip
    return el(
        "li",
        el("div", icon(ICONS[one.kind]), " ", one.title, class_="finding-kind muted"),
        el("p", clean_line(one.text), class_="finding-text"),
        picture,
        el("ul", places, class_="finding-places") if places else NOTHING,
        el("p", el("a", what, href=where), class_="finding-link"),
        class_=f"card finding finding-{one.kind}",
    )


def _day(day: date, other: date) -> str:
    return f"{day:%b} {day.day}" + (f", {day.year}" if day.year != other.year else "")


def _passages(one: Finding, about: ReportRequest) -> tuple[str, str]:
    """Return the address of all passages of a finding, and the text of the link."""
    time = {
        name: f"{about.local(moment):%Y-%m-%dT%H:%M}"
        for name, moment in (("since", about.since), ("until", about.until))
        if moment is not None
    }
    if one.kind in ("error", "tool"):
        return address("failures", {**one.about, **time}), f"All {one.number:,} failed calls"
    if one.kind == "denied":
        return address("failures", {"state": "denied", **time}), f"All {plural(one.number, 'denied call')}"
    if one.kind == "interruption":
        return address("interruptions", time), f"All {plural(one.number, 'interruption')}"
    if one.kind == "file":
        return file_address(one.about["file"]), "What happened to this file"
    return (f"/spend?{urlencode(time)}" if time else "/spend?period=all"), "Where it was lost, on the page Spend"


def _ends(library: Library, about: ReportRequest, now: datetime) -> tuple[date, date]:
    """Return the first and the last day of the period, in its time zone."""
    last = about.local(min(about.until, now.astimezone(UTC)) - timedelta(microseconds=1) if about.until else now).date()
    if about.since:
        return min(about.local(about.since).date(), last), last
    span = reports_about(library, ReportRequest()).usage_span()
    first = about.local(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=15 * span.first)).date() if span else last
    return min(first, last), last


def _spans(here: str) -> Html:
    links = [
        el("a", text, href="/stats" if span == USUAL else f"/stats?since={span}",
           aria_current="true" if span == here else None)
        for span, text in SPANS
    ]  # fmt: skip
    return el("nav", links, class_="ranges", aria_label="Time")


def _more() -> Html:
    return el("p", el("a", "All numbers at a glance", href="/stats/overview", class_="button"), " ",
              el("a", "What it cost, and why", href="/spend", class_="button"), class_="ways-on")  # fmt: skip
