"""The local store limits every statement by shadowing its tables."""

import re
from typing import Final

import apsw
import pytest

from backscroll.store.local.schema import TABLES, VIEWS
from backscroll.store.local.visible import SHADOWS, VisibleRows
from backscroll.store.reader import Scope

WITHOUT_CONTENT: Final = {"deleted", "marks", "shared_calls"}
"""Numbers of passages that are to be removed from the text index, notes of the indexer, and ids of calls that every
statement looks up in `blocks`."""


def test_every_table_with_content_is_shadowed() -> None:
    assert {*SHADOWS} | WITHOUT_CONTENT == set(re.findall(r"create table (\w+)", TABLES))


@pytest.fixture
def rows() -> VisibleRows:
    """Two files, of which one is visible."""
    connection = apsw.Connection(":memory:")
    connection.execute(TABLES + VIEWS)
    for home in ("mine", "theirs"):
        connection.execute(
            "insert into files (source, machine, home, path, kind, size) values (?1, 'ada', ?1, '', 'session', 0)",
            (home,),
        )
    return VisibleRows(connection, Scope(frozenset({("ada", "mine")})))


@pytest.mark.parametrize(
    "statement",
    [
        "select source from files",
        "  select source from files where id in (select id from files)",
        "with some as (select * from files) select source from some",
        "with recursive some (source) as (select min(source) from files) select source from some",
        "\nWITH some as (select * from files) select source from some",
        "select source from files indexed by files_session where session is null",
    ],
)
def test_a_statement_sees_visible_rows_only(rows: VisibleRows, statement: str) -> None:
    assert rows.execute(statement).fetchall() == [("mine",)]


def test_parameters_are_named_or_in_order(rows: VisibleRows) -> None:
    assert rows.execute("select source, ? from files where kind = ?", (1, "session")).fetchall() == [("mine", 1)]
    assert rows.execute("select source, :one from files", {"one": 1}).fetchall() == [("mine", 1)]


@pytest.mark.parametrize("statement", ["select * from v_sessions", "select * from main.files", "select ?1 from files"])
def test_a_statement_that_reads_around_the_scope_is_refused(rows: VisibleRows, statement: str) -> None:
    with pytest.raises(ValueError, match="around the scope"):
        rows.execute(statement, (1,))
