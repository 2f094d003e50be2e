"""Write batches of rows into SQLite."""

from contextlib import AbstractContextManager
from typing import Final

import apsw

from backscroll.store.batches import Batch
from backscroll.store.local.database import transaction
from backscroll.store.prices import AnswerPrice
from backscroll.store.sql.counting import unpriced
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.row_tables import RowTables
from backscroll.store.sql.statements import select


class LocalTables(RowTables):
    """The tables of the local store."""

    def __init__(self, connection: apsw.Connection, price: AnswerPrice = unpriced) -> None:
        super().__init__(connection, price)
        self._sqlite = connection

    def _transaction(self) -> AbstractContextManager[object]:
        return transaction(self._sqlite)

    def _new_ids(self, batch: Batch) -> NewIds:
        # SQLite remembers the highest id that a table ever had, also after its row was deleted.
        last_ids = dict(select(self._sqlite, "select name, seq from sqlite_sequence"))
        return NewIds(
            batch,
            last_file=int(last_ids.get("files", 0)),
            last_record=int(last_ids.get("records", 0)),
            last_block=int(last_ids.get("blocks", 0)),
            last_chat=int(last_ids.get("chats", 0)),
        )

    def _insert(self, batch: Batch, ids: NewIds) -> None:
        # The engine adds while it inserts, which costs nothing.
        terms = {
            "file1": f"iif(?1 < 0, {ids.last_file_before} - ?1, ?1)",
            "file2": f"iif(?2 < 0, {ids.last_file_before} - ?2, ?2)",
            "record1": f"?1 + {ids.first_record}",
            "record2": f"?2 + {ids.first_record}",
            "block1": f"?1 + {ids.first_block}",
        }
        self._many(INSERT_FILE.format(**terms), batch.files)
        self._many(INSERT_RECORD.format(**terms), batch.records)
        self._many(INSERT_BLOCK.format(**terms), batch.blocks)

    def _keep(self, ids: NewIds) -> None:
        # New ids continue from the sequence, and an update does not move it.
        self._sqlite.execute("update sqlite_sequence set seq = max(seq, ?) where name = 'blocks'", (ids.last_block,))


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
