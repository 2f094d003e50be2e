"""Numbers in a real browser: what last week cost and why, the errors of a tool, the context, a phone, and axe."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import expect

from tests.journeys.visitor import Visitor, keep_picture, looks, too_wide
from tests.library.analytics.test_attention import calls
from tests.library.analytics.test_spend import DRAWING, EARLIER
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path
from tests.web.served import serving

GRAVE = ("serious", "critical")
PAGES = (
    "/spend?period=last-week", "/stats?since=all", "/stats/errors", "/stats/failures?tool=Edit", "/stats/usage?by=day",
    "/stats/overview", f"/chats/{session_uuid('S1')}/context",
)  # fmt: skip


@contextmanager
def last_week(tmp_path: Path) -> Iterator[str]:
    """A library whose expensive day was in the last week, and whose cheap one was in the week before."""
    today = datetime.now().astimezone()
    monday = today - timedelta(days=today.weekday())
    dear, cheap = (f"{monday - timedelta(days=days):%Y-%m-%d}" for days in (5, 12))
    shelf = Shelf(tmp_path).write({
        session_path("S1"): jsonl(draw(DRAWING.replace("2026-01-10", dear))),
        session_path("S2"): jsonl(draw(EARLIER.replace("2026-01-03", cheap), session="S2")),
    })  # fmt: skip
    shelf.write(session_file("S3", calls("S3", 5, "Edit", "eeeeoooooooo")))
    shelf.update()
    with serving(shelf) as served:
        yield served.url


@pytest.mark.parametrize(("scheme", "size"), looks(1))
def test_what_last_week_cost_and_why(visitor: Visitor, tmp_path: Path, scheme: str, size: dict[str, int]) -> None:
    with last_week(tmp_path) as site:
        page = visitor.page(site, "/", viewport=size, color_scheme=scheme)
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="Spend").click()
        page.get_by_role("link", name="Last week").click()
        summary = page.get_by_role("region", name="Summary")
        expect(summary).to_contain_text("$1.33")
        expect(summary).to_contain_text("more")
        dearest = page.locator("#dearest-turns li").first
        expect(dearest).to_contain_text("write it")
        expect(dearest).to_contain_text("1 model change (sonnet-4-5 → opus-4-5): 81k tokens")
        assert not too_wide(page)
        keep_picture(page, f"spend {scheme}")
        page.locator('[data-dimension="model"]').get_by_role("link", name="opus-4-5").click()  # a click is a filter
        expect(summary).to_contain_text("$0.71")
        page.get_by_role("link", name="Remove the filter model").click()
        expect(summary).to_contain_text("$1.33")
        page.locator("#dearest-turns").get_by_role("link", name="write it").click()
        expect(page.locator(":target, .found").first).to_be_visible()
        visitor.leave()


def test_the_budget_is_a_line(visitor: Visitor, tmp_path: Path) -> None:
    with last_week(tmp_path) as site:
        page = visitor.page(site, "/spend?period=last-week")
        page.get_by_label("Budget for a month, in US dollars").fill("60")
        page.get_by_role("button", name="Set").click()
        expect(page.locator(".level-line")).to_contain_text("Budget a day $")
        expect(page.get_by_text("Change", exact=True).first).to_be_visible()
        visitor.leave()


def test_the_errors_of_a_tool(visitor: Visitor, tmp_path: Path) -> None:
    with last_week(tmp_path) as site:
        page = visitor.page(site, "/stats?since=all")
        expect(page.get_by_text("Edit failed 4 times in 1 chat with the same error")).to_be_visible()
        page.get_by_role("link", name="All 4 failed calls").first.click()
        rows = page.locator("table.report tbody tr")
        expect(rows).to_have_count(4)
        rows.first.get_by_role("link", name="no such file").click()
        expect(page.locator("main")).to_contain_text("no such file")
        visitor.leave()


def test_a_report_follows_its_form_without_a_button(visitor: Visitor, tmp_path: Path) -> None:
    with last_week(tmp_path) as site:
        page = visitor.page(site, "/stats/usage")
        page.evaluate("window.isSamePage = true")
        expect(page.get_by_role("button", name="Show", exact=True)).to_have_count(0)
        page.locator("select[name=by]").select_option("model")
        expect(page.locator("table.report thead")).to_contain_text("Model")
        expect(page.locator("table.report tbody")).to_contain_text("opus-4-5")
        query = page.get_by_label("Query")
        query.press_sequentially("project:attic")
        expect(page.locator("#report")).to_contain_text("Nothing to count here.")
        expect(query).to_be_focused()  # one can go on typing
        expect(page).to_have_url(f"{site}/stats/usage?by=model&show=cost&stack=model&q=project%3Aattic&limit=100")
        expect(page.get_by_role("link", name="30 days")).to_have_attribute("href", re.compile("attic"))
        visitor.forgive("400")
        query.fill("is:purple")
        expect(page.get_by_role("alert")).to_contain_text("purple")
        query.fill("")
        expect(page.locator("table.report tbody")).to_contain_text("opus-4-5")
        assert page.evaluate("window.isSamePage")
        visitor.leave()


def test_a_report_without_scripts_has_a_button(visitor: Visitor, tmp_path: Path) -> None:
    with last_week(tmp_path) as site:
        page = visitor.page(site, "/stats/usage", java_script_enabled=False)
        page.locator("select[name=by]").select_option("model")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator("table.report tbody")).to_contain_text("opus-4-5")
        visitor.leave()


@pytest.mark.all
@pytest.mark.parametrize(("scheme", "size"), looks(0))
def test_nothing_serious_is_wrong_with_numbers(
    visitor: Visitor, tmp_path: Path, scheme: str, size: dict[str, int]
) -> None:
    with last_week(tmp_path) as site:
        context = visitor.context(site, viewport=size, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
        page, wrong = context.new_page(), []
        for path in PAGES:
            page.goto(site + path)
            assert not too_wide(page), path
            keep_picture(page, f"{path.partition('?')[0].replace('/', '-')[1:40]} {scheme}")
            found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
            wrong += [
                f"{path}: {one['id']} {one['help']}: {[node['html'][:150] for node in one['nodes'][:3]]}"
                for one in found
                if one["impact"] in GRAVE
            ]
        visitor.leave()
    assert wrong == []
