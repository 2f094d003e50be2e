"""A PostgreSQL, and a team server on a real socket."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.people import secrets
from tests.journeys.conftest import launched_browser
from tests.support.postgres import database, older_postgres, postgres
from tests.team.demo_served import DemoServed, serving_demo

__all__ = ["database", "older_postgres", "postgres"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One for the tests of a module."""
    with launched_browser(tmp_path_factory) as opened:
        yield opened


@pytest.fixture(scope="package", autouse=True)
def _quick_passwords() -> Iterator[None]:
    """Little work for each password: it takes 30 ms of a core otherwise, and tests sign in hundreds of times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "ITERATIONS", 1)
        patch.setattr(secrets, "MEMORY_KIB", 64)
        patch.setattr(secrets, "NO_PASSWORD", secrets.hash_password("the password of no one"))
        yield


@pytest.fixture(scope="session")
def demo(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServed]:
    """The demo team, one for all tests of this process: what they change, they undo."""
    with serving_demo(postgres, tmp_path_factory.mktemp("demo")) as served:
        yield served
