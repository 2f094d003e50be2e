"""Write batches of rows, each in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from backscroll.conversation.overview import Overview
from backscroll.store.batches import Batch, ChatKeys, readable
from backscroll.store.prices import AnswerPrice
from backscroll.store.sql.calls import CallPairs
from backscroll.store.sql.chat_writing import DELETE_WORDS, ChatWriter
from backscroll.store.sql.counting import Counting, unpriced
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.saved_files import SavedFiles
from backscroll.store.sql.statements import RowWriter, array, parts, plainly


class RowTables(SavedFiles, ABC):
    """The tables of a store, to be written. An engine adds how it gives ids and how it inserts many rows."""

    def __init__(self, connection: RowWriter, price: AnswerPrice = unpriced) -> None:
        super().__init__(connection)
        self._connection = connection
        self._price = price
        self._has_deleted = False
        """Whether passages were deleted that have words."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """All or nothing."""

    @abstractmethod
    def _new_ids(self, batch: Batch) -> NewIds:
        """The ids for what is new in a batch."""

    @abstractmethod
    def _insert(self, batch: Batch, ids: NewIds) -> None:
        """Insert the files, records and passages of a batch; files that exist are brought up to date."""

    @abstractmethod
    def _keep(self, ids: NewIds) -> None:
        """Remember which ids were given."""

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing. Returns the ids of its new files."""
        try:
            return self._write(batch)
        except UnicodeEncodeError:
            _make_plain(batch)
            return self._write(batch)

    def _write(self, batch: Batch) -> dict[int, int]:
        with self._transaction():
            ids = self._new_ids(batch)
            counting = Counting(self._connection, self._price)
            pairs = CallPairs(self._connection)
            counting.drop([*batch.emptied, *batch.removed])
            lost = self._empty([*batch.emptied, *batch.removed], pairs)
            self._many("delete from files where id = ?", [(number,) for number in batch.removed])
            self._many("update files set archived = true where id = ?", [(number,) for number in batch.archived])
            self._insert(batch, ids)
            lost |= self._withdraw(batch, ids, pairs)
            pairs.find(batch, ids, lost)
            self._renew_results(pairs.early_results, ids)
            pairs.pair(batch, ids)
            self._many(INSERT_PROBLEM, [(ids.file(file), *told) for file, *told in batch.problems])
            self._many(INSERT_LINK, [(key, ids.file(file)) for key, file in batch.links])
            self._many(INSERT_TITLE, [(row, ids.file(file), title) for row, file, title in batch.titles])
            counting.add(batch, ids)
            counting.count()
            chats = ChatWriter(self._connection, batch, ids)
            chats.write()
            self._has_deleted |= chats.has_deleted
            self._keep(ids)
            self._note_overdue(array(map(ids.file, batch.overdue)) if batch.overdue else "")
            if chats.may_adopt:
                self._connection.execute(ADOPT)
        return {-number: ids.file(-number) for number in range(1, batch.new_files + 1)}

    def related(self, keys: ChatKeys) -> set[int]:
        """The chats that share a key with these."""
        chats: set[int] = set()
        for some in parts([*keys.rows, *(f"session {name}" for name in keys.sessions)]):
            chats.update(self._column(RELATED, some, some))
        answers = {(message, began) for began, some in keys.messages.items() if began for message in some}
        for some in parts({message for message, _ in answers}):
            found = self._all(REPEATED, some)
            chats.update(chat for chat, message, began in found if (readable(message), readable(began)) in answers)
        return chats

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """The chats that these files are part of."""
        chats: set[int] = set()
        for some in parts(files):
            chats.update(
                self._column(
                    "select chat from files where chat is not null and id in (select value from json_each(?))", some
                )
            )
        return chats

    def titled_by(self, file: int) -> set[int]:
        """The chats of the rows that a file has titles for."""
        statement = (
            "select f.chat from titles t join records r on r.uuid = t.row join files f on f.id = r.file"
            " where t.file = ? and f.chat is not null"
        )
        return set(self._column(statement, file))

    def _empty(self, files: list[int], pairs: CallPairs) -> set[str]:
        """Delete the rows of these files; returns the calls in them."""
        calls: set[str] = set()
        for number in files:
            calls |= set(
                self._column(
                    "select b.call from blocks b join records r on r.id = b.record"
                    " where r.file = ? and b.role = 'input' and b.call is not null",
                    number,
                )
            )
            pairs.drop("select id from records where file = ?", number)
            self._has_deleted = True
            self._connection.execute(
                "insert into deleted (block)"
                " select b.id from blocks b join records r on r.id = b.record where r.file = ? on conflict do nothing",
                (number,),
            )
            for statement in (
                "delete from blocks where record in (select id from records where file = ?)",
                "delete from records where file = ?",
                "delete from problems where file = ?",
                "delete from links where file = ?",
                "delete from titles where file = ?",
                "update files set has_image = false, has_thinking = false, has_diff = false where id = ?",
            ):
                self._connection.execute(statement, (number,))
        return calls

    def _renew_results(self, early: list[int], ids: NewIds) -> None:
        """Have results indexed again whose tool has become known, because their call came after them, or unknown."""
        self._has_deleted |= bool(early)
        self._many(DELETE_WORDS, [(number,) for number in early])
        self._many("update blocks set id = ? where id = ?", [(ids.new_block(), number) for number in early])

    def _note_overdue(self, files: str) -> None:
        """Remember which chats are to be brought up to date, by a file of each."""
        self._connection.execute(NOTE, (OVERDUE, files))

    def _withdraw(self, batch: Batch, ids: NewIds, pairs: CallPairs) -> set[str]:
        """Delete the rows that are no longer there; returns the calls in them."""
        calls: set[str] = set()
        for file, uuid in batch.withdrawn:
            for (record,) in self._all("select id from records where file = ? and uuid = ?", ids.file(file), uuid):
                calls |= set(
                    self._column(
                        "select call from blocks where record = ? and role = 'input' and call is not null", record
                    )
                )
                pairs.drop("?", record)
                self._has_deleted = True
                self._connection.execute(
                    "insert into deleted (block) select id from blocks where record = ? on conflict do nothing",
                    (record,),
                )
                self._connection.execute("delete from blocks where record = ?", (record,))
                self._connection.execute("delete from records where id = ?", (record,))
        return calls

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(statement, rows)


def _make_plain(batch: Batch) -> None:
    """Replace what the engine does not accept in every text of a batch."""
    for name in ("files", "records", "blocks", "usage", "problems", "links", "titles", "withdrawn"):
        rows = getattr(batch, name)
        rows[:] = [
            type(row)(*map(plainly, row)) if hasattr(row, "_fields") else tuple(map(plainly, row)) for row in rows
        ]
    for change in batch.chats:
        change.overview = msgspec.convert(plainly(msgspec.to_builtins(change.overview)), Overview)


# A spilled tool result belongs to the chat of its session.
ADOPT: Final = """
update files set chat = (select s.chat from files s where s.session = files.session and s.kind = 'session' limit 1)
where kind = 'tool-result' and chat is null
"""
INSERT_PROBLEM: Final = "insert into problems (file, line, start, kind, detail) values (?, ?, ?, ?, ?)"
INSERT_LINK: Final = "insert into links (key, file) values (?, ?) on conflict do nothing"
INSERT_TITLE: Final = """
insert into titles (row, file, title) values (?, ?, ?) on conflict (row, file) do update set title = excluded.title
"""
OVERDUE: Final = "note overdue"
RELATED: Final = """
select distinct chat from files where chat is not null and id in (
  select file from records where uuid in (select value from json_each(?))
  union select file from links where key in (select value from json_each(?)))
"""
REPEATED: Final = """
select distinct f.chat, r.message, f.first_typed from records r join files f on f.id = r.file
where r.message in (select value from json_each(?)) and f.chat is not null
"""
NOTE: Final = "insert into marks (name, value) values (?, ?) on conflict (name) do update set value = excluded.value"
