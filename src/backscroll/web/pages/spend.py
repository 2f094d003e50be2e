"""The Spend page: cost, changes and reasons. A click on anything filters everything."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from starlette.responses import RedirectResponse, Response, StreamingResponse

from backscroll.errors import BackscrollError, UsageError
from backscroll.library.analytics.blocks import blocks
from backscroll.library.analytics.reports import Report
from backscroll.library.analytics.spend import Spend, spend
from backscroll.library.analytics.spend_periods import LEAST_DAYS
from backscroll.library.analytics.spend_report import notes_of, unrecorded_facts
from backscroll.library.analytics.spend_summary import least, money, what_changed
from backscroll.library.analytics.unrecorded import unrecorded_note
from backscroll.library.library import Library
from backscroll.library.marks import change_marks, read_marks
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.html.reports import notes_list
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import plural
from backscroll.web.layout import error_html, page_frame
from backscroll.web.pages import first_run
from backscroll.web.pages.group_names import group_names
from backscroll.web.pages.spend_lists import by_dimension, dearest_chats, dearest_turns, why
from backscroll.web.pages.spend_over_time import block_chart, cost_chart
from backscroll.web.pages.spend_request import PERIODS, SpendRequest, read_request
from backscroll.web.requests import PageRequest
from backscroll.web.state import ViewerState

MAX_BUDGET_DOLLARS: Final = 10_000_000
EARLIEST_RATE: Final = 15
"""Minutes of a block after which its rate is meaningful."""


def show(request: PageRequest) -> Html | Response:
    """Return the page. Its head is sent first: there is something to see while everything is counted."""
    if first_run.is_first_run(request.library):
        return first_run.page("Spend", "/spend")
    return StreamingResponse(_pieces(request.state, read_request(request)), media_type="text/html")


def _pieces(state: ViewerState, asked: SpendRequest) -> Iterator[str]:
    begin, end = page_frame(
        "Spend", here="/spend", styles=("stats.css", "spend.css"), scripts=("stats.js",), body_class="spend"
    )
    yield begin
    yield join([el("h1", "Spend"), _periods(asked)])
    yield el("div", [el("span") for _ in range(9)], class_="skeleton-lines while-counting", aria_hidden="true")
    try:
        asked_for = None if asked.about.query else ("spend", *sorted(asked.given.items()), asked.now.date())
        body = state.counted_parts.get(asked_for, lambda: _counted(state, asked))
    except BackscrollError as error:  # too late for another status
        body = error_html(error)
    yield body
    yield end


def _counted(state: ViewerState, asked: SpendRequest) -> Html:
    with state.library() as library:
        return _contents(library, asked)


def _contents(library: Library, asked: SpendRequest) -> Html:
    spent = spend(library, asked.about, asked.period, asked.only, asked.now)
    windows = blocks(library, asked.about, asked.now.astimezone(UTC))
    budget = read_marks(library.settings.library).budget
    if spent.total.answers:
        body = [
            el("div", _summary(asked, spent),
               el("div", _forecast(spent, budget), _block(windows), _budget(asked, spent, budget),
                  class_="spend-cards"),
               class_="spend-top"),
            cost_chart(library, asked, spent, budget),
            why(spent),
            dearest_chats(asked, spent),
            by_dimension(asked, spent),
            dearest_turns(asked, spent),
            block_chart(asked, windows),
        ]  # fmt: skip
    else:
        body = [_nothing(asked, library), el("div", _forecast(spent, budget), _budget(asked, spent, budget),
                                             class_="spend-cards")]  # fmt: skip
    foot = el("details", el("summary", "What was counted"), notes_list(notes_of(spent)), class_="counted")
    return join([_filters(asked, spent), *body, foot])


def set_budget(request: PageRequest) -> Response:
    """Set the budget of a month, or remove it."""
    text = request.form.get("amount", "").strip().removeprefix("$").replace(",", "")
    try:
        amount = float(text) if text else None
    except ValueError:
        amount = -1.0
    if amount is not None and not 0 < amount <= MAX_BUDGET_DOLLARS:
        raise UsageError(
            f"{text} is not an amount in US dollars", "write a number such as 200, or nothing for no budget"
        )
    change_marks(request.library.settings.library, lambda marks: setattr(marks, "budget", amount))
    request.state.counted_parts.changed()
    back = request.form.get("back", "")
    return RedirectResponse(back if back.startswith("/spend") else "/spend", HTTPStatus.SEE_OTHER)


def _periods(asked: SpendRequest) -> Html:
    links = [
        el("a", text, href=asked.of_period(name), aria_current="true" if name == asked.preset else None)
        for name, text in PERIODS.items()
    ]
    own = (
        NOTHING
        if asked.preset
        else el("span", span_text(asked, asked.period.since, asked.period.until), class_="badge")
    )
    return el("nav", links, own, class_="ranges", aria_label="Period")


def _filters(asked: SpendRequest, found: Spend) -> Html:
    if not asked.only.chosen and not asked.given.get("q"):
        return NOTHING
    chips = []
    for dimension, name in asked.only.chosen.items():
        label = found.titles.get(name, name) if dimension == "chat" else name
        remove = f"Remove the filter {dimension}: {name}"
        label = group_names(dimension, [label])[label]
        chips.append(
            el("a", el("span", f"{dimension}: ", class_="muted"), label, el("span", " ×", aria_hidden="true"),
               href=asked.address(**{dimension: ""}), class_="chip", aria_label=remove)
        )  # fmt: skip
    if query := asked.given.get("q"):
        chips.append(el("a", query, el("span", " ×", aria_hidden="true"), href=asked.address(q=""), class_="chip",
                        aria_label=f"Remove the query {query}"))  # fmt: skip
    everything = asked.address(**dict.fromkeys(asked.only.chosen, ""), q="")
    return el("p", "Only ", chips, el("a", "Clear all", href=everything) if len(chips) > 1 else NOTHING, class_="chips")


def _summary(asked: SpendRequest, found: Spend) -> Html:
    now, before = found.total.cost, found.before.cost
    period = span_text(asked, asked.period.since, asked.period.until)
    change: Html = NOTHING
    if asked.period.before:
        compared = span_text(asked, *asked.period.before)
        kind = "up" if now > before else "down"
        sign = "▲" if now > before else "▼"
        part = f" ({100 * (now - before) / before:+,.0f} %)" if before else ""
        cost_before = f"which is as long and cost {least(found.before)}"
        same = abs(now - before) < 10_000_000
        trend = (
            "as much as before"
            if same
            else f"{sign} {money(abs(now - before))} {'more' if kind == 'up' else 'less'}{part}"
        )
        change = join([
            el("span", trend, class_=f"change {'same' if same else kind}"),
            el("span", f"than {compared}, {cost_before}", class_="muted"),
        ])  # fmt: skip
        if not found.is_comparable:
            change = el("span", f"{compared}, {cost_before}; lower bounds are not compared", class_="muted")
    sentences = [el("li", text[:1].upper() + text[1:]) for text in what_changed(found)]
    unpriced = (
        el("p", f"{plural(found.total.unpriced, 'answer')} without a known price are not included.", class_="muted")
        if found.total.unpriced
        else NOTHING
    )
    return el(
        "section",
        el("p", el("strong", least(found.total), class_="amount"), change, class_="headline"),
        el("p", f"{period}: {plural(found.total.answers, 'answer')} to {plural(found.prompts, 'prompt')}, "
                f"{short(found.total.tokens)} tokens", class_="muted"),
        _unrecorded(found),
        el("ul", sentences, class_="sentences") if sentences else NOTHING,
        unpriced, class_="summary", aria_label="Summary",
    )  # fmt: skip


def _unrecorded(found: Spend) -> Html:
    facts = unrecorded_facts(found)
    if not facts:
        return NOTHING
    text = unrecorded_note(facts, "≥ " if found.total.placeholders else "")
    return el("p", text[:1].upper() + text[1:], ".", class_="unrecorded muted")


def _forecast(found: Spend, budget: float | None) -> Html:
    coming = found.forecast
    if coming.at_end is None or coming.pace is None:
        amount, over = f"{money(coming.so_far)} so far", False
        basis = f"An estimate needs {LEAST_DAYS} full days; there are {coming.pace_days} since the first answer"
    else:
        amount, over = f"about {money(coming.at_end)}", budget is not None and coming.at_end > budget * 1e9
        days = plural(coming.pace_days, "full day")
        basis = f"{money(coming.so_far)} so far, and {money(coming.pace)} a day on average of the last {days}"
    return el(
        "div",
        el("h2", f"{coming.month:%B}, estimated"),
        el("strong", amount, class_="over" if over else None),
        el("span", basis, class_="muted"),
        class_="card fact",
    )


def _block(windows: Report) -> Html:
    burning = windows.facts["active"]
    if not burning:
        return el("div", el("h2", "5-hour block"), el("strong", "none open"),
                  el("span", "The next answer opens one.", class_="muted"), class_="card fact")  # fmt: skip
    if burning["minutes_used"] < EARLIEST_RATE:
        detail = f"Open until {burning['end'][11:]}. It has just begun: too early for a rate."
    else:
        hourly, tokens = dollars(burning["cost_microdollars_per_hour"]), short(burning["tokens_per_minute"])
        end = f"{dollars(burning['projected_cost_microdollars'])} at its end, {burning['end'][11:]}, at this rate"
        detail = f"{hourly} an hour, {tokens} tokens a minute; {end}"
    return el("div", el("h2", "5-hour block"), el("strong", dollars(burning["cost_microdollars"])),
              el("span", detail, class_="muted"), class_="card fact")  # fmt: skip


def _budget(asked: SpendRequest, found: Spend, budget: float | None) -> Html:
    field = el(
        "input",
        type="text",
        name="amount",
        inputmode="decimal",
        autocomplete="off",
        size=8,
        value=f"{budget:g}" if budget else "",
        placeholder="200",
        aria_label="Budget for a month, in US dollars",
    )
    form = el("form", "$ ", field, el("input", type="hidden", name="back", value=asked.address()),
              el("button", "Set"), method="post", action="/spend/budget", class_="budget-form")  # fmt: skip
    if budget is None:
        return el(
            "div",
            el("h2", "Budget for a month"),
            form,
            el("span", "Drawn as a line, and compared with the estimate.", class_="muted"),
            class_="card fact",
        )
    part = found.forecast.so_far / 1e9 / budget
    meter = el("meter", f"{100 * part:.0f} %", value=f"{min(part, 1):.3f}", min=0, max=1, high="0.8", optimum=0,
               aria_label=f"{100 * part:.0f} % of the budget is spent")  # fmt: skip
    sentence = f"Spent {money(found.forecast.so_far)}"
    if found.forecast.at_end is not None:
        ahead = found.forecast.at_end / 1e9 - budget
        sentence += f"; estimated {money(abs(ahead) * 1e9)} {'over' if ahead > 0 else 'under'} it"
    return el(
        "div",
        el("h2", "Budget for a month"),
        el("strong", f"{100 * part:.0f} % of ${budget:,.0f}"),
        meter,
        el("span", f"{sentence}.", class_="muted"),
        el("details", el("summary", "Change"), form),
        class_="card fact",
    )


def _nothing(asked: SpendRequest, library: Library) -> Html:
    latest = max((chat.overview.last_active for chat in library.chats(limit=1) if chat.overview.last_active),
                 default=None)  # fmt: skip
    more: list[object] = [el("a", "Show all time", href=asked.of_period("all"), class_="button")]
    if latest:
        day = latest.astimezone(asked.now.tzinfo).date()
        week = asked.address(period="", since=str(day - timedelta(days=6)), until=str(day))
        more.insert(0, el("a", f"Show the week until {day:%b} {day.day}, {day.year}", href=week, class_="button"))
    what = "with these filters" if asked.only.chosen or asked.given.get("q") else "in this period"
    return el(
        "div", el("p", f"Nothing was spent {what}.", class_="empty-title"), el("p", join(more, " ")), class_="empty"
    )


def span_text(asked: SpendRequest, since: datetime | None, until: datetime | None) -> str:
    """Return a period as people write it: `Nov 3 – Nov 9`; times only where it does not begin or end at midnight."""
    if since is None:
        return "All time" if until is None else f"until {_day(asked, until, is_end=True)}"
    if until is None:
        return f"{_day(asked, since)} – now"
    first, last = _day(asked, since), _day(asked, until, is_end=True)
    return first if first == last else f"{first} – {last}"


def _day(asked: SpendRequest, moment: datetime, *, is_end: bool = False) -> str:
    local = asked.about.local(moment)
    is_midnight = not (local.hour or local.minute)
    if is_end and is_midnight:
        local -= timedelta(minutes=1)
    year = "" if local.year == asked.now.year else f", {local.year}"
    clock = "" if is_midnight else f", {local:%H:%M}"
    return f"{local:%b} {local.day}{year}{clock}"
