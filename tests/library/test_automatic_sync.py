"""A process that follows the homes syncs by itself, and no remote holds it up."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_to_forget, session_key
from backscroll.errors import Busy
from backscroll.library.archives import archive_folder, open_writer
from backscroll.library.forget_requests import ForgetRequests
from backscroll.library.indexing.follow import Followed, follow
from backscroll.library.keeping.keep import keep
from backscroll.library.syncing import automatic
from backscroll.library.syncing import sync as syncing
from backscroll.library.syncing.automatic import AutomaticSync, sync_quietly, syncs_by_itself
from backscroll.library.syncing.folder_watch import is_news, times_in, watch_folders, watched_folders
from backscroll.library.syncing.forgets import agree, asked_chats, refuse
from backscroll.library.syncing.remote_settings import RemoteSettings, find_remote, note_remote, write_remote
from backscroll.library.syncing.status import status
from backscroll.library.syncing.sync import EmptyRemoteError, sync
from backscroll.sync.policy import Policy, SyncMode
from backscroll.sync.remotes import Folder, RemoteObject
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
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
        until(lambda: laptop.found("hafnium"))
        until(lambda: syncs_by_itself(laptop.settings))

        def take() -> None:
            sync(desktop.settings, remote_of(desktop))
            desktop.update()

        until(lambda: desktop.found("hafnium"), take)
        assert waiting(laptop) == 0
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
        (chat,) = asked_chats(laptop.settings)
        refuse(laptop.settings, [chat])  # another process does, while this one has the archive
        until(lambda: laptop.found("zirconium"), one.sync.sync_now)
        agree(laptop.settings, [chat])
        until(lambda: not taken(laptop), one.sync.sync_now)
        until(lambda: not laptop.found("zirconium"), one.sync.sync_now)
        laptop.write(session_file("S3", MORE))  # it still follows
        until(lambda: laptop.found("hafnium"))
    for path in laptop.folder.rglob("*"):
        assert not path.is_file() or b"zirconium" not in path.read_bytes(), path


def taken(shelf: Shelf) -> list[str]:
    archive = Archive(archive_folder(shelf.settings))
    return [file.path for file in archive.files.values() if file.path == session_path("S2")]


def test_a_live_session_that_another_machine_asks_to_forget_is_hidden_and_kept(laptop: Shelf, desktop: Shelf) -> None:
    with following(laptop) as one:
        until(lambda: laptop.found("parser"))
        ForgetRequests(laptop.settings).add("desktop", "desktop", "", [session_key(session_uuid("S1"))])
        until(lambda: not laptop.found("parser"), one.sync.sync_now)
        laptop.append("S1", session_file("S4", "c <- b user: about niobium")[session_path("S4")])
        laptop.write(session_file("S3", MORE))
        until(lambda: laptop.found("hafnium"))
        assert not laptop.found("niobium")
        until(lambda: b"niobium" in kept_of(laptop, "S1"), one.sync.sync_now)
        refuse(laptop.settings, asked_chats(laptop.settings))
        until(lambda: laptop.found("niobium") and laptop.found("parser"), one.sync.sync_now)

        def is_sent() -> bool:
            sync(desktop.settings, remote_of(desktop))
            desktop.update()
            return bool(desktop.found("niobium"))

        until(is_sent, one.sync.sync_now)


def kept_of(shelf: Shelf, name: str) -> bytes:
    archive = Archive(archive_folder(shelf.settings))
    files = [file for file in archive.files.values() if file.path == session_path(name) and file.latest]
    return b"".join(b"".join(archive.content(file.latest)) for file in files if file.latest)


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

    monkeypatch.setattr(syncing, "open_remote", lambda url, *_, **__: Hanging(Folder(Path(url))))
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

    def open_counted(url: str, *_: object, **__: object) -> CutRemote:
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


def test_what_another_machine_puts_into_a_folder_is_taken_before_it_is_time_to_look(
    laptop: Shelf, desktop: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automatic, "LOOK_SECONDS", 3600.0)
    with following(laptop):
        until(lambda: laptop.found("zirconium"))
        for number, word in enumerate(("hafnium", "niobium")):
            desktop.write(session_file(f"S{number + 5}", MORE.replace("hafnium", word)))
            keep(desktop.settings, [desktop.live_home])
            sync(desktop.settings, remote_of(desktop))
            until(lambda word=word: laptop.found(word))  # type: ignore[misc]


@pytest.mark.parametrize("polls", [False, True], ids=["events", "polling"])
def test_a_folder_is_watched_also_without_events_and_while_its_disk_comes_and_goes(
    laptop: Shelf, nas: Path, polls: bool
) -> None:
    stop, changed, count = threading.Event(), threading.Event(), itertools.count()
    watching = threading.Thread(
        target=lambda: watch_folders(laptop.settings, changed.set, stop, polls=polls, milliseconds=20), daemon=True
    )
    watching.start()
    others = nas / "backscroll" / "1" / "other"
    try:
        for place in (nas, nas.with_name("away")):
            until(changed.is_set, lambda: (others / f"log{next(count)}").mkdir(parents=True))
            nas.rename(place.with_name("elsewhere"))
            place.with_name("elsewhere").rename(nas)
            changed.clear()
    finally:
        stop.set()
        watching.join(PATIENCE)
    assert not watching.is_alive()


def test_what_this_machine_puts_into_a_folder_is_no_news(laptop: Shelf, desktop: Shelf, nas: Path) -> None:
    (watched,) = watched_folders(laptop.settings)
    before = times_in(watched)
    laptop.write(session_file("S3", MORE))
    keep(laptop.settings, [laptop.live_home])
    sync(laptop.settings, remote_of(laptop))
    assert times_in(watched) == before
    sync(desktop.settings, remote_of(desktop))
    desktop.write(session_file("S4", MORE))
    keep(desktop.settings, [desktop.live_home])
    sync(desktop.settings, remote_of(desktop))
    assert times_in(watched) != before
    objects = [path for path in nas.rglob("*") if path.is_file()]
    assert {path.relative_to(watched.objects).parts[0] for path in objects if not is_news(str(path), watched)} == {
        watched.own
    }
    assert any(is_news(str(path), watched) for path in objects)
    assert not is_news(str(objects[0].with_name(".unfinished-1")), watched)
