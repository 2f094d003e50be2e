"""Transcripts of real versions of Claude Code: everything decodes, and nothing is unknown."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import TRANSCRIPTS, FileKind
from backscroll.records.decode import decode_all
from backscroll.records.drift import Drift, drift
from backscroll.records.kinds import ChainRecord, type_of
from backscroll.records.project import project_of
from backscroll.records.record import Record
from tests.support.cases import for_each

FIXTURES = Path(__file__).parents[1] / "fixtures" / "transcripts"
HOMES = sorted(path for path in FIXTURES.glob("*/*") if path.is_dir() and not (path / "__store.db").exists())
"""All but those from before session files, which tests/library/test_early_history.py is about."""
VERSIONS = sorted({home.parent.name for home in HOMES})


def records_of(file: Path) -> list[Record]:
    items = [item for line in file.read_bytes().splitlines() for item in decode_all(line)]
    records = [item for item in items if isinstance(item, Record)]
    assert len(records) == len(items)
    return records


def test_there_are_transcripts_of_every_family() -> None:
    assert {version.rsplit(".", 1)[0] for version in VERSIONS} >= {"0.2", "1.0", "2.0", "2.1"}
    assert len(HOMES) > 100


def check_what_the_client_wrote_is_understood(home: Path) -> None:
    files = [file for file in discover(Home(home)).files if file.kind in TRANSCRIPTS]
    assert any(file.kind is FileKind.SESSION for file in files)
    unknown: set[Drift] = set()
    for file in files:
        records = records_of(file.path)
        expected = Counter(json.loads(line)["type"] for line in file.path.read_bytes().splitlines())
        requests = sum(count for name, count in expected.items() if name.startswith("api-request"))
        counted = Counter(map(type_of, records))
        assert counted.pop("api-request", 0) == requests
        assert counted == Counter({name: n for name, n in expected.items() if not name.startswith("api-request")})
        unknown.update(found for record in records for found in drift(record))
    assert unknown == set()


def check_its_rows_name_their_version_and_their_project(home: Path) -> None:
    for file in discover(Home(home)).files:
        if file.kind in TRANSCRIPTS:
            records = records_of(file.path)
            versions = {record.version for record in records if isinstance(record, ChainRecord)}
            assert versions <= {home.parent.name}
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
