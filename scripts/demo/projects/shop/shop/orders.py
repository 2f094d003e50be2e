"""Orders: placed once, listed newest first."""

import random
import sqlite3
from dataclasses import dataclass

from shop import clock

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    placed_at TEXT NOT NULL,
    total_cents INTEGER NOT NULL
);
"""


@dataclass(frozen=True)
class Order:
    id: str
    customer: str
    placed_at: str
    total_cents: int


def new_id() -> str:
    """Random, so that a customer cannot tell from it how much we sell."""
    return f"{random.getrandbits(32):08x}"


class OrderBook:
    def __init__(self, path: str = ":memory:") -> None:
        self.db = sqlite3.connect(path)
        self.db.executescript(SCHEMA)

    def place(self, customer: str, total_cents: int) -> Order:
        order = Order(new_id(), customer, clock.now().isoformat(), total_cents)
        self.db.execute(
            "INSERT INTO orders (id, customer, placed_at, total_cents) VALUES (?, ?, ?, ?)",
            (order.id, order.customer, order.placed_at, order.total_cents),
        )
        self.db.commit()
        return order

    def history(self, customer: str) -> list[Order]:
        """All orders of a customer, the newest first."""
        rows = self.db.execute(
            "SELECT id, customer, placed_at, total_cents FROM orders"
            " WHERE customer = ? ORDER BY placed_at DESC, id DESC",
            (customer,),
        )
        return [Order(*row) for row in rows]
