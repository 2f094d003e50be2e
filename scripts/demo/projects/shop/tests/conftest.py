import pytest

from shop.orders import OrderBook


@pytest.fixture(scope="session")
def book(tmp_path_factory):
    return OrderBook(str(tmp_path_factory.mktemp("shop") / "orders.db"))
