"""Teams from the groups of the identity provider: people who sign in join the teams named like their groups."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from backscroll.team.audit import record
from backscroll.team.people import Person

if TYPE_CHECKING:
    from backscroll.team.database import Connection


def groups_in(claims: dict[str, Any], name: str) -> frozenset[str] | None:
    """The groups that a token names; None if it says nothing about groups, which changes nothing."""
    found = claims.get(name)
    if isinstance(found, str):
        return frozenset({found})
    return frozenset(one for one in found if isinstance(one, str)) if isinstance(found, list) else None


def join_teams(connection: "Connection", person: Person, groups: Collection[str]) -> None:
    """Put a person into the teams that are named like these groups, and out of those that a group put them into before.

    Teams are made by administrators: a group that no team is called after does nothing. Whom an administrator put into
    a team stays there.
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
