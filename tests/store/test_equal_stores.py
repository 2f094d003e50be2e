"""Real recordings, indexed into both stores, give the same answers: chats, totals, reports and what a query finds."""

import shutil
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, get_args

import pytest

from backscroll.files.homes import Home
from backscroll.library.library import Library
from backscroll.query.parse import parse
from backscroll.settings import Settings
from backscroll.store.base import Store
from backscroll.store.local.store import LocalStore
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING, Scope, StoreReader
from backscroll.store.report_rows import UsageDimension
from backscroll.store.reports import Reports
from tests.contract.coverage import members
from tests.contract.test_scope import ANSWERED
from tests.support.postgres import migrated, new_organisation, postgres

__all__ = ["migrated", "postgres"]
NOW: Final = datetime(2026, 11, 1, 12, tzinfo=UTC)
RECORDED: Final = Path(__file__).parents[1] / "fixtures" / "transcripts"
CASES: Final = ("2.1.20/agent", "2.1.20/fork", "2.1.20/tools", "2.1.20/image", "1.0.17/resume", "2.1.325/compaction")
QUERIES: Final = (
    "file", "the file", "fil*", '"the file"', "+file +test", "file -test", "(bash OR edit) role:input", "tool:bash",
    "is:error", "is:agent", "has:image", "role:prompt", "is:abandoned", "branch:main", "after:2020-01-01 file",
    "tets", "cost:>0", "title:a",
)  # fmt: skip


@pytest.fixture(scope="module")
def both(migrated: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    root = tmp_path_factory.mktemp("both")
    homes = [shutil.copytree(RECORDED / case, root / case.replace("/", "-")) for case in CASES]
    settings = Settings(homes=tuple(homes), library=root / "library", file=root / "settings.toml")
    stores: list[Store] = [LocalStore(root / "index"), PgStore(migrated, new_organisation())]
    for store in stores:
        with Library(settings, [Home(home) for home in homes], store) as library:
            while library.refresh(with_text=True) is not None:
                pass  # a file that has just been written is read again until it has settled
    yield stores[0], stores[1]
    for store in stores:
        store.close()


def found(reader: StoreReader, query: str, sort: str) -> object:
    """What a query finds, without the order of the rank."""
    page = reader.search(parse(query, NOW), sort=sort, limit=1000, offset=0, hits=1000)
    chats = [
        (chat.chat.overview.id, chat.found, sorted((hit.uuid or "", hit.role, hit.number) for hit in chat.hits))
        for chat in page.chats
    ]
    ordered = chats if sort != "relevance" else sorted(chats)
    return ordered, page.total, page.total_chats, page.corrections


def without_ids(value: Any) -> Any:  # noqa: ANN401
    """Rows of reports, sorted where their order does not matter."""
    rows = list(value) if isinstance(value, (Iterator, list)) else value
    return sorted(rows, key=repr) if isinstance(rows, list) else rows


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_finds_the_same_in_both(both: tuple[Store, Store], query: str) -> None:
    local, remote = (store.within(EVERYTHING) for store in both)
    for sort in ("relevance", "newest", "oldest"):
        assert found(remote, query, sort) == found(local, query, sort)
    one, other = (reader.facets(parse(query, NOW), {"ever": 0}) for reader in (local, remote))
    assert {name: dict(value) if isinstance(value, Mapping) else value for name, value in other._asdict().items()} == {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in one._asdict().items()
    }
    assert remote.count_chats(parse(query, NOW)) == local.count_chats(parse(query, NOW))


@pytest.mark.parametrize("name", sorted(members(Reports) - ANSWERED))
def test_a_report_is_the_same_in_both(both: tuple[Store, Store], name: str) -> None:
    local, remote = (getattr(store.within(EVERYTHING).reports(None), name)() for store in both)
    assert without_ids(remote) == without_ids(local)


def test_chats_totals_and_usage_are_the_same_in_both(both: tuple[Store, Store]) -> None:
    local, remote = (store.within(EVERYTHING) for store in both)
    assert remote.totals() == local.totals()
    assert local.totals().chats > 5
    for sort in ("newest", "oldest", "title", "messages", "cost", "active"):
        listed = [reader.chats(None, sort=sort, limit=None, offset=0) for reader in (local, remote)]
        assert listed[1] == listed[0]
    for dimension in get_args(UsageDimension):
        rows = [without_ids(reader.reports(None).usage_by(dimension)) for reader in (local, remote)]
        assert rows[1] == rows[0]
    assert both[1].problems() == []


def test_each_home_has_the_same_in_both(both: tuple[Store, Store]) -> None:
    homes = both[0].within(EVERYTHING).homes()
    assert both[1].within(EVERYTHING).homes() == homes
    for home in sorted(homes):
        scope = Scope(frozenset({home}))
        local, remote = (store.within(scope) for store in both)
        assert remote.totals() == local.totals()
        assert found(remote, "file", "newest") == found(local, "file", "newest")
        assert without_ids(remote.reports(None).answers()) == without_ids(local.reports(None).answers())
