"""How long chats are kept: the rules of an organisation, and which chats they end."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.conversation.overview import Overview
from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.holds import Hold
from backscroll.team.jobs import want
from backscroll.team.people import Person

if TYPE_CHECKING:
    from backscroll.team.database import Connection

JOB: Final = "expire"
LONGEST_DAYS: Final = 36_500


class RetentionRule(NamedTuple):
    """Chats of a project are kept for so many days after their last activity."""

    id: int
    project: str | None
    """A path, or the last part of one; None for every chat that no other rule is about."""
    days: int
    made_by: str
    made: datetime


class ExpiringChat(NamedTuple):
    """A chat that has an end."""

    handle: str
    chat: str
    at: datetime
    is_held: bool


class ExpiringOfPerson(NamedTuple):
    """How much of a person goes, and when it begins."""

    handle: str
    chats: int
    first: datetime


def end_of(rules: Sequence[RetentionRule], chat: Overview) -> datetime | None:
    """When a chat expires; None if no rule is about it. Of several rules the one with the longest project counts."""
    if chat.last_active is None:
        return None
    found = [rule for rule in rules if rule.project is None or is_about(rule.project, chat.project or "")]
    if not found:
        return None
    rule = max(found, key=lambda one: len(one.project or ""))
    return chat.last_active + timedelta(days=rule.days)


def is_about(wanted: str, project: str) -> bool:
    """Whether the path of a project is the wanted one or below it; a name without slashes is the last part of it."""
    folders = project.replace("\\", "/").rstrip("/").split("/")
    parts = wanted.replace("\\", "/").rstrip("/").split("/")
    return folders[: len(parts)] == parts if len(parts) > 1 else folders[-1] == wanted


def is_held(holds: Iterable[Hold], chat: Overview) -> bool:
    """Whether a hold is on the chat; the beginning of an id is enough: rather too much is kept than too little."""
    names = [name.lower() for name in (chat.id, *chat.sessions)]
    return any(one.chat is None or any(name.startswith(one.chat.lower()) for name in names) for one in holds)


def set_rule(connection: "Connection", by: Person, project: str, days: int) -> None:
    """Keep chats of a project, or without one all chats, for so many days; replaces an earlier rule about the same."""
    if not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"chats are kept for 1 to {LONGEST_DAYS} days", "give another number")
    named = project.strip()[:1000] or None
    connection.execute(
        "insert into retention_rule (org, project, days, made_by) values (%s, %s, %s, %s)"
        " on conflict (org, project) do update set days = excluded.days, made_by = excluded.made_by, made = now()",
        (by.org, named, days, by.handle),
    )
    record(connection, by.org, by.handle, "retention.set", named or "everything", f"{days} days")
    _look_again(connection, by.org)


def remove_rule(connection: "Connection", by: Person, number: int) -> None:
    """From now on this rule ends no chat."""
    row = connection.execute(
        "delete from retention_rule where id = %s and org = %s returning project", (number, by.org)
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such rule", "see Retention and erasures")
    record(connection, by.org, by.handle, "retention.remove", row[0] or "everything")
    _look_again(connection, by.org)


def _look_again(connection: "Connection", org: int) -> None:
    people = connection.execute("select handle from person where org = %s and erased is null", (org,)).fetchall()
    for (handle,) in people:
        want(connection, JOB, handle)


def rules_of(connection: "Connection", org: int) -> list[RetentionRule]:
    """The rules of an organisation; the one about all others comes last."""
    rows = connection.execute(
        "select id, project, days, made_by, made from retention_rule where org = %s order by project nulls last",
        (org,),
    )
    return [RetentionRule(*row) for row in rows]


def want_due(connection: "Connection") -> None:
    """Have everyone's chats looked through whose last look was a day ago, or who was interrupted."""
    for (handle,) in connection.execute(DUE).fetchall():
        want(connection, JOB, handle)


def expiring_of(connection: "Connection", person: Person, limit: int = 50) -> list[ExpiringChat]:
    """The chats of a person that go next."""
    rows = connection.execute(
        "select p.handle, e.chat, e.at, e.is_held from expiry e join person p on p.id = e.person where p.id = %s"
        " order by e.at limit %s",
        (person.id, limit),
    )
    return [ExpiringChat(*row) for row in rows]


def expiring_in(connection: "Connection", org: int, days: int) -> list[ExpiringOfPerson]:
    """How many chats of each person of an organisation go within so many days."""
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
