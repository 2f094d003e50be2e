"""A process that follows the homes syncs by itself, and no remote holds it up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backscroll.archive.forgetting import keys_to_forget
from backscroll.errors import Busy
from backscroll.library.archives import open_writer
from backscroll.library.indexing.follow import Followed, follow
from backscroll.library.keeping.keep import keep
from backscroll.library.syncing import automatic
from backscroll.library.syncing import sync as syncing
from backscroll.library.syncing.automatic import AutomaticSync, sync_quietly, syncs_by_itself
from backscroll.library.syncing.remote_settings import RemoteSettings, find_remote, note_remote, write_remote
from backscroll.library.syncing.status import status
from backscroll.library.syncing.sync import EmptyRemoteError, sync
from backscroll.sync.policy import Policy, SyncMode
from backscroll.sync.remotes import Folder, RemoteObject
from tests.library.support import Shelf
from tests.support.homes import session_file, session_path
from tests.support.processes import until
from tests.sync.support import CutRemote

PATIENCE = 120.0
SHOP = "a <- - user: fix the parser\nb <- a assistant(m1): done"
BLOG = "x <- - user: about zirconium\ny <- x assistant(m2): written"
MORE = "p <- - user: about hafnium\nq <- p assistant(m3): written"


class Following:
    """A `follow` in a thread, with what it has told."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.told: list[Followed] = []
        self.errors: list[BaseException] = []
        self._stop = threading.Event()
        self.sync = AutomaticSync(shelf.settings)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            with self.shelf.open() as library:
                for round_ in follow(library, self._stop, companion=self.sync):
                    self.told.append(round_)
        except BaseException as error:
            self.errors.append(error)

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "following does not end"
        assert self.errors == []


@contextmanager
def following(shelf: Shelf) -> Iterator[Following]:
    one = Following(shelf)
    try:
        yield one
    finally:
        one.end()


@pytest.fixture
def nas(tmp_path: Path) -> Path:
    return tmp_path / "nas"


def machine(root: Path, name: str, nas: Path, session: str, text: str) -> Shelf:
    shelf = Shelf(root / name).write(session_file(session, text))
    policy = Policy(SyncMode.FULL)
    write_remote(shelf.settings, RemoteSettings(name="nas", url=str(nas), policy=policy))
    shelf.update()
    sync(shelf.settings, remote_of(shelf))
    return shelf


def remote_of(shelf: Shelf) -> RemoteSettings:
    return find_remote(shelf.settings, "nas")


@pytest.fixture
def laptop(tmp_path: Path, nas: Path) -> Shelf:
    return machine(tmp_path, "laptop", nas, "S1", SHOP)


@pytest.fixture
def desktop(tmp_path: Path, nas: Path) -> Shelf:
    return machine(tmp_path, "desktop", nas, "S2", BLOG)


def test_following_sends_what_is_written_and_shows_what_others_send(laptop: Shelf, desktop: Shelf) -> None:
    with following(laptop) as one:
        until(lambda: laptop.found("zirconium"))
        laptop.write(session_file("S3", MORE))
        until(lambda: laptop.found("hafnium") and waiting(laptop) == 0)  # kept first, then sent
        until(lambda: syncs_by_itself(laptop.settings))
        sync(desktop.settings, remote_of(desktop))
        desktop.update()
        assert desktop.found("hafnium")
        desktop.append("S2", session_file("S4", "z <- - user: about niobium")[session_path("S4")])
        keep(desktop.settings, [desktop.live_home])
        sync(desktop.settings, remote_of(desktop))
        until(lambda: laptop.found("niobium"), one.sync.sync_now)
    until(lambda: not syncs_by_itself(laptop.settings))
    laptop.check_rebuilt(["zirconium", "hafnium", "niobium"])


def waiting(shelf: Shelf) -> int:
    return status(shelf.settings, remote_of(shelf), asks=False).waiting


def test_what_another_machine_forgot_leaves_the_index_of_the_one_that_follows(laptop: Shelf, desktop: Shelf) -> None:
    with following(laptop) as one:
        until(lambda: laptop.found("zirconium"))
        with open_writer(desktop.settings) as writer:
            mine = [file for file in writer.files.values() if file.path == session_path("S2")]
            writer.forget(mine, keys_to_forget((file.home, file.path) for file in mine))
        sync(desktop.settings, remote_of(desktop))
        until(lambda: not laptop.found("zirconium"), one.sync.sync_now)
        laptop.write(session_file("S3", MORE))  # it still follows
        until(lambda: laptop.found("hafnium"))
    for path in laptop.folder.rglob("*"):
        assert not path.is_file() or b"zirconium" not in path.read_bytes(), path


def test_a_remote_that_is_away_is_told_and_holds_up_nothing(
    laptop: Shelf, nas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(automatic, "LONGEST_WAIT", 0.01)
    away = nas.rename(nas.with_name("away"))
    with following(laptop):
        laptop.write(session_file("S3", MORE))
        until(lambda: laptop.found("hafnium"))
        until(lambda: "is not there" in (remote_of(laptop).problem or ""))
        assert not nas.exists()
        assert "is not there" in (status(laptop.settings, remote_of(laptop), asks=False).problem or "")
        away.rename(nas)
        until(lambda: remote_of(laptop).problem is None and waiting(laptop) == 0)


def test_a_remote_that_never_answers_stops_neither_following_nor_its_end(
    laptop: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answer = threading.Event(), threading.Event()

    class Hanging(CutRemote):
        def list(self, prefix: str = "") -> Iterator[RemoteObject]:
            asked.set()
            answer.wait(PATIENCE)
            return super().list(prefix)

    monkeypatch.setattr(syncing, "open_remote", lambda url, *_: Hanging(Folder(Path(url))))
    with following(laptop):
        assert asked.wait(PATIENCE)
        laptop.write(session_file("S3", MORE))
        until(lambda: laptop.found("hafnium"))
    assert not answer.is_set()  # following has ended, and the remote still has not answered
    answer.set()


def test_nothing_new_takes_one_listing_and_an_append_one_object_more(
    laptop: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[CutRemote] = []

    def open_counted(url: str, *_: object) -> CutRemote:
        opened.append(CutRemote(Folder(Path(url))))
        return opened[-1]

    monkeypatch.setattr(syncing, "open_remote", open_counted)
    sync(laptop.settings, remote_of(laptop))
    laptop.write(session_file("S3", MORE))
    keep(laptop.settings, [laptop.live_home])
    sync(laptop.settings, remote_of(laptop))
    assert [one.requests for one in opened] == [["list"], ["list", "put"]]


def test_a_remote_that_is_suddenly_empty_is_not_filled_by_itself(laptop: Shelf, nas: Path) -> None:
    nas.rename(nas.with_name("elsewhere"))
    nas.mkdir()
    with pytest.raises(EmptyRemoteError, match="nas is empty"):
        sync(laptop.settings, remote_of(laptop), fills_empty=False)
    assert list(nas.iterdir()) == []
    assert "nas is empty" in (remote_of(laptop).problem or "")
    assert sync(laptop.settings, remote_of(laptop)).pushed.objects == 1
    assert remote_of(laptop).problem is None


def test_a_pause_during_a_sync_stays(laptop: Shelf) -> None:
    before = remote_of(laptop)
    note_remote(laptop.settings, "nas", is_paused=True)
    sync(laptop.settings, before)
    assert remote_of(laptop).is_paused


def test_a_hook_syncs_quietly_and_leaves_it_to_a_process_that_does(laptop: Shelf, nas: Path) -> None:
    assert [done.remote for done in sync_quietly(laptop.settings)] == ["nas"]
    with following(laptop):
        until(lambda: syncs_by_itself(laptop.settings))
        assert sync_quietly(laptop.settings) == []
    until(lambda: not syncs_by_itself(laptop.settings))
    nas.rename(nas.with_name("away"))
    assert sync_quietly(laptop.settings) == []
    assert "is not there" in (remote_of(laptop).problem or "")


def test_one_process_at_a_time_follows_and_syncs(laptop: Shelf) -> None:
    with following(laptop):
        until(lambda: syncs_by_itself(laptop.settings))
        with pytest.raises(Busy), laptop.open() as library:
            next(follow(library, companion=AutomaticSync(laptop.settings)))
