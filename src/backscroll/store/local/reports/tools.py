"""Tool calls, each once with its result, and where turns begin.

Of the copies of a call, and of its result, the earliest is taken, as in `v_tool_calls`; only then is it asked whether
it lies in the time and the files that count.
"""

from typing import Final

from backscroll.conversation.kinds import TURNS

KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
# What has no id of its own cannot be told from others: every such call counts.
CALLS: Final = """
with called as (
  select b.id as block, b.call, b.tool, b.file as target, b.size, b.digest, b.number, r.id as record,
    row_number() over (
      partition by coalesce(nullif(b.call, ''), b.id) order by r.time, f.agent is not null, f.path, r.number, b.number
    ) as copy,
    count(*) over (partition by coalesce(nullif(b.call, ''), b.id)) as copies
  from blocks b join records r on r.id = b.record join files f on f.id = r.file
  where b.role = 'input'
), ended as (
  select b.call, b.state, b.size, b.detail, b.number, r.id as record,
    row_number() over (partition by b.call order by r.time, f.agent is not null, f.path, r.number, b.number) as copy
  from blocks b join records r on r.id = b.record join files f on f.id = r.file
  where b.role = 'output' and r.uuid is not null and b.call <> ''
)
select f.id, r.sidechain, r.number, i.number, coalesce(f.chat, -f.id), c.name, f.session, f.agent, f.project,
  f.started, f.path, r.start, r.length, r.time, coalesce(r.original, r.uuid), r.model, i.tool, i.target, i.size,
  i.digest, i.copies, o.state, o.size, o.detail, o.number, p.time, coalesce(p.original, p.uuid), p.start, p.length, g.path
from called i
join records r on r.id = i.record
join files f on f.id = r.file
left join chats c on c.id = f.chat
left join ended o on o.call = i.call and o.copy = 1
left join records p on p.id = o.record
left join files g on g.id = p.file
where i.copy = 1
  and (:since is null or r.time >= :since) and (:until is null or r.time < :until)
  and (:files is null or f.id in (select value from json_each(:files)))
order by coalesce(f.chat, -f.id), f.agent, r.sidechain, f.started, f.path, r.number, i.number
"""
STATEMENTS: Final = {
    "calls": CALLS,
    "turns": f"""
select r.file, r.sidechain, r.number from records r
where r.kind in ({KINDS}) and (:files is null or r.file in (select value from json_each(:files)))
order by r.file, r.sidechain, r.number
""",  # noqa: S608 - no values in it
}
