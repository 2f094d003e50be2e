"""Sums over the indexes of several people, with as many statements for a thousand people as for one.

The sums that an index has for its owner (`store.sql.reports.usage`) are grouped by owner here. Row-level security
allows the builds of these people, and nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, Literal, NamedTuple

import psycopg

from backscroll.store.postgres.connection import ALL, PgConnection
from backscroll.store.postgres.shared_rows import shared_setting
from backscroll.store.report_rows import UsageSpan

SpentBy = Literal["model", "project", "day"]


class SpentOfPerson(NamedTuple):
    """The spend of one person under a name of a dimension."""

    person: int
    by: SpentBy
    name: str | int | None
    """Days are numbered from 1970."""
    answers: int
    tokens: int
    cost: int
    """The cost in nanodollars."""


class ProjectOfPerson(NamedTuple):
    """The sessions that one person has in a project."""

    person: int
    project: str | None
    sessions: int
    size: int
    """The bytes of these sessions."""


class PeopleSums:
    """Sums over the indexes of some people, all at the same moment."""

    def __init__(self, connection: psycopg.Connection[Any], builds: Mapping[int, int]) -> None:
        """Sum over these builds; `builds` has the number of a person for each build."""
        self._connection = connection
        self._people = builds

    def span(self) -> UsageSpan | None:
        """Return the first and the last quarter of an hour in which anyone had an answer."""
        row = self._connection.execute(SPAN, {"builds": list(self._people)}).fetchone()
        return None if row is None or row[0] is None else UsageSpan(*row)

    def spent(
        self,
        by: Sequence[SpentBy],
        since: int | None,
        until: int | None,
        clocks: Sequence[tuple[int, int]] = ((0, 0),),
    ) -> list[SpentOfPerson]:
        """Return answers, tokens and money of everyone who spent something, by each of these dimensions.

        `since` and `until` are microseconds, at the start of a quarter of an hour. Days are those of a zone: from each
        quarter in `clocks` on, it is so many quarters ahead of UTC.
        """
        statement = SPENT.format(
            names=", ".join(KEYS[dimension] for dimension in by),
            sets=", ".join(f"(s.build, {KEYS[dimension]})" for dimension in by),
            projects=PROJECTS if "project" in by else "",
            since="" if since is None else SINCE,
            until="" if until is None else UNTIL,
        )
        values = {
            "builds": list(self._people), "since": since, "until": until,
            "changes": [change for change, _ in clocks[1:]], "ahead": [ahead for _, ahead in clocks],
        }  # fmt: skip
        # `grouping` has a bit for each name that a row is not about, with the first name in the highest.
        at_of = {(1 << len(by)) - 1 - (1 << (len(by) - 1 - at)): at for at in range(len(by))}
        spent = []
        for build, absent, answers, tokens, cost, *names in self._connection.execute(statement, values):
            at = at_of[absent]
            spent.append(SpentOfPerson(self._people[build], by[at], names[at], answers, tokens, cost))
        return spent

    def projects(self) -> list[ProjectOfPerson]:
        """Return the projects of everyone's chats."""
        rows = self._connection.execute(SENT, {"builds": list(self._people)})
        return [ProjectOfPerson(self._people[build], *row) for build, *row in rows]


@contextmanager
def people_sums(address: str, people: Iterable[int]) -> Iterator[PeopleSums]:
    """Open the sums of these people, by their numbers. Someone whose index is being built has nothing yet."""
    connection = PgConnection(address)
    try:
        connection.refuse_unsafe_roles()
        with connection.snapshot():
            builds = dict(connection.as_owner().execute(BUILDS, (list(people),)).fetchall())
            yield PeopleSums(connection.as_shared_reader(shared_setting(list(builds)), ALL), builds)
    finally:
        connection.close()


BUILDS: Final = "select id, org from builds where org = any(%s) and is_current"
SPAN: Final = """
select min(s.first), max(s.last) from unnest(%(builds)s::int[]) as b(build), lateral (
  select min(quarter) as first, max(quarter) as last from spent where build = b.build and quarter > 0) s
"""
KEYS: Final[dict[SpentBy, str]] = {
    "model": "s.model",
    "project": "f.project",
    "day": "(s.quarter + (%(ahead)s::int[])[width_bucket(s.quarter, %(changes)s::bigint[]) + 1]) / 96",
}
PROJECTS: Final = "join files f on f.build = s.build and f.id = s.file"
SINCE: Final = "and s.quarter >= %(since)s / 900000000"
UNTIL: Final = "and s.quarter < %(until)s / 900000000"
SPENT: Final = """
select s.build, grouping({names}), sum(s.messages), sum(s.input + s.output + s.cache_write + s.cache_read), sum(s.cost),
  {names}
from spent s {projects}
where s.build = any(%(builds)s::int[]) and s.model <> '<synthetic>' {since} {until}
group by grouping sets ({sets})
"""
SENT: Final = """
with sizes as materialized (
  select build, session, sum(size) as size from files where build = any(%(builds)s::int[]) and session is not null
  group by 1, 2)
select c.build, c.project, count(n.session), coalesce(sum(s.size), 0)
from chats c left join lateral json_array_elements_text(c.overview::json -> 'sessions') as n(session) on true
  left join sizes s on s.build = c.build and s.session = n.session
where c.build = any(%(builds)s::int[]) and not c.silent
group by 1, 2
"""
