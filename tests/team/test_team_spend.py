"""Spend of people, teams, projects and models: the numbers of each person's own page, and none of too few people."""

import re
from datetime import UTC, datetime

from backscroll.team.pages.spend_page import EVERYONE, SpendQuery, _chart
from backscroll.team.reading.disclosure import ShownSum
from backscroll.team.reading.spend import PersonSpend, Sums, VisibleSums
from tests.team.demo_served import DemoServed
from tests.team.served import Browser

EVER = "period=all"


def _amounts(page: str) -> dict[str, str]:
    """The cost of each row of the table."""
    table = page.partition('class="report cards"')[2]
    rows = re.findall(r'<th scope="row">([^<]+)</th>.*?data-label="Cost">([^<]+)<', table, re.DOTALL)
    return dict(rows)


def _own(browser: Browser, by: str) -> dict[str, int]:
    report = browser.get(f"/api/v1/stats/usage?by={by}").json()
    return {row[by]: row["cost_microdollars"] or 0 for row in report["rows"]}


def _month(browser: Browser) -> tuple[str, int]:
    """The last month in which a person spent something, and how much: periods are months while sums are hidden."""
    rows = browser.get("/api/v1/stats/usage?by=month").json()["rows"]
    return max((row["month"], row["cost_microdollars"]) for row in rows if row["cost_microdollars"])


def _shown(microdollars: int) -> str:
    from backscroll.render.reports import dollars

    return dollars(microdollars)


def test_the_sums_are_those_of_the_people(demo: DemoServed) -> None:
    ada = demo.browser("ada")
    ada.submit("/team-spend/rule", shown="1")
    browsers = {handle: demo.browser(handle) for handle in ("ada", "ben", "liz")}
    by_model = {handle: _own(browser, "model") for handle, browser in browsers.items()}
    costs = {handle: sum(models.values()) for handle, models in by_model.items()}
    assert _amounts(ada.get(f"/team-spend?by=person&{EVER}").text) == {who: _shown(cost) for who, cost in costs.items()}
    assert _amounts(ada.get(f"/team-spend?by=team&{EVER}").text) == {
        "Shop": _shown(costs["ada"] + costs["ben"]),
        "Maps": _shown(costs["ada"] + costs["liz"]),
    }
    models: dict[str, int] = {}
    for own in by_model.values():
        for model, cost in own.items():
            models[model] = models.get(model, 0) + cost
    found = _amounts(ada.get(f"/team-spend?by=model&{EVER}").text)
    assert found == {name: _shown(cost) for name, cost in models.items()}
    projects: dict[str, int] = {}
    for browser in browsers.values():
        for path, cost in _own(browser, "project").items():
            name = path.rpartition("/")[2]
            projects[name] = projects.get(name, 0) + cost
    found = _amounts(ada.get(f"/team-spend?by=project&{EVER}").text)
    assert found == {name: _shown(cost) for name, cost in projects.items()}
    assert _shown(sum(costs.values())) in ada.get(f"/team-spend?{EVER}").text


def test_a_lead_sees_the_sums_of_their_team_only(demo: DemoServed) -> None:
    ada, liz, ben = (demo.browser(handle) for handle in ("ada", "liz", "ben"))
    ada.submit("/team-spend/rule", shown="1")
    page = liz.get(f"/team-spend?by=person&{EVER}").text
    assert set(_amounts(page)) == {"ada", "liz"}
    assert "Everyone</a>" not in page
    shop = re.search(r'/team-spend\?team=(\d+)[^"]*"[^>]*>Shop<', ada.get("/team-spend").text)
    assert shop
    assert liz.get(f"/team-spend?team={shop[1]}").status_code == 404
    assert ben.get("/team-spend").status_code == 404, "he leads no team"
    assert "Team spend" not in ben.get("/account").text


def test_sums_of_few_people_are_hidden_unless_the_organisation_shows_them(demo: DemoServed) -> None:
    ada, liz = demo.browser("ada"), demo.browser("liz")
    assert liz.submit("/team-spend/rule", shown="1").status_code == 404
    ada.submit("/team-spend/rule", shown="")
    month, _ = _month(liz)
    try:
        for browser in (ada, liz):
            for by in ("person", "team", "project", "model"):
                answer = browser.get(f"/team-spend?by={by}&period={month}")
                if answer.status_code == 200:
                    shown = re.sub(r"<form.*?</form>|<strong>\$10</strong>", "", answer.text.partition("<main")[2])
                    assert "$" not in shown
                    assert "fewer than 5 people" in answer.text
        told = " ".join(liz.get(f"/team-spend?period={month}").text.split())
        assert "who changes the members of a team and compares its sums before and after can work out" in told
    finally:
        ada.submit("/team-spend/rule", shown="1")


def test_a_day_that_is_not_shown_has_no_number_in_the_chart() -> None:
    cost = Sums(1, 10, 2_000_000)
    spent = [PersonSpend("ada", days={"2026-11-01": cost, "2026-11-02": cost, "2026-11-04": cost})]
    asked = SpendQuery(None, "team", "2026-11", datetime(2026, 11, 4, 12, tzinfo=UTC).astimezone(), has_months=True)
    shown = frozenset(ShownSum(EVERYONE, "day", day) for day in ("2026-11-01", "2026-11-04"))
    hiding, whole = (str(_chart(asked, spent, None, visible)) for visible in (VisibleSums(shown), VisibleSums()))
    days = ("Nov 4", "Nov 3", "Nov 2", "Nov 1")
    table = re.compile(r"<tr><th[^>]*>([^<]+)</th><td[^>]*>([^<]*)</td></tr>")
    assert dict(table.findall(hiding)) == dict(zip(days, ("$2.00", "–", "–", "$2.00"), strict=True))
    assert re.findall(r"<title>([^<]*)</title>", hiding)[1:3] == [f"{days[3]}\nCost: $2.00", f"{days[2]}\nCost: –"]
    assert "A day with – is one" in hiding
    assert dict(table.findall(whole)) == dict(zip(days, ("$2.00", "$0.00", "$2.00", "$2.00"), strict=True))
    assert "A day with –" not in whole


def test_who_agreed_is_listed_by_name_until_they_take_it_back(demo: DemoServed) -> None:
    ada, ben, liz = (demo.browser(handle) for handle in ("ada", "ben", "liz"))
    ada.submit("/team-spend/rule", shown="1")
    assert "Your organisation decided" in liz.get("/account").text
    ada.submit("/team-spend/rule", shown="")
    month, own = _month(liz)
    page = f"/team-spend?by=person&period={month}"
    try:
        assert _amounts(liz.get(page).text) == {}
        assert "Show what I spend by name" in liz.get("/account").text
        assert "Stop showing it" in liz.submit("/account/spend", agreed="1").text
        for browser in (ada, liz):
            text = browser.get(page).text
            assert _amounts(text) == {"liz": _shown(own)}
            assert "fewer than 5 people" in text  # the total is not shown: it would tell what the others spent
        assert _amounts(ada.get(f"/team-spend?by=project&period={month}").text) == {}
        assert ben.get(page).status_code == 404
        liz.submit("/account/spend", agreed="")
        assert _amounts(ada.get(page).text) == {}
        told = ada.get("/audit").text
        assert "spend.by-name" in told
        assert "withdrawn" in told
    finally:
        liz.submit("/account/spend", agreed="")
        ada.submit("/team-spend/rule", shown="1")


def test_a_budget_is_set_by_whom_it_concerns_and_drawn(demo: DemoServed) -> None:
    ada, liz, ben = (demo.browser(handle) for handle in ("ada", "liz", "ben"))
    maps = re.search(r'name="team" value="(\d+)"', liz.get("/team-spend").text)
    assert maps
    assert ben.submit("/team-spend/budget", team=maps[1], amount="10").status_code == 404
    assert liz.submit("/team-spend/budget", team="", amount="10").status_code == 404
    assert liz.submit("/team-spend/budget", team=maps[1], amount="lots").status_code == 400
    assert "of $1,200" in liz.submit("/team-spend/budget", team=maps[1], amount="$1,200").text
    assert "Budget a" in liz.get("/team-spend?period=90d").text
    assert "of $5,000" in ada.submit("/team-spend/budget", team="", amount="5000").text
    assert "of $5,000" not in liz.get("/team-spend").text
    liz.submit("/team-spend/budget", team=maps[1], amount="")
    ada.submit("/team-spend/budget", team="", amount="10")
    assert "of $" not in liz.get("/team-spend").text
    assert "budget.set" in ada.get("/audit").text
