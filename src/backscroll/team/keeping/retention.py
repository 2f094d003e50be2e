"""The retention rules of an organisation, and the chats that expire by them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.conversation.overview import Overview
from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.holds import Hold
from backscroll.team.people.accounts import Person

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

JOB: Final = "expire"
LONGEST_DAYS: Final = 36_500


class RetentionRule(NamedTuple):
    """A rule that keeps the chats of a project for a number of days after their last activity."""

    id: int
    project: str | None
    """A path, or its last part; None for all chats without another rule."""
    days: int
    made_by: str
    made: datetime


class ExpiringChat(NamedTuple):
    """A chat that expires."""

    handle: str
    chat: str
    at: datetime
    is_held: bool


class ExpiringOfPerson(NamedTuple):
    """The number of chats of a person that expire, and when the first does."""

    handle: str
    chats: int
    first: datetime


def end_of(rules: Sequence[RetentionRule], chat: Overview) -> datetime | None:
    """Return when a chat expires; None without a rule. Of several rules the one with the longest project counts."""
    if chat.last_active is None:
        return None
    matching = [rule for rule in rules if rule.project is None or is_about(rule.project, chat.project or "")]
    if not matching:
        return None
    rule = max(matching, key=lambda each: len(each.project or ""))
    return chat.last_active + timedelta(days=rule.days)


def is_about(pattern: str, project: str) -> bool:
    """Whether the path of a project is a path or below it; a name without slashes matches the last part."""
    folders = project.replace("\\", "/").rstrip("/").split("/")
    parts = pattern.replace("\\", "/").rstrip("/").split("/")
    return folders[: len(parts)] == parts if len(parts) > 1 else folders[-1] == pattern


def is_held(holds: Iterable[Hold], chat: Overview) -> bool:
    """Whether a hold is on a chat. The beginning of an id matches, to keep rather too much than too little."""
    names = [name.lower() for name in (chat.id, *chat.sessions)]
    return any(hold.chat is None or any(name.startswith(hold.chat.lower()) for name in names) for hold in holds)


def set_rule(connection: "Connection", by: Person, project: str, days: int) -> None:
    """Keep the chats of a project, or without one all chats, for a number of days; replaces an earlier rule."""
    if not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"chats are kept for 1 to {LONGEST_DAYS} days", "give another number")
    path = project.strip()[:1000] or None
    connection.execute(
        "insert into retention_rule (org, project, days, made_by) values (%s, %s, %s, %s)"
        " on conflict (org, project) do update set days = excluded.days, made_by = excluded.made_by, made = now()",
        (by.org, path, days, by.handle),
    )
    record(connection, by.org, by.handle, "retention.set", path or "everything", f"{days} days")
    _enqueue_everyone(connection, by.org)


def remove_rule(connection: "Connection", by: Person, number: int) -> None:
    """Remove a retention rule."""
    row = connection.execute(
        "delete from retention_rule where id = %s and org = %s returning project", (number, by.org)
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such rule", "see Retention and erasures")
    record(connection, by.org, by.handle, "retention.remove", row[0] or "everything")
    _enqueue_everyone(connection, by.org)


def _enqueue_everyone(connection: "Connection", org: int) -> None:
    people = connection.execute("select handle from person where org = %s and erased is null", (org,)).fetchall()
    for (handle,) in people:
        enqueue(connection, JOB, handle)


def rules_of(connection: "Connection", org: int) -> list[RetentionRule]:
    """Read the rules of an organisation, with the one for all other chats last."""
    rows = connection.execute(
        "select id, project, days, made_by, made from retention_rule where org = %s order by project nulls last",
        (org,),
    )
    return [RetentionRule(*row) for row in rows]


def enqueue_due(connection: "Connection") -> None:
    """Add a job for everyone whose last expiry run was a day ago, or was interrupted."""
    for (handle,) in connection.execute(DUE).fetchall():
        enqueue(connection, JOB, handle)


def expiring_of(connection: "Connection", person: Person, limit: int = 50) -> list[ExpiringChat]:
    """List the chats of a person that expire next."""
    rows = connection.execute(
        "select p.handle, e.chat, e.at, e.is_held from expiry e join person p on p.id = e.person where p.id = %s"
        " order by e.at limit %s",
        (person.id, limit),
    )
    return [ExpiringChat(*row) for row in rows]


def expiring_in(connection: "Connection", org: int, days: int) -> list[ExpiringOfPerson]:
    """Count the chats of each person of an organisation that expire within a number of days."""
    rows = connection.execute(
        "select p.handle, count(*), min(e.at) from expiry e join person p on p.id = e.person where p.org = %s"
        " and not e.is_held and e.at < now() + make_interval(days => %s) group by p.handle order by min(e.at)",
        (org, days),
    )
    return [ExpiringOfPerson(*row) for row in rows]


DUE: Final = """
select p.handle from person p left join retention_run r on r.person = p.id
where p.erased is null and (r.is_unfinished
  or (exists (select 1 from retention_rule where org = p.org)
    and coalesce(r.looked, '-infinity') < now() - interval '1 day'))
"""
