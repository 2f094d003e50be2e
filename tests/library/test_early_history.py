"""Conversations from before session files: the database `__store.db`, and the logs before it."""

import json
import os
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from backscroll.archive.archive import Archive
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from tests.library.support import Shelf
from tests.support.early import (
    FIRST_SECOND,
    MIGRATIONS,
    Said,
    early_uuid,
    give_title,
    log_of,
    talk,
    write_database,
)

RECORDED: Final = Path(__file__).parents[1] / "fixtures" / "transcripts"
HOMES: Final = sorted(path.parent for path in RECORDED.glob("*/*/__store.db"))
ZEBRAS: Final = talk("z", "about zebras", "they are striped", "and okapis", "only their legs")
LIONS: Final = talk("l", "about lions", "they sleep")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def database(shelf: Shelf) -> Path:
    return shelf.home / "__store.db"


def titles(shelf: Shelf) -> list[str]:
    with shelf.open() as library:
        return sorted(chat.overview.title for chat in library.chats())


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()}


# Recordings, against a reading by nothing but sqlite3 and json


@pytest.mark.parametrize("home", HOMES, ids=lambda home: f"{home.parent.name}-{home.name}")
def test_every_recorded_row_is_in_one_chat_and_every_token_counts_once(shelf: Shelf, home: Path) -> None:
    shutil.copytree(home, shelf.home, dirs_exist_ok=True)
    shelf.update()
    rows: dict[str, dict[str, object]] = {}
    for path in shelf.home.rglob("projects/*/*.jsonl"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            if row.get("uuid"):
                rows[row["uuid"]] = row.get("message", {})
    with closing(sqlite3.connect(f"{(home / '__store.db').as_uri()}?mode=ro", uri=True)) as stored:
        for table in ("user_messages", "assistant_messages"):
            rows |= {unique: json.loads(text) for unique, text in stored.execute(f"SELECT uuid, message FROM {table}")}
    chats: dict[str, set[str]] = {}
    for unique, chat in shelf.rows("SELECT uuid, chat_id FROM v_messages WHERE uuid IS NOT NULL"):
        chats.setdefault(unique, set()).add(chat)
    assert set(rows) <= set(chats)
    assert [unique for unique in rows if len(chats[unique]) != 1] == []
    spent: Counter[str] = Counter()
    answers = {message["id"]: message for message in rows.values() if "usage" in message}
    for message in answers.values():
        usage = message["usage"]
        assert isinstance(usage, dict)
        spent["input"] += usage["input_tokens"]
        spent["output"] += usage["output_tokens"]
    counted = shelf.rows("SELECT sum(input_tokens), sum(output_tokens) FROM v_usage")
    assert counted == [(spent["input"], spent["output"])]
    shelf.check_rebuilt(["apple", "door", "fruit"])


def test_what_a_client_wrote_of_a_database_is_the_same_chat(shelf: Shelf) -> None:
    """0.2.109 writes a database as session files; both are here, as when a backup brings the database back."""
    shutil.copytree(RECORDED / "0.2.109" / "migrate", shelf.home, dirs_exist_ok=True)
    shelf.update()
    assert titles(shelf) == ["What does an apple cost?"]
    assert shelf.rows("SELECT count(*), count(DISTINCT message) FROM v_usage") == [(3, 3)]


# Reading


def test_rows_of_a_database_are_chats_with_times_titles_and_costs(shelf: Shelf) -> None:
    give_title(write_database(database(shelf), [*ZEBRAS, *LIONS]), early_uuid("z 3"), "Stripes and legs")
    before = snapshot(shelf.home)
    shelf.update()
    assert titles(shelf) == ["Stripes and legs", "about lions"]
    assert shelf.found("okapis") == ["and okapis"]
    assert shelf.rows("SELECT DISTINCT project FROM v_chats") == [("/home/ada/shop",)]
    (first,) = shelf.rows("SELECT time FROM v_messages WHERE time IS NOT NULL ORDER BY time LIMIT 1")
    assert first[0].startswith("2025-04-18T18:13:20"), FIRST_SECOND
    assert snapshot(shelf.home) == before
    shelf.check_rebuilt(["zebras", "they", "okapis"])


@pytest.mark.parametrize("migrations", range(len(MIGRATIONS) + 1))
def test_a_database_of_any_migration_is_read(shelf: Shelf, migrations: int) -> None:
    write_database(database(shelf), ZEBRAS, migrations=migrations)
    shelf.update()
    assert titles(shelf) == ["about zebras"]
    assert shelf.rows("SELECT count(*) FROM v_messages") == [(4,)]


def test_only_sessions_that_changed_are_read_again(shelf: Shelf) -> None:
    write_database(database(shelf), [*ZEBRAS, *LIONS])
    shelf.update()
    assert shelf.update().work.records == 0
    write_database(database(shelf), talk("l", "and tigers"), begin=50)
    assert shelf.update().work.records == len(LIONS) + 1
    assert shelf.found("tigers") == ["and tigers"]
    shelf.check_rebuilt(["they", "tigers"])


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("UPDATE user_messages SET message = replace(message, 'okapis', 'ibexes')", "ibexes"),
        ("UPDATE assistant_messages SET message = replace(message, 'striped', 'spotted')", "spotted"),
        ("UPDATE base_messages SET cwd = '/home/bob/shop'", "project:/home/bob/shop"),
    ],
    ids=["prompt", "answer", "row"],
)
def test_a_row_that_changes_in_place_with_its_length_and_time_is_read_again(
    shelf: Shelf, statement: str, word: str
) -> None:
    write_database(database(shelf), [*ZEBRAS, *LIONS])
    shelf.update()
    assert shelf.found(word) == []
    status = database(shelf).stat()
    with closing(sqlite3.connect(database(shelf))) as stored, stored:
        stored.execute(f"{statement} WHERE uuid IN (?, ?, ?, ?)", [early_uuid(f"z {at}") for at in range(4)])
    os.utime(database(shelf), ns=(status.st_atime_ns, status.st_mtime_ns))
    assert database(shelf).stat().st_size == status.st_size
    assert shelf.update().work.records == len(ZEBRAS)
    assert shelf.found(word)
    shelf.check_rebuilt(["they", word])


def test_a_session_whose_id_could_not_be_a_name_is_read(shelf: Shelf) -> None:
    write_database(database(shelf), ZEBRAS)
    with closing(sqlite3.connect(database(shelf))) as stored, stored:
        stored.execute("UPDATE base_messages SET session_id = '../../etc'")
    shelf.update()
    assert titles(shelf) == ["about zebras"]


def test_a_home_with_nothing_but_a_database_is_a_home(tmp_path: Path) -> None:
    write_database(tmp_path / "old" / "__store.db", ZEBRAS)
    assert Home(tmp_path / "old").exists
    assert Home(tmp_path / "old").has_sessions


# WAL, journals, locks


def test_rows_that_are_only_in_the_wal_are_read_and_nothing_is_written_beside_it(shelf: Shelf) -> None:
    write_database(database(shelf), ZEBRAS[:2])
    with closing(sqlite3.connect(database(shelf))) as client:
        client.execute("PRAGMA journal_mode = WAL")
        client.execute("SELECT count(*) FROM base_messages").fetchone()  # it holds the WAL open from here on
        write_database(database(shelf), ZEBRAS[2:], begin=2)
        before = snapshot(shelf.home)
        assert before["__store.db-wal"][0]
        shelf.update()
        assert shelf.found("okapis") == ["and okapis"]
        assert snapshot(shelf.home) == before
        write_database(database(shelf), LIONS, begin=70)
        shelf.update()
        assert titles(shelf) == ["about lions", "about zebras"]


def test_a_transaction_that_a_crash_cut_off_is_not_read_and_not_rolled_back(shelf: Shelf, tmp_path: Path) -> None:
    write_database(database(shelf), ZEBRAS)
    with closing(sqlite3.connect(database(shelf), isolation_level=None)) as client:
        client.execute("PRAGMA cache_size = 1")
        client.execute("BEGIN")
        longer = "replace(message, 'zebras', 'ponies') || printf('%9000s', ' ')"
        client.execute(f"UPDATE user_messages SET message = {longer}")
        for name in ("__store.db", "__store.db-journal"):
            shutil.copy(shelf.home / name, tmp_path / name)
        client.execute("ROLLBACK")
    for name in ("__store.db", "__store.db-journal"):
        shutil.move(tmp_path / name, shelf.home / name)
    before = snapshot(shelf.home)
    shelf.update()
    assert shelf.found("zebras")
    assert shelf.found("ponies") == []
    assert snapshot(shelf.home) == before


def test_a_locked_database_is_a_problem_and_is_read_later(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backscroll.files.early_database.LOCK_SECONDS", 0.01)
    write_database(database(shelf), ZEBRAS)
    with closing(sqlite3.connect(database(shelf), isolation_level=None)) as client:
        client.execute("BEGIN EXCLUSIVE")
        done = shelf.update()
        assert {item.reason for item in done.unreadable} == {"another program has locked it"}
        client.execute("ROLLBACK")
    assert shelf.update().unreadable == []
    assert titles(shelf) == ["about zebras"]


def test_a_client_can_write_while_we_read(shelf: Shelf) -> None:
    write_database(database(shelf), ZEBRAS)
    (file,) = [one for one in discover(Home(shelf.home)).files if one.kind == "database"]
    from backscroll.files.discovery import HomeFile
    from backscroll.files.inside import find_inside

    (session,) = [one for one in find_inside(file) if isinstance(one, HomeFile)]
    with session.open() as reading, closing(sqlite3.connect(database(shelf), timeout=0)) as client, client:
        lines = iter(reading)
        next(lines)
        client.execute("UPDATE base_messages SET user_type = 'someone'")


# Keeping


def test_what_a_client_deletes_stays(shelf: Shelf) -> None:
    write_database(database(shelf), [*ZEBRAS, *LIONS])
    shelf.update()
    database(shelf).unlink()
    shelf.update()
    assert titles(shelf) == ["about lions", "about zebras"]
    assert shelf.found("okapis") == ["and okapis"]
    assert shelf.rows("SELECT DISTINCT archived FROM v_chats") == [(1,)]
    assert shelf.update().is_nothing
    shelf.check_rebuilt(["they", "okapis"])


def test_a_smaller_database_hides_nothing(shelf: Shelf) -> None:
    write_database(database(shelf), [*ZEBRAS, *talk("b", "b" * 50_000, "c" * 50_000)])
    shelf.update()
    database(shelf).unlink()
    write_database(database(shelf), LIONS)
    shelf.update()
    assert [title[:12] for title in titles(shelf)] == ["about lions", "about zebras", "b" * 12]
    shelf.check_rebuilt(["they", "okapis"])


def test_a_copy_is_kept_when_it_changed_and_only_then(shelf: Shelf) -> None:
    write_database(database(shelf), ZEBRAS)
    shelf.update()
    shelf.update()
    (file,) = Archive(archive_folder(shelf.settings)).files.values()
    assert (file.path, file.type, len(file.versions)) == ("__store.db", "database", 1)
    write_database(database(shelf), LIONS, begin=70)
    shelf.update()
    archive = Archive(archive_folder(shelf.settings))
    (file,) = archive.files.values()
    assert len(file.versions) == 2
    assert file.latest is not None
    restored = shelf.root / "restored.db"
    restored.write_bytes(b"".join(archive.content(file.latest)))
    with closing(sqlite3.connect(restored)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("SELECT count(*) FROM base_messages").fetchall() == [(len(ZEBRAS) + len(LIONS),)]


def test_a_damaged_database_does_not_replace_the_copy_of_a_sound_one(shelf: Shelf) -> None:
    write_database(database(shelf), [*ZEBRAS, *(Said("z", f"row {at} " + "x" * 900) for at in range(60))])
    shelf.update()
    data = bytearray(database(shelf).read_bytes())
    for page in range(3, len(data) // 4096 - 1):
        data[page * 4096 : page * 4096 + 512] = b"\xff" * 512
    database(shelf).write_bytes(data)
    done = shelf.update()
    assert any("damaged" in item.reason for item in done.unreadable)
    (file,) = Archive(archive_folder(shelf.settings)).files.values()
    assert len(file.versions) == 1
    assert shelf.rebuilt().found("okapis") == ["and okapis"]


# Logs


def test_logs_of_the_first_clients_are_chats(shelf: Shelf) -> None:
    shelf.write({"-home-ada-shop/messages/2025-03-01T10-00-00-000Z.json": log_of("m", "about bees", "they hum", "why")})
    shutil.rmtree(shelf.home / "projects")
    assert Home(shelf.home).is_cache
    shelf.update()
    assert titles(shelf) == ["about bees"]
    assert shelf.found("hum") == ["they hum"]
    assert shelf.rows("SELECT count(*) FROM v_messages") == [(3,)]
    (shelf.home / "-home-ada-shop/messages/2025-03-01T10-00-00-000Z.json").unlink()
    shelf.update()
    assert titles(shelf) == ["about bees"]
    shelf.check_rebuilt(["hum"])


def test_a_log_that_breaks_off_costs_what_is_behind(shelf: Shelf) -> None:
    log = log_of("m", "about bees", "they hum", "why")
    shelf.write({"-home-ada-shop/messages/a.json": log[:-200]})
    shutil.rmtree(shelf.home / "projects")
    shelf.update()
    assert shelf.found("hum") == ["they hum"]
    assert len(shelf.rows("SELECT * FROM v_problems")) == 1
