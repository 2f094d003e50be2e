"""The store of one machine: rows in a SQLite file, words in a text index beside it."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import apsw

from backscroll.conversation import Role, Transcript
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.query import Query
from backscroll.store.base import Answer, Batch, Document, Hit, Keys, Known, Passing, Pending, Spot, StoredChat, Table
from backscroll.store.local.chats import ChatRows
from backscroll.store.local.database import WriteLock, connect, create, is_ours, limited, select, set_aside, transaction
from backscroll.store.local.rows import Rows
from backscroll.store.local.search import Search
from backscroll.store.local.text import STAGES, TextIndex

ROLES: Final = tuple(role for stage in STAGES for role in stage)


class LocalStore:
    """Everything that is derived, below one folder. Opened to read; `writing` makes it this process's to write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []
        """What the user should know of: a file that was set aside."""
        self._lock: WriteLock | None = None
        self._connection: apsw.Connection | None = None
        self._marks: list[int] | None = None

    @property
    def file(self) -> Path:
        """The rows."""
        return self.folder / "rows.sqlite"

    def writing(self) -> Self:
        """Become the one who writes; Busy if another process is. Makes what is missing, sets aside what is broken."""
        if self._lock is None:
            self._lock = WriteLock(self.folder)
            self.close_connections()
        if not is_ours(self.file):
            if moved := set_aside(self.file):
                self.notices.append(
                    f"the index could not be used and is made anew; the old one is {moved.name} in {self.folder}"
                )
            create(self.file)
        return self

    def close(self) -> None:
        """Let go of everything."""
        if "text" in self.__dict__:
            self.text.close()
        self.close_connections()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def close_connections(self) -> None:
        """Let go of the rows; they are opened again when needed."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def connection(self) -> apsw.Connection:
        """The rows, opened."""
        if self._connection is None:
            if self._lock is None and not is_ours(self.file):
                raise NothingFound("there is no index yet", "run backscroll update")
            self._connection = connect(self.file, write=self._lock is not None)
            if self._lock is not None:
                # A crash of the machine may cost the last batch, which is then read again; never the file.
                self._connection.execute("pragma synchronous = normal")
        return self._connection

    @cached_property
    def text(self) -> TextIndex:
        """The words, opened."""
        index, is_fresh = TextIndex.open(self.folder / "text")
        if is_fresh:
            self.notices.append("the text index could not be used and is made anew")
        return index

    @property
    def exists(self) -> bool:
        """Whether there is anything to read."""
        return is_ours(self.file)

    # Rows

    def known(self) -> dict[str, Known]:
        """Every file that was read, by its path."""
        return Rows(self.connection).known()

    def known_at(self, paths: Iterable[str]) -> dict[str, Known]:
        """Those of these files that were read."""
        return Rows(self.connection).known(paths)

    def begin(self) -> Batch:
        """A batch to fill."""
        return Rows(self.connection).begin()

    def write(self, batch: Batch) -> None:
        """Write all of it, or nothing."""
        Rows(self.connection).write(batch)

    def related(self, keys: Keys) -> set[int]:
        """The chats that share something with these keys."""
        return Rows(self.connection).related(keys)

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """The chats that these files are part of."""
        return Rows(self.connection).chats_of(files)

    def load(self, chats: Iterable[int]) -> Iterator[tuple[int, Transcript]]:
        """The transcripts of these chats as they were saved, by file."""
        return Rows(self.connection).load(chats)

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The titles that rows of these files were given, by row and by the path of who gives it."""
        return Rows(self.connection).titles(files)

    # Words

    def waiting(self, limit: int) -> list[Spot]:
        """The passages that are to be made findable next, the worthiest first."""
        for stage, mark in zip(STAGES, self._positions(), strict=True):
            found = select(self.connection, WAITING.format(roles=_quoted(stage)), (mark, limit))
            if found:
                return [
                    Spot(block, Role(role), path or "", start or 0, length or 0, number, file or 0, at, tool,
                         bool(is_error), bool(is_agent), title)
                    for block, role, path, start, length, number, file, at, tool, is_error, is_agent, title in found
                ]  # fmt: skip
        return []

    def index(self, documents: Sequence[Document]) -> None:
        """Make passages findable, in the order of `waiting`."""
        self.text.add(documents)
        marks = self._positions()
        for document in documents:
            stage = 0 if document.spot.role in STAGES[0] else 1
            marks[stage] = max(marks[stage], document.spot.block)

    def flush(self) -> None:
        """Let searches see what was indexed, and forget what was deleted."""
        marks = self._positions()
        deleted = [row[0] for row in self.connection.execute("select block from deleted")]
        self.text.delete(deleted)
        stamp = self.text.commit()
        with transaction(self.connection):
            self.connection.execute(
                "delete from deleted where block in (select value from json_each(?))", (str(deleted),)
            )
            self.connection.executemany(
                "insert or replace into marks values (?, ?)",
                [("stamp", str(stamp)), *((f"stage {number}", str(mark)) for number, mark in enumerate(marks))],
            )

    def needs_flush(self) -> bool:
        """Whether something was deleted that searches still see."""
        return bool(self.connection.execute("select 1 from deleted limit 1").fetchall())

    def pending(self) -> Pending:
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
        return Pending(total, tuple(roles))

    def note(self, name: str, value: str) -> None:
        """Remember something about what was read."""
        self.connection.execute("insert or replace into marks values (?, ?)", (f"note {name}", value))

    def noted(self, name: str) -> str | None:
        """What was remembered."""
        found = select(self.connection, "select value from marks where name = ?", (f"note {name}",))
        return found[0][0] if found else None

    # Questions

    def search(self, query: Query, passing: Passing, *, sort: str, limit: int, offset: int, hits: int) -> Answer:
        """The chats that answer a query, with their best passages."""
        return Search(self.connection, self.text, passing).run(query, sort=sort, limit=limit, offset=offset, hits=hits)

    def chats(
        self, query: Query | None, passing: Passing, *, sort: str, limit: int | None, offset: int
    ) -> list[StoredChat]:
        """The chats that the fields of a query accept; its words are looked for in titles."""
        return ChatRows(self.connection, passing).chats(query, sort=sort, limit=limit, offset=offset)

    def passages(self, query: Query, passing: Passing, *, oldest_first: bool = False) -> Iterator[Hit]:
        """Every passage that may answer a query, one by one; regular expressions are left to the caller."""
        return Search(self.connection, self.text, passing).passages(query, oldest_first=oldest_first)

    def chats_by_key(self, chats: list[int]) -> dict[int, StoredChat]:
        """These chats."""
        return ChatRows(self.connection, Passing()).of(chats)

    def similar(self, word: str) -> list[str]:
        """Words of the index that look like one which is not there, the most frequent first."""
        return self.text.similar(word)

    def find(self, name: str, passing: Passing) -> list[StoredChat]:
        """The chats that this is the beginning of the id of, or of a session, message or agent in them."""
        return ChatRows(self.connection, passing).find(name)

    def paths(self, chat: int) -> list[tuple[str, bool]]:
        """The files of a chat, each with whether it is only in the archive."""
        found = select(self.connection, "select path, archived from files where chat = ? order by id", (chat,))
        return [(path, bool(archived)) for path, archived in found]

    def sql(self, statement: str, limit: int, seconds: float) -> Table:
        """Run one statement that only reads."""
        connection = connect(self.file, write=False) if self.exists else self.connection
        over = time.monotonic() + seconds
        try:
            connection.execute("pragma query_only = on")
            with limited(connection, lambda: time.monotonic() > over):
                cursor = connection.execute(statement)
                columns = [name for name, *_ in cursor.get_description()]
                rows = [row for row, _ in zip(cursor, range(limit + 1), strict=False)]
        except apsw.ExecutionCompleteError:
            return Table([], [], is_cut=False)
        except apsw.InterruptError as error:
            hint = "ask for less, or give it more time with --seconds"
            raise BackscrollError(f"the statement took longer than {seconds:g} seconds", hint) from error
        except apsw.Error as error:
            raise UsageError(f"SQL: {error}", "see backscroll sql --help for the views") from error
        finally:
            connection.close()
        return Table(columns, rows[:limit], is_cut=len(rows) > limit)

    def _positions(self) -> list[int]:
        """How far each stage has come in this process."""
        if self._marks is None:
            self._marks = self._stored_marks()
        return self._marks

    def _stored_marks(self) -> list[int]:
        """The same as the last commit left it: as noted with the rows, or if that is of another commit, by looking."""
        noted = dict(select(self.connection, "select name, value from marks"))
        if noted.get("stamp") == str(self.text.opstamp):
            return [int(noted[f"stage {number}"]) for number in range(len(STAGES))]
        return self.text.marks()


def _quoted(roles: Iterable[Role]) -> str:
    return ", ".join(f"'{role}'" for role in roles)


WAITING: Final = """
select b.id, b.role, f.path, r.start, r.length, b.number,
  coalesce(f.id, (select min(id) from files where chat = b.chat)),
  coalesce(r.time, c.last_active),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.error,
  f.agent is not null or coalesce(r.sidechain, 0), c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id > ? and b.role in ({roles})
order by b.id limit ?
"""
