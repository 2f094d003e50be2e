"""The statements about spending: every answer with its cost and the answer before it, and the tools that it calls."""

from typing import Final

from backscroll.store.sql.reports.usage import LISTED_CHAT

# The previous answer is looked up among all answers, also those before `:since`.
STATEMENTS: Final = {
    "spent answers": f"""
select message, time, model, input, output, cache_write, cache_read, cache_write_5m, cache_write_1h, web_searches,
  tier, speed, geo, cost, chat, project, agent, gap, model_before, context_before, final, begun
from (
  select u.message, u.time, u.model, u.input, u.output, u.cache_write, u.cache_read, u.cache_write_5m, u.cache_write_1h,
    u.web_searches, u.tier, u.speed, u.geo, u.cost, {LISTED_CHAT} as chat, f.project,
    coalesce(f.agent, case when u.agent = 1 then 'inline' end) as agent,
    u.time - lag(u.time) over conversation as gap,
    nullif(lag(u.model) over conversation, u.model) as model_before,
    lag(u.input + u.cache_read + u.cache_write) over conversation as context_before, u.final = 1 as final,
    case when f.agent is null then u.time else coalesce(f.started, u.time) end as begun
  from counted u join files f on f.id = u.file left join chats c on c.id = f.chat
  where (:until is null or u.time < :until) and u.model is distinct from '<synthetic>'
    and (:files is null or u.file in (select value from json_each(:files)))
  window conversation as (
    partition by coalesce(f.chat, -f.id), coalesce(f.agent, cast(u.agent as text))
    order by u.time nulls first, u.message)
) as spent_answers
where (:since is null or time >= :since)
order by time nulls first, message
""",  # noqa: S608 - no values in it
    "answer tools": """
select u.message, b.tool, count(distinct coalesce(b.call, cast(b.id as text)))
from counted u join records r on r.message = u.message join blocks b on b.record = r.id
where b.role = 'input' and (:since is null or u.time >= :since) and (:until is null or u.time < :until)
  and (:files is null or u.file in (select value from json_each(:files)))
group by 1, 2
""",
}
