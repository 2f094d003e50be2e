"""A real browser, one for all journeys."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.journeys.house import House, open_house
from tests.journeys.visitor import Visitor

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first is Chromium without the windows, which takes less than half the time."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@contextmanager
def launched_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium. In CI, a missing Chromium is a failure, not a skip.

    Its event loop runs in this thread and blocks any other: close it before tests that need one of their own.
    """
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        told = "no chromium is installed"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with sync_playwright() as playwright:
        home = str(tmp_path_factory.mktemp("browser"))  # it leaves files behind
        own = os.environ | {"HOME": home, "XDG_CONFIG_HOME": home, "XDG_CACHE_HOME": home}
        opened = playwright.chromium.launch(executable_path=path, args=ARGUMENTS, env={**own})
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for all journeys."""
    with launched_browser(tmp_path_factory) as opened:
        yield opened


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    """A visitor who fails the test if anything goes wrong on a page."""
    visitor = Visitor(browser)
    yield visitor
    visitor.close()


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A library to read in, one for all: what is marked in it stays."""
    with open_house(tmp_path_factory.mktemp("house")) as house:
        yield house
