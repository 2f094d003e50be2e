"""The page about the spend of a team or the organisation, by person, team, project and model, with a budget.

While small sums are hidden, the page has calendar months: periods that overlap could be subtracted from each other.
"""

import re
from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.library.analytics.reports import ReportRequest
from backscroll.query.times import parse_moment
from backscroll.render.html.charts import Level, bar, stacked_bars
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import plural
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.pages.parts import beside, button, team_document
from backscroll.team.pages.requests import TeamRequest, not_found, see
from backscroll.team.people.accounts import Person, people
from backscroll.team.people.teams import Team, teams
from backscroll.team.reading.disclosure import BY as DIVIDED_BY
from backscroll.team.reading.spend import (
    BY,
    LEAST,
    NO_TEAM,
    Group,
    PersonSpend,
    VisibleSums,
    agreed_to_be_named,
    budget_of,
    grouped,
    set_budget,
    show_small_sums,
    shows_small_sums,
    spend_of_people,
    together,
    visible_sums,
)
from backscroll.web.addresses import address
from backscroll.web.pages.spend_request import PERIODS, bounds_of_preset
from backscroll.web.pages.stats_periods import drawn_over_time

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import SpentBy

USUAL: Final = "30d"
HERE: Final = "/team-spend"
DAYS_OF: Final = {"day": 1, "week": 7}
MONTH: Final = re.compile("20[0-9]{2}-(0[1-9]|1[0-2])")
MONTHS: Final = 12
"""Months that can be chosen."""
EVERYONE: Final = "everyone"
TEAMLESS: Final = "no team"
"""Names of audiences besides teams; the name of a team is its number."""


class SpendQuery(NamedTuple):
    """The parameters of the page."""

    team: Team | None
    """The chosen team; None for everyone."""
    by: str
    period: str
    now: datetime
    has_months: bool
    """Whether the periods are calendar months."""

    @property
    def audience(self) -> str:
        """The audience of these sums."""
        return EVERYONE if self.team is None else str(self.team.id)

    def address(self, **changes: str | int | None) -> str:
        """Return the address of this page with changed parameters."""
        parameters: dict[str, str | int | None] = {
            "team": self.team.id if self.team else None,
            "by": self.by,
            "period": self.period,
            **changes,
        }
        usual = {"by": self.dimensions()[0], "period": f"{self.now:%Y-%m}" if self.has_months else USUAL}
        return address(
            HERE, **{name: None if usual.get(name) == value else value for name, value in parameters.items()}
        )

    def dimensions(self) -> tuple[str, ...]:
        """Dimensions that can divide the spend."""
        return ("team", "project", "model", "person") if self.team is None else ("project", "model", "person")

    def periods(self) -> dict[str, str]:
        """Return the periods to choose from, with their titles."""
        if not self.has_months:
            return PERIODS
        months = [self.now.replace(day=1)]
        while len(months) < MONTHS:
            months.append((months[-1] - timedelta(days=1)).replace(day=1))
        return {f"{month:%Y-%m}": f"{month:%B %Y}" for month in months}

    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """Start and exclusive end of the period."""
        return _month_of(self.period, self.now) if self.has_months else bounds_of_preset(self.period, self.now)


def show(request: TeamRequest) -> Html:
    """Show the page, for leads, administrators and auditors."""
    person = request.person
    choices = _choices(request)
    is_hidden = not shows_small_sums(request.connection, person.org)
    query = _parse_query(request, choices, has_months=is_hidden)
    audiences = _audiences(request, choices)
    members = audiences[query.audience]
    needed = set().union(*audiences.values()) if is_hidden else members
    handles = {each.id: each.handle for each in people(request.connection, person.org) if each.handle in needed}
    budget = budget_of(request.connection, person.org, query.team.id if query.team else None)
    agreed = agreed_to_be_named(request.connection, person.org)
    libraries: Libraries = request.http.app.state.viewers.libraries
    since, until = query.bounds()
    month, _ = _month_of(f"{query.now:%Y-%m}", query.now)
    by: Sequence[SpentBy] = ("model", "day", "project") if is_hidden or query.by == "project" else ("model", "day")

    def visible(spent: list[PersonSpend]) -> VisibleSums:
        return visible_sums(spent, audiences, person.handle, agreed) if is_hidden else VisibleSums()

    with libraries.sums(handles) as sums:
        spent = spend_of_people(sums, handles, ReportRequest(since=since, until=until), by)
        this_month = spend_of_people(sums, handles, ReportRequest(since=month), by) if budget else []
    shown = visible(spent)
    body = [
        _summary(query, _within(spent, members), shown),
        _budget(request, query, _within(this_month, members), budget, visible(this_month)),
    ]
    main = [
        _tabs(query, choices, is_everyone=_sees_everyone(person)),
        el("div", body, class_="spend-cards"),
        _chart(query, _within(spent, members), budget, shown),
        _table(query, _within(spent, members), teams(request.connection, person.org), shown, agreed),
        _rule(person, is_small_shown=not is_hidden),
    ]
    return team_document("Team spend", person, HERE, *main, styles=("stats.css", "spend.css"))


def change_budget(request: TeamRequest) -> Response:
    """Set the budget of a team or of the organisation."""
    text = request.form.get("team", "")
    person = request.person
    if not text:
        set_budget(request.connection, request.administrator(), None, request.form.get("amount", ""))
        return see(HERE)
    team = next((each for each in teams(request.connection, person.org) if str(each.id) == text), None)
    if team is None or not (person.is_administrator or team.id in person.leads):
        not_found()
    set_budget(request.connection, person, team.id, request.form.get("amount", ""))
    return see(address(HERE, team=team.id))


def change_rule(request: TeamRequest) -> Response:
    """Set whether sums of few people are shown; only for an owner."""
    person = request.person if request.person.role == "owner" else not_found()
    show_small_sums(request.connection, person, shown=request.form.get("shown") == "1")
    return see(HERE)


def _sees_everyone(person: Person) -> bool:
    return person.is_administrator or person.is_auditor


def _choices(request: TeamRequest) -> list[Team]:
    """List the teams whose sums the person may see; without any, the page does not exist."""
    person = request.person
    all_teams = teams(request.connection, person.org)
    if _sees_everyone(person):
        return all_teams
    return [team for team in all_teams if team.id in person.leads] or not_found()


def _audiences(request: TeamRequest, choices: list[Team]) -> dict[str, Set[str]]:
    """Return the people whose sums the person may see on this page, by audience, the most important first."""
    in_teams = {str(team.id): frozenset(team.members) for team in choices}
    of_teams: dict[str, Set[str]] = dict(sorted(in_teams.items(), key=lambda each: (-len(each[1]), int(each[0]))))
    if not _sees_everyone(request.person):
        return of_teams
    everyone = {each.handle for each in people(request.connection, request.person.org)}
    return {EVERYONE: everyone, **of_teams, TEAMLESS: everyone.difference(*in_teams.values())}


def _parse_query(request: TeamRequest, choices: list[Team], *, has_months: bool) -> SpendQuery:
    person, number = request.person, request.get("team")
    team = next((each for each in choices if str(each.id) == number), None)
    if number and team is None:
        not_found()
    if team is None and not _sees_everyone(person):
        team = choices[0]
    query = SpendQuery(team, "", "", datetime.now().astimezone(), has_months)
    period = request.get("period", f"{query.now:%Y-%m}" if has_months else USUAL)
    if has_months and period in PERIODS:  # a link from before small sums were hidden
        period = f"{query.now:%Y-%m}"
    is_period = MONTH.fullmatch(period) if has_months else period in PERIODS
    query = query._replace(by=request.get("by") or query.dimensions()[0], period=period)
    if query.by not in BY or not is_period:
        hint = f"choose by= from {', '.join(BY)}, and period= from {', '.join(query.periods())}"
        raise UsageError("there is no such report", hint)
    return query


def _month_of(name: str, now: datetime) -> tuple[datetime, datetime]:
    """Start and exclusive end of a month such as 2026-11."""
    start = parse_moment(f"{name}-01", now)
    following = (start.replace(day=28) + timedelta(days=4)).replace(day=1)
    return start, parse_moment(f"{following:%Y-%m-%d}", now)


def _within(spent: list[PersonSpend], members: Set[str]) -> list[PersonSpend]:
    return [person for person in spent if person.handle in members]


def _tabs(query: SpendQuery, choices: list[Team], *, is_everyone: bool) -> Html:
    def links(pairs: list[tuple[str, str, bool]], name: str) -> Html:
        return el("nav", [el("a", text, href=where, aria_current="true" if is_here else None)
                          for where, text, is_here in pairs], class_="ranges", aria_label=name)  # fmt: skip

    whose = [(query.address(team=None, by=None), "Everyone", query.team is None)] if is_everyone else []
    whose += [(query.address(team=team.id, by=None), team.name, query.team == team) for team in choices]
    periods = [(query.address(period=name), text, name == query.period) for name, text in query.periods().items()]
    return join([links(whose, "Whose"), links(periods, "Period")])


def _summary(query: SpendQuery, spent: list[PersonSpend], shown: VisibleSums) -> Html:
    title = el("h2", query.team.name if query.team else "Everyone")
    if not spent:
        sentence = "Nothing was spent in this period."
        return el("div", title, el("strong", dollars(0)), el("span", sentence, class_="muted"), class_="card fact")
    if not shown.shows(query.audience):
        sentence = f"This sum is not shown: you could work out what fewer than {LEAST} people spent."
        return el("div", title, el("strong", "–"), el("span", sentence, class_="muted"), class_="card fact")
    total = together(person.total for person in spent)
    sentence = f"{_counted(len(spent), 'person')}, {plural(total.answers, 'answer')}, {short(total.tokens)} tokens"
    return el("div", title, el("strong", dollars(total.microdollars)), el("span", sentence, class_="muted"),
              class_="card fact")  # fmt: skip


def _budget(
    request: TeamRequest, query: SpendQuery, this_month: list[PersonSpend], budget: float | None, shown: VisibleSums
) -> Html:  # fmt: skip
    person = request.person
    may_set = person.is_administrator or (query.team is not None and query.team.id in person.leads)
    form = el(
        "form", "$ ",
        el("input", type="text", name="amount", inputmode="decimal", autocomplete="off", size=8,
           value=f"{budget:g}" if budget else "", placeholder="2000", aria_label="Budget for a month, in US dollars"),
        el("input", type="hidden", name="team", value=str(query.team.id) if query.team else ""),
        el("button", "Set"), method="post", action=f"{HERE}/budget", class_="budget-form",
    ) if may_set else NOTHING  # fmt: skip
    title = el("h2", "Budget for a month")
    if budget is None:
        sentence = "Drawn as a line, and compared with this month." if may_set else "None is set."
        return el("div", title, form, el("span", sentence, class_="muted"), class_="card fact")
    change = el("details", el("summary", "Change"), form) if may_set else NOTHING
    if not shown.shows(query.audience):
        return el("div", title, el("strong", f"${budget:,.0f}"), change, class_="card fact")
    part = together(each.total for each in this_month).microdollars / 1e6 / budget
    meter = el("meter", f"{100 * part:.0f} %", value=f"{min(part, 1):.3f}", min=0, max=1, high="0.8", optimum=0,
               aria_label=f"{100 * part:.0f} % of the budget is spent")  # fmt: skip
    return el("div", title, el("strong", f"{100 * part:.0f} % of ${budget:,.0f}"), meter,
              el("span", f"Spent {dollars(round(part * budget * 1e6))} since the 1st.", class_="muted"), change,
              class_="card fact")  # fmt: skip


def _chart(query: SpendQuery, spent: list[PersonSpend], budget: float | None, visible: VisibleSums) -> Html:
    shown = [group for group in grouped(spent, "day") if visible.shows(query.audience, "day", group.name)]
    if not shown:
        return NOTHING
    values = {"Cost": {group.name: float(group.sums.microdollars) for group in shown}}
    since, until = query.bounds()
    drawn = drawn_over_time(
        values, "day", "", (since, until), ReportRequest().local, query.now, {}, "cost_microdollars"
    )  # fmt: skip
    level = None
    if budget and drawn.period in DAYS_OF:
        last = (query.now.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        level = Level(budget * 1e6 / last.day * DAYS_OF[drawn.period], f"Budget a {drawn.period}")
    elif budget and drawn.period == "month":
        level = Level(budget * 1e6, "Budget a month")
    series, note = drawn.series, drawn.note
    shown_days = {group.name for group in shown}
    if visible.safe is not None and not shown_days.issuperset(drawn.axis.names):
        series = [
            line._replace(values=_only_at(shown_days, drawn.axis.names, line.values), missing="–") for line in series
        ]
        note = f"{note} {NOT_SHOWN_DAYS}"
    return stacked_bars(drawn.axis, series, label=f"Cost by {drawn.period}", measure="cost_microdollars",
                        note=note, level=level)  # fmt: skip


def _only_at(shown: Set[str], days: Sequence[str], values: Sequence[float | None]) -> list[float | None]:
    """Keep the values of shown days. Hidden days look like empty ones: a zero would be a number, too."""
    return [value if day in shown else None for day, value in zip(days, values, strict=True)]


def _table(
    query: SpendQuery, spent: list[PersonSpend], all_teams: Sequence[Team], visible: VisibleSums, agreed: Set[str]
) -> Html:
    links = [
        el("a", name.title(), href=query.address(by=name), aria_current="true" if name == query.by else None)
        for name in query.dimensions()
    ]
    tabs = el("nav", links, class_="tabs", aria_label="By")
    groups = grouped(spent, query.by, all_teams)
    shown, others = _divided(query, groups, all_teams, visible, agreed)
    hidden = len(groups) - len(shown)
    if others:
        shown = [*shown, Group(f"{_counted(hidden, query.by)} together", others.people, others.sums)]
    if not shown:
        sentence = NOT_SHOWN if groups else "Nothing was spent."
        return join([el("h2", "By ", query.by), tabs, el("p", sentence, class_="muted")])
    most = max(group.sums.microdollars for group in shown)
    heads = ("Cost", "Answers", "Tokens") if query.by == "person" else ("Cost", "Answers", "Tokens", "People")
    head = [el("th", query.by.title(), scope="col"), el("th", el("span", "As a bar", class_="unseen"), scope="col"),
            *(el("th", name, scope="col", class_="number") for name in heads)]  # fmt: skip
    rows = [
        el("tr", el("th", group.name or TEAMLESS, scope="row"),
           el("td", bar([group.sums.microdollars], most), class_="bar-cell"),
           *(el("td", value, class_="number", data_label=name) for name, value in zip(heads, (
               dollars(group.sums.microdollars), f"{group.sums.answers:,}", short(group.sums.tokens),
               f"{len(group.people):,}"), strict=False)))
        for group in shown
    ]  # fmt: skip
    table = el("table", el("caption", f"Spend by {query.by}", class_="unseen"), el("thead", el("tr", head)),
               el("tbody", rows), class_="report cards")  # fmt: skip
    notes = [NOTES.get(query.by, "")]
    if query.by == "person" and visible.safe is not None:
        notes.append("Those who agreed to it, under Account, are listed by name.")
    if hidden and not others:
        notes.append(f"Not shown: {_counted(hidden, query.by)}.")
    note = " ".join(filter(None, notes))
    return join([el("h2", "By ", query.by), tabs, table, el("p", note, class_="muted") if note else NOTHING])


def _divided(
    query: SpendQuery, groups: list[Group], all_teams: Sequence[Team], visible: VisibleSums, agreed: Set[str]
) -> tuple[list[Group], Group | None]:
    """Split groups into those that are shown, and all others as one, if their sum is shown."""
    if visible.safe is None:
        return groups, None
    if query.by in DIVIDED_BY:
        return visible.parts(query.audience, query.by, groups)
    if query.by == "team":  # they overlap: there is no sum of the others
        audience_of: Mapping[str, str] = {NO_TEAM: TEAMLESS, **{team.name: str(team.id) for team in all_teams}}
        return [group for group in groups if visible.shows(audience_of[group.name])], None
    by_name = [group for group in groups if group.people <= agreed]
    return by_name, visible.rest(query.audience, [group for group in groups if group not in by_name])


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else PLURALS[noun]}"


def _rule(person: Person, *, is_small_shown: bool) -> Html:
    sentence = (
        f"Sums of fewer than {LEAST} people are shown, as the organisation decided."
        if is_small_shown
        else f"Sums of fewer than {LEAST} people besides you are not shown, nor any from which you could work them out."
        " So the periods are months: periods that overlap could be subtracted from each other. Only what is shown at"
        " the same time is safe: an administrator who changes the members of a team and compares its sums before and"
        " after can work out what one person spent."
    )
    change = NOTHING
    if person.role == "owner":
        text = "Hide these sums" if is_small_shown else "Show these sums"
        change = button(f"{HERE}/rule", text, ("shown", "" if is_small_shown else "1"))
    sentence += " Requests without a record (compactions, titles) are in no sum here: everyone sees their own in Spend."
    return beside(f"{sentence} Seeing a sum gives no right to read the chats in it.", change, "muted")


NOT_SHOWN: Final = f"Nothing is shown: from each of these sums you could work out what fewer than {LEAST} people spent."
NOT_SHOWN_DAYS: Final = (
    f"A day with – is one on which nobody spent anything, or of which you could work out what fewer than {LEAST} people"
    " spent."
)
PLURALS: Final = {"person": "people", "team": "teams", "project": "projects", "model": "models"}
NOTES: Final = {
    "team": "Someone in two teams counts in both.",
    "project": "Projects go by the name of their folder, because everyone keeps them in a different place.",
}
