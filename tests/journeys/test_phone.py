"""With a phone: the pages are at the bottom, nothing is behind them, and nothing is wider than the screen."""

import re

from playwright.sync_api import Page, expect

from tests.journeys.house import FORKED, LONG, House
from tests.journeys.visitor import NARROW, Visitor, be_ready, too_wide

AT_THE_END = """() => {
  window.scrollTo(0, document.documentElement.scrollHeight);
  const bar = document.querySelector(".places").getBoundingClientRect();
  const last = document.querySelector("main").lastElementChild.getBoundingClientRect();
  return bar.bottom === innerHeight && last.bottom <= bar.top;
}"""


def test_the_pages_are_reached_with_the_thumb_and_hide_nothing(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, viewport=NARROW, has_touch=True)
    bar = page.get_by_role("navigation", name="Pages")
    for name in ("Chats", "Search", "Spend", "Stats", "Files", "Home"):
        bar.get_by_role("link", name=name).tap()
        expect(bar.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
        assert page.evaluate(AT_THE_END), name
        assert too_wide(page) == [], name


def test_a_chat_is_found_narrowed_down_and_read(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, viewport=NARROW, has_touch=True)
    page.locator("#search").fill("about")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=about"))
    narrow = page.get_by_role("complementary", name="Narrow results")
    expect(narrow.get_by_role("link")).to_have_count(0)  # folded: results come first
    narrow.locator("summary").tap()
    narrow.get_by_role("link", name="blog").tap()
    expect(page.locator(".results > li")).to_have_count(1)
    assert too_wide(page) == []


def test_everything_that_floats_over_a_chat_is_above_the_pages(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{LONG}", viewport=NARROW, has_touch=True)
    be_ready(page)
    top = page.locator(".places").bounding_box()["y"]  # type: ignore[index]
    assert bottom_of(page, ".side-button") <= top
    page.get_by_label("More actions").tap()
    assert bottom_of(page, "#more > div") <= top
    page.keyboard.press("Escape")
    page.locator("#find-open").tap()  # takes the place of the pages while one looks for something
    expect(page.locator("#find")).to_be_focused()
    assert bottom_of(page, "#find-form") == NARROW["height"]


def test_a_chat_is_shared_and_its_branches_are_compared(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{FORKED}", viewport=NARROW, has_touch=True)
    be_ready(page)
    page.locator("#share").tap()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Share this chat")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("link", name=re.compile("^Compare")).first.tap()
    expect(page.get_by_role("heading", name="Compare branches")).to_be_visible()
    assert too_wide(page) == []


def bottom_of(page: Page, selector: str) -> float:
    box = page.locator(selector).bounding_box()
    assert box, selector
    return box["y"] + box["height"]
