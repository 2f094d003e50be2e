"""The private PostgreSQL: it starts again after a crash, ends with its process, and lets no one else in."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from backscroll import system
from backscroll.errors import Busy
from backscroll.store.postgres import embedded
from backscroll.store.postgres.embedded import CannotRunPostgres, EmbeddedPostgres
from backscroll.store.postgres.roles import OWNER, READER, SHARED_READER
from tests.support.postgres import HASTY, PROGRAMS, database, postgres, running_postgres
from tests.support.processes import until

__all__ = ["database", "postgres"]
PATIENCE = 60
START_AND_WAIT = """
import sys
from pathlib import Path
from backscroll.store.postgres.embedded import EmbeddedPostgres
programs = Path(sys.argv[2]) if sys.argv[2] else None
server = EmbeddedPostgres(Path(sys.argv[1]), {"fsync": "off"}, programs).start()
print("ready", flush=True)
sys.stdin.read()
"""


def test_no_role_that_we_use_is_above_the_rights(postgres: EmbeddedPostgres) -> None:
    with psycopg.connect(postgres.url()) as connection:
        rows = connection.execute(
            "select rolname, rolsuper or rolbypassrls or rolcreaterole, rolcanlogin from pg_roles"
            " where rolname = any(%s) order by 1",
            ([OWNER, READER, SHARED_READER],),
        ).fetchall()
        assert rows == [(OWNER, False, True), (READER, False, False), (SHARED_READER, False, False)]
        for role in (READER, SHARED_READER):  # their policies are not for the owner
            assert connection.execute("select pg_has_role(%s, %s, 'usage')", (OWNER, role)).fetchone() == (False,)
        connection.execute(f"set role {READER}")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select set_config('backscroll.homes', 'all', true)")


def test_databases_of_tests_know_nothing_of_one_another(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("create schema left_over")
    with psycopg.connect(database) as connection:
        assert connection.execute("select to_regnamespace('left_over')").fetchone() != (None,)


def test_it_ends_with_the_process_that_started_it_and_starts_again() -> None:
    with running_postgres(HASTY) as first:
        folder = first._folder
        with psycopg.connect(first.url()) as connection:
            connection.execute("create schema kept")
        first.stop()
        program = subprocess.Popen(
            [sys.executable, "-c", START_AND_WAIT, str(folder), str(PROGRAMS or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert program.stdout
        assert program.stdout.readline() == b"ready\n"
        server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        with program:
            os.kill(program.pid, signal.SIGKILL)
        first.start()
        assert int((folder / "data" / "postmaster.pid").read_text().split()[0]) != server
        until(lambda: not system.process_exists(server))
        with psycopg.connect(first.url()) as connection:
            assert connection.execute("select to_regnamespace('kept')").fetchone() != (None,)


def test_a_killed_server_recovers_when_it_starts_again() -> None:
    with running_postgres({"fsync": "off"}) as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("create schema kept")
        os.kill(int((server._folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        server.stop()
        server.start()
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("select to_regnamespace('kept')").fetchone() != (None,)


def test_a_server_that_does_not_stop_is_ended_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with running_postgres({"fsync": "off"}) as server:
        with psycopg.connect(server.url()) as connection:
            connection.execute("create schema kept")
        os.kill(int((server._folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGSTOP)
        with monkeypatch.context() as impatient:
            impatient.setattr(embedded, "PATIENCE", 0.1)
            server.stop()
        messages = [record.getMessage() for record in caplog.records]
        assert len(messages) == 1
        assert "did not stop" in messages[0]
        server.start()
        with psycopg.connect(server.url()) as connection:
            assert connection.execute("select to_regnamespace('kept')").fetchone() != (None,)


def test_only_one_process_runs_it_at_a_time_and_another_says_that_it_waits(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(embedded, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(embedded, "PATIENCE", 0.1)
    with pytest.raises(Busy):
        EmbeddedPostgres(postgres._folder).start()
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"another process uses the database in {postgres._folder}; waiting")


@pytest.mark.skipif(PROGRAMS is not None, reason="only what we install is in a folder that may be private")
def test_its_programs_run_where_they_were_copied_to(tmp_path: Path) -> None:
    """As root, where the user that it runs as cannot enter the folder with our packages."""
    server = EmbeddedPostgres(tmp_path)
    before = server._programs
    server._copy_programs()
    assert server._programs.is_relative_to(tmp_path)
    for name in ("initdb", "postgres", "psql"):
        said = [
            subprocess.run([folder / name, "--version"], capture_output=True) for folder in (before, server._programs)
        ]
        assert said[1].stdout == said[0].stdout != b""


def test_it_says_why_it_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "PG_VERSION").write_text("18\n")
    folder = tmp_path
    folder.chmod(0o700)
    with pytest.raises(CannotRunPostgres):
        EmbeddedPostgres(folder, {"fsync": "off"}).start()


def test_others_cannot_look_into_its_folder(postgres: EmbeddedPostgres) -> None:
    assert postgres._folder.stat().st_mode & 0o077 == 0
    assert (postgres._folder / "data").stat().st_mode & 0o077 == 0
