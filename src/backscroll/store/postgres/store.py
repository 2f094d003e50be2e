"""The store of a team server: the rows and words of one organisation, in PostgreSQL."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Self
from weakref import WeakSet

import psycopg

from backscroll.conversation.transcripts import Transcript
from backscroll.errors import BackscrollError, Busy, NothingFound
from backscroll.store.base import PassageText, PendingPassage, SqlView
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.postgres.checking import problems_of
from backscroll.store.postgres.connection import OwnerRows, PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.indexing import CONTENT, WordWriter
from backscroll.store.postgres.joined_chats import forget_gone
from backscroll.store.postgres.migrate import is_current
from backscroll.store.postgres.reader import PgReader
from backscroll.store.postgres.tables import PgTables
from backscroll.store.postgres.user_sql import views_of
from backscroll.store.prices import AnswerPrice
from backscroll.store.reader import IndexedFile, Scope
from backscroll.store.search.waiting import waiting_passages
from backscroll.store.search.words import STAGES
from backscroll.store.sql.counting import Counting, rules_of, unpriced
from backscroll.store.sql.row_tables import NOTE
from backscroll.store.sql.statements import array, select

WRITERS: Final = 0x6273
"""The class of the locks of writers; each lock has the number of its organisation."""
MIGRATED: Final[WeakSet[psycopg.Connection[tuple[Any, ...]]]] = WeakSet()
"""Connections to databases that are known to have the tables of this version."""
TABLES: Final = (
    "files", "chats", "records", "blocks", "calls", "shared_calls", "counted", "shared_answers", "spent",
    "client_totals", "unrecorded", "problems", "links", "titles", "deleted", "marks", "words", "lexicon",
    "joined_chats",
)  # fmt: skip


def outdated(address: str) -> list[int]:
    """Return the organisations whose index has words by older rules."""
    connection = PgConnection(address)
    try:
        with translate_errors():
            rows = connection.as_owner().execute(OUTDATED, (CONTENT,)).fetchall()
    finally:
        connection.close()
    return [int(number) for (number,) in rows]


class PgStore:
    """The index of one organisation, derived from its transcripts. `migrate` creates the tables beforehand."""

    def __init__(self, address: str, org: int, sql_login: str | None = None) -> None:
        """Open the store; `sql_login` is the address for people's own SQL, if it is not `address` for that login."""
        self.address = address
        self.org = org
        self._sql_login = sql_login
        self._price: AnswerPrice = unpriced
        self._connection = PgConnection(address, self._open)
        self._is_writing = False
        self._writer: WordWriter | None = None
        self._known_marks: dict[str, str] | None = None

    # Opening and closing

    @property
    def exists(self) -> bool:
        """Whether the organisation has an index."""
        return self._current() is not None

    def _current(self) -> int | None:
        """Return the build that is in use now."""
        raw = self._connection.as_owner()
        with translate_errors():
            has_tables = self._connection.is_checked
            if not has_tables and raw.execute("select to_regclass('backscroll.builds')").fetchone() == (None,):
                return None
            row = raw.execute(CURRENT, (self.org,)).fetchone()
        return int(row[0]) if row else None

    def _open(self) -> PgConnection:
        """Return the connection, on the build that was in use when it was opened."""
        if self._connection.build is None:
            build = self._current()
            if build is None:
                raise NothingFound("there is no index yet", "run backscroll update")
            self._connection.refuse_unsafe_roles()
            self._use(build)
        return self._connection

    def start_writing(self) -> Self:
        """Start writing; Busy if another process writes. Creates the index if there is none."""
        if not self._is_writing:
            self._use(self._take_lock() or self._new_build(is_current=True))
        return self

    def _take_lock(self) -> int | None:
        """Take the lock of the organisation's writer; return the build that is in use now."""
        raw = self._connection.as_owner()
        with translate_errors():
            if raw not in MIGRATED:
                if not is_current(raw):
                    raise NothingFound("the database has no tables of this version", "run backscroll server migrate")
                MIGRATED.add(raw)
            self._connection.refuse_unsafe_roles()
            with raw.pipeline():
                locked = raw.execute("select pg_try_advisory_lock(%s, %s)", (WRITERS, self.org))
                current = raw.execute(CURRENT, (self.org,))  # as it is when the lock is taken
                lock_row, build = locked.fetchone(), current.fetchone()
        if lock_row != (True,):
            self.close()
            raise Busy("another process writes the index of this organisation", "wait for it, or stop it")
        self._is_writing = self._connection.is_locked = True
        return int(build[0]) if build else None

    def _release_lock(self) -> None:
        """Release the lock. If that fails, the connection is closed, and the lock is lost with it."""
        with suppress(psycopg.Error, BackscrollError):
            raw = self._connection.as_owner()
            if raw.execute("select pg_advisory_unlock(%s, %s)", (WRITERS, self.org)).fetchone() == (True,):
                self._connection.is_locked = False

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """Write a new build in this context; readers use the old one until it is complete."""
        before = self._current() if self._is_writing else self._take_lock()
        fresh = self._new_build(is_current=False)
        self._use(fresh)
        try:
            yield
        except BaseException:
            self._use(before)
            self._remove(fresh)
            raise
        raw = self._connection.as_owner()
        with self._connection.transaction(), translate_errors():
            raw.execute("update builds set is_current = false where org = %s and is_current", (self.org,))
            raw.execute("update builds set is_current = true where id = %s", (fresh,))
            forget_gone(self._connection, self.org)

    def remove_superseded(self) -> None:
        """Remove builds that were replaced; a reader that has not renewed since then gets no more results."""
        if self._is_writing:
            raw = self._connection.as_owner()
            for (build,) in raw.execute(
                "select id from builds where org = %s and not is_current and id is distinct from %s",
                (self.org, self._connection.build),
            ).fetchall():
                self._remove(int(str(build)))

    def renew(self) -> None:
        """Switch to a build that replaced this one since it was opened."""
        if not self._is_writing and self._connection.build is not None:
            self._use(self._current())

    def clone(self) -> "PgStore":
        """Return another instance of this store, for another thread."""
        return PgStore(self.address, self.org, self._sql_login)

    def close(self) -> None:
        """Close the writer and the connection, and release the lock."""
        self._end_writer()
        if self._is_writing:
            self._release_lock()
        self._connection.close()
        self._use(None)
        self._is_writing = False

    def discard(self) -> None:
        """Close the store and delete all data of the organisation."""
        raw = self._connection.as_owner()
        for (build,) in raw.execute("select id from builds where org = %s", (self.org,)).fetchall():
            self._remove(int(str(build)))
        raw.execute("delete from first_chats where org = %s", (self.org,))
        self.close()

    def take_notices(self) -> list[str]:
        """Return no notices: tables of another version are migrated, not rebuilt."""
        return []

    def problems(self) -> list[str]:
        """Return the problems of the index; empty if it is sound."""
        return problems_of(self._open())

    def size(self) -> int:
        """Estimate the bytes of the index: its share of the tables, by the number of records."""
        if self._current() is None:
            return 0
        row = self._connection.as_owner().execute(SIZE, {"org": self.org}).fetchone()
        return int(float(str(row[0]))) if row else 0

    def _new_build(self, *, is_current: bool) -> int:
        raw = self._connection.as_owner()
        with translate_errors():
            row = raw.execute(
                "insert into builds (org, is_current, content) values (%s, %s, %s) returning id",
                (self.org, is_current, CONTENT),
            ).fetchone()
        assert row is not None  # noqa: S101 - an insert returns its row
        return int(row[0])

    def _use(self, build: int | None) -> None:
        self._connection.build = build
        self._end_writer()

    def _end_writer(self) -> None:
        """Close the writer, and forget the marks it wrote."""
        self._known_marks = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _remove(self, build: int) -> None:
        before = self._connection.build
        self._connection.build = build
        try:
            with self._connection.transaction(), translate_errors():
                raw = self._connection.as_owner()
                for table in TABLES:
                    raw.execute(f"delete from {table} where build = %s", (build,))  # noqa: S608 - a name of ours
                raw.execute("delete from builds where id = %s", (build,))
        finally:
            self._connection.build = before

    # Rows

    def _tables(self, marks: dict[str, str] | None = None) -> PgTables:
        return PgTables(self._open(), self._price, {} if marks is None else marks)

    def _marks(self) -> dict[str, str]:
        """Return the stored marks; while this process writes, no other changes them."""
        if self._known_marks is None or not self._is_writing:
            self._known_marks = dict(select(OwnerRows(self._open()), "select name, value from marks"))
        return self._known_marks

    @contextmanager
    def _changing_marks(self) -> Iterator[dict[str, str]]:
        """Return the stored marks, to be changed together with the table; after an error they are read again."""
        try:
            yield self._marks()
        except BaseException:
            self._end_writer()
            raise

    def indexed_files(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """Return the indexed files, by id."""
        return self._tables().known(sources)

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing; return the ids of its new files."""
        self.flush()  # the words of passages to be deleted may still be being written
        with self._changing_marks() as marks:
            return self._tables(marks).write(batch)

    def related_chats(self, keys: ChatKeys) -> set[int]:
        """Return the chats that share something with these keys."""
        return self._tables().related(keys)

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """Return the chats that these files are part of."""
        return self._tables().chats_of(files)

    def load_transcripts(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """Return the transcripts of these chats as they were saved, by file."""
        return list(self._tables().load(chats))

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """Return the titles of these rows, by row and by the file that has the title."""
        return self._tables().titles_of(rows)

    def chats_titled_by(self, file: int) -> set[int]:
        """Return the chats of rows that a file has titles for."""
        return self._tables().titled_by(file)

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """Return the titles of rows in these files, by row and by the file that has the title."""
        return self._tables().titles(files)

    # Words

    def next_passages(self, limit: int) -> list[PendingPassage]:
        """Return the passages to index next, the worthiest first."""
        marks = self._marks()
        places = [int(marks.get(f"stage {number}", 0)) for number in range(len(STAGES))]
        return waiting_passages(OwnerRows(self._open()), places, limit)

    def index(self, documents: Sequence[PassageText]) -> None:
        """Index passages, in the order of `next_passages`."""
        if documents:
            if self._writer is None:
                self._writer = WordWriter(self._open())
            with self._changing_marks() as marks:
                marks.update(self._writer.add(documents))

    def flush(self) -> None:
        """Wait until all words are written. Words of deleted passages are deleted in the transaction of their rows."""
        if self._writer is not None:
            with self._changing_marks():
                self._writer.settle()

    def read_again(self, sources: Iterable[str]) -> None:
        """Have these files read from their beginning by the next update."""
        OwnerRows(self._open()).execute(
            "update files set bookmark = null, modified = -1 where source in (select value from json_each(?))",
            (array(sources),),
        )

    def note(self, name: str, value: str) -> None:
        """Store a value under a name."""
        with self._changing_marks() as marks:
            if marks.get(f"note {name}") != value:
                OwnerRows(self._open()).execute(NOTE, (f"note {name}", value))
                marks[f"note {name}"] = value

    def noted(self, name: str) -> str | None:
        """Return the value stored under a name."""
        return self._marks().get(f"note {name}")

    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Compute costs with these prices; recompute costs by other prices."""
        self._price = price
        if self.noted("prices") != rules_of(fingerprint):
            with self._changing_marks(), self._connection.transaction():
                Counting(OwnerRows(self._connection), price).recount()
                self.note("prices", rules_of(fingerprint))

    # Queries

    def within(self, scope: Scope) -> PgReader:
        """Return a reader, limited to a scope."""
        return PgReader(self._open(), scope, self._sql_login)

    @property
    def dialect(self) -> str:
        """The SQL dialect of `sql`."""
        return "PostgreSQL"

    def views(self) -> list[SqlView]:
        """Return the documented views."""
        return views_of(self._connection)


OUTDATED: Final = "select org from builds where is_current and content < %s order by org"
CURRENT: Final = "select id from builds where org = %s and is_current"
SIZE: Final = """
select (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c
  where c.relkind = 'r' and c.relnamespace = 'backscroll'::regnamespace)
  * (select sum(last_record + 1) from builds where org = %(org)s) / (select sum(last_record + 1) from builds)
"""
