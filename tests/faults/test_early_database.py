"""A database that is damaged, cut off or empty costs what cannot be read, and nothing else."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from backscroll.library.setup.inspect import inspect
from tests.library.support import Shelf
from tests.support.early import MIGRATIONS, talk, write_database
from tests.support.homes import session_file

ROWS: Final = [*talk("z", *(f"row {at} " + "zebra " * 40 for at in range(60))), *talk("l", "about lions", "they sleep")]
SOUND: Final = "a <- - user: about okapis\nb <- a assistant(m1): they hide"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path).write(session_file("S1", SOUND))


@pytest.mark.parametrize(
    "data",
    [b"", b"SQLite format 3\x00", b"not a database at all", bytes(8192), b"SQLite format 3\x00" + bytes(4096)],
    ids=["empty", "magic", "text", "zeros", "nothing behind"],
)
def test_what_is_no_database_costs_nothing_else(shelf: Shelf, data: bytes) -> None:
    (shelf.home / "__store.db").write_bytes(data)
    shelf.update()
    assert "about okapis" in shelf.found("okapis")


@pytest.mark.parametrize("migrations", range(len(MIGRATIONS) + 1))
def test_a_database_without_messages_costs_nothing(shelf: Shelf, migrations: int) -> None:
    write_database(shelf.home / "__store.db", [], migrations=migrations)
    done = shelf.update()
    assert done.unreadable == []


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bytes_cost_what_they_hit(shelf: Shelf, seed: int) -> None:
    source = random.Random(seed)
    path = write_database(shelf.home / "__store.db", ROWS)
    data = bytearray(path.read_bytes())
    for _ in range(source.choice([1, 5, 40, 400])):
        data[source.randrange(len(data))] = source.randrange(256)
    path.write_bytes(data)
    shelf.update()
    assert "about okapis" in shelf.found("okapis")
    inspect([path])


@pytest.mark.parametrize("seed", range(6))
def test_a_database_that_was_cut_off_costs_what_is_behind(shelf: Shelf, seed: int) -> None:
    path = write_database(shelf.home / "__store.db", ROWS)
    data = path.read_bytes()
    path.write_bytes(data[: random.Random(seed).randrange(100, len(data))])
    done = shelf.update()
    assert "about okapis" in shelf.found("okapis")
    assert done.unreadable or shelf.rows("SELECT 1 FROM v_problems")


def test_a_lost_page_costs_the_rows_on_it_alone_and_says_so(shelf: Shelf) -> None:
    path = write_database(shelf.home / "__store.db", ROWS)
    data = bytearray(path.read_bytes())
    page = data.index(b"row 20 ") // 4096
    data[page * 4096 : (page + 1) * 4096] = b"\xa5" * 4096
    path.write_bytes(data)
    done = shelf.update()
    assert any("damaged" in item.reason for item in done.unreadable)
    read = shelf.rows("SELECT count(*) FROM v_messages WHERE kind IN ('prompt', 'answer')")[0][0]
    assert read > len(ROWS) // 2
    assert "about lions" in shelf.found("lions")


def test_a_row_without_its_message_keeps_its_conversation_together(shelf: Shelf) -> None:
    """A client writes a row and its message in two steps: a crash between them leaves the first alone."""
    path = write_database(
        shelf.home / "__store.db", talk("z", "about zebras", "they are striped", "and ponies", "none")
    )
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM assistant_messages WHERE rowid = 1")
    shelf.update()
    assert shelf.rows("SELECT count(DISTINCT chat_id) FROM v_messages") == [(2,)]
    assert shelf.found("ponies") == ["and ponies"]
