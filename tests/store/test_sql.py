"""Statements of the user are limited: no value, no row and no answer takes all the memory."""

import pytest

from backscroll.errors import UsageError
from backscroll.store.local import sql
from backscroll.store.local.schema import VIEWS
from backscroll.store.reader import StatementResult
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING

COUNTED = "with recursive n(i) as (select 1 union all select i + 1 from n limit {}) "


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    shelf = Shelf(tmp_path_factory.mktemp("sql")).write(EVERYTHING)
    shelf.update()
    return shelf


def ask(shelf: Shelf, statement: str, limit: int = 1000) -> StatementResult:
    with shelf.open() as library:
        return library.sql(statement, limit=limit, seconds=20.0)


def test_a_value_is_only_so_long(shelf: Shelf) -> None:
    (row,) = ask(shelf, f"select length(hex(zeroblob({sql.LONGEST_VALUE // 2 - 1})))").rows
    assert row == (sql.LONGEST_VALUE - 2,)
    for statement in (
        "select hex(zeroblob(400000000))",
        "select zeroblob(400000000)",
        "select printf('%400000000d', 1)",
        COUNTED.format(100_000) + "select group_concat(hex(zeroblob(1000))) from n",
    ):
        with pytest.raises(UsageError, match="too big"):
            ask(shelf, statement)


def test_a_row_has_only_so_many_columns(shelf: Shelf) -> None:
    assert len(ask(shelf, "select " + ", ".join(["1"] * sql.MAX_COLUMNS)).columns) == sql.MAX_COLUMNS
    with pytest.raises(UsageError, match="columns"):
        ask(shelf, "select " + ", ".join(["1"] * (sql.MAX_COLUMNS + 1)))


def test_every_view_can_still_be_asked_for_everything(shelf: Shelf) -> None:
    names = [name for name in VIEWS.split() if name.startswith("v_")]
    assert "v_chats" in names
    for name in names:
        assert not ask(shelf, f"select * from {name}", 100_000).is_cut


def test_an_answer_is_cut_where_its_rows_are_too_large_together(shelf: Shelf) -> None:
    found = ask(shelf, COUNTED.format(100) + "select i, hex(zeroblob(1000000)) from n")
    assert found.is_cut
    assert [row[0] for row in found.rows] == list(range(1, len(found.rows) + 1))
    taken = sum(len(row[1]) for row in found.rows)
    assert sql.MAX_BYTES - 2_100_000 < taken <= sql.MAX_BYTES


def test_an_answer_of_just_so_many_rows_is_whole(shelf: Shelf) -> None:
    assert not ask(shelf, COUNTED.format(10) + "select i from n", 10).is_cut
    found = ask(shelf, COUNTED.format(11) + "select i from n", 10)
    assert (len(found.rows), found.is_cut) == (10, True)
