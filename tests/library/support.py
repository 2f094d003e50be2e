"""A home with its library, and everything that can be asked of it as plain values to be compared."""

import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.merge import merge
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.files.source_key import SourceKey
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.update import Updated
from backscroll.library.library import Library
from backscroll.library.local import local_library
from backscroll.library.machine import Machine, read_machine
from backscroll.settings import Settings
from backscroll.store.local.database import connect
from backscroll.store.local.faults import translate_errors
from backscroll.store.local.store import LocalStore
from backscroll.store.sql.statements import select
from tests.support.homes import session_path, write_home

VIEWS: Final = {
    "v_chats": "id, title, project, started, last_active, archived, messages, prompts, branches, agents, compactions,"
    " active_seconds",
    "v_sessions": "path, home, kind, session, agent, chat_id, project, started, last_active, size, archived",
    "v_messages": "message, uuid, parent, chat_id, session, agent, project, kind, time, model, sidechain, abandoned,"
    " path, start, length",
    "v_tool_calls": "*",
    "v_usage": "*",
    "v_files_touched": "*",
    "v_problems": "*",
}
"""What two indexes of the same files agree on: all but the numbers that they gave by themselves."""

Answers = dict[str, Any]


def local_store(library: Library) -> LocalStore:
    """The store of a library that lies on this machine's disk, with all that is in it."""
    assert isinstance(library.store, LocalStore)
    return library.store


LONG_AGO: Final = 1_770_000_000


class Shelf:
    """A home and a library of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        (self.home / "projects").mkdir(parents=True, exist_ok=True)
        self.folder = root / "library"

    @property
    def index(self) -> Path:
        return self.folder / "index"

    @property
    def generation(self) -> Path:
        """The folder of the index in use."""
        return self.index / (self.index / "current").read_text().split()[0]

    @property
    def settings(self) -> Settings:
        return Settings(homes=(self.home,), library=self.folder, file=self.root / "settings.toml")

    @property
    def machine(self) -> Machine:
        return read_machine(self.settings.library)

    @property
    def live_home(self) -> Home:
        """The home with its machine, as the library has it."""
        return Home(self.home, self.machine.id)

    def source(self, path: str) -> str:
        """The id of a file of the home."""
        return SourceKey(self.machine.id, str(self.home), path).id

    def open(self) -> Library:
        return local_library(self.settings, [Home(self.home)])

    def write(self, files: Mapping[str, bytes | str]) -> "Shelf":
        write_home(self.home, files)
        return self

    def rest(self) -> "Shelf":
        """Make its files as old as if nothing had been written for a long time: none of them is live."""
        for path in self.home.rglob("*.jsonl"):
            os.utime(path, (LONG_AGO, LONG_AGO))
        return self

    def append(self, name: str, data: bytes) -> None:
        """More bytes of the session with this name."""
        with (self.home / session_path(name)).open("ab") as file:
            file.write(data)

    def update(self) -> Updated:
        """As a process of its own would: nothing is left over from the last time."""
        with self.open() as library:
            return library.update()

    def found(self, query: str) -> list[str]:
        """The texts that a query finds, the best first."""
        with self.open() as library:
            found = library.search(query, limit=100, hits=100)
            return [library.text(passage.hit) for chat in found.chats for passage in chat.passages]

    def total(self, query: str) -> int:
        with self.open() as library:
            return library.search(query).total

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        """The answer to a statement, as a user gets it."""
        with self.open() as library:
            return library.sql(statement).rows

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """The answer to a statement, checked as for a user, without the process that `Library.sql` starts for it."""
        with translate_errors(), closing(connect(self.generation / "rows.sqlite", write=False)) as connection:
            return select(connection, statement)

    def rebuilt(self) -> "Shelf":
        """The same home and archive, with an index that was made from them at once."""
        fresh = Shelf.__new__(Shelf)
        fresh.root, fresh.home, fresh.folder = self.root, self.home, self.root / "rebuilt"
        shutil.rmtree(fresh.folder, ignore_errors=True)
        if (self.folder / "archive").exists():
            shutil.copytree(self.folder / "archive", fresh.folder / "archive")
        if (self.folder / "sync").exists():  # what other devices ask to forget is hidden
            shutil.copytree(self.folder / "sync", fresh.folder / "sync")
        fresh.update()
        return fresh

    def answers(self, queries: Iterable[str]) -> Answers:
        """Everything that can be asked, without what is any of several equally good: order among equals, scores."""
        with self.open() as library:
            answers: Answers = {
                "chats": [(msgspec.to_builtins(chat.overview), chat.archived) for chat in library.chats()],
                "pending": library.reader.pending().passages,
                "calls": [
                    (call.uuid, call.name, call.state, call.size, call.result_size, call.took, call.copies)
                    for call in library.reader.reports(None).tool_calls()
                ],
            }
            for query in queries:
                found = library.search(query, limit=1000, hits=1000)
                answers[query] = (
                    found.total,
                    found.total_chats,
                    sorted((chat.chat.overview.id, chat.found) for chat in found.chats),
                    sorted(
                        (chat.chat.overview.id, hit.role, hit.uuid or "", hit.number, hit.kind, hit.tool or "",
                         hit.is_error, hit.is_abandoned, library.text(hit))
                        for chat in found.chats
                        for hit in (passage.hit for passage in chat.passages)
                    ),
                )  # fmt: skip
            for view, columns in VIEWS.items():
                answers[view] = sorted(self.rows(f"select {columns} from {view}"), key=repr)
        return answers

    def check_rebuilt(self, queries: Iterable[str]) -> None:
        """An index that was made at once gives the same answers."""
        queries = list(queries)
        found = differences(self.answers(queries), self.rebuilt().answers(queries))
        assert not found, found


def differences(one: Answers, other: Answers) -> list[object]:
    """What is not the same, and only that."""
    found: list[object] = []
    for name in one:
        if one[name] == other[name]:
            continue
        if isinstance(one[name], list) and isinstance(other[name], list):
            only = [item for item in one[name] if item not in other[name]]
            found.append((name, only, [item for item in other[name] if item not in one[name]]))
        else:
            found.append((name, one[name], other[name]))
    return found


DESK: Final = "desk-0a1b2c3d"
"""Another machine."""


def bring(shelf: Shelf, files: Mapping[str, bytes], machine: str = DESK) -> None:
    """Let another machine, with a home at the same path, keep files, and take them into the archive of this one."""
    there = shelf.root / "there"
    mine = shelf.home.rename(shelf.root / "mine")
    try:
        write_home(shelf.home, files)
        with Writer(there) as writer:
            capture(writer, Home(shelf.home), machine)
        shelf.home.rename(shelf.root / f"was there {len(list(shelf.root.iterdir()))}")
    finally:
        mine.rename(shelf.home)
    with Writer(archive_folder(shelf.settings)) as writer:
        merge(Archive(there), writer)
