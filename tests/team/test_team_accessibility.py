"""The server's own pages, light and wide, dark and narrow: axe finds nothing serious.

By default a third of the pages are seen, light and wide; `scripts/test --all` sees each of them in both ways.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser

from tests.journeys.visitor import NARROW, WIDE
from tests.support.samples import mostly_in_all, some
from tests.team.demo_served import FLAKY, DemoServed

PAGES = (
    "/shared /readers /devices /people /account /team-spend?period=90d /team-spend?by=person /audit /jobs"
    " /project-rules /storage /sign-in-test /retention /chats?q=owner:org /search?q=Dockerfile"
    " /prompts /prompts/flaky /prompts/ben:release-notes"
    " /connect /devices?connected=1 /erasures?handle=ben /spend /nowhere /sign-in"
).split()
SCHEMES = ["light", "dark"]


@pytest.mark.parametrize("scheme", mostly_in_all(SCHEMES, each=2))
def test_nothing_serious_is_wrong_with_a_page_of_the_server(demo: DemoServed, browser: Browser, scheme: str) -> None:
    site, chat = demo.served.url, demo.chat("ada", FLAKY)
    context = browser.new_context(
        viewport=WIDE if scheme == "light" else NARROW, bypass_csp=True, reduced_motion="reduce",
        color_scheme=scheme,  # type: ignore[arg-type]
    )  # fmt: skip
    page, wrong = context.new_page(), []
    page.goto(f"{site}/sign-in?link={demo.links['ada']}")
    pages = [*PAGES, f"/chats/{chat}/audience", f"/chats/{chat}", f"/chats/{chat}/share"]
    for path in some(pages, SCHEMES.index(scheme), share=3):
        page.goto(site + path)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        wrong += [
            f"{path}: {one['id']} {one['help']}: {[node['html'][:150] for node in one['nodes'][:3]]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is too wide"
    context.close()
    assert wrong == []
