"""Write batches of rows, each in one transaction, and load saved transcripts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from sys import intern
from typing import Any, Final

import apsw
import msgspec

from backscroll.conversation.overview import Overview
from backscroll.conversation.passages import Role
from backscroll.conversation.rows import Row, RowCall
from backscroll.conversation.saved import restore, saved_row
from backscroll.conversation.transcripts import Transcript, TranscriptPlace
from backscroll.records.tools import FILE_TOOLS
from backscroll.store.base import IndexedFile
from backscroll.store.batches import EPOCH, Batch, ChatKeys, readable
from backscroll.store.detail import decode_detail
from backscroll.store.local.chat_writing import write_chats
from backscroll.store.local.counting import Counting, unpriced
from backscroll.store.local.database import array, plainly, transaction
from backscroll.store.local.new_ids import NewIds
from backscroll.store.prices import AnswerPrice

AT_ONCE: Final = 10_000
"""How many keys are looked up in one statement."""


class RowTables:
    """The tables of a store."""

    def __init__(self, connection: apsw.Connection, price: AnswerPrice = unpriced) -> None:
        self._connection = connection
        self._price = price

    def known(self, sources: Iterable[str] | None = None) -> dict[str, IndexedFile]:
        """The files that were read, by id: these, or all."""
        statement = "select id, source, machine, home, path, kind, size, archived, bookmark, lines, modified from files"
        if sources is None:
            found = self._connection.execute(statement)
        else:
            some = " where source in (select value from json_each(?))"
            found = self._connection.execute(statement + some, (array(sources),))
        return {file.source: file for file in map(_indexed, found)}

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
            counting.note_files([*batch.emptied, *batch.removed])
            self._empty([*batch.emptied, *batch.removed])
            self._many("delete from files where id = ?", [(number,) for number in batch.removed])
            self._many("update files set archived = 1 where id = ?", [(number,) for number in batch.archived])
            self._many(INSERT_FILE.format(**ids.terms), batch.files)
            self._many(INSERT_RECORD.format(**ids.terms), batch.records)
            self._many(INSERT_BLOCK.format(**ids.terms), batch.blocks)
            self._many(INSERT_USAGE.format(**ids.terms), batch.usage)
            self._withdraw(batch, ids)
            self._renew_results(batch, ids)
            self._many(INSERT_PROBLEM.format(**ids.terms), batch.problems)
            self._many(INSERT_LINK.format(**ids.terms), batch.links)
            self._many(INSERT_TITLE.format(**ids.terms), batch.titles)
            counting.note_records(ids.first_record + columns.record for columns in batch.usage)
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
        for some in _parts(keys.rows):
            files.update(self._column("select file from records where uuid in (select value from json_each(?))", some))
            files.update(self._column("select file from links where key in (select value from json_each(?))", some))
        for some in _parts({f"session {name}" for name in keys.sessions}):
            files.update(self._column("select file from links where key in (select value from json_each(?))", some))
        for first_typed, messages in keys.messages.items():
            for some in _parts(messages if first_typed else ()):
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
        for some in _parts(files):
            chats.update(
                self._column(
                    "select chat from files where chat is not null and id in (select value from json_each(?))", some
                )
            )
        return chats

    def load(self, chats: Iterable[int]) -> Iterator[tuple[int, Transcript]]:
        """The saved transcripts of these chats, by file."""
        for chat in chats:
            found = self._all(
                "select id, source, path, session, agent, state from files where chat = ? and state is not null", chat
            )
            for number, source, path, session, agent, state in found:
                source, path = readable(source), readable(path)
                # Only a file that is not an earlier version goes on: there its path is what rows are named after.
                place = TranscriptPlace(source, session, agent, path, path)
                yield number, restore(place, state, self._rows(number, source))

    def titled_by(self, file: int) -> set[int]:
        """The chats of the rows that a file has titles for."""
        statement = (
            "select f.chat from titles t join records r on r.uuid = t.row join files f on f.id = r.file"
            " where t.file = ? and f.chat is not null"
        )
        return set(self._column(statement, file))

    def titles(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The titles of the rows of these files, by row and by the file that has the title."""
        return self._titles("t.row in (select uuid from records where file in (select value from json_each(?)))", files)

    def titles_in(self, files: Iterable[int]) -> dict[str, dict[str, str]]:
        """The same, for files with very many rows: it scans all titles instead."""
        where = "exists (select 1 from records r where r.uuid = t.row and r.file in (select value from json_each(?)))"
        return self._titles(where, files)

    def titles_of(self, rows: Iterable[str]) -> dict[str, dict[str, str]]:
        """The titles of these rows, by row and by the file that has the title."""
        return self._titles("t.row in (select value from json_each(?))", rows)

    def _titles(self, where: str, keys: Iterable[Any]) -> dict[str, dict[str, str]]:
        titles: dict[str, dict[str, str]] = defaultdict(dict)
        statement = f"select t.row, f.source, t.title from titles t join files f on f.id = t.file where {where}"  # noqa: S608
        for some in _parts(keys):
            for row, source, title in self._all(statement, some):
                titles[readable(row)][readable(source)] = title
        return titles

    def _rows(self, file: int, source: str) -> Iterator[Row]:
        calls: dict[int, list[RowCall]] = defaultdict(list)
        results: dict[int, list[str]] = defaultdict(list)
        for record, role, call, tool, touched, detail in self._connection.execute(
            "select b.record, b.role, b.call, b.tool, b.file, b.detail from blocks b join records r on r.id = b.record"
            " where r.file = ? and b.role in ('input', 'output') order by b.id",
            (file,),
        ):
            if role == Role.INPUT:
                known = decode_detail(detail)
                changed = touched if tool in FILE_TOOLS else None
                calls[record].append(RowCall(call or "", tool or "", changed, known.agent, known.todo))
            elif call:
                results[record].append(call)
        for (
            record,
            number,
            uuid,
            parent,
            kind,
            time,
            sidechain,
            message,
            model,
            text,
            session,
            origin,
        ) in self._connection.execute(
            "select id, number, uuid, parent, kind, time, sidechain, message, model, text, forked_session,"
            " forked_uuid from records where file = ? and kind <> 'outside' order by number",
            (file,),
        ):
            yield saved_row(
                source,
                number,
                readable(uuid),
                readable(parent) if parent else None,
                kind,
                EPOCH + timedelta(microseconds=time) if time is not None else None,
                bool(sidechain),
                message,
                model,
                readable(text) if text else "",
                tuple(results[record]) if kind == "tool-result" and record in results else (),
                tuple(calls[record]) if record in calls else (),
                session,
                origin,
            )

    def _empty(self, files: list[int]) -> None:
        for number in files:
            self._connection.execute(
                "insert into deleted select b.id from blocks b join records r on r.id = b.record where r.file = ?1",
                (number,),
            )
            for statement in (
                "delete from blocks where record in (select id from records where file = ?1)",
                "delete from usage where record in (select id from records where file = ?1)",
                "delete from records where file = ?1",
                "delete from problems where file = ?1",
                "delete from links where file = ?1",
                "delete from titles where file = ?1",
                "update files set has_image = 0, has_thinking = 0, has_diff = 0 where id = ?1",
            ):
                self._connection.execute(statement, (number,))

    def _renew_results(self, batch: Batch, ids: NewIds) -> None:
        """A result that came before its call was indexed without its tool: have it indexed again."""
        calls = [block.call for block in batch.blocks if block.call and block.role == Role.INPUT]
        for some in _parts(calls):
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

    def _withdraw(self, batch: Batch, ids: NewIds) -> None:
        for file, uuid in batch.withdrawn:
            for (record,) in self._all("select id from records where file = ? and uuid = ?", ids.file(file), uuid):
                self._connection.execute("insert into deleted select id from blocks where record = ?", (record,))
                self._connection.execute("delete from blocks where record = ?", (record,))
                self._connection.execute("delete from records where id = ?", (record,))

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(statement, rows)

    def _all(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return self._connection.execute(statement, values).fetchall()

    def _column(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return [row[0] for row in self._all(statement, *values)]


def decode_overview(text: str) -> Overview:
    """A chat's overview, as it was written."""
    return OVERVIEW.decode(text)


def _parts(keys: Iterable[Any]) -> Iterator[str]:
    """The keys as JSON arrays, none too long."""
    ordered = list(keys)
    for at in range(0, len(ordered), AT_ONCE):
        yield array(ordered[at : at + AT_ONCE])


def _indexed(row: tuple[Any, ...]) -> IndexedFile:
    number, source, machine, home, path, kind, size, archived, mark, lines, modified = row
    machine, home = intern(readable(machine)), intern(readable(home))  # thousands of files share them
    return IndexedFile(
        number, readable(source), machine, home, readable(path), intern(kind), size, bool(archived), _mark(mark),
        lines, modified,
    )  # fmt: skip


def _mark(text: str | None) -> tuple[int, ...] | None:
    return tuple(msgspec.json.decode(text)) if text else None


def _makeplainly(batch: Batch) -> None:
    """Replace what the engine does not accept in every text of a batch."""
    for name in ("files", "records", "blocks", "usage", "problems", "links", "titles", "withdrawn"):
        rows = getattr(batch, name)
        rows[:] = [
            type(row)(*map(plainly, row)) if hasattr(row, "_fields") else tuple(map(plainly, row)) for row in rows
        ]
    for change in batch.chats:
        change.overview = msgspec.convert(plainly(msgspec.to_builtins(change.overview)), Overview)


OVERVIEW: Final = msgspec.json.Decoder(Overview)
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
insert into blocks (id, record, number, role, call, tool, file, detail, state, size, digest)
values ({block1}, {record2}, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# A spilled tool result belongs to the chat of its session.
ADOPT: Final = """
update files set chat = (select s.chat from files s where s.session = files.session and s.kind = 'session' limit 1)
where kind = 'tool-result' and chat is null
"""
INSERT_PROBLEM: Final = "insert into problems values ({file1}, ?, ?, ?, ?)"
INSERT_LINK: Final = "insert or ignore into links values (?, {file2})"
INSERT_TITLE: Final = "insert or replace into titles values (?, {file2}, ?)"
INSERT_USAGE: Final = "insert into usage values ({record1}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
WAITING: Final = """
select b.id, b.role, f.source, r.start, r.length, b.number,
  coalesce(f.id, c.title_file),
  coalesce(r.time, c.started),
  coalesce(b.tool, (select tool from blocks i where i.call = b.call and i.role = 'input' limit 1)), b.state = 'error',
  f.agent is not null or coalesce(r.sidechain, 0), c.title
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id > ? and b.role in ({roles})
order by b.id limit ?
"""
