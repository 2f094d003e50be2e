"""Who leads a team. A lead sees the team's sums; it gives no right to read."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from backscroll.errors import NothingFound
from backscroll.team.audit import record
from backscroll.team.people import Person, person_of

if TYPE_CHECKING:
    from backscroll.team.database import Connection


def set_lead(connection: "Connection", by: Person, team: int, handle: str, *, undo: bool = False) -> None:
    """Let a member of a team lead it, or no more."""
    member = person_of(connection, by.org, handle)
    row = connection.execute(
        "update membership m set role = %s from team t where t.id = m.team and t.org = %s and m.team = %s"
        " and m.person = %s returning t.name",
        ("member" if undo else "lead", by.org, team, member.id),
    ).fetchone()
    if row is None:
        raise NothingFound(f"{handle} is not in this team", "see People and teams")
    record(connection, by.org, by.handle, "team.member" if undo else "team.lead", row[0], handle)


def set_leads(connection: "Connection", by: Person, team: int, handles: Collection[str]) -> None:
    """Have exactly these members lead a team."""
    known = leads_of(connection, by.org).get(team, set())
    for handle in sorted(known - set(handles)):
        set_lead(connection, by, team, handle, undo=True)
    for handle in sorted(set(handles) - known):
        set_lead(connection, by, team, handle)


def leads_of(connection: "Connection", org: int) -> dict[int, set[str]]:
    """The handles of those who lead, by team."""
    found: dict[int, set[str]] = {}
    rows = connection.execute(
        "select m.team, p.handle from membership m join person p on p.id = m.person join team t on t.id = m.team"
        " where t.org = %s and m.role = 'lead'",
        (org,),
    )
    for team, handle in rows:
        found.setdefault(team, set()).add(handle)
    return found
