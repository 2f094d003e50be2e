"""Words that could not be read while they were indexed are found later."""

from pathlib import Path

import pytest

from backscroll.errors import StorageError
from backscroll.files.discovery import HomeFile
from backscroll.files.homes import Home
from backscroll.files.reading import Bookmark
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.words import index_texts
from backscroll.library.local import local_library
from tests.library.support import Shelf
from tests.support.homes import session_file, session_path


def test_words_that_could_not_be_read_are_read_again_even_if_the_update_then_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: about zirconium\nb <- a assistant: done"))
    with shelf.open() as library:
        library.refresh(with_text=False)
    with shelf.open() as library:
        store = library.store.start_writing()
        flush = store.flush

        def flush_and_fail() -> None:
            flush()
            raise StorageError("the disk failed", "try again")

        monkeypatch.setattr(store, "flush", flush_and_fail)
        nowhere = Sources([], None)
        with pytest.raises(StorageError):
            index_texts(store, nowhere)
    shelf.update()

    assert shelf.total("zirconium") == shelf.rebuilt().total("zirconium") == 2  # the title, and what was said


def test_words_of_a_file_that_is_deleted_between_a_look_and_its_opening_are_read_from_the_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: about zirconium\nb <- a assistant: done"))
    with shelf.open() as library:
        library.refresh(with_text=False)
    open_live = HomeFile.open

    def open_too_late(file: HomeFile, bookmark: Bookmark | None = None) -> object:
        (shelf.home / session_path("S1")).unlink(missing_ok=True)
        return open_live(file, bookmark)

    monkeypatch.setattr(HomeFile, "open", open_too_late)
    shelf.update()
    assert not (shelf.home / session_path("S1")).exists()
    assert shelf.total("zirconium") == shelf.rebuilt().total("zirconium") == 2


def test_a_file_that_was_to_be_read_again_and_is_deleted_first_leaves_the_index(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S1", "a <- - user: about zirconium\nb <- a assistant: done"))
    (path,) = shelf.home.rglob("*.jsonl")
    with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
        library.update()
        library.store.start_writing().read_again([shelf.source(path.relative_to(shelf.home).as_posix())])
        library.store.close()
        path.unlink()
        library.update()
        assert library.chats() == []
