"""Tool calls, each once with its result, and where turns begin.

Of the copies of a call, and of its result, the earliest is taken, as in `v_tool_calls`; only then is it asked whether
it lies in the time and the files that count.
"""

from typing import Final

from backscroll.conversation.kinds import TURNS

KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
EARLIEST: Final = """
(select x.id from blocks x join records y on y.id = x.record join files z on z.id = y.file
  where x.call = n.call and x.role = '{role}' and y.uuid is not null
  order by y.time, z.agent is not null, z.source, y.number, x.number limit 1)
"""
# Nearly every call stands once: only the others are looked at one by one. What has no id of its own cannot be told
# from others, so that every such call counts.
CALLS: Final = f"""
with numbers as (
  select b.call, sum(b.role = 'input') as inputs, min(case b.role when 'input' then b.id end) as input,
    sum(b.role = 'output') as outputs, min(case b.role when 'output' then b.id end) as output
  from blocks b where b.call <> '' group by b.call
), called as (
  select n.inputs as copies,
    case when n.inputs = 1 then n.input else coalesce({EARLIEST.format(role="input")}, n.input) end as input,
    case when n.outputs = 1 then n.output else {EARLIEST.format(role="output")} end as output
  from numbers n where n.inputs > 0
  union all
  select 1, b.id, null from blocks b where b.role = 'input' and coalesce(b.call, '') = ''
)
select f.id, r.sidechain, r.number, i.number, coalesce(f.chat, -f.id), c.name, f.session, f.agent, f.project,
  f.started, f.source, r.start, r.length, r.time, coalesce(r.original, r.uuid), r.model, i.tool, i.file, i.size,
  i.digest,
  n.copies, iif(p.id is null, null, o.state), iif(p.id is null, null, o.size), iif(p.id is null, null, o.detail),
  o.number, p.time, coalesce(p.original, p.uuid), p.start, p.length, g.source
from called n
join blocks i on i.id = n.input
join records r on r.id = i.record
join files f on f.id = r.file
left join chats c on c.id = f.chat
left join blocks o on o.id = n.output
left join records p on p.id = o.record and p.uuid is not null
left join files g on g.id = p.file
where (:since is null or r.time >= :since) and (:until is null or r.time < :until)
  and (:files is null or f.id in (select value from json_each(:files)))
order by coalesce(f.chat, -f.id), f.agent, r.sidechain, f.started, f.source, r.number, i.number
"""  # noqa: S608 - no values in it
STATEMENTS: Final = {
    "calls": CALLS,
    "turns": f"""
select r.file, r.sidechain, r.number from records r
where r.kind in ({KINDS}) and (:files is null or r.file in (select value from json_each(:files)))
order by r.file, r.sidechain, r.number
""",  # noqa: S608 - no values in it
}
