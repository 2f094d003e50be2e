"""Reading a chat: search, branches, agents, tools, links, finding, detail, copying, marks, in a real browser."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from tests.journeys.house import FORKED, LONG, MESSAGES, RARE, SMALL, TURNS, House
from tests.journeys.visitor import (
    NARROW,
    Visitor,
    be_ready,
    brightness,
    doubled,
    ids_of,
    keep_picture,
    too_wide,
    wait_in_window,
)
from tests.support.samples import TRY_ALL

EVERY_MESSAGE = [f"{kind}{turn}" for turn in range(TURNS) for kind in "pac"]


@pytest.fixture
def long(visitor: Visitor, house: House) -> Page:
    """The long chat, open, and ready for keys."""
    page = visitor.page(house.site, f"/chats/{LONG}")
    be_ready(page)
    return page


def test_a_search_leads_to_the_message(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site)
    page.locator("#search").fill("pomegranate project:shop")
    page.keyboard.press("Enter")
    expect(page.locator(".results > li")).to_have_count(1)
    page.locator(".results .passages a").first.click()
    expect(page).to_have_url(re.compile(rf"/chats/{LONG}\?at=a\d+&find=[^#]+#m-a\d+$"))
    name = page.url.rpartition("#")[2]
    wait_in_window(page, f"#{name}")
    expect(page.locator(f"#{name}")).to_contain_text("pomegranate")
    expect(page.locator(f"#{name}")).to_be_focused()
    expect(page.locator(".found-here")).to_have_id(name)
    here = RARE.index(int(name.removeprefix("m-a"))) + 1
    expect(page.locator("#find-count")).to_have_text(f"{here} of 3")
    be_ready(page)
    page.keyboard.press("n")
    expect(page.locator("#find-count")).to_have_text(f"{here % 3 + 1} of 3")


def test_all_of_a_long_chat_can_be_scrolled_through_in_order(long: Page) -> None:
    expect(long.locator("#messages > .chunk")).to_have_count(-(-MESSAGES // 100))
    assert ids_of(long) == EVERY_MESSAGE[:100]
    for number in range(1, 4):
        long.locator(f".chunk[data-chunk='{number}']").scroll_into_view_if_needed()
        expect(long.locator(f".chunk[data-chunk='{number}'].filled")).to_be_attached()
    assert ids_of(long) == EVERY_MESSAGE


def test_the_end_key_goes_to_the_end_and_home_back(long: Page) -> None:
    long.keyboard.press("End")
    wait_in_window(long, f"#m-c{TURNS - 1}")
    expect(long.locator(".outline a[aria-current]")).to_contain_text(re.compile(f"Question {TURNS - 2}|{TURNS - 1} "))
    long.keyboard.press("Home")
    wait_in_window(long, "#m-p0")
    expect(long.locator(".outline a[aria-current]")).to_contain_text("Question 0 ")


def test_the_outline_leads_to_prompts_that_are_not_loaded(long: Page) -> None:
    expect(long.locator("#m-p100")).to_have_count(0)
    long.get_by_role("link", name="Question 100 about the shop").click()
    wait_in_window(long, "#m-p100")
    expect(long).to_have_url(re.compile("#m-p100$"))
    long.go_back()
    wait_in_window(long, "#m-p0")


def test_a_link_leads_to_a_message_wherever_it_stands(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{LONG}#m-p68")  # the chunk is not in the page, and nothing names it
    wait_in_window(page, "#m-p68")
    page.goto(f"{house.site}/chats/{LONG}?at=c120#m-c120")
    wait_in_window(page, "#m-c120")
    page.goto(f"{house.site}/chats/{FORKED}?at=fd")  # on the other branch
    expect(page).to_have_url(re.compile("branch=2#m-fd$"))
    wait_in_window(page, "#m-fd")
    page.goto(f"{house.site}/chats/{LONG}?at=tx1")  # a call of an agent
    expect(page).to_have_url(re.compile(r"/agents/f01aaaa#m-"))


def test_branches_change_at_the_fork_and_by_key(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{FORKED}")
    expect(page.locator("#m-ff")).to_contain_text("red")
    expect(page.locator("#m-fd")).to_have_count(0)
    page.get_by_role("link", name="Previous branch").click()
    expect(page.locator("#m-fd")).to_contain_text("blue")
    expect(page.locator("#m-ff")).to_have_count(0)
    expect(page.locator("#m-fc")).to_be_focused()
    be_ready(page)
    page.keyboard.press("{")
    expect(page.locator("#m-ff")).to_be_visible()
    be_ready(page)
    page.keyboard.press("}")
    expect(page.locator("#m-fd")).to_be_visible()
    page.locator(".fork summary").click()
    page.locator(".fork").get_by_role("link", name="Make it red").click()
    expect(page.locator("#m-ff")).to_be_visible()
    expect(page.locator("img.picture")).to_have_js_property("naturalWidth", 8)


def test_an_agent_is_read_inline_and_as_a_page(long: Page) -> None:
    tool = long.locator("#t-t1")
    tool.locator("summary").first.click()
    tool.locator(".agent-talk > summary").click()
    expect(tool.locator(".agent-messages")).to_contain_text("The cart is in src.")
    tool.get_by_role("link", name=re.compile("page", re.I)).first.click()
    expect(long.get_by_role("heading", name="look around")).to_be_visible()
    expect(long.locator("#m-x4")).to_contain_text("The cart is in src.")
    long.locator(".back a").click()
    wait_in_window(long, "#m-a1")


def test_tools_unfold_to_their_end_and_show_their_rows(long: Page) -> None:
    tool = long.locator("#t-t0")
    tool.locator("summary").first.click()
    expect(tool.locator(".terminal")).to_contain_text("line 39")
    expect(tool.locator(".terminal")).not_to_contain_text("line 199")
    tool.get_by_role("link", name="Show all 200 lines").click()
    expect(tool.locator(".terminal")).to_contain_text("line 199")
    tool.get_by_role("link", name="raw call").click()
    expect(tool.locator(".raw-row")).to_contain_text('"command": "make test"')
    tool.get_by_role("link", name="raw call").click()
    expect(tool.locator(".raw-row")).to_have_count(0)
    edit = long.locator("#t-t2")
    edit.locator("summary").first.click()
    expect(edit.locator(".diff")).to_contain_text("a = 2")


def test_all_tools_open_and_close_at_once(long: Page) -> None:
    first = long.locator("#t-t0 > details")
    if first.get_attribute("open") is None and long.locator(".tool > details[open]").count():
        long.keyboard.press("e")  # what is open by itself may be closed first
    long.keyboard.press("e")
    expect(long.locator(".tool > details:not([open])")).to_have_count(0)
    long.keyboard.press("e")
    expect(long.locator(".tool > details[open]")).to_have_count(0)


def test_finding_steps_through_all_matches_over_what_is_not_loaded(long: Page) -> None:
    long.keyboard.press("s")
    long.keyboard.type("pomegranate")
    expect(long.locator("#find-count")).to_have_text("3 found")
    for number, turn in enumerate(RARE, 1):
        long.keyboard.press("Enter")
        expect(long.locator("#find-count")).to_have_text(f"{number} of 3")
        wait_in_window(long, f"#m-a{turn}.found-here")
    long.locator("#find-next").click()
    expect(long.locator("#find-count")).to_have_text("1 of 3")
    wait_in_window(long, f"#m-a{RARE[0]}.found-here")
    long.locator("#find-previous").click()
    wait_in_window(long, f"#m-a{RARE[-1]}.found-here")
    assert doubled(ids_of(long)) == []
    long.locator("#find").press("Escape")
    expect(long.locator("#find-count")).to_have_text("")


def test_detail_shows_less_or_everything_and_is_kept(long: Page) -> None:
    expect(long.locator("#t-t0")).to_be_visible()
    long.get_by_text("Prompts and answers").click()
    expect(long.locator("#t-t0")).to_be_hidden()
    expect(long.locator("#m-c0")).to_be_visible()
    long.reload()
    expect(long.locator("#t-t0")).to_be_hidden()
    long.get_by_text("Everything", exact=True).click()
    expect(long.locator("#t-t0")).to_be_visible()


def test_links_markdown_code_and_the_command_are_copied(visitor: Visitor, house: House) -> None:
    allowed = ["clipboard-read", "clipboard-write"]
    page = visitor.page(house.site, f"/chats/{LONG}", permissions=allowed)

    def copied(what: str) -> str:
        expect(page.locator(".toasts")).to_contain_text(what)
        page.locator(".toasts p").evaluate_all("all => all.forEach(one => one.remove())")
        return str(page.evaluate("navigator.clipboard.readText()"))

    be_ready(page)
    page.keyboard.press("c")
    assert (
        copied("Copied resume command")
        == f"cd /home/ada/shop && CLAUDE_CONFIG_DIR={house.shelf.home} claude --resume {LONG}"
    )
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Copy Markdown").click()
    chat = copied("Copied chat as Markdown")
    assert "Question 0 about the shop" in chat and f"Question {TURNS - 1} about the shop" in chat
    page.locator("#m-c0").hover()
    page.locator("#m-c0").get_by_role("link", name="Link to this message").click()
    assert copied("Copied link") == f"{house.site}/chats/{LONG}?branch=1&at=c0#m-c0"
    page.locator("#m-c0 .copy-message").click()
    assert "def part_0():" in copied("as Markdown")
    page.locator("#m-c0 pre").hover()
    page.locator("#m-c0 .copy-code").click()
    assert copied("Copied code") == "def part_0():\n    return 0"


def test_a_chat_is_pinned_tagged_and_noted(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{SMALL}")
    be_ready(page)
    more = page.get_by_label("More actions")
    more.click()
    page.get_by_role("button", name="Pin").click()
    expect(page.locator("#pinned-badge")).to_be_visible()
    for name, text in (("tag", "to keep"), ("note", "read this again")):
        more.click()
        page.get_by_placeholder(f"New {name}").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".chat-marks")).to_contain_text(text)
    page.reload()
    be_ready(page)
    expect(page.locator("#pinned-badge")).to_be_visible()
    expect(page.locator(".chat-marks")).to_contain_text("to keep")
    page.get_by_role("button", name="Remove tag to keep").click()
    expect(page.locator(".chat-marks form.tag")).to_have_count(0)
    page.get_by_label("More actions").click()
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator("#pinned-badge")).to_be_hidden()


def test_nothing_is_wider_than_a_phone_and_all_is_dark_on_a_dark_one(visitor: Visitor, house: House) -> None:
    dark_phone = visitor.context(house.site, viewport=NARROW, has_touch=True, is_mobile=True, color_scheme="dark")
    page = dark_phone.new_page()
    for path in house.rooms:
        page.goto(house.site + path)
        assert brightness(page) < 60, path
        page.evaluate("document.querySelectorAll('main details').forEach(one => { one.open = true; })")
        assert too_wide(page) == [], path
    page.goto(f"{house.site}/chats/{LONG}")
    page.get_by_role("button", name="Outline").tap()
    page.get_by_role("link", name="Question 50 about the shop").tap()
    wait_in_window(page, "#m-p50")
    expect(page.locator("#side")).to_be_hidden()


def test_the_theme_is_that_of_the_system_until_it_is_switched(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, color_scheme="dark")
    assert brightness(page) < 60
    page.get_by_role("button", name="Switch the theme").click()
    page.goto(f"{house.site}/chats/{LONG}")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert brightness(page) > 200
    page.get_by_role("button", name="Switch the theme").click()
    page.reload()
    assert brightness(page) < 60


@pytest.mark.all
def test_everything_can_be_read_without_scripts(visitor: Visitor, house: House) -> None:
    visitor.forgive("404")  # a browser asks for an icon of its own where a page is only a fragment
    page = visitor.page(house.site, f"/chats/{LONG}", java_script_enabled=False)
    for first in (100, 200, 300):
        page.get_by_role("link", name=re.compile(f"^Messages {first + 1}–")).click()
        expect(page.locator(f"#m-{EVERY_MESSAGE[first]}")).to_be_visible()
    page.goto(f"{house.site}/chats/{FORKED}")
    page.get_by_role("link", name="Previous branch").click()
    expect(page.locator("#m-fd")).to_be_visible()
    page.goto(f"{house.site}/search?q={quote('pomegranate project:shop')}")
    page.locator(".results .passages a").first.click()
    expect(page.locator("article", has_text="pomegranate").first).to_be_visible()
    page.goto(f"{house.site}/chats/{LONG}")
    page.locator("#t-t0 summary").first.click()
    page.get_by_role("link", name="Show all 200 lines").click()
    expect(page.locator("body")).to_contain_text("line 199")
    for path in house.rooms:
        page.goto(house.site + path)
        expect(page.locator("button[data-action]:visible")).to_have_count(0)


PARTS = (
    "base",
    "chunks",
    "detail_level",
    "find",
    "keyboard",
    "live_chat",
    "marks",
    "message_actions",
    "notices",
    "outline",
    "read_position",
)


@pytest.mark.all
@pytest.mark.parametrize("part", PARTS if TRY_ALL else PARTS[::3])
def test_a_part_that_fails_takes_no_other_with_it(visitor: Visitor, house: House, part: str) -> None:
    visitor.forgive(rf"/{part}\.js", "did not start", "Failed to load resource", "Failed to fetch dynamically imported")
    context = visitor.context(house.site)

    def refuse(route: Route) -> None:
        route.abort()

    context.route(f"**/static/{part}.js", refuse)
    page = context.new_page()
    page.goto(f"{house.site}/chats/{LONG}")
    be_ready(page)
    expect(page.locator("#m-p0")).to_be_visible()
    if part != "detail_level" and part != "chunks":  # which it moves with
        page.get_by_text("Prompts and answers").click()
        expect(page.locator("#t-t0")).to_be_hidden()
        page.get_by_text("Everything", exact=True).click()
    if part not in ("message_actions", "replace_message"):
        page.locator("#t-t0 summary").first.click()
        page.get_by_role("link", name="Show all 200 lines").click()
        expect(page.locator("#t-t0 .terminal")).to_contain_text("line 199")
    if part == "chunks":  # then links lead to the rest, as without scripts
        page.get_by_role("link", name=re.compile("^Messages 201–")).click()
        expect(page.locator(f"#m-{EVERY_MESSAGE[200]}")).to_be_visible()
    else:
        page.get_by_role("link", name="Question 100 about the shop").click()
        wait_in_window(page, "#m-p100")


def test_a_chat_is_new_if_it_grew_since_it_was_looked_at(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{LONG}")
    page.wait_for_function("name => localStorage.getItem(name)", arg=f"seen:{LONG}")
    page.goto(f"{house.site}/chats")
    badge = page.locator(f"tr[data-chat='{LONG}'] .badge.unread")
    expect(badge).to_be_hidden()  # its end was not read, but it is as it was
    page.evaluate(
        "name => localStorage.setItem(name, JSON.stringify({message: 'p0', when: '2020-01-01'}))",
        f"seen:{LONG}",
    )
    page.reload()
    expect(badge).to_be_visible()
    expect(page.locator(f"tr[data-chat='{SMALL}'] .badge.unread")).to_be_hidden()
    page.goto(f"{house.site}/chats/{LONG}?at=c{TURNS - 1}")
    wait_in_window(page, f"#m-c{TURNS - 1}")
    page.wait_for_function(
        "([name, last]) => JSON.parse(localStorage.getItem(name)).message === last",
        arg=[f"seen:{LONG}", f"c{TURNS - 1}"],
    )
    page.goto(f"{house.site}/chats")
    expect(badge).to_be_hidden()


def test_a_chat_opens_again_where_it_was_left(long: Page) -> None:
    long.get_by_role("link", name="Question 90 about the shop").click()
    wait_in_window(long, "#m-p90")
    long.goto(long.url.partition("/chats")[0])
    long.go_back()
    wait_in_window(long, "#m-p90")
    keep_picture(long, "chat-in-the-middle")
