"""What captures by itself is noted, and a command that has nothing left to do says who did it."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.cli import hook
from backscroll.errors import Busy
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.library import captures
from backscroll.library.archives import archive_folder, open_writer
from backscroll.library.captures import (
    CaptureNote,
    Watching,
    failure_file,
    find_watcher,
    last_captures,
    note_begin,
    note_captured,
    note_failure,
    read_note,
    started_by,
)
from backscroll.library.indexing.follow import follow
from backscroll.library.keeping import watched
from backscroll.library.keeping.keep import keep_watching, status
from backscroll.library.keeping.watched import confirm_update, keep_or_confirm, not_kept
from backscroll.library.syncing.automatic import AutomaticSync
from tests.library.support import Shelf
from tests.support.homes import session_file, session_path
from tests.support.processes import until

SHOP = "a <- - user: fix the parser\nb <- a assistant(m1): done"
BLOG = "x <- - user: about zirconium\ny <- x assistant(m2): written"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path).write(session_file("S", SHOP))


@contextmanager
def following(shelf: Shelf, *, with_index: bool = True) -> Iterator[None]:
    """A viewer, or `keep --watch`, as far as it follows the home; in a thread of its own."""
    stop, errors = threading.Event(), []

    def run() -> None:
        try:
            if with_index:
                with shelf.open() as library:
                    for _ in follow(library, stop, companion=AutomaticSync(shelf.settings), command="backscroll open"):
                        pass
            else:
                for _ in keep_watching(shelf.settings, [Home(shelf.home)], stop):
                    pass
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        until(lambda: errors or find_watcher(shelf.settings))
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors
    assert find_watcher(shelf.settings) is None


def kept_paths(shelf: Shelf) -> set[str]:
    return {file.path for file in Archive(archive_folder(shelf.settings)).files.values()}


def test_each_outcome_is_noted_for_its_way_and_home(shelf: Shelf) -> None:
    home, other = Home(shelf.home), Home(shelf.root / "other")
    assert read_note(shelf.settings, "hooks", home) == CaptureNote(way="hooks", home=str(shelf.home))
    note_begin(shelf.settings, "hooks", [home])
    assert read_note(shelf.settings, "hooks", home).began
    note_failure(shelf.settings, "hooks", [home], "x" * 5000)
    note = read_note(shelf.settings, "hooks", home)
    assert (len(note.problem), bool(note.failed), note.captured) == (1000, True, "")
    note_captured(shelf.settings, "hooks", [home])
    note = read_note(shelf.settings, "hooks", home)
    assert (note.problem, note.failed, bool(note.captured)) == ("", "", True)
    assert last_captures(shelf.settings, [home, other]) == [(str(shelf.home), note.captured)]
    assert read_note(shelf.settings, "timer", home).captured == ""
    assert (shelf.folder / "captures").stat().st_mode & 0o777 == 0o700


def test_what_the_shell_wrote_counts_until_something_is_captured(shelf: Shelf) -> None:
    home = Home(shelf.home)
    file = failure_file(shelf.folder, "hooks", shelf.home)
    file.parent.mkdir(parents=True)
    file.write_text("exit 127: sh: 1: backscroll: not found\n")
    assert read_note(shelf.settings, "hooks", home).problem == "exit 127: sh: 1: backscroll: not found"
    note_captured(shelf.settings, "hooks", [home])
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert read_note(shelf.settings, "hooks", home).problem == ""


def test_notes_that_cannot_be_written_or_read_stop_nothing(shelf: Shelf) -> None:
    home = Home(Path(os.fsdecode(os.fsencode(shelf.root) + b"/odd\xff")))
    note_captured(shelf.settings, "hooks", [home])
    assert read_note(shelf.settings, "hooks", home).captured
    (file,) = (shelf.folder / "captures").glob("hooks-*.json")
    file.write_bytes(b'{"way": "hooks", "home": 7')
    assert read_note(shelf.settings, "hooks", home).captured == ""
    file.unlink()
    os.mkfifo(file)
    assert read_note(shelf.settings, "hooks", home).captured == ""
    shelf.folder.joinpath("captures").rename(shelf.root / "away")
    shelf.folder.joinpath("captures").write_text("a file is in its place")
    note_captured(shelf.settings, "hooks", [home])
    assert find_watcher(shelf.settings) is None
    with Watching(shelf.settings, [home], "backscroll watch") as watching:
        watching.is_up_to_date(has_news=True)


def test_only_the_ways_that_are_known_start_something() -> None:
    assert hook.STARTED_BY == captures.STARTED_BY
    assert [started_by({captures.STARTED_BY: name}) for name in ("timer", "hooks", "plugin", "x", "")] == [
        "timer", "hooks", "plugin", None, None,
    ]  # fmt: skip


# A command beside a process that watches.


@pytest.mark.parametrize("with_index", [True, False], ids=["open", "keep --watch"])
def test_keep_says_that_a_watcher_has_kept_everything_once_it_has(shelf: Shelf, with_index: bool) -> None:
    homes = [Home(shelf.home)]
    with following(shelf, with_index=with_index):
        for name in ("T", "U", "V"):
            shelf.write(session_file(name, BLOG))
            done, other = keep_or_confirm(shelf.settings, homes, by="hooks")
            command = "backscroll open" if with_index else "backscroll keep --watch"
            assert (done.files, other) == (0, f"{command} (process {os.getpid()})")
            assert session_path(name) in kept_paths(shelf)
    assert read_note(shelf.settings, "hooks", homes[0]).captured
    assert keep_or_confirm(shelf.settings, homes)[1] == ""


def test_update_says_that_a_watcher_has_indexed_everything_once_it_has(shelf: Shelf) -> None:
    with following(shelf):
        for number, name in enumerate(("T", "U", "V"), 1):
            shelf.write(session_file(name, f"{name}1 <- - user: about zirconium number {number}"))
            with shelf.open() as library:
                with pytest.raises(Busy) as busy:
                    library.update()
                assert confirm_update(library, busy.value)[1].startswith("backscroll open (process ")
            assert shelf.found(f'"zirconium number {number}"')


def test_what_a_watcher_did_not_do_before_it_ended_is_done_by_the_update_that_waits_for_it(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shelf.open() as library, ExitStack() as watcher:
        watcher.enter_context(shelf.open()).store.start_writing()
        watcher.enter_context(open_writer(shelf.settings))
        watcher.enter_context(Watching(shelf.settings, [Home(shelf.home)], "backscroll open"))
        shelf.write(session_file("T", "t <- - user: about zirconium"))
        with pytest.raises(Busy) as busy:
            library.update()
        monkeypatch.setattr("backscroll.library.keeping.watched.time.sleep", lambda _: watcher.close())
        updated, other = confirm_update(library, busy.value)
        assert (updated.work.files, other) == (2, "")
    assert shelf.found("zirconium")


def test_what_a_watcher_does_not_watch_is_not_called_done(shelf: Shelf, tmp_path: Path) -> None:
    other = Shelf(tmp_path / "other").write(session_file("T", BLOG))
    with (
        following(shelf),
        pytest.raises(Busy, match=r"backscroll open \(process \d+\) writes .* does not watch .*other"),
    ):
        keep_or_confirm(shelf.settings, [Home(shelf.home), Home(other.home)])


def test_a_watcher_that_does_not_keep_is_not_believed(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched, "WATCHER_SECONDS", 0.0)
    monkeypatch.setattr(watched, "OTHER_SECONDS", 0.0)
    homes = [Home(shelf.home)]
    with (
        open_writer(shelf.settings),
        Watching(shelf.settings, homes, "backscroll open"),
        pytest.raises(Busy, match="should have kept everything, and has not"),
    ):
        keep_or_confirm(shelf.settings, homes)
    with open_writer(shelf.settings), pytest.raises(Busy, match="another backscroll is keeping"):
        keep_or_confirm(shelf.settings, homes)


def test_a_hook_waits_for_another_that_keeps_and_then_keeps_what_is_left(shelf: Shelf) -> None:
    """Two sessions end at the same time: the first hook has looked through the home before the second one's end."""
    begun, done = threading.Event(), []

    def second() -> None:
        begun.set()
        done.append(keep_or_confirm(shelf.settings, [Home(shelf.home)], by="hooks"))

    with open_writer(shelf.settings):
        thread = threading.Thread(target=second)
        thread.start()
        begun.wait()
        until(lambda: read_note(shelf.settings, "hooks", Home(shelf.home)).began)
    thread.join()
    assert [(capture.files, other) for capture, other in done] == [(1, "")]


def test_why_a_hook_did_not_keep_is_noted(shelf: Shelf) -> None:
    (shelf.folder / "archive").mkdir(parents=True)
    (shelf.folder / "archive" / "packs").write_text("a file is in its place")
    with pytest.raises(OSError):
        keep_or_confirm(shelf.settings, [Home(shelf.home)], by="timer")
    assert "packs" in read_note(shelf.settings, "timer", Home(shelf.home)).problem


def test_the_time_of_the_last_capture_is_that_of_the_watcher(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    homes = [Home(shelf.home)]
    shelf.update()
    monkeypatch.setattr(captures, "now", lambda: "2099-01-01T00:00:00Z")
    with following(shelf):
        shelf.write(session_file("T", BLOG))
        until(lambda: session_path("T") in kept_paths(shelf))
        until(lambda: last_captures(shelf.settings, homes))
    assert status(shelf.settings, homes, datetime.now(UTC)).captured == {str(shelf.home): "2099-01-01T00:00:00Z"}


def test_a_file_is_kept_as_it_was_found_or_later(shelf: Shelf) -> None:
    home = shelf.live_home
    before = discover(home)
    assert not_kept(None, shelf.machine, [before]) == before.files
    shelf.update()
    archive = Archive(archive_folder(shelf.settings))
    assert not_kept(archive, shelf.machine, [discover(shelf.live_home)]) == []
    shelf.append("S", b'{"type": "user"}\n')
    (grown,) = not_kept(archive, shelf.machine, [discover(shelf.live_home)])
    shelf.append("S", b'{"type": "user"}\n')
    shelf.update()
    again = Archive(archive_folder(shelf.settings))
    found = discover(shelf.live_home)
    found.files = [grown]  # as it was before the second line
    assert not_kept(again, shelf.machine, [found]) == []
