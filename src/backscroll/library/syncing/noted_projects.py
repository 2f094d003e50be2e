"""The file `sync/projects.sqlite`: folders of sessions, their known git remotes, and the progress of scans.

The file is read at once, and additions are written at once. Notes are never taken back; a damaged file is made again
from the archive.
"""

import contextlib
import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.disk import private_folder
from backscroll.errors import StorageError

FILE: Final = "projects.sqlite"


class Unit(NamedTuple):
    """A session, or a file of none: the unit of a decision."""

    home: str
    name: str
    """The id of the session, or the path of the file."""


class ScanProgress(NamedTuple):
    """Progress of scanning a version."""

    until: int
    """The start of the first line that is not scanned."""
    size: int
    chunks: int
    last: str
    """The id of the last chunk, which identifies a version that was rewritten."""


class NotedProjects:
    """The notes of the file. `save` makes additions durable."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self.ran: dict[Unit, dict[str, bool]] = {}
        """The folders of each unit, and whether each was seen without a remote."""
        self.sessions: dict[Unit, set[str]] = {}
        """The sessions that a file of no session names."""
        self.remotes: dict[str, set[str]] = {}
        """The known git remotes of a folder."""
        self.looked: dict[str, float] = {}
        """When a folder was last checked."""
        self.progress: dict[tuple[str, str, int], ScanProgress] = {}
        """Progress by version: home, path, number."""
        self.sampled: dict[tuple[str, str], int] = {}
        """The size of a file when its ends were read."""
        self._rows: list[tuple[str, tuple[object, ...]]] = []
        if self._path.exists():
            self._load()

    def add_folder(self, unit: Unit, path: str, *, was_bare: bool = False) -> None:
        """Note a folder of a unit; `was_bare` if it existed without a git remote."""
        ran = self.ran.setdefault(unit, {})
        if path not in ran or (was_bare and not ran[path]):
            ran[path] = was_bare
            self._add("ran", _blob(unit.home), _blob(unit.name), _blob(path), was_bare)

    def add_session(self, unit: Unit, session: str) -> None:
        """Note a session that a file names."""
        self.sessions.setdefault(unit, set()).add(session)
        self._add("names", _blob(unit.home), _blob(unit.name), _blob(session))

    def add_remotes(self, path: str, remotes: frozenset[str]) -> None:
        """Note the git remotes of a folder."""
        known = self.remotes.setdefault(path, set())
        for remote in remotes - known:
            self._add("remote", _blob(path), _blob(remote))
        known |= remotes

    def set_looked(self, path: str, at: float) -> None:
        """Note when a folder was checked."""
        self.looked[path] = at
        self._add("looked", _blob(path), at)

    def set_progress(self, key: tuple[str, str, int], progress: ScanProgress) -> None:
        """Note the progress of scanning a version."""
        self.progress[key] = progress
        self._add("scanned", _blob(key[0]), _blob(key[1]), key[2], *progress)

    def set_sampled(self, home: str, path: str, size: int) -> None:
        """Note that the ends of a file were read."""
        self.sampled[home, path] = size
        self._add("sampled", _blob(home), _blob(path), size)

    def save(self) -> None:
        """Write the additions to the file."""
        if not self._rows:
            return
        private_folder(self._path.parent)
        try:
            with contextlib.closing(self._open()) as db:
                db.execute("begin immediate")
                for table, row in self._rows:
                    db.execute(STATEMENTS[table], row)
                db.execute("commit")
        except sqlite3.Error as error:
            raise StorageError(f"{self._path} cannot be written: {error}", "check the disk, and try again") from error
        self._rows.clear()

    def _load(self) -> None:
        try:
            with contextlib.closing(self._open()) as db:
                self._read(db)
        except sqlite3.OperationalError as error:
            raise StorageError(f"{self._path} cannot be read: {error}", "try again") from error
        except (sqlite3.DatabaseError, UnicodeDecodeError):  # damaged
            for path in self._path.parent.glob(f"{FILE}*"):
                path.unlink(missing_ok=True)
            for noted in (self.ran, self.sessions, self.remotes, self.looked, self.progress, self.sampled):
                noted.clear()

    def _read(self, db: sqlite3.Connection) -> None:
        for home, unit, path, bare in db.execute("select home, unit, path, bare from ran"):
            self.ran.setdefault(Unit(_text(home), _text(unit)), {})[_text(path)] = bool(bare)
        for home, unit, session in db.execute("select home, unit, session from names"):
            self.sessions.setdefault(Unit(_text(home), _text(unit)), set()).add(_text(session))
        for path, remote in db.execute("select path, remote from remote"):
            self.remotes.setdefault(_text(path), set()).add(_text(remote))
        for path, at in db.execute("select path, at from looked"):
            self.looked[_text(path)] = at
        for row in db.execute("select home, path, version, until, size, chunks, last from scanned"):
            self.progress[_text(row[0]), _text(row[1]), row[2]] = ScanProgress(*row[3:])
        for home, path, size in db.execute("select home, path, size from sampled"):
            self.sampled[_text(home), _text(path)] = size

    def _add(self, table: str, *row: object) -> None:
        self._rows.append((table, row))

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, timeout=30)
        self._path.chmod(0o600)
        db.execute("pragma journal_mode=wal")
        for name, columns in TABLES.items():
            db.execute(f"create table if not exists {name} ({columns}) strict, without rowid")
        return db


def _blob(text: str) -> bytes:
    """Encode text for the file: names of files, and texts of a transcript, may not be valid UTF-8."""
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=1024)
def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


TABLES: Final = {
    "ran": "home blob, unit blob, path blob, bare integer, primary key (home, unit, path)",
    "names": "home blob, unit blob, session blob, primary key (home, unit, session)",
    "remote": "path blob, remote blob, primary key (path, remote)",
    "looked": "path blob primary key, at real",
    "scanned": "home blob, path blob, version integer, until integer, size integer, chunks integer, last text,"
    " primary key (home, path, version)",
    "sampled": "home blob, path blob, size integer, primary key (home, path)",
}
STATEMENTS: Final = {
    "ran": "insert into ran values (?, ?, ?, ?) on conflict do update set bare = max(bare, excluded.bare)",
    "names": "insert or ignore into names values (?, ?, ?)",
    "remote": "insert or ignore into remote values (?, ?)",
    "looked": "insert or replace into looked values (?, ?)",
    "scanned": "insert or replace into scanned values (?, ?, ?, ?, ?, ?, ?)",
    "sampled": "insert or replace into sampled values (?, ?, ?)",
}
