"""A reader with a real browser: any error on a page, or request to another server, fails the test."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect

from backscroll.web.server import StartedViewer
from tests.support.samples import TRY_ALL

WIDE: Final = ViewportSize(width=1280, height=900)
NARROW: Final = ViewportSize(width=390, height=844)
LOOKS: Final = {"light and wide": ("light", WIDE), "dark and narrow": ("dark", NARROW)}
PATIENCE: Final = 180_000
"""Milliseconds that an expectation waits: the machine may be busy with something else."""

expect.set_options(timeout=PATIENCE)


class Site(str):
    """The address of a server; makes links with an access key."""

    served: StartedViewer
    cookies: list[Any]

    @classmethod
    def of(cls, served: StartedViewer) -> "Site":
        """The address of a running server."""
        site = cls(served.url)
        site.served = served
        site.cookies = []
        return site


def looks(case: int) -> list[Any]:
    """The looks to see pages in, as parameters: one of the two by default, and another in the next case."""
    names = list(LOOKS) if TRY_ALL else [list(LOOKS)[case % len(LOOKS)]]
    return [pytest.param(*LOOKS[name], id=name) for name in names]


def slow_down(page: Page) -> None:
    """Let every request take half a second: a journey that does not wait for what it needs then fails each time."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 500, "downloadThroughput": -1, "uploadThroughput": -1},
    )


def enter(context: BrowserContext, site: Site) -> None:
    """Take the cookie of the printed link without showing its page; it opens everything, in later contexts too."""
    if not site.cookies:
        context.request.get(site.served.link()).dispose()
        site.cookies += context.cookies()
    context.add_cookies(site.cookies)


class Visitor:
    """Opens contexts, and records everything that goes wrong on their pages."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._forgiven: list[re.Pattern[str]] = []
        self.wrong: list[str] = []

    def context(self, site: str, **options: Any) -> BrowserContext:  # noqa: ANN401 - whatever a browser can be told
        """A browser of its own, that knows nothing yet."""
        context = self._browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **options})
        context.set_default_timeout(PATIENCE)
        self._contexts.append(context)
        context.on("console", lambda told: self._said(told.type, told.text, told.location.get("url", "")))
        context.on("weberror", lambda error: self._note(f"{error.error}"))
        context.on("request", lambda request: self._asked(site, request.url))
        context.on("dialog", self._asked_with_a_dialog)
        if os.environ.get("BACKSCROLL_SLOW_NETWORK"):
            context.on("page", slow_down)
        if isinstance(site, Site):
            enter(context, site)
        return context

    def page(self, site: str, path: str = "/", **options: Any) -> Page:  # noqa: ANN401
        """A page, opened."""
        page = self.context(site, **options).new_page()
        page.goto(site + path)
        return page

    def forgive(self, *patterns: str) -> None:
        """What is said about a server that went away, or a part that was kept back, is no mistake of the page."""
        self._forgiven += map(re.compile, patterns)

    def leave(self) -> None:
        """Close every page, while its server still runs: one that has gone away would be told as a mistake."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()

    def close(self) -> None:
        """Leave; whatever went wrong ends the test."""
        self.leave()
        assert not self.wrong, "\n".join(self.wrong)

    def _asked_with_a_dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _said(self, kind: str, text: str, where: str) -> None:
        if kind in ("error", "warning"):
            self._note(f"{text} ({where})")

    def _note(self, what: str) -> None:
        if not any(pattern.search(what) for pattern in self._forgiven):
            self.wrong.append(what[:400])

    def _asked(self, site: str, address: str) -> None:
        there, ours = urlsplit(address), urlsplit(site)
        if there.scheme in ("http", "https", "ws", "wss") and there.netloc != ours.netloc:
            self._note(f"request to another server: {address}")


def keep_picture(page: Page, name: str) -> None:
    """Save a screenshot, if `BACKSCROLL_SCREENSHOTS` is set."""
    if folder := os.environ.get("BACKSCROLL_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(folder) / f"{name}.png")


def too_wide(page: Page) -> list[str]:
    """What makes the page wider than its window; nothing if it is not."""
    found: list[str] = page.evaluate("""() => {
      const root = document.documentElement;
      if (root.scrollWidth <= root.clientWidth) return [];
      return [...document.querySelectorAll("body *")]
        .filter(one => one.getBoundingClientRect().right > root.clientWidth + 1)
        .map(one => one.outerHTML.slice(0, 160)).slice(0, 5);
    }""")
    return found


def brightness(page: Page, selector: str = "body") -> float:
    """Of its background, from 0 to 255."""
    colour: str = page.evaluate("one => getComputedStyle(document.querySelector(one)).backgroundColor", selector)
    red, green, blue = map(float, re.findall(r"[\d.]+", colour)[:3])
    return 0.3 * red + 0.59 * green + 0.11 * blue


def be_ready(page: Page) -> None:
    """Until every part of a chat's page has started: then keys are heard."""
    expect(page.locator("html[data-started]")).to_be_attached()


def ids_of(page: Page) -> list[str]:
    """The messages that are in the page, in their order."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('#messages > .chunk > article')].map(one => one.id.slice(2))"
    )
    return found


def in_window(page: Page, selector: str) -> bool:
    """Whether some of it can be seen without scrolling."""
    seen: bool = page.evaluate(
        """one => { const { top, bottom, height } = document.querySelector(one).getBoundingClientRect();
        return height > 0 && bottom > 60 && top < innerHeight; }""",
        selector,
    )
    return seen


def wait_in_window(page: Page, selector: str) -> None:
    """Until it has been scrolled to."""
    page.wait_for_function(
        """one => { const found = document.querySelector(one)?.getBoundingClientRect();
        return found && found.height > 0 && found.bottom > 60 && found.top < innerHeight; }""",
        arg=selector,
    )


def doubled(names: Iterable[str]) -> list[str]:
    """What is there more than once."""
    seen: set[str] = set()
    return [name for name in names if name in seen or seen.add(name)]  # type: ignore[func-returns-value]
