"""Write the chats of a batch: their overview, files, titles, and abandoned rows."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from backscroll.store.batches import Batch, ChatChange, microseconds
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.statements import RowWriter, array, select


class WrittenChat(NamedTuple):
    """A chat as it was before the batch."""

    id: int
    name: str
    title: str
    started: int | None
    title_file: int | None
    title_block: int | None

    @property
    def entitled(self) -> tuple[str, int | None, int | None]:
        """The values that identify the passage of the title."""
        return self.title, self.started, self.title_file


class ChatWriter:
    """Writes every chat of a batch, and deletes those that are gone, inside an open transaction."""

    def __init__(self, connection: RowWriter, batch: Batch, ids: NewIds) -> None:
        self._connection, self._batch, self._ids = connection, batch, ids
        self.has_deleted = False
        """Whether passages were deleted: titles that have changed."""
        self.regrouped: set[int] = set()
        """The chats that were written, and those that lost files to others."""
        self.may_adopt = bool(batch.new_files or batch.emptied or batch.removed or batch.archived or batch.links)
        """Whether a spilled tool result may belong to a chat now, or to another one."""

    def write(self) -> None:
        """Write all chats of the batch."""
        batch = self._batch
        rows = self._all(WRITTEN, array(batch.stale_chats)) if batch.stale_chats else []
        left = {chat.id: chat for chat in (WrittenChat(*row) for row in rows)}
        names = {chat.name: chat for chat in left.values()}
        chats: list[tuple[int, WrittenChat | None, ChatChange]] = []
        for change in batch.chats:
            before = names.pop(change.overview.id, None)
            if before is not None:
                del left[before.id]
            chats.append((before.id if before else self._ids.new_chat(), before, change))
        self._place_files({self._ids.file(file): number for number, _, change in chats for file in change.files})
        if self.may_adopt:
            self._many(PLACE_RESULTS, [(number, number, number) for number, _, _ in chats])
        self._write_chats(chats)
        self.regrouped.update(number for number, _, _ in chats)
        self._mark_records([change for _, _, change in chats])
        gone = list(left.values())
        self._many("update files set chat = null where chat = ?", [(chat.id,) for chat in gone])
        self._delete_titles(gone)
        self._many("delete from chats where id = ?", [(chat.id,) for chat in gone])

    def _place_files(self, places: dict[int, int]) -> None:
        """Set the chat of each file."""
        if not places:
            return
        before = dict(
            self._all("select id, chat from files where id in (select value from json_each(?))", array(places))
        )
        moved = [(chat, file) for file, chat in places.items() if before[file] != chat]
        self.regrouped.update(chat for _, file in moved if (chat := before[file]) is not None)
        self._many("update files set chat = ? where id = ?", moved)
        self.may_adopt |= bool(moved)

    def _write_chats(self, chats: list[tuple[int, WrittenChat | None, ChatChange]]) -> None:
        machines = self._machines(number for number, _, _ in chats) if self.may_adopt else {}
        fresh: list[tuple[Any, ...]] = []
        known: list[tuple[Any, ...]] = []
        titles: list[tuple[int, int]] = []
        renamed: list[WrittenChat] = []
        for number, before, change in chats:
            file = self._ids.file(change.files[0])  # the oldest session, whatever was read first
            block = before.title_block if before else None
            if before is None or block is None or before.entitled != _entitled(change, file):
                # The identity of the passage of its title has changed.
                renamed += [before] if before else []
                block = self._ids.new_block()
                titles.append((block, number))
            values = (*_columns(change), block, file, machines.get(number), number)
            (known if before else fresh).append((*values, number))
        self._many(INSERT_CHAT, fresh)
        self._many(UPDATE_CHAT, known)
        self._delete_titles(renamed)
        self._many("insert into blocks (id, number, role, chat) values (?, 0, 'title', ?)", titles)

    def _machines(self, chats: Iterable[int]) -> dict[int, str]:
        """Return the machines of each chat."""
        by_chat: dict[int, list[str]] = defaultdict(list)
        for chat, machine in self._all(MACHINES, array(chats)):
            by_chat[chat].append(machine)
        return {chat: _lines(machines) for chat, machines in by_chat.items()}

    def _delete_titles(self, chats: Iterable[WrittenChat]) -> None:
        blocks = [(chat.title_block,) for chat in chats if chat.title_block is not None]
        self.has_deleted |= bool(blocks)
        self._many(DELETE_WORDS, blocks)
        self._many("delete from blocks where id = ?", blocks)

    def _mark_records(self, changes: list[ChatChange]) -> None:
        """Mark abandoned records, and records that are copies of others."""
        if not changes:
            return
        file = self._ids.file
        files = array(file(number) for change in changes for number in change.files)
        abandoned = {(file(number), at) for change in changes for number, at in change.abandoned}
        originals = {
            (file(number), at): original for change in changes for (number, at), original in change.originals.items()
        }
        was_abandoned: set[tuple[int, int]] = set()
        were: dict[tuple[int, int], str] = {}
        for number, at, original in self._all(MARKED, files, files):
            if original is None:
                was_abandoned.add((number, at))
            else:
                were[number, at] = original
        for value, marked in (("true", abandoned - was_abandoned), ("false", was_abandoned - abandoned)):
            self._many(f"update records set abandoned = {value} where {RECORD}", marked)  # noqa: S608
        self._many(
            f"update records set original = ? where {RECORD}",  # noqa: S608
            [
                (originals.get(key), *key)
                for key in originals.keys() | were.keys()
                if were.get(key) != originals.get(key)
            ],
        )

    def _many(self, statement: str, rows: Iterable[Any]) -> None:
        self._connection.executemany(statement, rows)

    def _all(self, statement: str, *values: Any) -> list[Any]:  # noqa: ANN401
        return select(self._connection, statement, values)


def _entitled(change: ChatChange, file: int) -> tuple[str, int | None, int | None]:
    return change.overview.title, microseconds(change.overview.started), file


def _columns(change: ChatChange) -> tuple[Any, ...]:
    overview = change.overview
    return (
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


def _lines(values: Iterable[str]) -> str:
    """Return names as searchable text, one per line."""
    return "".join(f"\n{value}" for value in values) + "\n"


WRITTEN: Final = """
select id, name, title, started, title_file, title_block from chats where id in (select value from json_each(?))
"""
# A spilled tool result belongs to the chat of its session.
PLACE_RESULTS: Final = """
update files set chat = ? where kind = 'tool-result' and chat is distinct from ? and session in
  (select session from files where chat = ? and kind = 'session')
"""
MACHINES: Final = """
select distinct chat, machine from files where chat in (select value from json_each(?)) order by chat, machine
"""
MARKED: Final = """
select file, number, null from records indexed by records_abandoned
where abandoned and file in (select value from json_each(?))
union all select file, number, original from records indexed by records_original
where original is not null and file in (select value from json_each(?))
"""
RECORD: Final = "file = ? and number = ? and kind <> 'outside'"
COLUMNS: Final = (
    "name", "title", "project", "started", "last_active", "silent", "models", "git_branches", "files_touched", "tags",
    "branches", "overview", "title_block", "title_file",
)  # fmt: skip
# Computed from the chat's files; `chat_sums` writes the sums of what was counted in them.
ARCHIVED: Final = (
    "(select coalesce(min(case when archived then 1 else 0 end), 0) = 1 from files where chat = ? and kind = 'session')"
)
INSERT_CHAT: Final = (
    f"insert into chats ({', '.join(COLUMNS)}, machines, archived, id)"  # noqa: S608 - no values in it
    f" values ({', '.join(('?',) * len(COLUMNS))}, coalesce(?, ''), {ARCHIVED}, ?)"
)
UPDATE_CHAT: Final = (
    f"update chats set {', '.join(f'{name} = ?' for name in COLUMNS)}, machines = coalesce(?, machines),"  # noqa: S608
    f" archived = {ARCHIVED} where id = ?"
)
DELETE_WORDS: Final = "insert into deleted (block) values (?) on conflict do nothing"
