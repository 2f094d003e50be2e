"""With the keyboard alone: from the first page to a message and back, always seeing where one is."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.house import LONG, RARE, TURNS, House
from tests.journeys.visitor import Visitor, be_ready, wait_in_window
from tests.support.samples import TRY_ALL

SEEN = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return "";
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
  const place = one.getBoundingClientRect();
  const hasOutline = outlineStyle !== "none" && parseFloat(outlineWidth) > 0;
  const marked = hasOutline || boxShadow !== "none" || one.closest(".here");
  const inside = place.bottom > 0 && place.top < innerHeight && place.width > 0;
  return marked && inside ? "seen" : `${one.outerHTML.slice(0, 120)} ${outlineStyle} ${JSON.stringify(place)}`;
}"""


def tab(page: Page, key: str = "Tab") -> None:
    """One on; where one is can be seen."""
    page.keyboard.press(key)
    assert page.evaluate(SEEN) in ("seen", "")


def test_from_the_first_page_to_a_message_and_back(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site)
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("pomegranate project:shop")
    page.keyboard.press("Enter")
    expect(page.locator(".results > li")).to_have_count(1)
    expect(page.locator("html[data-ready]")).to_be_attached()
    page.keyboard.press("j")
    tab(page, "j")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile(rf"/chats/{LONG}\?at=a\d+&find=[^#]+#m-a\d+$"))
    name = page.url.rpartition("#")[2]
    expect(page.locator(f"#{name}")).to_be_focused()
    be_ready(page)
    page.keyboard.press("o")
    expect(page.locator(f"#{name} .tool > details")).to_have_attribute("open", "")
    page.keyboard.press("r")
    expect(page.locator(f"#{name} .raw-row").first).to_be_visible()
    for key, kind in (("j", "c"), ("K", "p"), ("J", "p"), ("k", "c")):
        page.keyboard.press(key)
        expect(page.locator(f"article[id^='m-{kind}']:focus")).to_have_count(1)
        assert page.evaluate(SEEN) == "seen"
    page.go_back()
    expect(page.locator(".results > li")).to_have_count(1)
    page.go_back()
    expect(page.get_by_role("heading", name="Recent chats")).to_be_visible()


@pytest.mark.all
def test_every_place_that_takes_the_focus_shows_it(visitor: Visitor, house: House) -> None:
    page = visitor.context(house.site).new_page()
    for path in house.rooms if TRY_ALL else house.rooms[::2]:
        page.goto(house.site + path)
        expect(page.locator("html[data-ready]")).to_be_attached()
        for _ in range(25):
            tab(page)


def test_the_first_stop_leads_past_the_bar(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, "/chats")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    assert page.evaluate(SEEN) == "seen"
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_keys_find_step_change_detail_and_are_told(visitor: Visitor, house: House) -> None:
    page = visitor.page(house.site, f"/chats/{LONG}")
    be_ready(page)
    page.keyboard.press("s")
    page.keyboard.type("pomegranate")
    page.keyboard.press("Enter")
    wait_in_window(page, f"#m-a{RARE[0]}.found-here")
    page.locator("#find").blur()
    page.keyboard.press("n")
    wait_in_window(page, f"#m-a{RARE[1]}.found-here")
    page.keyboard.press("N")
    wait_in_window(page, f"#m-a{RARE[0]}.found-here")
    page.keyboard.press("d")
    expect(page.locator("#messages")).to_have_attribute("data-level", "talk")
    page.keyboard.press("d")
    expect(page.locator("#messages")).to_have_attribute("data-level", "everything")
    page.keyboard.press("G")
    wait_in_window(page, "#m-c129")
    page.keyboard.press("g")
    page.keyboard.press("g")
    wait_in_window(page, "#m-p0")
    page.keyboard.press("?")
    for told in ("Next message", "Next prompt", "Next branch", "Find in this chat", "Detail"):
        expect(page.get_by_role("dialog")).to_contain_text(told)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("detail: normal")
    page.keyboard.press("Enter")
    expect(page.locator("#messages")).to_have_attribute("data-level", "normal")
    page.keyboard.press("x")
    page.wait_for_url("**/context")
    page.keyboard.press("[")
    page.wait_for_url(f"**/context?turn={TURNS - 1}")
    page.goto(f"{house.site}/spend?period=7d")
    page.keyboard.press("]")
    page.wait_for_url("**/spend?period=last-week**")
