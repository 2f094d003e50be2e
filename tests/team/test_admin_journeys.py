"""Administrators at work in a real browser: rules, retention, limits, leads; on a wide screen and on a phone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.visitor import NARROW, WIDE
from tests.team.demo_served import DemoServed


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def page(demo: DemoServed, browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    context = browser.new_context(viewport=request.param, base_url=demo.served.url, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"/sign-in?link={demo.links['ada']}")
    yield page
    context.close()


def test_a_rule_is_made_from_the_list_of_projects_and_removed(page: Page) -> None:
    page.goto("/project-rules")
    row = page.get_by_role("row").filter(has_text="shop").last
    row.get_by_role("link", name="Make a rule").click()
    expect(page.get_by_label("Pattern")).to_have_value("shop")
    page.get_by_label("May be sent").select_option("metrics")
    page.get_by_role("button", name="Save the rule").press("Enter")
    rules = page.get_by_role("region", name="About")
    expect(rules).to_contain_text("metrics")
    expect(page.get_by_role("heading", name="Machines that do not follow these rules yet")).to_be_visible()
    rules.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No rule: each person chooses")).to_be_visible()


def test_a_retention_rule_is_made_and_removed(page: Page) -> None:
    page.goto("/retention")
    page.get_by_label("Project (a folder").fill("nothing-is-called-so")
    page.get_by_label("Days after").fill("20000")
    page.get_by_role("button", name="Save the rule").click()
    row = page.get_by_role("row").filter(has_text="nothing-is-called-so")
    expect(row).to_contain_text("20000 days")
    row.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("nothing-is-called-so")).to_have_count(0)


def test_limits_are_set_and_taken_back(page: Page) -> None:
    page.goto("/storage")
    page.get_by_label("GB for each person").fill("1.5")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.get_by_role("row").filter(has_text="ben")).to_contain_text("1.5 GB, 0 % used")
    page.get_by_label("GB for each person").fill("")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.get_by_role("row").filter(has_text="ben")).to_contain_text("none")


def test_a_team_can_have_several_leads(page: Page) -> None:
    page.goto("/people")
    leads = page.get_by_role("row").filter(has_text="Save Shop").get_by_role("group", name="Leads")
    leads.get_by_label("ben").check()
    page.get_by_role("button", name="Save Shop").click()
    expect(leads.get_by_label("ada")).to_be_checked()
    expect(leads.get_by_label("ben")).to_be_checked()
    leads.get_by_label("ben").uncheck()
    page.get_by_role("button", name="Save Shop").click()
    expect(leads.get_by_label("ben")).not_to_be_checked()


def test_the_tabs_take_one_line_each_and_show_where_one_is(page: Page) -> None:
    page.goto("/sign-in-test")
    for name in ("Your pages", "The server"):
        tabs = page.get_by_role("navigation", name=name)
        heights = tabs.get_by_role("link").evaluate_all("links => new Set(links.map((one) => one.offsetTop)).size")
        assert heights == 1, name
    here = page.get_by_role("navigation", name="The server").get_by_role("link", name="Sign-in test")
    box = here.bounding_box()
    width = page.evaluate("innerWidth")
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
