"""Keep each tool call together with its result, so that reports need not look for the pairs.

`calls` has a row for every call that exists once and whose result, if there is one, exists once and in the same file:
nearly all of them. `shared_calls` names the others. Which of their copies counts depends on the files of the query, so
reports read them from `blocks`. Both tables follow the rows in the same transaction, at a cost proportional to what
changed.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from backscroll.conversation.passages import Role
from backscroll.store.batches import Batch
from backscroll.store.sql.new_ids import NewIds
from backscroll.store.sql.statements import RowWriter, parts, select


class CallPassage(NamedTuple):
    """The passage of a call or of a result."""

    call: str
    role: str
    id: int
    file: int
    is_row: bool
    """Whether its record is part of the conversation: that of a spilled result is not, and only repeats one that is."""
    is_sidechain: bool
    time: int | None
    tool: str | None
    state: str | None
    size: int | None


class CallPairs:
    """Brings `calls` and `shared_calls` up to date inside an open transaction."""

    def __init__(self, connection: RowWriter) -> None:
        self._connection = connection
        self._changed: set[str] = set()
        self.early_results: list[int] = []
        """The passages of results that were written before their call, which a batch has added or taken away."""

    def drop(self, records: str, *values: int | str) -> None:
        """Remove the calls and results of records, selected by a statement, that are about to be deleted."""
        statement = f"select distinct call from blocks where call is not null and record in ({records})"  # noqa: S608
        self._changed.update(call for (call,) in select(self._connection, statement, values))
        statement = f"delete from calls where id in (select id from blocks where record in ({records}))"  # noqa: S608
        self._connection.execute(statement, values)

    def find(self, batch: Batch, ids: NewIds, lost: set[str]) -> None:
        """Find the calls of a batch, and the `lost` ones, that have passages outside of the batch."""
        added = {block.call for block in batch.blocks if block.call}
        calls = {block.call for block in batch.blocks if block.call and block.role == Role.INPUT} | lost
        last = ids.first_block + len(batch.blocks) - 1
        for some in parts(added | lost):
            for number, call, role in select(self._connection, KNOWN, (ids.first_block, last, some)):
                if call in added:
                    self._changed.add(call)
                if role == Role.OUTPUT and number < ids.first_block and call in calls:
                    self.early_results.append(number)

    def pair(self, batch: Batch, ids: NewIds) -> None:
        """Pair the calls that a batch has added, and pair those again that it has changed."""
        added = any(block.call for block in batch.blocks)
        last = ids.first_block + len(batch.blocks) - 1
        for some in parts(self._changed):
            self._connection.execute(DELETE, (some,))
            self._connection.execute(DELETE_SHARED, (some,))
        if added:
            self._write(_new_passages(batch, ids, self._changed))
        for some in parts(self._changed):
            self._write(CallPassage(*row) for row in select(self._connection, PASSAGES, (some,)))
        if any(block.role == Role.INPUT and not block.call for block in batch.blocks):
            self._connection.execute(INSERT_NAMELESS, (ids.first_block, last))

    def _write(self, passages: Iterable[CallPassage]) -> None:
        calls: dict[str, CallPassage] = {}
        results: dict[str, CallPassage] = {}
        shared: set[str] = set()
        for passage in passages:
            if passage.role == Role.INPUT:
                if calls.setdefault(passage.call, passage) is not passage:
                    shared.add(passage.call)
            elif passage.is_row and results.setdefault(passage.call, passage) is not passage:
                shared.add(passage.call)
        pairs = []
        for name, call in calls.items():
            result = results.get(name)
            if result is None:
                result_values: tuple[int | str | None, ...] = (None, None, None, None)
            else:
                took = None if call.time is None or result.time is None else result.time - call.time
                result_values = (took, result.id, result.state, result.size)
                if result.file != call.file:
                    shared.add(name)
            if name not in shared:
                pairs.append((call.id, call.file, call.is_sidechain, call.time, call.tool, call.size, *result_values))
        self._connection.executemany(INSERT, pairs)
        self._connection.executemany(INSERT_SHARED, [(name,) for name in shared & calls.keys()])


def _new_passages(batch: Batch, ids: NewIds, left_out: set[str]) -> Iterator[CallPassage]:
    first = ids.first_block
    for block in batch.blocks:
        call = block.call
        if call and call not in left_out:
            record = batch.records[block.record]
            yield CallPassage(
                call, block.role, first + block.id, ids.file(record.file), record.uuid is not None,
                record.is_sidechain, record.time, block.tool, block.state, block.size,
            )  # fmt: skip


LISTED: Final = "(select value from json_each(?))"
KNOWN: Final = f"select id, call, role from blocks where id not between ? and ? and call in {LISTED}"  # noqa: S608 - no values
DELETE: Final = f"delete from calls where id in (select id from blocks where call in {LISTED})"  # noqa: S608
DELETE_SHARED: Final = f"delete from shared_calls where call in {LISTED}"  # noqa: S608
PASSAGES: Final = f"""
select b.call, b.role, b.id, r.file, r.uuid is not null, r.sidechain, r.time, b.tool, b.state, b.size
from blocks b join records r on r.id = b.record where b.call in {LISTED}
"""  # noqa: S608
INSERT: Final = """
insert into calls (id, file, sidechain, time, tool, size, took, result, state, result_size)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_SHARED: Final = "insert into shared_calls (call) values (?)"
# A call without an id has no result that could be matched.
INSERT_NAMELESS: Final = """
insert into calls (id, file, sidechain, time, tool, size)
select b.id, r.file, r.sidechain, r.time, b.tool, b.size from blocks b join records r on r.id = b.record
where b.id between ? and ? and b.role = 'input' and coalesce(b.call, '') = ''
"""
