"""A database that changed is another, whatever the clock of its file system says."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from backscroll.files.database_stamp import change_sign, stamp_of
from backscroll.files.discovery import look
from backscroll.files.homes import Home
from tests.support.early import Said, talk, write_database

ZEBRAS = talk("z", "about zebras", "they are striped")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_database(tmp_path / "__store.db", ZEBRAS)


def shown_change(path: Path) -> int:
    """What the home says of its changes, without the time of the file."""
    file = look(Home(path.parent), path)
    assert file is not None
    statuses = [one.lstat() for name in ("", "-wal") if (one := path.with_name(path.name + name)).exists()]
    return file.changed_ns - max(status.st_ctime_ns for status in statuses)


def test_a_write_that_keeps_the_length_is_another_sign(path: Path) -> None:
    sign, size, shown = change_sign(path), path.stat().st_size, shown_change(path)
    with closing(sqlite3.connect(path)) as client, client:
        client.execute("UPDATE base_messages SET user_type = 'internal'")
    assert path.stat().st_size == size
    assert change_sign(path) != sign
    assert shown_change(path) != shown


def test_a_log_that_starts_over_with_the_same_length_is_another_sign(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("UPDATE base_messages SET user_type = 'internal'")
        log = path.with_name("__store.db-wal")
        sign, size, shown = change_sign(path), log.stat().st_size, shown_change(path)
        client.execute("PRAGMA wal_checkpoint(RESTART)")
        client.execute("UPDATE base_messages SET user_type = 'external'")
        assert log.stat().st_size == size
        assert change_sign(path) != sign
        assert shown_change(path) != shown


def test_reading_leaves_the_sign_and_the_stamp(path: Path) -> None:
    before = change_sign(path), stamp_of(path)
    with closing(sqlite3.connect(path)) as client:
        assert client.execute("SELECT count(*) FROM base_messages").fetchone() == (2,)
    assert (change_sign(path), stamp_of(path)) == before


def test_what_is_no_database_has_a_stamp_too(tmp_path: Path) -> None:
    (tmp_path / "short").write_bytes(b"x")
    (tmp_path / "link").symlink_to("short")
    for name in ("missing", "short", "link", "."):
        assert change_sign(tmp_path / name) == 0
    assert stamp_of(tmp_path / "missing") == ((0,), (), (), ())


def test_a_row_more_is_another_sign(path: Path) -> None:
    sign = change_sign(path)
    write_database(path, [Said("z", "and okapis")], begin=9)
    assert change_sign(path) != sign
