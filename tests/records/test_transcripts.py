"""Transcripts of real versions of Claude Code: everything decodes, and nothing is unknown."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from backscroll.files.discovery import HomeFile, discover
from backscroll.files.early_tables import COLUMNS
from backscroll.files.homes import Home
from backscroll.files.inside import find_inside
from backscroll.files.layout import TRANSCRIPTS, FileKind
from backscroll.records.decode import decode_all
from backscroll.records.drift import Drift, drift
from backscroll.records.kinds import ChainRecord, type_of
from backscroll.records.project import project_of
from backscroll.records.record import Record
from tests.support.cases import for_each

FIXTURES = Path(__file__).parents[1] / "fixtures" / "transcripts"
HOMES = sorted(path for path in FIXTURES.glob("*/*") if path.is_dir())
DATABASES = [home for home in HOMES if (home / "__store.db").exists()]
"""Those from before session files."""
VERSIONS = sorted({home.parent.name for home in HOMES})
EARLY_TABLES = {
    "__drizzle_migrations": {"id", "hash", "created_at"},  # the client's own
    "base_messages": COLUMNS,
    "user_messages": COLUMNS,
    "assistant_messages": COLUMNS | {"model"},  # which the message has too
    "conversation_summaries": COLUMNS,
}


def transcripts_of(home: Path) -> list[HomeFile]:
    files = discover(Home(home)).files
    for file in [file for file in files if file.kind is FileKind.DATABASE]:
        for session in find_inside(file):
            assert isinstance(session, HomeFile)
            files.append(session)
    return [file for file in files if file.kind in TRANSCRIPTS]


def lines_of(file: HomeFile) -> list[bytes]:
    with file.open() as reading:
        return [line.data for line in reading if line.data is not None]


def records_of(file: HomeFile) -> list[Record]:
    items = [item for line in lines_of(file) for item in decode_all(line)]
    records = [item for item in items if isinstance(item, Record)]
    assert len(records) == len(items)
    return records


def test_there_are_transcripts_of_every_family() -> None:
    assert {version.rsplit(".", 1)[0] for version in VERSIONS} >= {"0.2", "1.0", "2.0", "2.1"}
    assert len(HOMES) > 100


def check_what_the_client_wrote_is_understood(home: Path) -> None:
    files = transcripts_of(home)
    assert any(file.kind is FileKind.SESSION for file in files)
    unknown: set[Drift] = set()
    for file in files:
        records = records_of(file)
        expected = Counter(json.loads(line)["type"] for line in lines_of(file))
        requests = sum(count for name, count in expected.items() if name.startswith("api-request"))
        counted = Counter(map(type_of, records))
        assert counted.pop("api-request", 0) == requests
        assert counted == Counter({name: n for name, n in expected.items() if not name.startswith("api-request")})
        unknown.update(found for record in records for found in drift(record))
    assert unknown == set()


def check_its_rows_name_their_version_and_their_project(home: Path) -> None:
    written_by = {home.parent.name, "0.2.96"} if home.name == "migrate" else {home.parent.name}
    for file in transcripts_of(home):
        records = records_of(file)
        versions = {record.version for record in records if isinstance(record, ChainRecord)}
        assert versions <= written_by
        if versions:
            path = project_of(records)
            assert path is not None
            assert path.endswith("/shop")


def check_every_file_that_was_kept_has_its_place(home: Path) -> None:
    discovery = discover(Home(home))
    assert discovery.left_out == []
    assert discovery.unreadable == []
    assert len(discovery.files) == sum(path.is_file() for path in home.rglob("*"))


@pytest.mark.parametrize(
    "check",
    [
        check_what_the_client_wrote_is_understood,
        check_its_rows_name_their_version_and_their_project,
        check_every_file_that_was_kept_has_its_place,
    ],
)
def test_in_every_home(check: Callable[[Path], None]) -> None:
    for_each(HOMES, check)


def check_every_column_that_the_client_wrote_is_known(home: Path) -> None:
    with closing(sqlite3.connect(f"{(home / '__store.db').as_uri()}?mode=ro", uri=True)) as stored:
        tables = stored.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        columns = {name: {row[1] for row in stored.execute(f"PRAGMA table_info({name})")} for (name,) in tables}
        models = stored.execute("SELECT model, message FROM assistant_messages").fetchall()
    assert columns.keys() == EARLY_TABLES.keys()
    assert {name: unknown for name in columns if (unknown := columns[name] - EARLY_TABLES[name])} == {}
    assert [model for model, message in models if model != json.loads(message)["model"]] == []


def test_in_every_database() -> None:
    assert len(DATABASES) > 10
    for_each(DATABASES, check_every_column_that_the_client_wrote_is_known)
