"""Texts are read from the open homes and the archive, and from nowhere else; what cannot be read stops nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from backscroll.errors import BackscrollError
from backscroll.files.homes import Home
from backscroll.files.reading import LONGEST_LINE
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import archive_folder
from backscroll.library.indexing import texts, words
from backscroll.library.local import local_library
from backscroll.library.searching.search import UNREADABLE
from backscroll.store.base import PassageText
from backscroll.store.local.store import LocalStore
from backscroll.store.reader import EVERYTHING
from tests.library.support import Shelf, local_store
from tests.support.homes import session_file, session_path

SESSION: Final = session_file("S1", "a <- - user: hello\nb <- a assistant: a zebra")
SPILLED: Final = session_path("S1").removesuffix(".jsonl") + "/tool-results/t1.txt"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def update_without_archive(shelf: Shelf) -> None:
    with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
        library.update()


def texts_found(shelf: Shelf, query: str) -> list[str]:
    with shelf.open() as library:
        found = library.search(query, hits=10)
        return [passage.snippet.text for chat in found.chats for passage in chat.passages]


def doctor(shelf: Shelf, name: str, home: Path, path: str) -> None:
    """Let the row of a file name another one."""
    with shelf.open() as library:
        connection = local_store(library).start_writing().connection
        source = SourceKey(shelf.machine.id, str(home), path).id
        connection.execute("update files set source = ? where path like ?", (source, f"%{name}"))
        assert connection.changes() == 1


# A store never names a file to be read.


@pytest.mark.parametrize("where", ["outside", "above", "behind a link", "another home"])
def test_a_path_in_the_store_that_lies_outside_gives_no_text(shelf: Shelf, where: str) -> None:
    """The same bytes stand there, so that whatever opens it finds a text."""
    name = Path(session_path("S1")).name
    shelf.write(SESSION | {SPILLED: "a zebra, spilled\n"})
    update_without_archive(shelf)
    outside = shelf.root / "elsewhere/projects/-x"
    outside.mkdir(parents=True)
    (outside / name).write_bytes(SESSION[session_path("S1")])
    (outside / "t1.txt").write_text("a zebra, spilled\n")
    home, folder = {
        "outside": (shelf.home, str(outside)),
        "above": (shelf.home, "projects/../../elsewhere/projects/-x"),
        "behind a link": (shelf.home, "projects/-link"),
        "another home": (shelf.root / "elsewhere", "projects/-x"),
    }[where]
    (shelf.home / "projects/-link").symlink_to(outside)
    doctor(shelf, name, home, f"{folder}/{name}")
    doctor(shelf, "t1.txt", home, f"{folder}/t1.txt")
    assert set(texts_found(shelf, "zebra")) == {UNREADABLE}
    with shelf.open() as library, pytest.raises(BackscrollError):
        library.open(library.chats()[0])


def test_a_folder_that_became_a_link_is_not_followed(shelf: Shelf) -> None:
    shelf.write(SESSION)
    update_without_archive(shelf)
    folder = (shelf.home / session_path("S1")).parent
    folder.rename(shelf.root / "elsewhere")
    folder.symlink_to(shelf.root / "elsewhere")
    assert texts_found(shelf, "zebra") == [UNREADABLE]


def test_kept_files_are_read_although_their_home_is_not_open(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    with local_library(shelf.settings, []) as library:
        assert library.source(shelf.source(session_path("S1"))) is not None
        assert library.source(shelf.source("projects/-home-ada-shop/other.jsonl")) is None
        assert library.source("/etc/hostname") is None
        assert library.source(shelf.source("/etc/hostname")) is None


# What cannot be read stops nothing.


def test_a_damaged_kept_record_of_any_length_does_not_stop_a_search(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.write(SESSION | session_file("S2", "c <- - user: another zebra")).update()
    for name in ("S1", "S2"):
        (shelf.home / session_path(name)).unlink()
    shelf.update()
    pack = next((archive_folder(shelf.settings) / "packs").glob("*.pack"))
    data = bytearray(pack.read_bytes())
    data[len(data) // 4] ^= 1
    pack.write_bytes(bytes(data))
    for longest in (LONGEST_LINE, 10):
        monkeypatch.setattr(texts, "LONGEST_LINE", longest)
        found = texts_found(shelf, "zebra")
        assert len(found) == 3  # the title too
        assert UNREADABLE in found
        assert any("zebra" in text for text in found)


# Memory follows the texts that are held, not their number.


def test_texts_go_to_the_index_in_batches_that_are_bounded_by_their_length(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    index = LocalStore.index

    def counting(store: LocalStore, documents: Sequence[PassageText]) -> None:
        batches.append(sum(len(document.text) for document in documents))
        index(store, documents)

    monkeypatch.setattr(LocalStore, "index", counting)
    monkeypatch.setattr(words, "TEXT_AT_ONCE", 5_000)
    lines = "\n".join(f"a{n} <- a{n - 1} assistant: zebra {'word ' * 200}" for n in range(60))
    shelf.write(session_file("S1", lines)).update()
    assert sum(batches) > 60_000
    assert max(batches) < 5_000 + 1_100
    assert shelf.total("zebra") == 60


def test_long_texts_are_committed_before_the_engine_holds_many_of_them(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    flush = LocalStore.flush

    def counting(store: LocalStore) -> None:
        held.append(store.within(EVERYTHING).pending().passages)
        flush(store)

    monkeypatch.setattr(LocalStore, "flush", counting)
    monkeypatch.setattr(words, "TEXT_AT_ONCE", 2_000)
    monkeypatch.setattr(words, "TEXT_PER_COMMIT", 10_000)
    lines = "\n".join(f"a{n} <- a{n - 1} assistant: zebra {'word ' * 200}" for n in range(60))
    shelf.write(session_file("S1", lines)).update()
    assert len(held) >= 5
    assert shelf.total("zebra") == 60
