"""The store of one machine: rows in a SQLite file, words in a text index beside it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from backscroll.conversation.passages import Role
from backscroll.conversation.transcripts import Transcript
from backscroll.errors import NothingFound
from backscroll.query.tree import Query
from backscroll.store.base import (
    Hit,
    IndexedFile,
    PassageText,
    PendingCounts,
    PendingPassage,
    Scope,
    SearchPage,
    SqlView,
    StoredChat,
    Table,
)
from backscroll.store.batches import Batch, ChatKeys, readable
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.checking import problems_of
from backscroll.store.local.counting import Counting, unpriced
from backscroll.store.local.database import array, select, transaction, views
from backscroll.store.local.faults import guarded, guarded_items
from backscroll.store.local.generations import has_any, size_of
from backscroll.store.local.opening import OpenIndex
from backscroll.store.local.reports import LocalReports
from backscroll.store.local.rows import WAITING, RowTables
from backscroll.store.local.search import ChatSizes, Search
from backscroll.store.local.shapes import ChatPieces
from backscroll.store.local.sql import StatementRunner
from backscroll.store.local.text import STAGES
from backscroll.store.prices import AnswerPrice


class LocalStore(OpenIndex, ChatPieces):
    """Everything that is derived, below one folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._statements = StatementRunner()
        self._price: AnswerPrice = unpriced
        self._marks: list[int] | None = None
        self._is_unflushed = False
        self._shape: tuple[object, ChatSizes] | None = None

    def close(self) -> None:
        """Let go of everything."""
        self._statements.close()
        super().close()

    def clone(self) -> "LocalStore":
        """The same store opened once more, for another thread."""
        return LocalStore(self.folder)

    def size(self) -> int:
        """How many bytes it takes up on the disk."""
        return size_of(self.folder)

    def problems(self) -> list[str]:
        """What is wrong with it; empty if it is sound."""
        if not self.exists:
            if not has_any(self.folder):
                raise NothingFound("there is no index yet", "run backscroll update")
            return ["it cannot be opened"]
        return problems_of(self)

    def _let_go(self) -> None:
        self._marks = self._shape = None
        self._is_unflushed = False
        super()._let_go()

    # Rows

    @guarded
    def indexed_files(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """The files that were read, by id."""
        return RowTables(self.connection).known(sources)

    @guarded
    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing. Returns the ids of its new files."""
        return RowTables(self.connection, self._price).write(batch)

    @guarded
    def related_chats(self, keys: ChatKeys) -> set[int]:
        """The chats that share something with these keys."""
        return RowTables(self.connection).related(keys)

    @guarded
    def chats_of(self, files: Iterable[int]) -> set[int]:
        """The chats that these files are part of."""
        return RowTables(self.connection).chats_of(files)

    @guarded
    def load_transcripts(self, chats: Iterable[int]) -> list[tuple[int, Transcript]]:
        """The transcripts of these chats as they were saved, by file."""
        return list(RowTables(self.connection).load(chats))

    @guarded
    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """The titles that these rows were given, by row and by the file that gives it."""
        return RowTables(self.connection).titles_of(rows)

    @guarded
    def chats_titled_by(self, file: int) -> set[int]:
        """The chats of rows that a file gives titles to."""
        return RowTables(self.connection).titled_by(file)

    @guarded
    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The titles that rows of these files were given, by row and by the file that gives it."""
        return RowTables(self.connection).titles(files)

    # Words

    @guarded
    def next_passages(self, limit: int) -> list[PendingPassage]:
        """The passages that are to be made findable next, the worthiest first."""
        for stage, mark in zip(STAGES, self._positions(), strict=True):
            found = select(self.connection, WAITING.format(roles=_quoted(stage)), (mark, limit))
            if found:
                return [
                    PendingPassage(block, Role(role), readable(source or ""), start or 0, length or 0, number,
                                   file or 0, at, tool, bool(is_error), bool(is_agent), title)
                    for block, role, source, start, length, number, file, at, tool, is_error, is_agent, title in found
                ]  # fmt: skip
        return []

    @guarded
    def index(self, documents: Sequence[PassageText]) -> None:
        """Make passages findable, in the order of `next_passages`."""
        self.text.add(documents)
        self._is_unflushed = True
        marks = self._positions()
        for document in documents:
            stage = 0 if document.spot.role in STAGES[0] else 1
            marks[stage] = max(marks[stage], document.spot.block)

    @guarded
    def flush(self) -> None:
        """Let searches see what was indexed, and no longer what was deleted."""
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
        """Flush the rows: words must never point at rows that a power cut takes, for their ids would be given again."""
        self.connection.execute("pragma synchronous = full")
        try:
            # A commit with this setting flushes the write-ahead log, and with it all that was committed before.
            self.connection.execute("insert or replace into marks values ('lasting', '')")
        finally:
            self.connection.execute("pragma synchronous = normal")

    @guarded
    def read_again(self, sources: Iterable[str]) -> None:
        """Have these files read from their beginning by the next update."""
        self.connection.execute(
            "update files set bookmark = null, modified = -1 where source in (select value from json_each(?))",
            (array(sources),),
        )

    @guarded
    def pending(self) -> PendingCounts:
        """What is not findable yet."""
        total = 0
        roles: list[str] = []
        for stage, mark in zip(STAGES, self._stored_marks(), strict=True):
            found = select(
                self.connection,
                f"select role, count(*) from blocks where id > ? and role in ({_quoted(stage)}) group by role",  # noqa: S608
                (mark,),
            )
            total += sum(count for _, count in found)
            roles += [role for role in stage if any(role == name for name, _ in found)]
        return PendingCounts(total, tuple(roles))

    @guarded
    def note(self, name: str, value: str) -> None:
        """Remember something about what was read."""
        self.connection.execute("insert or replace into marks values (?, ?)", (f"note {name}", value))

    @guarded
    def noted(self, name: str) -> str | None:
        """What was remembered."""
        found = select(self.connection, "select value from marks where name = ?", (f"note {name}",))
        return found[0][0] if found else None

    @guarded
    def use_prices(self, price: AnswerPrice, fingerprint: str) -> None:
        """Count costs with these prices; what was counted with others is counted anew."""
        self._price = price
        if self.noted("prices") != fingerprint:
            with transaction(self.connection):
                Counting(self.connection, price).recount()
            self.note("prices", fingerprint)

    # Questions

    @guarded
    def search(self, query: Query, scope: Scope, *, sort: str, limit: int, offset: int, hits: int) -> SearchPage:
        """The chats that answer a query, with their best passages."""
        return self._search(scope).run(query, sort=sort, limit=limit, offset=offset, hits=hits)

    @guarded
    def chats(
        self, query: Query | None, scope: Scope, *, sort: str, limit: int | None, offset: int
    ) -> list[StoredChat]:
        """The chats that the fields of a query accept; its words are looked for in titles."""
        return ChatRows(self.connection, scope).chats(query, sort=sort, limit=limit, offset=offset)

    @guarded_items
    def passages(self, query: Query, scope: Scope, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may answer a query, one by one; regular expressions are left to the caller."""
        return self._search(scope).passages(query, oldest_first=oldest_first)

    @guarded
    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """These chats."""
        return ChatRows(self.connection, Scope()).of(chats)

    @guarded
    def reports(
        self, query: Query | None, scope: Scope, *, since: int | None = None, until: int | None = None
    ) -> LocalReports:
        """What reports are made of, about the chats that a query accepts, and a time."""
        rows = ChatRows(self.connection, scope)
        files = rows.files(query.root) if query and not query.is_empty else rows.files_in_homes()
        return LocalReports(self.connection, array(files) if files is not None else None, since, until)

    @guarded
    def similar(self, word: str) -> list[str]:
        """Words of the index that look like one which is not there, the most frequent first."""
        return self.text.similar(word)

    @guarded
    def find(self, name: str, scope: Scope) -> list[StoredChat]:
        """The chats that this is the beginning of the id of, or of a session, message or agent in them."""
        return ChatRows(self.connection, scope).find(name)

    @guarded
    def homes(self) -> set[tuple[str, str]]:
        """The homes that it has files of, each with its machine."""
        found = select(self.connection, "select distinct machine, home from files")
        return {(readable(machine), readable(home)) for machine, home in found}

    @guarded
    def sources(self, chat: int) -> list[str]:
        """The files of a chat."""
        found = select(self.connection, "select source from files where chat = ? order by id", (chat,))
        return [readable(source) for (source,) in found]

    @property
    def dialect(self) -> str:
        """The SQL that `sql` understands."""
        return "SQLite"

    @guarded
    def views(self) -> list[SqlView]:
        """The documented views."""
        return views(self.connection)

    @guarded
    def sql(self, statement: str, limit: int, seconds: float) -> Table:
        """Run one statement that only reads."""
        return self._statements.run(self.readable_file(), statement, limit, seconds)

    def _search(self, scope: Scope) -> Search:
        searcher = self.text.searcher()
        version = (self.connection.pragma("data_version"), self.connection.total_changes(), self.text.opstamp)
        if self._shape is None or self._shape[0] != version:
            self._shape = (version, ChatSizes.of(self.connection, searcher))
        return Search(self.connection, searcher, self._shape[1], scope)

    def _positions(self) -> list[int]:
        """How far each stage has come in this process."""
        if self._marks is None:
            self._marks = self._stored_marks()
        return self._marks

    def _stored_marks(self) -> list[int]:
        """The same as the last commit left it: as noted with the rows, or if that is of another commit, by looking."""
        text = self.text
        noted = dict(select(self.connection, "select name, value from marks"))
        if noted.get("stamp") == str(text.opstamp):
            return [int(noted[f"stage {number}"]) for number in range(len(STAGES))]
        return text.marks()


def _quoted(roles: Iterable[Role]) -> str:
    return ", ".join(f"'{role}'" for role in roles)
