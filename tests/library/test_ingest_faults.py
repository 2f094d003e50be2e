"""A read that fails in the middle of a file changes nothing: the file is read again next time."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from backscroll.archive.rewriting import Writer
from backscroll.files import reading
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from backscroll.library.indexing import ingest
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import plan
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.update import Updated
from backscroll.library.local import local_library
from tests.library.support import VIEWS, Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_file, session_path
from tests.support.samples import numbers

QUERIES: Final = ("hello", "zebra", "horse", "spilled", "greeting", "role:title a", "lion", "done", "queued")
BEGUN: Final = "a <- - user: hello\nb <- a assistant(m1): a zebra\nsummary z: A greeting"
MORE: Final = "c <- b user: and now\nd <- c assistant(m2): a horse\ne <- d user: on\nf <- e assistant(m3): done"
FAILING: Final = session_path("S1")
SPILLED: Final = FAILING.removesuffix(".jsonl") + "/tool-results/t1.txt"


class FailingOs:
    """`os`, but the n-th read of one file fails."""

    def __init__(self, path: Path, at: int) -> None:
        self._file = (path.stat().st_dev, path.stat().st_ino)
        self._left = at

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(os, name)

    def read(self, descriptor: int, size: int) -> bytes:
        status = os.fstat(descriptor)
        if (status.st_dev, status.st_ino) == self._file:
            self._left -= 1
            if self._left == 0:
                raise OSError(errno.EIO, "Input/output error")
        return os.read(descriptor, size)

    @property
    def has_failed(self) -> bool:
        return self._left <= 0


@contextmanager
def failing(path: Path, at: int) -> Iterator[FailingOs]:
    with pytest.MonkeyPatch.context() as patch:
        failing = FailingOs(path, at)
        patch.setattr(reading, "os", failing)
        yield failing


@pytest.fixture(autouse=True)
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many reads of a small file, and many commits' worth of records."""
    monkeypatch.setattr(reading, "PIECE", 300)
    monkeypatch.setattr(ingest, "RECORDS_AT_ONCE", 2)


def update(shelf: Shelf) -> Updated:
    """Without the archive: it reads the files too, at the same time."""
    with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
        return library.update()


def unrelated(shelf: Shelf) -> None:
    """Sessions that have nothing to do with the one that fails, but for the title that it gives."""
    shelf.write(session_file("S2", "x <- - user: a tiger\ny <- x assistant: a lion\nz <- y user: bye"))


def grown(shelf: Shelf) -> Path:
    shelf.append("S1", jsonl(draw(MORE)))
    return shelf.home / FAILING


def rewritten(shelf: Shelf) -> Path:
    shelf.write(session_file("S1", "n <- - user: hello anew\n" + MORE))
    return shelf.home / FAILING


def respilled(shelf: Shelf) -> Path:
    shelf.write({SPILLED: "spilled anew\n" * 100})
    return shelf.home / SPILLED


CHANGES: Final = {"grown": grown, "rewritten": rewritten, "spilled": respilled}


@pytest.mark.slow
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_known_file_that_fails_at_any_read_is_unchanged_and_read_the_next_time(tmp_path: Path, change: str) -> None:
    for at in numbers(list(CHANGES).index(change)):
        shelf = Shelf(tmp_path / str(at))
        unrelated(shelf)
        shelf.write(session_file("S1", BEGUN) | {SPILLED: "spilled words\n" * 100})
        update(shelf)
        before = shelf.answers(QUERIES)
        path = CHANGES[change](shelf)
        with failing(path, at) as failed:
            updated = update(shelf)
        if not failed.has_failed:
            assert at > 3
            break
        assert [str(item.path) for item in updated.unreadable] == [str(path)]
        if updated.work.unreadable:  # else its words failed, after its rows were written
            after = shelf.answers(QUERIES)  # the texts stand in the file, which is another now
            assert [name for name in ("chats", *VIEWS) if after[name] != before[name]] == [], at
        orphans = "select count(*) from records where file not in (select id from files)"
        assert shelf.rows(orphans) == [(0,)]
        update(shelf)
        shelf.check_rebuilt(QUERIES)


@pytest.mark.slow
def test_a_new_file_that_fails_at_any_read_leaves_nothing_and_gives_its_id_to_no_other(tmp_path: Path) -> None:
    for at in numbers():
        shelf = Shelf(tmp_path / str(at))
        unrelated(shelf)
        shelf.write(session_file("S1", f"{BEGUN}\n{MORE}"))
        with failing(shelf.home / FAILING, at) as failed:
            updated = update(shelf)
        if not failed.has_failed:
            assert at > 3
            break
        assert [str(item.path) for item in updated.unreadable] == [str(shelf.home / FAILING)]
        if updated.work.unreadable:
            assert updated.work.records == 3
            shelf.write(session_file("S3", "p <- - user: another lion"))
            with failing(shelf.home / FAILING, at):
                update(shelf)
            assert sorted(shelf.rows("select title from v_chats")) == [("a tiger",), ("another lion",)]
        update(shelf)
        shelf.check_rebuilt(QUERIES)


@pytest.mark.parametrize("change", ["grown", "rewritten"])
def test_an_unreadable_title_file_keeps_its_last_title(tmp_path: Path, change: str) -> None:
    shelf = Shelf(tmp_path)
    beside = FAILING.removesuffix(".jsonl") + "/custom-title.json"
    shelf.write(session_file("S1", BEGUN) | {beside: '{"customTitle": "Beside it"}'})
    update(shelf)
    CHANGES[change](shelf)
    with failing(shelf.home / beside, 1):
        updated = update(shelf)
    assert [item.path.name for item in updated.unreadable] == ["custom-title.json"]
    assert shelf.total("horse") == 1
    assert shelf.rows("select title from v_chats") == [("Beside it",)]


@pytest.mark.slow
def test_an_ingest_continues_after_a_failed_read_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """As while following a home, where chats stay in memory and what a list shows of them comes later."""
    for at in numbers():
        shelf = Shelf(tmp_path / str(at))
        unrelated(shelf)
        shelf.write(session_file("S1", BEGUN))
        update(shelf)
        with shelf.open() as library:
            store = library.store.start_writing()
            prices = load_prices(library.settings)
            store.use_prices(cost_with(prices), prices.fingerprint)
            ingest = Ingest(store)

            def take() -> None:
                work = plan(store.indexed_files(), [discover(library.homes[0])], None, library.machine)  # noqa: B023
                ingest.run(work.tasks, later=True)  # noqa: B023

            shelf.append("S2", jsonl(draw("q <- z user: a lion once more")))
            take()
            with failing(grown(shelf), at) as failed:
                take()
            take()
            ingest.finish()
        update(shelf)
        shelf.check_rebuilt(QUERIES)
        if not failed.has_failed:
            assert at > 3
            break


# What is kept stays, unless it was forgotten.


@contextmanager
def busy_and_unreadable(shelf: Shelf) -> Iterator[None]:
    """Another process holds the archive, and its catalogue cannot be read just now."""
    catalogue = archive_folder(shelf.settings) / "catalogue.jsonl"
    with Writer(archive_folder(shelf.settings)):
        aside = catalogue.rename(catalogue.with_name("aside"))
        catalogue.mkdir()  # which cannot be read as a file, even by root
        try:
            yield
        finally:
            catalogue.rmdir()
            aside.rename(catalogue)


def two_sessions(shelf: Shelf) -> Path:
    """One that is kept only, and one that is there."""
    shelf.write(session_file("S1", BEGUN)).update()
    (shelf.home / FAILING).unlink()
    shelf.write(session_file("S2", "x <- - user: a tiger\ny <- x assistant: a lion")).update()
    return shelf.home / session_path("S2")


TITLES: Final = "select title, archived from v_chats order by title"


def test_an_unreadable_catalogue_removes_nothing_from_the_index(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    live = two_sessions(shelf)
    live.unlink()
    with busy_and_unreadable(shelf):
        shelf.update()
        assert shelf.rows(TITLES) == [("a tiger", 0), ("hello", 1)]
    with shelf.open() as library:
        library.refresh(with_text=True)
    assert shelf.rows(TITLES) == [("a tiger", 1), ("hello", 1)]
    shelf.check_rebuilt(QUERIES)


def test_a_catalogue_that_lost_its_end_removes_nothing_from_the_index(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    two_sessions(shelf).unlink()
    shelf.update()
    catalogue = archive_folder(shelf.settings) / "catalogue.jsonl"
    lines = catalogue.read_bytes().splitlines(keepends=True)
    for left in range(len(lines)):
        catalogue.write_bytes(b"".join(lines[:left]))
        with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
            library.update()
        assert shelf.rows(TITLES) == [("a tiger", 1), ("hello", 1)], left


def test_an_archive_that_is_gone_removes_nothing_from_the_index(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    two_sessions(shelf)
    archive_folder(shelf.settings).rename(tmp_path / "away")
    shelf.update()
    assert shelf.rows(TITLES) == [("a tiger", 0), ("hello", 1)]
