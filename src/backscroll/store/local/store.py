"""The store of one machine: rows in a SQLite file, words in a text index next to it."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from backscroll.conversation.transcripts import Transcript
from backscroll.errors import NothingFound
from backscroll.store.base import PassageText, PendingPassage, SqlView
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.local.database import transaction, views
from backscroll.store.local.faults import translates_errors
from backscroll.store.local.generations import has_any, size_of
from backscroll.store.local.opening import OpenIndex
from backscroll.store.local.reader import LocalReader
from backscroll.store.local.rows import LocalTables
from backscroll.store.local.snapshot import Snapshot, Snapshots, marks_at, read_commit
from backscroll.store.prices import AnswerPrice
from backscroll.store.reader import IndexedFile, Scope, StatementResult
from backscroll.store.search.waiting import waiting_passages
from backscroll.store.search.words import STAGES
from backscroll.store.sql.counting import Counting, rules_of, unpriced
from backscroll.store.sql.row_tables import NOTE
from backscroll.store.sql.statements import array, select

if TYPE_CHECKING:
    from backscroll.store.local.sql import StatementRunner


class LocalStore(OpenIndex):
    """The index of one machine, below one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._price: AnswerPrice = unpriced
        self._marks: list[int] | None = None
        self._is_unflushed = False
        self._snapshots = Snapshots()

    def close(self) -> None:
        """Close all files and stop the process of statements."""
        if "_statements" in self.__dict__:
            self._statements.close()
        super().close()

    @cached_property
    def _statements(self) -> "StatementRunner":
        from backscroll.store.local.sql import StatementRunner

        return StatementRunner()

    def clone(self) -> "LocalStore":
        """Return another instance of this store, for another thread."""
        return LocalStore(self.folder)

    def size(self) -> int:
        """Return the bytes of the index on disk."""
        return size_of(self.folder)

    def problems(self) -> list[str]:
        """Return the problems of the index; empty if it is sound."""
        if not self.exists:
            if not has_any(self.folder):
                raise NothingFound("there is no index yet", "run backscroll update")
            return ["it cannot be opened"]
        from backscroll.store.local.checking import problems_of

        return problems_of(self)

    def _let_go(self) -> None:
        self._marks = None
        self._snapshots = Snapshots()
        self._is_unflushed = False
        super()._let_go()

    # Rows

    @translates_errors
    def indexed_files(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """Return the indexed files, by id."""
        return LocalTables(self.connection).known(sources)

    @translates_errors
    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing; return the ids of its new files."""
        return LocalTables(self.connection, self._price).write(batch)

    @translates_errors
    def related_chats(self, keys: ChatKeys) -> set[int]:
        """Return the chats that share something with these keys."""
        return LocalTables(self.connection).related(keys)

    @translates_errors
    def chats_of(self, files: Iterable[int]) -> set[int]:
        """Return the chats that these files are part of."""
        return LocalTables(self.connection).chats_of(files)

    @translates_errors
    def load_transcripts(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """Return the transcripts of these chats as they were saved, by file."""
        return list(LocalTables(self.connection).load(chats))

    @translates_errors
    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the titles of these rows, by row and by the file that has the title."""
        return LocalTables(self.connection).titles_of(rows)

    @translates_errors
    def chats_titled_by(self, file: int) -> set[int]:
        """Return the chats of rows that a file has titles for."""
        return LocalTables(self.connection).titled_by(file)

    @translates_errors
    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """Return the titles of rows in these files, by row and by the file that has the title."""
        return LocalTables(self.connection).titles(files)

    # Words

    @translates_errors
    def next_passages(self, limit: int) -> list[PendingPassage]:
        """Return the passages to index next, the worthiest first."""
        return waiting_passages(self.connection, self._positions(), limit)

    @translates_errors
    def index(self, documents: Sequence[PassageText]) -> None:
        """Index passages, in the order of `next_passages`."""
        self.text.add(documents)
        self._is_unflushed = True
        marks = self._positions()
        for document in documents:
            stage = 0 if document.spot.role in STAGES[0] else 1
            marks[stage] = max(marks[stage], document.spot.block)

    @translates_errors
    def flush(self) -> None:
        """Make indexed passages visible to searches, and remove deleted ones."""
        deleted = [row[0] for row in self.connection.execute("select block from deleted")]
        if not deleted and not self._is_unflushed:
            return
        marks = self._positions()
        self.text.delete(deleted)
        self._make_lasting()
        stamp = self.text.commit()
        _, documents = self.text.state
        with transaction(self.connection):
            self.connection.execute(
                "delete from deleted where block in (select value from json_each(?))", (str(deleted),)
            )
            self.connection.executemany(
                "insert or replace into marks values (?, ?)",
                [
                    ("stamp", str(stamp)),
                    ("documents", str(documents)),
                    *((f"stage {number}", str(mark)) for number, mark in enumerate(marks)),
                ],
            )
        self._is_unflushed = False

    def _make_lasting(self) -> None:
        """Flush the rows: words must never point at rows that a power cut takes, for their ids would be used again."""
        self.connection.execute("pragma synchronous = full")
        try:
            # A commit with this setting flushes the write-ahead log, with all earlier commits.
            self.connection.execute("insert or replace into marks values ('lasting', '')")
        finally:
            self.connection.execute("pragma synchronous = normal")

    @translates_errors
    def read_again(self, sources: Iterable[str]) -> None:
        """Have these files read from their beginning by the next update."""
        self.connection.execute(
            "update files set bookmark = null, modified = -1 where source in (select value from json_each(?))",
            (array(sources),),
        )

    @translates_errors
    def note(self, name: str, value: str) -> None:
        """Store a value under a name."""
        self.connection.execute(NOTE, (f"note {name}", value))

    @translates_errors
    def noted(self, name: str) -> str | None:
        """Return the value stored under a name."""
        rows = select(self.connection, "select value from marks where name = ?", (f"note {name}",))
        return rows[0][0] if rows else None

    @translates_errors
    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Compute costs with these prices; recompute costs by other prices."""
        self._price = price
        if self.noted("prices") != rules_of(fingerprint):
            with transaction(self.connection):
                Counting(self.connection, price).recount()
            self.note("prices", rules_of(fingerprint))

    # Queries

    def within(self, scope: Scope) -> LocalReader:
        """Return a reader, limited to a scope."""
        return LocalReader(self, scope)

    @property
    def dialect(self) -> str:
        """The SQL dialect of `sql`."""
        return "SQLite"

    @translates_errors
    def views(self) -> list[SqlView]:
        """Return the documented views."""
        return views(self.connection)

    def run(self, statement: str, limit: int, seconds: float) -> StatementResult:
        """Run one read-only statement, on all rows."""
        return self._statements.run(self.readable_file(), statement, limit, seconds)

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Open rows and words of one moment. Inside another snapshot, return that one."""
        text = self.text  # first: opening it may reopen the rows
        return self._snapshots.open(self.connection, text)

    def _positions(self) -> list[int]:
        """Return the last indexed passage of each stage in this process."""
        if self._marks is None:
            self._marks = self._stored_marks()
        return self._marks

    def _stored_marks(self) -> list[int]:
        """Return the last indexed passage of each stage as of the last commit."""
        stamp, searcher = self.text.current()
        return marks_at(stamp, read_commit(self.connection), searcher)
