"""Teams of an organisation: members, leads, and the groups of the identity provider that fill them.

A lead sees the sums of the team; that gives no right to read.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person, person_of

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


class Team(NamedTuple):
    """A team and its members."""

    id: int
    name: str
    members: tuple[str, ...]
    """The handles of the members."""


def teams(connection: "Connection", org: int) -> list[Team]:
    """The teams of an organisation."""
    rows = connection.execute(
        "select t.id, t.name, array_remove(array_agg(p.handle order by p.handle), null) from team t"
        " left join membership m on m.team = t.id left join person p on p.id = m.person"
        " where t.org = %s group by t.id order by t.name",
        (org,),
    )
    return [Team(number, name, tuple(members)) for number, name, members in rows]


def new_team(connection: "Connection", by: Person, name: str) -> int:
    """Make a team; return its number."""
    if not name.strip():
        raise UsageError("a team needs a name", "give one")
    row = connection.execute(
        "insert into team (org, name) values (%s, %s) on conflict do nothing returning id", (by.org, name.strip()[:100])
    ).fetchone()
    if row is None:
        raise UsageError(f"there is a team {name} already", "choose another name")
    record(connection, by.org, by.handle, "team.new", name.strip()[:100])
    return int(row[0])


def set_members(connection: "Connection", by: Person, team: int, handles: Sequence[str]) -> None:
    """Replace the members of a team."""
    row = connection.execute("select name from team where id = %s and org = %s", (team, by.org)).fetchone()
    if row is None:
        raise NothingFound("there is no such team", "see People and teams")
    members = [person_of(connection, by.org, handle).id for handle in handles]
    connection.execute("delete from membership where team = %s and not person = any(%s)", (team, members))
    for member in members:
        connection.execute(
            "insert into membership (team, person) values (%s, %s) on conflict do nothing", (team, member)
        )
    record(connection, by.org, by.handle, "team.members", row[0], ", ".join(sorted(handles)))


def teammates(connection: "Connection", person: Person) -> frozenset[str]:
    """The handles of those who are in a team with a person."""
    rows = connection.execute(
        "select distinct p.handle from membership m join person p on p.id = m.person"
        " where m.team = any(%s) and p.id <> %s and p.org = %s",
        (list(person.teams), person.id, person.org),
    )
    return frozenset(handle for (handle,) in rows)


def audience_name(connection: "Connection", org: int, team: int | None) -> str:
    """The name of a team, or of everyone, in the audit log."""
    if team is None:
        return "everyone"
    return next((f"team {each.name}" for each in teams(connection, org) if each.id == team), f"team {team}")


def leads_of(connection: "Connection", org: int) -> dict[int, set[str]]:
    """The handles of those who lead, by team."""
    handles_by_team: dict[int, set[str]] = {}
    rows = connection.execute(
        "select m.team, p.handle from membership m join person p on p.id = m.person join team t on t.id = m.team"
        " where t.org = %s and m.role = 'lead'",
        (org,),
    )
    for team, handle in rows:
        handles_by_team.setdefault(team, set()).add(handle)
    return handles_by_team


def set_leads(connection: "Connection", by: Person, team: int, handles: Collection[str]) -> None:
    """Replace the leads of a team."""
    leads = leads_of(connection, by.org).get(team, set())
    for handle in sorted(leads - set(handles)):
        set_lead(connection, by, team, handle, undo=True)
    for handle in sorted(set(handles) - leads):
        set_lead(connection, by, team, handle)


def set_lead(connection: "Connection", by: Person, team: int, handle: str, *, undo: bool = False) -> None:
    """Make a member the lead of a team, or with `undo` a plain member again."""
    member = person_of(connection, by.org, handle)
    row = connection.execute(
        "update membership m set role = %s from team t where t.id = m.team and t.org = %s and m.team = %s"
        " and m.person = %s returning t.name",
        ("member" if undo else "lead", by.org, team, member.id),
    ).fetchone()
    if row is None:
        raise NothingFound(f"{handle} is not in this team", "see People and teams")
    record(connection, by.org, by.handle, "team.member" if undo else "team.lead", row[0], handle)


def groups_in(claims: dict[str, Any], name: str) -> frozenset[str] | None:
    """The groups that a token names; None if it says nothing about groups, which changes nothing."""
    groups = claims.get(name)
    if isinstance(groups, str):
        return frozenset({groups})
    return frozenset(group for group in groups if isinstance(group, str)) if isinstance(groups, list) else None


def join_teams(connection: "Connection", person: Person, groups: Collection[str]) -> None:
    """Let a person join the teams named like these groups, and leave those that a group put them into before.

    Teams are made by administrators: a group without a team of its name does nothing. Members whom an
    administrator added stay.
    """
    joined = connection.execute(
        "insert into membership (team, person, from_group) select t.id, %s, true from team t"
        " where t.org = %s and t.name = any(%s) on conflict do nothing"
        " returning (select name from team where id = team)",
        (person.id, person.org, list(groups)),
    ).fetchall()
    left = connection.execute(
        "delete from membership m using team t where t.id = m.team and m.person = %s and m.from_group"
        " and not t.name = any(%s) returning t.name",
        (person.id, list(groups)),
    ).fetchall()
    for action, rows in (("team.join", joined), ("team.leave", left)):
        for (name,) in rows:
            record(connection, person.org, person.handle, action, name, "from a group of the identity provider")
