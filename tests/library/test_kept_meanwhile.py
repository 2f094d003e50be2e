"""What another process keeps while this one reads is shown after the next look: an index never counts as further."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.merge import merge
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import stamp_of
from backscroll.library.indexing.follow import WATCHING, follow
from backscroll.library.indexing.progress import NoProgress
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path
from tests.support.processes import PATIENCE

OWN = "a <- - user: about the zebra\nb <- a assistant(m1): it has stripes"
FAR = "x <- - user: about the okapi\ny <- x assistant(m2): it sleeps"
LATER = "p <- - user: about the quagga\nq <- p assistant(m3): long gone"
SPILLED = session_path("S1").removesuffix(".jsonl") + "/tool-results/t1.txt"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "near").write(session_file("S1", OWN))


@pytest.fixture
def far(tmp_path: Path) -> Archive:
    """What another machine has."""
    shelf = Shelf(tmp_path / "far").write(session_file("S2", FAR))
    shelf.update()
    return Archive(shelf.folder / "archive")


def take(shelf: Shelf, archive: Archive) -> None:
    """What a sync in another process does."""
    with Writer(shelf.folder / "archive") as writer:
        merge(archive, writer)


def after_the_first_writer(patch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something at once when the archive is free again for the first time."""
    close = Writer.close

    def closing(writer: Writer) -> None:
        close(writer)
        if not is_done:
            is_done.append(None)
            act()

    is_done: list[None] = []
    patch.setattr(Writer, "close", closing)


@pytest.mark.parametrize("is_first", [True, False])
def test_what_is_kept_right_after_the_archive_was_read_is_shown_by_the_next_update(
    shelf: Shelf, far: Archive, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_first:
        shelf.update()
    shelf.write(session_file("S3", LATER))
    after_the_first_writer(monkeypatch, lambda: take(shelf, far))
    shelf.update()
    with shelf.open() as library:
        library.refresh(with_text=True)
        assert {chat.overview.id for chat in library.chats()} == {session_uuid(name) for name in ("S1", "S2", "S3")}
        assert library.search("okapi").chats
        assert library.refresh(with_text=True) is None, "then there is nothing to do"


def test_what_is_kept_between_an_update_and_following_is_shown(shelf: Shelf, far: Archive) -> None:
    class Begun(NoProgress):
        def begin(self, what: str, *_: object) -> None:
            if what == WATCHING:
                take(shelf, far)

    stop = threading.Event()
    end = threading.Timer(PATIENCE, stop.set)
    end.start()
    with shelf.open() as library:
        for followed in follow(library, stop, Begun()):
            assert followed.passages
            stop.set()
        end.cancel()
        assert library.search("okapi").chats
        assert library.refresh(with_text=True) is None


def test_an_archive_knows_its_stamp_whatever_is_written(shelf: Shelf, far: Archive) -> None:
    folder = shelf.folder / "archive"
    with Writer(folder) as writer:
        assert writer.stamp == stamp_of(folder)
        merge(far, writer)
        assert writer.stamp == stamp_of(folder)
        writer.forget(list(writer.files.values()), ["a key"])
        assert writer.stamp == stamp_of(folder)
    before = Archive(folder)
    take(shelf, far)
    assert before.stamp != stamp_of(folder)
    grown = before.grown()
    assert grown is not None
    assert grown.stamp == Archive(folder).stamp == stamp_of(folder)


def test_a_renewed_library_reads_a_result_that_was_kept_since_and_deleted(shelf: Shelf) -> None:
    shelf.update()
    with shelf.open() as library:
        assert library.archive is not None, "the catalogue is read, as it is now"
        shelf.write({SPILLED: b"the axolotl was spilled\n"}).update()
        (shelf.home / SPILLED).unlink()
        library.renew()
        (found,) = library.search("axolotl").chats
        assert [library.text(passage.hit) for passage in found.passages] == ["the axolotl was spilled\n"]
