"""Every report has the same rows and notes, whatever store its library has."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from backscroll.library.analytics.report_kinds import KINDS, report_of
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.library import Library
from tests.contract.conftest import NewStore
from tests.library.support import Shelf
from tests.support.homes import EVERYTHING

REPORTS = [
    (name, by) for name, kind in KINDS.items() for by in kind.by or ("",) if (name, by) != ("context", "turn")
]  # which is about one chat


@pytest.fixture(scope="module")
def libraries(new_store: NewStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, Library]]:
    """The same home, in a store of this machine and in the one that is tested."""
    shelf = Shelf(tmp_path_factory.mktemp("shelf")).write(EVERYTHING)
    shelf.update()
    with shelf.open() as local:
        tested = Library(shelf.settings, local.homes, new_store(), keeps=False)
        tested.update()
        yield local, tested


@pytest.mark.parametrize(("name", "by"), REPORTS)
@pytest.mark.parametrize(
    "asked",
    [ReportRequest(zone=UTC), ReportRequest(since=datetime(2026, 1, 6, tzinfo=UTC), zone=UTC)],
    ids=["all", "since"],
)
def test_a_report_is_the_same(libraries: tuple[Library, Library], name: str, by: str, asked: ReportRequest) -> None:
    expected, found = (report_of(library, name, asked, by, 1000) for library in libraries)
    assert found.columns == expected.columns
    assert found.rows == expected.rows
    assert found.notes == expected.notes
