"""Tokens and costs, by any dimension. Sums come from `spent`, single answers from `counted`."""

from typing import Final

SUMS: Final = """
  sum(s.messages), sum(s.input), sum(s.output), sum(s.cache_write), sum(s.cache_read), sum(s.cache_write_5m),
  sum(s.cache_write_1h), sum(s.web_searches), sum(s.web_fetches), sum(s.cost), sum(s.unpriced), sum(s.placeholders),
  sum(s.reported_cost), sum(s.records), sum(s.copies)
"""
# Sums are by quarter of an hour: the caller rounds `since` and `until` to one.
WITHIN: Final = """
  (:since is null or s.quarter >= :since / 900000000) and (:until is null or s.quarter < :until / 900000000)
  and (:files is null or s.file in (select value from json_each(:files)))
"""


def _by(key: str, joins: str = "") -> str:
    return f"select {key}, {SUMS} from spent s {joins} where {WITHIN} group by {key}"  # noqa: S608 - no values in it


LOCAL: Final = "case when s.quarter = 0 then 0 else (s.quarter + :ahead) / {} end"
"""A local hour or day; 0 for answers without a time."""
FILES: Final = "join files f on f.id = s.file"
CHATS: Final = f"{FILES} left join chats c on c.id = f.chat"
LISTED_CHAT: Final = "case when c.silent then null else c.name end"
"""Chat `c`, if lists show it: chats that the client made for itself are in no list."""
STATEMENTS: Final = {
    "usage by quarter": _by("s.quarter, s.model"),
    # Local hours and days; see `library.analytics.periods`.
    "usage by hour": _by(f"{LOCAL.format(4)}, s.model"),
    "usage by day": _by(f"{LOCAL.format(96)}, s.model"),
    "answer span": """
select min(u.time), max(u.time) from counted u
where u.model is distinct from '<synthetic>' and (:since is null or u.time >= :since)
  and (:until is null or u.time < :until) and (:files is null or u.file in (select value from json_each(:files)))
""",
    "usage span": "select min(quarter), max(quarter) from spent where quarter > 0",
    "usage by model": _by("s.model, s.model"),
    "usage by project": _by("f.project, s.model", FILES),
    "usage by chat": _by(f"{LISTED_CHAT}, s.model", CHATS),
    "usage by agent": _by("coalesce(f.agent, case when s.agent = 1 then 'inline' end), s.model", FILES),
    "usage by git-branch": _by("s.git_branch, s.model"),
    "usage by version": _by("s.version, s.model"),
    "usage by machine": _by("f.machine, s.model", FILES),
    "reported costs": """
select count(*), coalesce(sum(u.reported_cost), 0), coalesce(sum(u.cost), 0),
  count(*) filter (where u.cost is null)
from counted u
where u.reported_cost is not null and u.model is distinct from '<synthetic>'
  and (:since is null or u.time >= :since) and (:until is null or u.time < :until)
  and (:files is null or u.file in (select value from json_each(:files)))
""",
    "unrecorded": f"""
select s.model, {LISTED_CHAT}, f.project, sum(s.input), sum(s.output), sum(s.cache_write), sum(s.cache_read),
  sum(s.cache_write_5m), sum(s.cache_write_1h), sum(s.web_searches), coalesce(sum(s.cost), 0),
  max(case when s.cost is null then 1 else 0 end) = 1
from unrecorded s {CHATS} where {WITHIN} group by 1, 2, 3 order by 1, 2, 3
""",  # noqa: S608
    "titles": """
select c.name, c.title from chats c
where (:files is null or c.id in (select f.chat from files f where f.id in (select value from json_each(:files))))
""",
    "answers": """
select u.message, u.time, u.model, c.name, f.session, f.agent, u.input, u.output, u.cache_write, u.cache_read, u.cost,
  u.final, u.records, u.files, f.path, u.reported_cost
from counted u join files f on f.id = u.file left join chats c on c.id = f.chat
where (:since is null or u.time >= :since) and (:until is null or u.time < :until)
  and (:files is null or u.file in (select value from json_each(:files)))
order by u.time nulls first, u.message
""",
}
