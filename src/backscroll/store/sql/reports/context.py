"""The statements about context: the size of each part of a conversation, counted once; agents' parts are marked."""

from typing import Final

# Rows that the model never sees: notes of hooks and of the client for the user, and rows outside the conversation.
UNSEEN: Final = "('hook', 'note', 'outside', 'compaction', 'microcompaction', 'api-error', 'progress', 'unknown')"
ROWS: Final = f"""
with parts as (
  select b.role, b.size, b.call, b.tool, b.number as block, r.kind, r.time, r.number, r.start, r.length, r.file,
    coalesce(r.original, r.uuid) as uuid, f.agent is not null or r.sidechain as agent,
    row_number() over (
      partition by coalesce(b.role || ' ' || b.call, coalesce(r.original, r.uuid) || ' ' || b.number)
      order by r.time nulls first, f.agent is not null, f.source, r.number) as place
  from blocks b join records r on r.id = b.record join files f on f.id = r.file
  where b.role <> 'title' and r.uuid is not null and r.kind not in {UNSEEN} and f.kind in ('session', 'agent')
    and (:files is null or r.file in (select value from json_each(:files)))
), tools as (
  select call, min(tool) as tool from blocks where role = 'input' and call is not null group by call
)
"""  # noqa: S608 - no values in it
STATEMENTS: Final = {
    "context parts": f"""
{ROWS}
select c.name, p.role, coalesce(p.tool, t.tool), p.agent, count(*), coalesce(sum(p.size), 0),
  count(*) filter (where p.size is null)
from parts p join files f on f.id = p.file left join chats c on c.id = f.chat
left join tools t on t.call = p.call and p.role = 'output'
where p.place = 1 and (:since is null or p.time >= :since) and (:until is null or p.time < :until)
group by 1, 2, 3, 4
""",  # noqa: S608
    "context rows": f"""
{ROWS}
select f.source, p.number, p.time, p.role, coalesce(p.tool, t.tool), coalesce(p.size, 0), p.start, p.length, p.block,
  p.size is null
from parts p join files f on f.id = p.file left join chats c on c.id = f.chat
left join tools t on t.call = p.call and p.role = 'output'
where p.place = 1 and not p.agent and (:since is null or p.time >= :since) and (:until is null or p.time < :until)
order by p.time nulls first, f.source, p.number
""",  # noqa: S608
    "context unsized": f"""
{ROWS}
select c.name, f.source, p.start, p.length, p.block
from parts p join files f on f.id = p.file left join chats c on c.id = f.chat
where p.place = 1 and p.size is null and not p.agent
  and (:since is null or p.time >= :since) and (:until is null or p.time < :until)
order by f.source, p.start, p.block
""",  # noqa: S608
    "context answers": """
select c.name, u.time, u.model, u.input, u.cache_read, u.cache_write, u.output
from counted u join files f on f.id = u.file left join chats c on c.id = f.chat
where u.agent = 0 and (:since is null or u.time >= :since) and (:until is null or u.time < :until)
  and (:files is null or u.file in (select value from json_each(:files)))
order by u.time nulls first, u.message
""",
    "context compactions": """
select name, time, source, start, length from (
  select c.name, r.time, f.source, r.start, r.length, row_number() over (partition by coalesce(r.original, r.uuid)
    order by r.time nulls first, f.source, r.number) as place
  from records r join files f on f.id = r.file left join chats c on c.id = f.chat
  where r.kind = 'compaction' and f.agent is null and not r.sidechain
    and (:files is null or r.file in (select value from json_each(:files)))
) as compacted
where place = 1 and (:since is null or time >= :since) and (:until is null or time < :until)
order by time nulls first
""",
}
