"""The surroundings of a passage: its turn, and the steps after it."""

from collections.abc import Iterable
from typing import Final

from backscroll.conversation.kinds import TURNS
from backscroll.store.report_rows import FollowingStep, TurnPassage
from backscroll.store.sql.statements import RowReader, array, select, typed


def turn_passages(rows: RowReader, blocks: Iterable[int]) -> list[TurnPassage]:
    """Return the prompt and the last answer of the turns that contain these passages."""
    return typed(TurnPassage, select(rows, AROUND, {"blocks": array(blocks)}))


def following_steps(rows: RowReader, block: int, ahead: int, limit: int) -> list[FollowingStep]:
    """Return the call of a result, and the calls, results and answers after it, until the next prompt."""
    return typed(FollowingStep, select(rows, FOLLOWING, {"block": block, "ahead": ahead, "limit": limit}))


END: Final = 1 << 62
KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
# Records of a file are numbered in their order, so both are a walk along an index, from the passage on.
AROUND: Final = f"""
with hits as (
  select h.id as block, h.record, a.file, a.number, a.sidechain from blocks h join records a on a.id = h.record
  where h.id in (select value from json_each(:blocks))
), ends as materialized (
  select hits.*,
    (select r.number from records r where r.file = hits.file and r.number <= hits.number
      and r.sidechain = hits.sidechain and r.kind in ({KINDS}) order by r.number desc limit 1) as first,
    (select r.number from records r where r.file = hits.file and r.number > hits.number
      and r.sidechain = hits.sidechain and r.kind in ({KINDS}) order by r.number limit 1) as next
  from hits
), steps as (
  select e.block, 'prompt' as which, (select b.id from records r join blocks b on b.record = r.id
    where r.file = e.file and r.number = e.first and b.role = 'prompt' order by b.number limit 1) as id
  from ends e where e.first < e.number
  union all
  select e.block, 'conclusion', (select b.id from records r join blocks b on b.record = r.id and b.role = 'answer'
    where r.file = e.file and r.number > e.number and r.number < coalesce(e.next, {END})
      and r.sidechain = e.sidechain and r.kind = 'answer'
    order by r.number desc, b.number desc limit 1)
  from ends e
)
select s.block, s.which, r.start, r.length, b.number, b.role, coalesce(r.original, r.uuid)
from steps s join blocks b on b.id = s.id join records r on r.id = b.record
"""  # noqa: S608 - no values in it

FOLLOWING: Final = f"""
with hit as materialized (
  select h.id, h.call, a.file, a.number, a.sidechain,
    (select r.number from records r where r.file = a.file and r.number > a.number
      and r.sidechain = a.sidechain and r.kind in ({KINDS}) order by r.number limit 1) as next
  from blocks h join records a on a.id = h.record where h.id = :block
)
select r.start, r.length, b.number, b.role, coalesce(r.original, r.uuid), b.tool, b.file, b.call, b.state, b.detail,
  r.time, r.number <= hit.number
from hit
join records r on r.file = hit.file and r.number > hit.number - :ahead and r.number < hit.number + :ahead
  and r.sidechain = hit.sidechain and r.number < coalesce(hit.next, {END})
join blocks b on b.record = r.id
where (r.number > hit.number and b.role in ('input', 'output', 'answer'))
  or (r.number <= hit.number and b.role = 'input' and b.call = hit.call)
order by r.number, b.number limit :limit
"""  # noqa: S608 - no values in it
