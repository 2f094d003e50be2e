"""The statements about time: the rows of chats with their times, prompts, and the sums of the overview.

A copy of a row may be in a file of a later time. So these statements take all rows of the chats that were active in the
period; the caller keeps the first copy of each row, then the rows of the period.
"""

from typing import Final

from backscroll.conversation.kinds import PROMPTS
from backscroll.conversation.usage import SYNTHETIC

IS_PROMPT: Final = (
    f"(r.kind in ({', '.join(repr(str(kind)) for kind in sorted(PROMPTS))})"
    " or r.kind = 'tool-result' and r.text is not null)"
)
"""Whether record `r` is a prompt; a tool result is one if text was typed with it."""
KIND: Final = f"case when r.kind = 'answer' and r.model = '{SYNTHETIC}' then 'note' else r.kind end"
"""The kind of record `r`. Text of the client itself, such as "No response requested.", is no answer."""
# The chat itself, without its agents. The plus keeps SQLite from reading all records in the order of their uuids, which
# takes five times as long as reading them in their own.
ROWS: Final = """
from files f join chats c on c.id = f.chat join records r on r.file = f.id
where f.agent is null and not r.sidechain and +r.uuid is not null and not c.silent
  and (:files is null or f.id in (select value from json_each(:files)))
  and (:since is null or c.last_active >= :since) and (:until is null or c.started is null or c.started < :until)
"""
STATEMENTS: Final = {
    "moments": f"""
select f.chat, coalesce(r.original, r.uuid), r.time, {KIND}, r.model, f.project, r.abandoned, c.name,
  r.kind = 'tool-result' and r.id in (
    select o.record from blocks o where o.role = 'output' and (o.state = 'denied' or o.call in (
      select i.call from blocks i where i.role = 'input' and i.tool in ('AskUserQuestion', 'ExitPlanMode')))),
  null, null
{ROWS} and r.kind not in ('progress', 'outside', 'queued', 'attachment', 'client-text')
order by f.chat, r.time nulls first, r.file, r.number
""",  # noqa: S608 - no values in it
    "prompts": f"""
select f.chat, coalesce(r.original, r.uuid), r.time, r.kind, r.model, f.project, r.abandoned, c.name, false, r.text,
  (select sum(b.size) from blocks b where b.record = r.id and b.role = 'prompt')
{ROWS} and ({IS_PROMPT} or r.kind = 'interruption')
order by f.chat, r.time nulls first, r.file, r.number
""",  # noqa: S608 - no values in it
    "calls by tool": """
select tool, count(*), sum(failed) from (
  select i.call, min(i.tool) as tool, min(r.time) as time, case when i.call in (
    select o.call from blocks o where o.role = 'output' and o.state = 'error' and o.call is not null)
    then 1 else 0 end as failed
  from blocks i join records r on r.id = i.record
  where i.role = 'input' and i.call is not null
    and (:files is null or r.file in (select value from json_each(:files)))
  group by i.call) as once
where (:since is null or time >= :since) and (:until is null or time < :until)
group by tool
""",
}
