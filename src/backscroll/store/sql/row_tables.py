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
from backscroll.store.sql.chat_sums import renew_chat_sums
from backscroll.store.sql.chat_writing import DELETE_WORDS, ChatWriter
from backscroll.store.sql.counting import Counting, unpriced
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.saved_files import SavedFiles
from backscroll.store.sql.statements import RowWriter, array, parts, plainly
from backscroll.store.sql.unrecorded import ClientTotals


class RowTables(SavedFiles, ABC):
    """The tables of a store, for writing. An engine adds the ways to assign ids and to insert many rows."""

    def __init__(self, connection: RowWriter, price: AnswerPrice = unpriced) -> None:
        super().__init__(connection)
        self._connection = connection
        self._price = price
        self._has_deleted = False
        """Whether passages with words were deleted."""

    @abstractmethod
    def _transaction(self) -> AbstractContextManager[object]:
        """Write everything in it as one transaction, or nothing."""

    @abstractmethod
    def _new_ids(self, batch: Batch) -> NewIds:
        """Return the ids for the new rows of a batch."""

    @abstractmethod
    def _insert(self, batch: Batch, ids: NewIds) -> None:
        """Insert the files, records and passages of a batch; update files that exist."""

    @abstractmethod
    def _keep(self, ids: NewIds) -> None:
        """Store the highest ids that were given."""

    def _note_chats(self, chats: set[int]) -> None:
        """Record chats whose files have changed, for an engine that needs it; most do nothing."""

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing; return the ids of its new files."""
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
            totals = ClientTotals(self._connection, self._price)
            counting.drop([*batch.emptied, *batch.removed])
            totals.drop([*batch.emptied, *batch.removed])
            lost = self._empty([*batch.emptied, *batch.removed], pairs)
            self._many("delete from files where id = ?", [(number,) for number in batch.removed])
            self._many("update files set archived = true where id = ?", [(number,) for number in batch.archived])
            self._insert(batch, ids)
            lost |= self._withdraw(batch, ids, pairs)
            pairs.find(batch, ids, lost)
            self._renew_results(pairs.early_results, ids)
            pairs.pair(batch, ids)
            self._many(INSERT_PROBLEM, [(ids.file(file), *columns) for file, *columns in batch.problems])
            self._many(INSERT_LINK, [(key, ids.file(file)) for key, file in batch.links])
            self._many(INSERT_TITLE, [(row, ids.file(file), title) for row, file, title in batch.titles])
            counting.add(batch, ids)
            counting.count()
            totals.add(batch, ids, counting.changed_answers)
            totals.renew()
            chats = ChatWriter(self._connection, batch, ids)
            chats.write()
            renew_chat_sums(self._connection, chats.regrouped, counting.changed_files | totals.changed_files)
            if chats.may_adopt:
                self._note_chats(chats.regrouped)
            self._has_deleted |= chats.has_deleted
            self._keep(ids)
            self._note_overdue(array(map(ids.file, batch.overdue)) if batch.overdue else "")
            if chats.may_adopt:
                self._connection.execute(ADOPT)
        return {-number: ids.file(-number) for number in range(1, batch.new_files + 1)}

    def related(self, keys: ChatKeys) -> set[int]:
        """Return the chats that share a key with these."""
        chats: set[int] = set()
        for some in parts([*keys.rows, *(f"session {name}" for name in keys.sessions)]):
            chats.update(self._column(RELATED, some, some))
        answers = {(message, began) for began, some in keys.messages.items() if began for message in some}
        for some in parts({message for message, _ in answers}):
            rows = self._all(REPEATED, some)
            chats.update(chat for chat, message, began in rows if (readable(message), readable(began)) in answers)
        return chats

    def chats_of(self, files: Iterable[int]) -> set[int]:
        """Return the chats that these files are part of."""
        chats: set[int] = set()
        for some in parts(files):
            chats.update(
                self._column(
                    "select chat from files where chat is not null and id in (select value from json_each(?))", some
                )
            )
        return chats

    def titled_by(self, file: int) -> set[int]:
        """Return the chats of the rows that a file has titles for."""
        statement = (
            "select f.chat from titles t join records r on r.uuid = t.row join files f on f.id = r.file"
            " where t.file = ? and f.chat is not null"
        )
        return set(self._column(statement, file))

    def _empty(self, files: list[int], pairs: CallPairs) -> set[str]:
        """Delete the rows of these files; return the calls in them."""
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
        """Renew the ids of results whose tool has become known, because their call came later, or unknown: to reindex
        them.
        """
        self._has_deleted |= bool(early)
        self._many(DELETE_WORDS, [(number,) for number in early])
        self._many("update blocks set id = ? where id = ?", [(ids.new_block(), number) for number in early])

    def _note_overdue(self, files: str) -> None:
        """Store a file of each chat that is out of date."""
        self._connection.execute(NOTE, (OVERDUE, files))

    def _withdraw(self, batch: Batch, ids: NewIds, pairs: CallPairs) -> set[str]:
        """Delete the rows that no longer exist, or were written again; return the calls in them."""
        calls: set[str] = set()
        gone = [(ids.file(file), uuid, NO_NUMBER) for file, uuid in batch.withdrawn]
        gone += [(ids.file(file), uuid, number) for file, uuid, number in batch.replaced]
        for file, uuid, before in gone:
            for (record,) in self._all(GONE, file, uuid, before):
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
    """Replace characters that the engine does not accept in every text of a batch."""
    for name in ("files", "records", "blocks", "usage", "client_totals", "problems", "links", "titles", "withdrawn"):
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
NO_NUMBER: Final = 1 << 62
"""A number higher than that of any record."""
GONE: Final = "select id from records where file = ? and uuid = ? and number < ?"
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
