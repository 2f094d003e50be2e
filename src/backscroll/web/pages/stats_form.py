"""The form of a report, the tabs to other reports, and common time spans."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from backscroll.render.html.element import NOTHING, Html, el
from backscroll.render.html.icons import icon
from backscroll.web.pages.stats_reports import GROUPS, KINDS, ReportOption, ReportPage
from backscroll.web.requests import PageRequest

COMMON: Final = ("q", "since", "until", "zone")
"""Parameters that links to other reports keep."""
SPANS: Final = (
    ("", "All"),
    ("today", "Today"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("365d", "1 year"),
)


def carried(request: PageRequest, *, every: bool = False) -> dict[str, str]:
    """Return the parameters that links keep; `every` for links to the same report."""
    parameters = request.http.query_params
    names = [name for name in parameters if name != "format"] if every else COMMON
    return {name: parameters[name] for name in names if parameters.get(name)}


def tabs(request: PageRequest, here: str) -> Html:
    """Return tabs: the front page, the overview, and all reports in a menu, with the same filters."""
    common = carried(request)

    def link(name: str, title: str) -> Html:
        kept = {key: value for key, value in common.items() if name or key in ("since", "until", "zone")}
        return el("a", title, href=address(name, kept), aria_current="page" if name == here else None)

    groups = [
        el("div", el("h2", group), el("ul", [el("li", link(name, KINDS[name].title)) for name in names]))
        for group, names in GROUPS.items()
    ]
    is_report = here in KINDS
    title_shown = f"Report: {KINDS[here].title}" if is_report else "Reports"
    menu = el(
        "details",
        el("summary", title_shown, class_="here" if is_report else None),
        el("div", groups, class_="report-menu"),
    )
    return el("nav", link("", "Attention"), link("overview", "Overview"), menu, class_="tabs", aria_label="Reports")


def ranges(request: PageRequest, here: str) -> Html:
    """Return links to common time spans."""
    fields = carried(request, every=True)
    since, is_ended = fields.pop("since", ""), bool(fields.pop("until", ""))
    since = "" if since == "all" else since
    links = [
        el("a", text, href=address(here, {**fields, "since": span} if span else fields),
           aria_current="true" if span == since and not is_ended else None)
        for span, text in SPANS
    ]  # fmt: skip
    own = NOTHING
    if is_ended or since not in dict(SPANS):
        own = el("span", f"{since or 'the start'} to {carried(request).get('until', 'now')}", class_="badge")
    return el("nav", links, own, class_="ranges", aria_label="Time")


def report_form(request: PageRequest, name: str, kind: ReportPage, chosen: Mapping[str, Any]) -> Html:
    """Return the form with all options of a report."""
    fields = [_field(option, chosen[option.name]) for option in kind.options]
    query = _text("q", "Query", request.get("q"), "project:shop model:opus") if kind.has_query else NOTHING
    more = [
        _text("since", "Since", request.get("since"), "2026-01-05, 7d"),
        _text("until", "Until", request.get("until"), "yesterday"),
        _text("zone", "Time zone", request.get("zone"), "yours"),
        _text("limit", "Rows", str(chosen["limit"]), "0 for all", mode="numeric") if kind.has_limit else NOTHING,
    ]
    is_set = any(request.get(name) not in ("", "all") for name in ("since", "until", "zone"))
    menu = el(
        "details",
        el("summary", icon("filter"), "More", class_="button quiet here" if is_set else "button quiet"),
        el("div", more, class_="fields"),
        class_="menu",
    )
    # With a script, a change is enough.
    button = el("noscript", el("button", "Show", type="submit", class_="primary"))
    return el("form", fields, query, menu, button, action=f"/stats/{name}", class_="asked", aria_label="Report options")


def address(name: str, given: Mapping[str, str]) -> str:
    """Return the address of a report; the overview has an empty name."""
    return ("/stats" + (f"/{name}" if name else "")) + (f"?{urlencode(given)}" if given else "")


def _field(option: ReportOption, value: Any) -> Html:  # noqa: ANN401 - as the option is
    if option.is_flag:
        box = el("input", type="checkbox", name=option.name, value="1", checked=bool(value))
        return el("label", box, " ", option.label, class_="flag")
    if option.choices:
        choices = [
            el("option", choice.replace("-", " ") or "automatic", value=choice, selected=choice == value)
            for choice in option.choices
        ]
        return el("label", el("span", option.label), el("select", choices, name=option.name))
    return _text(option.name, option.label, str(value), option.hint)


def _text(name: str, label: str, value: str, hint: str, mode: str | None = None) -> Html:
    field = el("input", type="text", name=name, value=value, placeholder=hint, autocomplete="off", spellcheck="false",
               autocapitalize="off", inputmode=mode)  # fmt: skip
    return el("label", el("span", label), field, class_="wide" if name == "q" else None)
