"""Write batches of rows into PostgreSQL."""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, Final

from backscroll.store.batches import Batch, BlockColumns, FileColumns, RecordColumns
from backscroll.store.postgres.arrays import array_of
from backscroll.store.postgres.connection import OwnerRows, PgConnection
from backscroll.store.postgres.faults import translate_errors
from backscroll.store.postgres.joined_chats import note_chats
from backscroll.store.prices import AnswerPrice
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.row_tables import OVERDUE, RowTables


class PgTables(RowTables):
    """The tables of one build."""

    def __init__(self, connection: PgConnection, price: AnswerPrice, marks: dict[str, str]) -> None:
        """Write to this build; `marks` is the content of the table of that name: equal values are not written again."""
        super().__init__(OwnerRows(connection), price)
        self._postgres, self._marks = connection, marks

    def _transaction(self) -> AbstractContextManager[object]:
        return self._postgres.transaction()

    def _new_ids(self, batch: Batch) -> NewIds:
        ((file, record, block, chat),) = self._all(LAST_IDS, self._postgres.build)
        return NewIds(batch, last_file=file, last_record=record, last_block=block, last_chat=chat)

    def _insert(self, batch: Batch, ids: NewIds) -> None:
        known = [row for row in batch.files if row.id >= 0]
        self._insert_all("files", FILE_COLUMNS, ((ids.file(row.id), *row[1:]) for row in batch.files if row.id < 0))
        self._many(UPDATE_FILE, [(*(getattr(row, name) for name in UPDATED), row.id) for row in known])
        first = ids.first_record
        self._insert_all(
            "records", RECORD_COLUMNS, ((row.id + first, ids.file(row.file), *row[2:]) for row in batch.records)
        )
        self._insert_all(
            "blocks",
            BLOCK_COLUMNS,
            (
                (row.id + ids.first_block, row.record + first, *row[2:], ids.file(batch.records[row.record].file))
                for row in batch.blocks
            ),
        )

    def _keep(self, ids: NewIds) -> None:
        self._connection.execute(
            KEEP_IDS, (ids.last_file, ids.last_record, ids.last_block, ids.last_chat, self._postgres.build)
        )
        if self._has_deleted:  # their words are deleted in the same transaction
            self._postgres.as_owner().execute(FORGET, {"build": self._postgres.build})

    def _note_chats(self, chats: set[int]) -> None:
        note_chats(self._postgres, chats)

    def _note_overdue(self, files: str) -> None:
        if self._marks.get(OVERDUE, "") != files:
            super()._note_overdue(files)
            self._marks[OVERDUE] = files

    def _insert_all(self, table: str, columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
        """Insert many rows at once, column by column: COPY does not work with row-level security."""
        column_values = list(zip(*rows, strict=True))
        if not column_values:
            return
        special = SPECIAL.get(table, {})
        kinds = [special.get(name) or TYPES.get(name, "bigint") for name in columns]
        with translate_errors():
            self._postgres.as_owner().execute(_insert(table, columns), list(map(array_of, kinds, column_values)))


@cache
def _insert(table: str, columns: tuple[str, ...]) -> str:
    """Return a statement that inserts rows, passed column by column."""
    kinds = TYPES | SPECIAL.get(table, {})
    arrays = ", ".join(f"%s::{kinds.get(name, 'bigint')}[]" for name in columns)
    return f"insert into {table} ({', '.join(columns)}) select * from unnest({arrays})"  # noqa: S608 - names of ours


TYPES: Final = {
    **dict.fromkeys(
        ("source", "machine", "home", "path", "kind", "session", "agent", "project", "first_typed", "bookmark", "uuid",
         "parent", "message", "model", "text", "forked_session", "forked_uuid", "role", "call", "tool", "detail",
         "state"),
        "text",
    ),
    **dict.fromkeys(("archived", "has_image", "has_thinking", "has_diff", "sidechain"), "boolean"),
}  # fmt: skip
"""The types of columns that are not numbers."""
SPECIAL: Final = {"files": {"state": "bytea"}, "blocks": {"file": "text"}}
"""The types of columns whose names have another type in another table."""
FILE_COLUMNS: Final = FileColumns._fields
RECORD_COLUMNS: Final = tuple({"is_sidechain": "sidechain"}.get(name, name) for name in RecordColumns._fields)
BLOCK_COLUMNS: Final = (*BlockColumns._fields, "source_file")
UPDATED: Final = (
    "session", "lines", "modified", "project", "first_typed", "started", "last_active", "size", "archived", "bookmark",
    "state", "has_image", "has_thinking", "has_diff",
)  # fmt: skip
UPDATE_FILE: Final = (
    "update files set "  # noqa: S608 - names of ours
    + ", ".join(f"{name} = {name} or ?" if name.startswith("has_") else f"{name} = ?" for name in UPDATED)
    + " where id = ?"
)
LAST_IDS: Final = "select last_file, last_record, last_block, last_chat from builds where id = ? for update"
KEEP_IDS: Final = """
update builds set last_file = ?, last_record = ?, last_block = ?, last_chat = ?, changes = changes + 1 where id = ?
"""
FORGET: Final = """
with gone as (delete from deleted returning block),
lost as (
  delete from words w using gone where w.build = %(build)s and w.block = gone.block returning w.file, w.part, w.length),
by_file as (select file, count(*) filter (where part = 0) as passages, sum(length) as words from lost group by file),
counted_files as (
  update files f set passages = f.passages - by_file.passages from by_file where f.id = by_file.file returning 1)
update builds set passages = passages - coalesce((select sum(passages) from by_file), 0),
  words = words - coalesce((select sum(words) from by_file), 0)
where id = %(build)s and exists (select 1 from by_file)
"""
