"""The stores that the suite runs against. A new one adds its row here, and nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from backscroll.store.base import Store
from backscroll.store.local.store import LocalStore
from backscroll.store.postgres.store import PgStore
from tests.contract.coverage import CALLED, CALLED_WITHIN, recorded
from tests.contract.support import Desk
from tests.support.postgres import migrated, new_organisation, older_migrated, older_postgres, postgres

__all__ = ["migrated", "older_migrated", "older_postgres", "postgres"]

NewStore = Callable[[], Store]


def _local(_: pytest.FixtureRequest, folder: Path) -> Store:
    return LocalStore(folder)


def _postgres(request: pytest.FixtureRequest, _: Path) -> Store:
    return PgStore(request.getfixturevalue("migrated"), new_organisation())


def _older_postgres(request: pytest.FixtureRequest, _: Path) -> Store:
    return PgStore(request.getfixturevalue("older_migrated"), new_organisation())


STORES: Final[dict[str, Callable[[pytest.FixtureRequest, Path], Store]]] = {
    "local": _local,
    "postgres": _postgres,
    "older_postgres": _older_postgres,
}
"""How to open each kind of store, where there is none yet; the folder is for it alone."""


@pytest.fixture(autouse=True)
def _covers_what_it_says(request: pytest.FixtureRequest) -> Iterator[None]:
    CALLED.clear()
    CALLED_WITHIN.clear()
    yield
    for mark in request.node.iter_markers("covers"):
        assert set(mark.args) <= CALLED, "the test says that it is about a method, and does not call it"


@pytest.fixture(params=STORES)
def closed_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store in which nothing was ever written."""
    store = recorded(STORES[request.param](request, tmp_path / "store"))
    yield store
    store.close()


@pytest.fixture
def store(closed_store: Store) -> Store:
    """An empty store, to be written."""
    closed_store.start_writing()
    return closed_store


@pytest.fixture(params=STORES, scope="module")
def new_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewStore]:
    """Opens one more empty store, for as long as the tests of a module last."""
    opened: list[Store] = []

    def open_store() -> Store:
        opened.append(recorded(STORES[request.param](request, tmp_path_factory.mktemp("store"))))
        opened[-1].start_writing()
        return opened[-1]

    yield open_store
    for store in opened:
        store.close()


@pytest.fixture(scope="module")
def long_store(new_store: NewStore) -> Store:
    """One store for many examples, each of which empties it first."""
    return new_store()


@pytest.fixture
def desk(store: Store) -> Desk:
    return Desk(store)
