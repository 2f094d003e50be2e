"""Every answer with what it read from the prompt cache and wrote to it, in the order of each conversation."""

from typing import Final

# A pause is since the answer before, also where that is older than `:since`: who asks leaves those out.
STATEMENTS: Final = {
    "cache answers": """
select u.time, u.model, u.input, u.output, u.cache_write, u.cache_read, u.cache_write_5m, u.cache_write_1h,
  u.web_searches, u.tier, u.speed, u.geo, u.cost, c.name, f.project,
  u.time - lag(u.time) over (
    partition by coalesce(f.chat, -f.id), coalesce(f.agent, cast(u.agent as text))
    order by u.time nulls first, u.message)
from counted u join files f on f.id = u.file left join chats c on c.id = f.chat
where (:until is null or u.time < :until) and (:since is null or true)
  and (:files is null or u.file in (select value from json_each(:files))) and u.model is distinct from '<synthetic>'
""",
}
