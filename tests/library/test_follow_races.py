"""Files change while they are being kept and read: in the end, the index equals a fresh one."""

import os
from pathlib import Path
from random import Random
from typing import Final

import pytest

from backscroll.archive.capture import capture_changed
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import HomeFile, discover
from backscroll.files.watching import ChangedFile
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.follow import PresentFiles
from backscroll.library.indexing.follow import _take as take_changes
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.words import index_texts
from backscroll.library.library import Library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path
from tests.support.samples import TRY_ALL

LINES: Final = 14
ROUNDS: Final = 8
EVENTS: Final = ("append", "append", "half a line", "cut", "empty", "delete", "come back", "come back empty")


def lines_of(session: str) -> list[bytes]:
    """A session of prompts and answers, each with a word of its own."""
    rows = [
        f"{session}{at} <- {f'{session}{at - 1}' if at else '-'} "
        f"{f'assistant({session}m{at})' if at % 2 else 'user'}: zebra {session}w{at}"
        for at in range(LINES)
    ]
    return jsonl(draw("\n".join(rows), session=session)).splitlines(keepends=True)


SESSIONS: Final = {session: lines_of(session) for session in ("S1", "S2")}


class ChangingDisk:
    """Two sessions that may change at any moment."""

    def __init__(self, shelf: Shelf, seed: int) -> None:
        self.random = Random(seed)
        self.is_quiet = False
        self._shelf = shelf
        self._written = dict.fromkeys(SESSIONS, 6)
        for session in SESSIONS:
            shelf.write({session_path(session): self._content(session)})

    def moment(self) -> None:
        """Perhaps something happens."""
        for _ in range(0 if self.is_quiet else self.random.choice((0, 0, 1, 1, 2))):
            session = self.random.choice(list(SESSIONS))
            self._happen(self.random.choice(EVENTS), session, self._shelf.home / session_path(session))

    def _happen(self, event: str, session: str, path: Path) -> None:
        at = self._written[session]
        if path.exists() != (not event.startswith("come")) or (event in ("append", "half a line") and at == LINES):
            return
        if event == "append":
            with path.open("ab") as file:
                file.write(SESSIONS[session][at])
            at += 1
        elif event == "half a line":
            with path.open("ab") as file:
                file.write(SESSIONS[session][at][:40])
            at = LINES  # it goes no further
        elif event == "delete":
            path.unlink()
        else:
            most = {"cut": 4, "come back": 9}.get(event, 0)
            at = self._written[session] = self.random.randint(0, most)
            if event == "cut":
                left = path.read_bytes()[: len(self._content(session))]
                os.truncate(path, left.rfind(b"\n") + 1)  # a client cuts whole lines
            else:
                path.write_bytes(self._content(session))
        self._written[session] = at

    def _content(self, session: str) -> bytes:
        return b"".join(SESSIONS[session][: self._written[session]])


class Changes:
    """What `watch` would report: every file that changed since the last time."""

    def __init__(self, shelf: Shelf) -> None:
        self._home = shelf.live_home
        self._seen: dict[Path, HomeFile] = {}

    def batch(self) -> list[ChangedFile]:
        now = {file.path: file for file in discover(self._home).files}
        batch = [ChangedFile(file) for path, file in now.items() if self._seen.get(path) != file]
        batch += [ChangedFile(file, gone=True) for path, file in self._seen.items() if path not in now]
        self._seen = now
        return batch


def follow_while_it_changes(library: Library, shelf: Shelf, disk: ChangingDisk) -> None:
    home = shelf.live_home
    changes, present = Changes(shelf), PresentFiles([home])
    store, prices = library.store.start_writing(), load_prices(library.settings)
    store.use_prices(cost_with(prices), prices.fingerprint)
    ingest = Ingest(store)
    present.take(changes.batch())
    with Writer(archive_folder(library.settings)) as writer:

        def take(batch: list[ChangedFile]) -> None:
            present.take(batch)
            disk.moment()
            capture_changed(writer, home, home.machine, batch)
            disk.moment()
            take_changes(ingest, library, present, batch, writer)
            disk.moment()
            index_texts(store, Sources([home], writer), ingest.recent)
            if ingest.finish():
                index_texts(store, Sources([home], writer), ingest.recent)

        for _ in range(ROUNDS):
            disk.moment()
            if batch := changes.batch():
                take(batch)
        disk.is_quiet = True
        while batch := changes.batch():
            take(batch)


@pytest.mark.parametrize("seed", range(400 if TRY_ALL else 16))
def test_following_ends_with_the_state_on_disk(tmp_path: Path, seed: int) -> None:
    shelf = Shelf(tmp_path)
    disk = ChangingDisk(shelf, seed)
    shelf.update()
    with shelf.open() as library:
        follow_while_it_changes(library, shelf, disk)
    shelf.check_rebuilt(["zebra", "S1w0", "S2w0"])


def test_a_version_that_was_visible_until_its_file_came_back_is_shown_no_longer(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    path = shelf.home / session_path("S1")
    shelf.write({session_path("S1"): b"".join(SESSIONS["S1"])})
    shelf.update()
    with shelf.open() as library:
        changes, present = Changes(shelf), PresentFiles([shelf.live_home])
        store, prices = library.store.start_writing(), load_prices(library.settings)
        store.use_prices(cost_with(prices), prices.fingerprint)
        ingest = Ingest(store)
        with Writer(archive_folder(library.settings)) as writer:
            for lines, sources in ((LINES, 1), (1, 2), (LINES, 1)):  # it was shorter only between two captures
                path.write_bytes(b"".join(SESSIONS["S1"][:lines]))
                batch = changes.batch()
                present.take(batch)
                take_changes(ingest, library, present, batch, writer)
                index_texts(store, Sources([shelf.live_home], writer), ingest.recent)
                assert len(store.indexed_files()) == sources
            if ingest.finish():
                index_texts(store, Sources([shelf.live_home], writer), ingest.recent)
    shelf.check_rebuilt(["zebra"])
