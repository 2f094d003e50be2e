"""Spend of a team or of the organisation, by person, team, project and model, with a budget."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from starlette.responses import Response

from backscroll.errors import UsageError
from backscroll.library.analytics.reports import ReportRequest
from backscroll.render.html.charts import Level, bar, stacked_bars
from backscroll.render.html.element import NOTHING, Html, el, join
from backscroll.render.reports import dollars, short
from backscroll.render.terminal import plural
from backscroll.team.context import TeamRequest, not_found, see
from backscroll.team.libraries import Libraries
from backscroll.team.pages.parts import beside, button, team_document
from backscroll.team.people import Person, Team, people, teams
from backscroll.team.spend import (
    BY,
    LEAST,
    Group,
    PersonSpend,
    SmallSums,
    agreed_to_be_named,
    budget_of,
    folded,
    folded_people,
    grouped,
    set_budget,
    show_small_sums,
    shows_small_sums,
    spend_of_people,
    together,
)
from backscroll.web.addresses import address
from backscroll.web.pages.spend_request import PERIODS, bounds_of_preset
from backscroll.web.pages.stats_periods import drawn_over_time

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import SpentBy

USUAL: Final = "30d"
HERE: Final = "/team-spend"
DAYS_OF: Final = {"day": 1, "week": 7}


class Asked(NamedTuple):
    """What the page was asked for."""

    team: Team | None
    """None: everyone."""
    by: str
    period: str
    now: datetime

    def address(self, **changes: str | int | None) -> str:
        """The same page with something changed."""
        given: dict[str, str | int | None] = {
            "team": self.team.id if self.team else None,
            "by": self.by,
            "period": self.period,
            **changes,
        }
        usual = {"by": self.dimensions()[0], "period": USUAL}
        return address(HERE, **{name: None if usual.get(name) == value else value for name, value in given.items()})

    def dimensions(self) -> tuple[str, ...]:
        """By what it can be divided."""
        return ("team", "project", "model", "person") if self.team is None else ("project", "model", "person")


def show(request: TeamRequest) -> Html:
    """The page, for leads, administrators and auditors."""
    person = request.person
    choices = _choices(request)
    asked = _asked(request, choices)
    is_small_shown = shows_small_sums(request.connection, person.org)
    everyone = {one.id: one.handle for one in people(request.connection, person.org)}
    members = set(asked.team.members) if asked.team else set(everyone.values())
    is_outside_asked = asked.team is not None and _sees_everyone(person) and not is_small_shown
    handles = {number: handle for number, handle in everyone.items() if is_outside_asked or handle in members}
    budget = budget_of(request.connection, person.org, asked.team.id if asked.team else None)
    libraries: Libraries = request.http.app.state.viewers.libraries
    since, until = bounds_of_preset(asked.period, asked.now)
    month = asked.now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    by: tuple[SpentBy, ...] = ("model", "day", "project") if asked.by == "project" else ("model", "day")
    with libraries.sums(handles) as sums:
        found = spend_of_people(sums, handles, ReportRequest(since=since, until=until), by)
        this_month = spend_of_people(sums, handles, ReportRequest(since=month), ["model"]) if budget else []
    spent = [one for one in found if one.handle in members]
    this_month = [one for one in this_month if one.handle in members]
    agreed = agreed_to_be_named(request.connection, person.org)
    small = SmallSums(1 if is_small_shown else LEAST, agreed)
    outside = {one.handle for one in found} - members
    if is_outside_asked and not small.shows(outside):  # all minus this team would be their sum
        small = SmallSums(len(everyone) + 1, agreed)
    body = [_summary(asked, spent, small), _budget(request, asked, this_month, budget, small)]
    known = teams(request.connection, person.org)
    main = [
        _tabs(asked, choices, is_everyone=_sees_everyone(person)),
        el("div", body, class_="spend-cards"),
        _chart(asked, spent, budget, small),
        _table(asked, grouped(spent, asked.by, known), small),
        _rule(person, is_small_shown=is_small_shown),
    ]
    return team_document("Team spend", person, HERE, *main, styles=("stats.css", "spend.css"))


def change_budget(request: TeamRequest) -> Response:
    """Set the budget of a team or of the organisation."""
    text = request.form.get("team", "")
    person = request.person
    if not text:
        set_budget(request.connection, request.administrator(), None, request.form.get("amount", ""))
        return see(HERE)
    team = next((one for one in teams(request.connection, person.org) if str(one.id) == text), None)
    if team is None or not (person.is_administrator or team.id in person.leads):
        not_found()
    set_budget(request.connection, person, team.id, request.form.get("amount", ""))
    return see(address(HERE, team=team.id))


def change_rule(request: TeamRequest) -> Response:
    """Decide whether sums of few people are shown; for an owner."""
    person = request.person if request.person.role == "owner" else not_found()
    show_small_sums(request.connection, person, shown=request.form.get("shown") == "1")
    return see(HERE)


def _sees_everyone(person: Person) -> bool:
    return person.is_administrator or person.is_auditor


def _choices(request: TeamRequest) -> list[Team]:
    """The teams whose sums the asker may see; for others the page does not exist."""
    person = request.person
    found = teams(request.connection, person.org)
    if _sees_everyone(person):
        return found
    return [team for team in found if team.id in person.leads] or not_found()


def _asked(request: TeamRequest, choices: list[Team]) -> Asked:
    person, wanted = request.person, request.get("team")
    team = next((one for one in choices if str(one.id) == wanted), None)
    if wanted and team is None:
        not_found()
    if team is None and not _sees_everyone(person):
        team = choices[0]
    asked = Asked(team, "", request.get("period", USUAL), datetime.now().astimezone())
    asked = asked._replace(by=request.get("by") or asked.dimensions()[0])
    if asked.by not in BY or asked.period not in PERIODS:
        hint = f"choose by= from {', '.join(BY)}, and period= from {', '.join(PERIODS)}"
        raise UsageError("there is no such report", hint)
    return asked


def _tabs(asked: Asked, choices: list[Team], *, is_everyone: bool) -> Html:
    def links(pairs: list[tuple[str, str, bool]], name: str) -> Html:
        return el("nav", [el("a", text, href=where, aria_current="true" if is_here else None)
                          for where, text, is_here in pairs], class_="ranges", aria_label=name)  # fmt: skip

    whose = [(asked.address(team=None, by=None), "Everyone", asked.team is None)] if is_everyone else []
    whose += [(asked.address(team=one.id, by=None), one.name, asked.team == one) for one in choices]
    periods = [(asked.address(period=name), text, name == asked.period) for name, text in PERIODS.items()]
    return join([links(whose, "Whose"), links(periods, "Period")])


def _summary(asked: Asked, spent: list[PersonSpend], small: SmallSums) -> Html:
    title = el("h2", asked.team.name if asked.team else "Everyone")
    if not spent:
        told = "Nothing was spent in this period."
        return el("div", title, el("strong", dollars(0)), el("span", told, class_="muted"), class_="card fact")
    if not small.shows({one.handle for one in spent}):
        told = f"Fewer than {LEAST} people have spent something: their sum is not shown."
        return el("div", title, el("strong", "–"), el("span", told, class_="muted"), class_="card fact")
    total = together(one.total for one in spent)
    told = f"{_counted(len(spent), 'person')}, {plural(total.answers, 'answer')}, {short(total.tokens)} tokens"
    return el("div", title, el("strong", dollars(total.microdollars)), el("span", told, class_="muted"),
              class_="card fact")  # fmt: skip


def _budget(
    request: TeamRequest, asked: Asked, this_month: list[PersonSpend], budget: float | None, small: SmallSums
) -> Html:  # fmt: skip
    person = request.person
    may_set = person.is_administrator or (asked.team is not None and asked.team.id in person.leads)
    form = el(
        "form", "$ ",
        el("input", type="text", name="amount", inputmode="decimal", autocomplete="off", size=8,
           value=f"{budget:g}" if budget else "", placeholder="2000", aria_label="Budget for a month, in US dollars"),
        el("input", type="hidden", name="team", value=str(asked.team.id) if asked.team else ""),
        el("button", "Set"), method="post", action=f"{HERE}/budget", class_="budget-form",
    ) if may_set else NOTHING  # fmt: skip
    title = el("h2", "Budget for a month")
    if budget is None:
        told = "Drawn as a line, and compared with this month." if may_set else "None is set."
        return el("div", title, form, el("span", told, class_="muted"), class_="card fact")
    change = el("details", el("summary", "Change"), form) if may_set else NOTHING
    if not small.shows({one.handle for one in this_month}):
        return el("div", title, el("strong", f"${budget:,.0f}"), change, class_="card fact")
    part = together(one.total for one in this_month).microdollars / 1e6 / budget
    meter = el("meter", f"{100 * part:.0f} %", value=f"{min(part, 1):.3f}", min=0, max=1, high="0.8", optimum=0,
               aria_label=f"{100 * part:.0f} % of the budget is spent")  # fmt: skip
    return el("div", title, el("strong", f"{100 * part:.0f} % of ${budget:,.0f}"), meter,
              el("span", f"Spent {dollars(round(part * budget * 1e6))} since the 1st.", class_="muted"), change,
              class_="card fact")  # fmt: skip


def _chart(asked: Asked, spent: list[PersonSpend], budget: float | None, small: SmallSums) -> Html:
    shown, others = folded(grouped(spent, "day"), small)
    if not shown:
        return NOTHING
    values = {"Cost": {group.name: float(group.sums.microdollars) for group in shown}}
    since, until = bounds_of_preset(asked.period, asked.now)
    drawn = drawn_over_time(
        values, "day", "", (since, until), ReportRequest().local, asked.now, {}, "cost_microdollars"
    )  # fmt: skip
    level = None
    if budget and drawn.period in DAYS_OF:
        last = (asked.now.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        level = Level(budget * 1e6 / last.day * DAYS_OF[drawn.period], f"Budget a {drawn.period}")
    elif budget and drawn.period == "month":
        level = Level(budget * 1e6, "Budget a month")
    note = f"{drawn.note} Days with fewer than {LEAST} people are left out." if others else drawn.note
    return stacked_bars(drawn.axis, drawn.series, label=f"Cost by {drawn.period}", measure="cost_microdollars",
                        note=note, level=level)  # fmt: skip


def _table(asked: Asked, groups: list[Group], small: SmallSums) -> Html:
    links = [
        el("a", name.title(), href=asked.address(by=name), aria_current="true" if name == asked.by else None)
        for name in asked.dimensions()
    ]
    tabs = el("nav", links, class_="tabs", aria_label="By")
    shown, others = (folded_people if asked.by == "person" else folded)(groups, small)
    if others:
        names = f"{_counted(len(groups) - len(shown), asked.by)} together"
        shown = (
            [*shown, Group(names, others.people, others.sums)] if small.count(others.people) >= small.least else shown
        )
    if not shown:
        told = f"Nothing to show: every sum is of fewer than {LEAST} people." if groups else "Nothing was spent."
        return join([el("h2", "By ", asked.by), tabs, el("p", told, class_="muted")])
    most = max(group.sums.microdollars for group in shown)
    heads = ("Cost", "Answers", "Tokens") if asked.by == "person" else ("Cost", "Answers", "Tokens", "People")
    head = [el("th", asked.by.title(), scope="col"), el("th", el("span", "As a bar", class_="unseen"), scope="col"),
            *(el("th", name, scope="col", class_="number") for name in heads)]  # fmt: skip
    rows = [
        el("tr", el("th", group.name, scope="row"), el("td", bar([group.sums.microdollars], most), class_="bar-cell"),
           *(el("td", value, class_="number", data_label=name) for name, value in zip(heads, (
               dollars(group.sums.microdollars), f"{group.sums.answers:,}", short(group.sums.tokens),
               f"{len(group.people):,}"), strict=False)))
        for group in shown
    ]  # fmt: skip
    table = el("table", el("caption", f"Spend by {asked.by}", class_="unseen"), el("thead", el("tr", head)),
               el("tbody", rows), class_="report cards")  # fmt: skip
    note = NOTES.get(asked.by, "")
    if asked.by == "person" and small.least > 1:
        note = "Those who agreed to it, under Account, are listed by name."
    return join([el("h2", "By ", asked.by), tabs, table, el("p", note, class_="muted") if note else NOTHING])


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else PLURALS[noun]}"


def _rule(person: Person, *, is_small_shown: bool) -> Html:
    told = (
        f"Sums of fewer than {LEAST} people are shown, as the organisation decided."
        if is_small_shown
        else f"Sums of fewer than {LEAST} people are not shown, nor anything from which they could be worked out."
    )
    change = NOTHING
    if person.role == "owner":
        text = "Hide these sums" if is_small_shown else "Show these sums"
        change = button(f"{HERE}/rule", text, ("shown", "" if is_small_shown else "1"))
    return beside(f"{told} Seeing a sum gives no right to read the chats in it.", change, "muted")


PLURALS: Final = {"person": "people", "team": "teams", "project": "projects", "model": "models"}
NOTES: Final = {
    "team": "Someone in two teams counts in both.",
    "project": "Projects go by the name of their folder, because everyone keeps them in a different place.",
}
