"""The passages to index next, for every engine."""

from collections.abc import Sequence
from typing import Any, Final

from backscroll.conversation.passages import Role
from backscroll.store.base import PendingPassage
from backscroll.store.batches import readable
from backscroll.store.search.words import STAGES, quoted
from backscroll.store.sql.chats import TITLE_TEXT
from backscroll.store.sql.statements import RowReader, select


def waiting_passages(rows: RowReader, marks: Sequence[int], limit: int) -> list[PendingPassage]:
    """Return the passages after the last indexed one of each stage, the worthiest first; all, if fewer than `limit`."""
    pending: list[Any] = []
    for stage, mark in zip(STAGES, marks, strict=True):
        if len(pending) < limit:
            pending += select(rows, WAITING.format(roles=quoted(stage)), (mark, limit - len(pending)))
    return [
        PendingPassage(block, Role(role), readable(source or ""), start or 0, length or 0, number, file or 0, at, tool,
                       bool(is_error), bool(is_agent), bool(has_image), title)
        for block, role, source, start, length, number, file, at, tool, is_error, is_agent, has_image, title in pending
    ]  # fmt: skip


WAITING: Final = f"""
select b.id, b.role, f.source, r.start, r.length, b.number,
  coalesce(f.id, c.title_file),
  coalesce(r.time, c.started),
  coalesce(b.tool, (select min(i.tool) from blocks i where i.call = b.call and i.role = 'input')), b.state = 'error',
  f.agent is not null or coalesce(r.sidechain, false), b.has_image, {TITLE_TEXT}
from blocks b
left join records r on r.id = b.record
left join files f on f.id = r.file
left join chats c on c.id = b.chat
where b.id > ? and b.role in ({{roles}})
order by b.id limit ?
"""  # noqa: S608 - no values in it
