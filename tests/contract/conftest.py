"""The stores that the suite runs against. A new one adds its row here, and nothing else."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from backscroll.store import Store
from backscroll.store.local import LocalStore
from tests.contract.support import Desk

NewStore = Callable[[], Store]
STORES: Final[dict[str, Callable[[Path], Store]]] = {
    "local": lambda folder: LocalStore(folder).start_writing(),
}
"""How to open each kind of store, empty and ready to be written."""


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    store = STORES[request.param](tmp_path / "store")
    yield store
    store.close()


@pytest.fixture(params=STORES, scope="module")
def new_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewStore]:
    """Opens one more empty store, for as long as the tests of a module last."""
    opened: list[Store] = []

    def open_store() -> Store:
        opened.append(STORES[request.param](tmp_path_factory.mktemp("store")))
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
