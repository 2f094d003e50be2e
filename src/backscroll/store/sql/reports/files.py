"""Calls that read or changed a file, each once, with the positions of call and result; and the prompts of chats."""

from typing import Final

from backscroll.store.sql.reports.time import IS_PROMPT
from backscroll.store.sql.reports.tools import KINDS as TURN_KINDS

# A call that was copied into another file counts at its first place, with its first result.
CALLS: Final = """
with copies as (
  select b.call, b.tool, b.file as touched, b.number as block, r.uuid, r.time, r.number, r.start, r.length, r.abandoned,
    r.sidechain, r.file, row_number() over (partition by coalesce(b.call, r.uuid || ' ' || b.number)
      order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from {blocks} join records r on r.id = b.record join files f on f.id = r.file
  where b.file is not null and b.role = 'input'
    and (:files is null or r.file in (select value from json_each(:files)))
)
select i.call, i.tool, i.touched, coalesce(ro.time, i.time), c.name, f.agent, i.uuid, f.source, i.start, i.length,
  i.block, o.state, fo.source, ro.start, ro.length, ro.uuid, i.number, i.abandoned, f.project,
  f.machine
from copies i join files f on f.id = i.file left join chats c on c.id = f.chat
left join blocks o on o.id = (
  select x.id from blocks x join records y on y.id = x.record join files z on z.id = y.file
  where x.call = i.call and x.role = 'output' and y.uuid is not null
  order by y.time nulls first, z.agent is not null, z.source, y.number limit 1)
left join records ro on ro.id = o.record
left join files fo on fo.id = ro.file
where i.place = 1 {wanted} and (:since is null or coalesce(ro.time, i.time) >= :since)
  and (:until is null or coalesce(ro.time, i.time) < :until)
order by coalesce(ro.time, i.time) nulls first, f.source, i.number, i.block
"""
# Limited to some paths. The first copy of a call may name another path than a later one, so all copies are compared.
COPIES: Final = """(
  select * from blocks where call in (
    select call from blocks where file in (select value from json_each(:paths)) and role = 'input')
  union all
  select * from blocks where file in (select value from json_each(:paths)) and call is null
) b"""
STATEMENTS: Final = {
    "file calls": CALLS.format(blocks="blocks b indexed by blocks_file", wanted=""),
    "calls of paths": CALLS.format(blocks=COPIES, wanted="and i.touched in (select value from json_each(:paths))"),
    # Reads each path once, however many calls have it.
    "paths": """
with recursive paths (path) as (
  select min(file) from blocks
  union all
  select (select min(file) from blocks where file > path) from paths where path is not null
)
select path from paths where path is not null
""",
    "file prompts": f"""
select f.source, r.number, r.time, coalesce(r.original, r.uuid), coalesce(r.text, ''),
  f.agent is not null or r.sidechain, c.name, f.agent, r.kind in ({TURN_KINDS})
from records r join files f on f.id = r.file left join chats c on c.id = f.chat
where {IS_PROMPT} and (:files is null or r.file in (select value from json_each(:files)))
order by r.time nulls first, f.source, r.number
""",  # noqa: S608 - no values in it
    "file moments": """
select r.uuid, coalesce(r.original, r.uuid), r.message, r.time from records r
where r.uuid is not null and r.time is not null
  and (:files is null or r.file in (select value from json_each(:files)))
""",
}
