"""Administrators at work in a real browser: rules, retention, limits, leads; on a wide screen and on a phone."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.journeys.visitor import NARROW, WIDE
from tests.team.demo_served import FLAKY, LEDGER, DemoServed


@pytest.fixture(params=[pytest.param(WIDE, id="wide"), pytest.param(NARROW, id="narrow", marks=pytest.mark.all)])
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
    rules = page.get_by_role("region", name="Applies to")
    expect(rules).to_contain_text("metrics")
    expect(page.get_by_role("heading", name="Machines that do not follow these rules yet")).to_be_visible()
    page.wait_for_load_state()  # a page asks as soon as its scripts have run
    rules.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("There are no rules: each person chooses")).to_be_visible()


def test_a_retention_rule_is_made_and_removed(page: Page) -> None:
    page.goto("/retention")
    page.get_by_label("Project (empty").fill("nothing-is-called-so")
    page.get_by_label("Days after").fill("20000")
    page.wait_for_load_state()  # a page asks as soon as its scripts have run
    page.get_by_role("button", name="Save the rule").click()
    expect(page.get_by_role("dialog")).to_contain_text("removed from the server for good")
    page.get_by_role("dialog").get_by_role("button", name="Save the rule").click()
    row = page.get_by_role("row").filter(has_text="nothing-is-called-so")
    expect(row).to_contain_text("20,000 days")
    page.wait_for_load_state()  # a page asks as soon as its scripts have run
    row.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("nothing-is-called-so")).to_have_count(0)


def test_limits_are_set_and_taken_back(page: Page) -> None:
    page.goto("/storage")
    page.get_by_label("GB per person").fill("1.5")
    page.get_by_role("button", name="Save the limits").click()
    expect(page.get_by_role("row").filter(has_text="ben")).to_contain_text("1.5 GB, 0 % used")
    page.get_by_label("GB per person").fill("")
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


def test_a_role_is_changed_with_the_keyboard_and_back(page: Page) -> None:
    page.goto("/people")
    role = page.get_by_label("Role of ben", exact=True)
    for chosen in ("auditor", "member"):
        role.select_option(chosen)
        role.press("Tab")
        expect(page.get_by_role("button", name="Save the role of ben")).to_be_focused()
        with page.expect_navigation():
            page.keyboard.press("Enter")
        expect(role).to_have_value(chosen)
    expect(page.get_by_label("Role of ada", exact=True)).to_have_count(0)  # the only owner


def test_what_cannot_be_undone_is_confirmed_first(page: Page) -> None:
    page.goto("/devices")
    row = page.get_by_role("row").filter(has_text="ben/workstation")
    row.get_by_role("button", name="Revoke").press("Enter")
    question = page.get_by_role("dialog", name="Revoke ben/workstation?")
    expect(question.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(row.get_by_role("button", name="Revoke")).to_be_focused()
    row.get_by_role("button", name="Revoke").click()
    question.get_by_role("button", name="Cancel").click()
    page.reload()
    expect(row.get_by_role("button", name="Revoke")).to_be_visible()


def test_times_are_those_of_the_reader(demo: DemoServed, browser: Browser) -> None:
    address = f"/chats/{demo.chat('ada', FLAKY)}"
    seen = {}
    for zone in ("UTC", "Asia/Kolkata"):
        context = browser.new_context(base_url=demo.served.url, timezone_id=zone)
        page = context.new_page()
        page.goto("/sign-in")
        page.goto(f"/sign-in?link={demo.links['ada']}")
        page.goto(address)
        shown = page.locator("#messages time").first.text_content()  # `inner_text` is empty while it is not drawn
        seen[zone] = datetime.fromisoformat(f"2026-01-01 {shown}")
        page.goto("/audit")
        number, when = page.locator("tbody tr").last.locator("td").all_inner_texts()[:2]
        assert number == "1"
        seen[f"audit in {zone}"] = datetime.fromisoformat(when)
        context.close()
    ahead = timedelta(hours=5, minutes=30)
    assert (seen["Asia/Kolkata"] - seen["UTC"]) % timedelta(days=1) == ahead
    assert seen["audit in Asia/Kolkata"] - seen["audit in UTC"] == ahead


def test_the_tabs_take_one_line_each_and_show_where_one_is(page: Page) -> None:
    for size in (page.viewport_size or WIDE, NARROW):  # on a phone they are scrolled, and lead to where one is
        page.set_viewport_size(size)
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
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.all
def test_the_bar_has_room_for_everything_on_a_tablet(demo: DemoServed, browser: Browser) -> None:
    own, shared = demo.chat("ada", FLAKY), demo.chat("ben", LEDGER)
    for width in (721, 901, 1081, 1241):
        context = browser.new_context(viewport={"width": width, "height": 900}, base_url=demo.served.url)
        page = context.new_page()
        page.goto(f"/sign-in?link={demo.links['ada']}")
        for path in ("/devices", f"/chats/{own}", f"/chats/{shared}"):
            page.goto(path)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} at {width}"
            places, search = (page.locator(f".bar {part}").bounding_box() for part in (".places", ".bar-search"))
            assert places
            assert search
            assert search["x"] >= places["x"] + places["width"], f"{path} at {width}"
            assert search["width"] >= 40, f"{path} at {width}"
        context.close()


def test_the_palette_goes_to_pages_of_the_server(demo: DemoServed, browser: Browser) -> None:
    context = browser.new_context(viewport=WIDE, base_url=demo.served.url)
    page = context.new_page()
    page.goto(f"/sign-in?link={demo.links['ben']}")
    page.keyboard.press("Control+k")
    options = page.get_by_role("option").filter(has_text="Go to")
    expect(options.filter(has_text="Account")).to_have_count(1)
    names = [name.removeprefix("Go to ") for name in options.all_inner_texts()]
    for name in names:
        answer = page.request.get("/" if name == "Home" else f"/{name.lower()}")
        assert answer.status == 200, name
    context.close()


def test_the_command_that_connects_a_machine_is_copied(page: Page) -> None:
    page.goto("/devices")
    page.get_by_role("button", name="Copy").click()
    expect(page.locator(".toasts")).to_contain_text("Copied")
