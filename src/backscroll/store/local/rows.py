"""Write batches of rows, each in one transaction."""

from collections.abc import Iterable
from typing import Any, Final

import apsw
import msgspec

from backscroll.conversation.overview import Overview
from backscroll.conversation.passages import Role
from backscroll.store.batches import Batch, ChatKeys
from backscroll.store.local.calls import CallPairs
from backscroll.store.local.chat_writing import write_chats
from backscroll.store.local.counting import Counting, unpriced
from backscroll.store.local.database import array, plainly, transaction
from backscroll.store.local.new_ids import NewIds
from backscroll.store.local.saved_files import SavedFiles, parts
from backscroll.store.prices import AnswerPrice


class RowTables(SavedFiles):
    """The tables of a store, to be written."""

    def __init__(self, connection: apsw.Connection, price: AnswerPrice = unpriced) -> None:
        super().__init__(connection)
        self._connection = connection
        self._price = price

    def write(self, batch: Batch) -> dict[int, int]:
        """Write the whole batch, or nothing. Returns the ids of its new files."""
        try:
            return self._write(batch)
        except UnicodeEncodeError:
            _makeplainly(batch)
            return self._write(batch)

    def _write(self, batch: Batch) -> dict[int, int]:
        with transaction(self._connection):
            ids = NewIds(self._connection, batch)
            counting = Counting(self._connection, self._price)
            pairs = CallPairs(self._connection)
            counting.drop([*batch.emptied, *batch.removed])
            lost = self._empty([*batch.emptied, *batch.removed], pairs)
            self._many("delete from files where id = ?", [(number,) for number in batch.removed])
            self._many("update files set archived = 1 where id = ?", [(number,) for number in batch.archived])
            self._many(INSERT_FILE.format(**ids.terms), batch.files)
            self._many(INSERT_RECORD.format(**ids.terms), batch.records)
            self._many(INSERT_BLOCK.format(**ids.terms), batch.blocks)
            lost |= self._withdraw(batch, ids, pairs)
            self._renew_results(batch, ids, lost)
            pairs.pair(batch, ids)
            self._many(INSERT_PROBLEM.format(**ids.terms), batch.problems)
            self._many(INSERT_LINK.format(**ids.terms), batch.links)
            self._many(INSERT_TITLE.format(**ids.terms), batch.titles)
            counting.add(batch, ids)
            counting.count()
            write_chats(self._connection, batch, ids)
            self._connection.execute(
                "insert or replace into marks values ('note overdue', ?)",
                (array(map(ids.file, batch.overdue)) if batch.overdue else "",),
            )
            self._connection.execute(ADOPT)
        return {-number: ids.file(-number) for number in range(1, batch.new_files + 1)}

    def related(self, keys: ChatKeys) -> set[int]:
        """The chats that share a key with these."""
        files: set[int] = set()
        for some in parts(keys.rows):
            files.update(self._column("select file from records where uuid in (select value from json_each(?))", some))
            files.update(self._column("select file from links where key in (select value from json_each(?))", some))
        for some in parts({f"session {name}" for name in keys.sessions}):
            files.update(self._column("select file from links where key in (select value from json_each(?))", some))
        for first_typed, messages in keys.messages.items():
            for some in parts(messages if first_typed else ()):
                files.update(
                    self._column(
                        "select r.file from records r join files f on f.id = r.file"
                        " where r.message in (select value from json_each(?)) and f.first_typed = ?",
                        some,
                        first_typed,
                    )
                )
        return self.chats_of(files)

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
            self._connection.execute(
                "insert into deleted select b.id from blocks b join records r on r.id = b.record where r.file = ?1",
                (number,),
            )
            for statement in (
                "delete from blocks where record in (select id from records where file = ?1)",
                "delete from records where file = ?1",
                "delete from problems where file = ?1",
                "delete from links where file = ?1",
                "delete from titles where file = ?1",
                "update files set has_image = 0, has_thinking = 0, has_diff = 0 where id = ?1",
            ):
                self._connection.execute(statement, (number,))
        return calls

    def _renew_results(self, batch: Batch, ids: NewIds, lost: set[str]) -> None:
        """Have results indexed again whose tool has become known, because their call came after them, or unknown."""
        calls = [block.call for block in batch.blocks if block.call and block.role == Role.INPUT]
        for some in parts([*calls, *lost]):
            early = self._column(
                "select id from blocks where role = 'output' and id < ? and call in (select value from json_each(?))",
                ids.first_block,
                some,
            )
            for number in early:
                self._connection.execute("insert or ignore into deleted values (?)", (number,))
                self._connection.execute("update blocks set id = ? where id = ?", (ids.new_block(), number))
        # Ids are given from where the sequence ends, and an update does not move it.
        self._connection.execute(
            "update sqlite_sequence set seq = max(seq, ?) where name = 'blocks'", (ids.last_block,)
        )

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
                self._connection.execute("insert into deleted select id from blocks where record = ?", (record,))
                self._connection.execute("delete from blocks where record = ?", (record,))
                self._connection.execute("delete from records where id = ?", (record,))
        return calls

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(statement, rows)


def _makeplainly(batch: Batch) -> None:
    """Replace what the engine does not accept in every text of a batch."""
    for name in ("files", "records", "blocks", "usage", "problems", "links", "titles", "withdrawn"):
        rows = getattr(batch, name)
        rows[:] = [
            type(row)(*map(plainly, row)) if hasattr(row, "_fields") else tuple(map(plainly, row)) for row in rows
        ]
    for change in batch.chats:
        change.overview = msgspec.convert(plainly(msgspec.to_builtins(change.overview)), Overview)


INSERT_FILE: Final = """
insert into files (id, source, machine, home, path, kind, session, agent, project, first_typed, started, last_active,
  size, archived, bookmark, state, lines, modified, has_image, has_thinking, has_diff)
values ({file1}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on conflict (id) do update set session = excluded.session, lines = excluded.lines,
  modified = excluded.modified, project = excluded.project,
  first_typed = excluded.first_typed,
  started = excluded.started, last_active = excluded.last_active, size = excluded.size, archived = excluded.archived,
  bookmark = excluded.bookmark, state = excluded.state, has_image = has_image or excluded.has_image,
  has_thinking = has_thinking or excluded.has_thinking, has_diff = has_diff or excluded.has_diff
"""
INSERT_RECORD: Final = """
insert into records (id, file, number, start, length, uuid, parent, kind, time, sidechain, message, model, text,
  forked_session, forked_uuid) values ({record1}, {file2}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_BLOCK: Final = """
insert into blocks (id, record, number, role, call, tool, file, detail, state, size, digest, has_image)
values ({block1}, {record2}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# A spilled tool result belongs to the chat of its session.
ADOPT: Final = """
update files set chat = (select s.chat from files s where s.session = files.session and s.kind = 'session' limit 1)
where kind = 'tool-result' and chat is null
"""
INSERT_PROBLEM: Final = "insert into problems values ({file1}, ?, ?, ?, ?)"
INSERT_LINK: Final = "insert or ignore into links values (?, {file2})"
INSERT_TITLE: Final = "insert or replace into titles values (?, {file2}, ?)"
WAITING: Final = """
select b.id, b.role, f.source, r.start, r.length, b.number,
  coalesce(f.id, c.title_file),
  coalesce(r.time, c.started),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.state = 'error',
  f.agent is not null or coalesce(r.sidechain, 0), b.has_image, c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id > ? and b.role in ({roles})
order by b.id limit ?
"""
