import sqlite3

import pytest

from ledger.book import balance, enter, show
from ledger.migrate import migrate


@pytest.fixture
def db():
    db = sqlite3.connect(":memory:")
    migrate(db)
    return db


def test_an_empty_account(db):
    assert balance(db, "tea") == 0


def test_amounts_add_up(db):
    for _ in range(3):
        enter(db, "2026-08-31", "tea", "samples", 1.5)
    assert balance(db, "tea") == 4.5


def test_show():
    assert show(1234.5) == "1,234.50 €"
