"""Write the chats of a batch: their overview, files, titles, and abandoned rows."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from backscroll.store.batches import Batch, ChatChange, microseconds
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.statements import RowWriter, array, select

Entitled = tuple[str, int | None, int | None]
"""What identifies the passage of a title: title, time, file."""


def write_chats(connection: RowWriter, batch: Batch, ids: NewIds) -> None:
    """Write every chat of a batch, and delete those that are gone."""
    ChatWriter(connection, batch, ids).write()


class ChatWriter:
    """Writes chats inside an open transaction."""

    def __init__(self, connection: RowWriter, batch: Batch, ids: NewIds) -> None:
        self._connection = connection
        self._batch = batch
        self._ids = ids

    def write(self) -> None:
        """All of them."""
        batch = self._batch
        left = {
            number: (name, (title, started, file), block)
            for number, name, title, started, file, block in self._all(
                "select id, name, title, started, title_file, title_block from chats"
                " where id in (select value from json_each(?))",
                array(batch.stale_chats),
            )
        }
        ids = {name: number for number, (name, _, _) in left.items()}
        for change in batch.chats:
            number = ids.pop(change.overview.id, None)
            _, entitled, block = left.pop(number) if number is not None else (None, None, None)
            self._write_chat(change, number, entitled, block)
        for number, (_, _, block) in left.items():
            self._connection.execute("update files set chat = null where chat = ?", (number,))
            self._delete_title(block)
            self._connection.execute("delete from chats where id = ?", (number,))

    def _write_chat(
        self,
        change: ChatChange,
        number: int | None,
        entitled: Entitled | None,
        block: int | None,
    ) -> None:
        overview = change.overview
        values = (
            overview.id,
            overview.title,
            overview.project,
            microseconds(overview.started),
            microseconds(overview.last_active),
            change.is_silent,
            _lines(overview.models),
            _lines(overview.git_branches),
            _lines(overview.files_touched),
            _lines(overview.tags),
            overview.branches,
            msgspec.json.encode(overview).decode(),
        )
        if number is None:
            number = self._ids.new_chat()
            self._connection.execute(INSERT_CHAT, (number, *values))
        else:
            self._connection.execute(UPDATE_CHAT, (*values, number))
        numbers = [self._ids.file(file) for file in change.files]
        files = array(numbers)
        self._connection.execute(
            "update files set chat = :chat where chat is distinct from :chat"
            " and id in (select value from json_each(:files))",
            {"chat": number, "files": files},
        )
        self._connection.execute(
            "update files set chat = :chat where kind = 'tool-result' and chat is distinct from :chat and session in"
            " (select session from files where chat = :chat and kind = 'session')",
            {"chat": number},
        )
        machines = self._all("select distinct machine from files where chat = ? order by machine", number)
        self._connection.execute(SUM_UP, {"chat": number, "machines": _lines(machine for (machine,) in machines)})
        entitles = (overview.title, microseconds(overview.started), min(numbers))
        if block is None or entitled != entitles:
            # The identity of its passage has changed.
            self._delete_title(block)
            block = self._ids.new_block()
            self._connection.execute(
                "insert into blocks (id, number, role, chat) values (?, 0, 'title', ?)", (block, number)
            )
            self._connection.execute(
                "update chats set title_block = ?, title_file = ? where id = ?", (block, min(numbers), number)
            )
        self._mark_abandoned(files, {(self._ids.file(file), at) for file, at in change.abandoned})
        originals = {(self._ids.file(file), at): original for (file, at), original in change.originals.items()}
        self._mark_originals(files, originals)

    def _delete_title(self, block: int | None) -> None:
        if block is not None:
            self._connection.execute(DELETE_WORDS, (block,))
            self._connection.execute("delete from blocks where id = ?", (block,))

    def _mark_abandoned(self, files: str, abandoned: set[tuple[int, int]]) -> None:
        before = set(
            self._all(
                "select file, number from records indexed by records_abandoned"
                " where abandoned and file in (select value from json_each(?))",
                files,
            )
        )
        for value, changed in (("true", abandoned - before), ("false", before - abandoned)):
            self._many(
                f"update records set abandoned = {value} where file = ? and number = ? and kind <> 'outside'",  # noqa: S608
                changed,
            )

    def _mark_originals(self, files: str, originals: dict[tuple[int, int], str]) -> None:
        before = {
            (file, number): original
            for file, number, original in self._all(
                "select file, number, original from records indexed by records_original"
                " where original is not null and file in (select value from json_each(?))",
                files,
            )
        }
        changed = {key: originals.get(key) for key in originals.keys() | before.keys()}
        self._many(
            "update records set original = ? where file = ? and number = ? and kind <> 'outside'",
            [(original, *key) for key, original in changed.items() if before.get(key) != original],
        )

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(statement, rows)

    def _all(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return select(self._connection, statement, values)


def _lines(values: Iterable[str]) -> str:
    """Searchable names, one per line."""
    return "".join(f"\n{value}" for value in values) + "\n"


INSERT_CHAT: Final = """
insert into chats (id, name, title, project, started, last_active, silent, models, git_branches, files_touched, tags,
  branches, overview) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
UPDATE_CHAT: Final = """
update chats set name = ?, title = ?, project = ?, started = ?, last_active = ?, silent = ?, models = ?,
  git_branches = ?, files_touched = ?, tags = ?, branches = ?, overview = ? where id = ?
"""
SUM_UP: Final = """
update chats set machines = :machines,
  archived = exists (select 1 from files where chat = :chat and kind = 'session')
    and not exists (select 1 from files where chat = :chat and kind = 'session' and not archived),
  tokens = (select coalesce(sum(s.input + s.output + s.cache_write + s.cache_read), 0)
    from files f join spent s on s.file = f.id where f.chat = :chat),
  cost = (select sum(s.cost) from files f join spent s on s.file = f.id
    where f.chat = :chat and s.messages > s.unpriced)
where id = :chat
"""
DELETE_WORDS: Final = "insert into deleted (block) values (?) on conflict do nothing"
