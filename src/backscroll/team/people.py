"""Organisations, people and teams, and the links that let people in."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.recoveries import announce_link, is_in_use
from backscroll.team.secrets import digest, hash_password, is_outdated, is_password, new_secret

if TYPE_CHECKING:
    from backscroll.team.database import Connection

ROLES: Final = ("member", "service", "auditor", "admin", "owner")
ADMINISTRATORS: Final = frozenset({"owner", "admin"})
AUDITORS: Final = frozenset({"owner", "auditor"})
INVITATION: Final = timedelta(days=7)
LONGEST_NAME: Final = 100
HANDLE: Final = re.compile("[a-z0-9][a-z0-9-]{0,30}")


class Person(NamedTuple):
    """A person of an organisation."""

    id: int
    org: int
    handle: str
    """Short, unique on the server, and lasting: it begins the names of the person's devices."""
    name: str
    email: str | None
    role: str
    disabled: datetime | None = None
    org_name: str = ""
    teams: tuple[int, ...] = ()
    leads: tuple[int, ...] = ()
    """The teams that this person leads."""
    owner_since: datetime | None = None
    notices: int = 0
    """How much this person has to be told about links that others made for their account."""
    recovery: int = 0
    """The recovery that has to be confirmed before this person may see anything; 0 for everyone who is known."""

    @property
    def is_administrator(self) -> bool:
        """Whether this person may invite, disable and revoke. It gives no right to read."""
        return self.role in ADMINISTRATORS

    @property
    def is_auditor(self) -> bool:
        """Whether this person may read the audit log."""
        return self.role in AUDITORS

    @property
    def sees_erasures(self) -> bool:
        """Whether this person may see who was erased and what is held."""
        return self.is_administrator or self.is_auditor


class Team(NamedTuple):
    """A team and its members."""

    id: int
    name: str
    members: tuple[str, ...]
    """Handles."""


def first_link(connection: "Connection", org: str = "Team") -> str | None:
    """A one-time secret for the first administrator; None once one can sign in. Makes the organisation if needed.

    Only digests are stored, so none can be shown again: each start of the server makes a further one. All of them stop
    working when one is used.
    """
    connection.execute("select pg_advisory_xact_lock(hashtext('first administrator'))")
    if connection.execute("select 1 from person where password is not null or subject is not null").fetchone():
        return None
    row = connection.execute("select id, org from person where role = 'owner' order by id limit 1").fetchone()
    if row is None:
        number = new_org(connection, org)
        row = (new_person(connection, number, "admin", "Administrator", role="owner"), number)
    connection.execute("delete from invitation where person = %s and expires < now()", (row[0],))
    return new_invitation(connection, row[1], row[0], None)


def new_org(connection: "Connection", name: str) -> int:
    """Make an organisation."""
    row = connection.execute("insert into org (name) values (%s) returning id", (name,)).fetchone()
    return int(row[0]) if row else 0


def rename_org(connection: "Connection", by: Person, name: str) -> None:
    """Give the organisation another name. Pages show it from the next request on."""
    from psycopg.errors import UniqueViolation

    by, name = administrator_now(connection, by), name.strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        hint = f"use 1 to {LONGEST_NAME} characters in one line, without control characters"
        raise UsageError("this is not a name for an organisation", hint)
    if name == by.org_name:
        return
    try:
        with connection.transaction():
            connection.execute("update org set name = %s where id = %s", (name, by.org))
    except UniqueViolation as error:
        raise UsageError("another organisation on this server has this name", "choose another name") from error
    record(connection, by.org, by.handle, "org.rename", by.org_name, f"{by.org_name} → {name}")


def org_of(connection: "Connection", name: str | None) -> int:
    """The number of an organisation; without a name, of the only one."""
    found = connection.execute("select id from org where %s::text is null or name = %s", (name, name)).fetchall()
    if len(found) != 1:
        raise UsageError(f"there are {len(found)} organisations" + (f" called {name}" if name else ""), "name one")
    return int(found[0][0])


def new_person(
    connection: "Connection", org: int, handle: str, name: str, *, email: str | None = None, role: str = "member"
) -> int:
    """Make a person; UsageError if the handle is taken."""
    if not HANDLE.fullmatch(handle):
        raise UsageError(f"{handle!r} is not a handle", "use at most 31 lower-case letters, digits and -")
    if role not in ROLES or not name.strip():
        raise UsageError("a person needs a name and a role", f"the roles are: {', '.join(ROLES)}")
    row = connection.execute(
        "insert into person (org, handle, name, email, role, owner_since)"
        " values (%s, %s, %s, %s, %s, case when %s = 'owner' then now() end) on conflict do nothing returning id",
        (org, handle, name.strip()[:100], email, role, role),
    ).fetchone()
    if row is None:
        raise UsageError(f"the handle {handle} is taken", "choose another handle")
    return int(row[0])


def invite(connection: "Connection", by: Person, handle: str, name: str, role: str) -> str:
    """Make a person, and a one-time secret that lets them choose a password."""
    if role == "owner" and by.role != "owner":
        raise UsageError("only an owner can make someone an owner", "choose another role")
    person = new_person(connection, by.org, handle, name, role=role)
    record(connection, by.org, by.handle, "person.invite", handle, role)
    return new_invitation(connection, by.org, person, by.id)


def invite_again(connection: "Connection", by: Person, handle: str) -> str:
    """A new secret for a person, for instance after a lost password; earlier ones stop working.

    If the account is in use, it opens nothing by itself: what it begins has to be confirmed (`recoveries`).
    """
    person = person_of(connection, by.org, handle)
    if person.role == "owner" and by.role != "owner":
        raise UsageError("only an owner can do this to an owner", "ask an owner")
    if connection.execute("select 1 from erasure where person = %s", (person.id,)).fetchone():
        raise UsageError(f"{handle} is being erased", "see Retention and erasures")
    connection.execute("delete from invitation where person = %s", (person.id,))
    record(connection, by.org, by.handle, "person.invite", handle)
    secret = new_invitation(connection, by.org, person.id, by.id)
    if by.id != person.id and is_in_use(connection, person.id):
        announce_link(connection, person, digest(secret), by)
    return secret


def invite_by_operator(connection: "Connection", org: int, person: int, handle: str) -> str:
    """A new secret for a person, made on the command line of the server; earlier ones stop working.

    It opens the account whatever is in it. The person is told.
    """
    connection.execute("delete from invitation where person = %s", (person,))
    record(connection, org, "operator", "person.invite", handle)
    secret = new_invitation(connection, org, person, None, opens=True)
    if is_in_use(connection, person):
        announce_link(connection, person_of(connection, org, handle), digest(secret), None)
    return secret


def new_invitation(
    connection: "Connection",
    org: int,
    person: int,
    by: int | None,
    *,
    opens: bool = False,
    lasts: timedelta = INVITATION,
) -> str:
    """A secret with which a person chooses a password; it `opens` an account whatever is in it."""
    secret = new_secret("i")
    connection.execute(
        "insert into invitation (digest, org, person, invited_by, expires, opens)"
        " values (%s, %s, %s, %s, now() + %s, %s)",
        (digest(secret), org, person, by, lasts, opens),
    )
    return secret


def invited(connection: "Connection", secret: str) -> Person:
    """The person that an invitation is for; NothingFound if it was used, or is too old."""
    row = connection.execute(
        "select person from invitation where digest = %s and used is null and expires > now()", (digest(secret),)
    ).fetchone()
    if row is None:
        raise NothingFound("this link has been used already, or has expired", "ask an administrator for a new one")
    return find_person(connection, row[0])


def forbids_passwords(connection: "Connection", org: int) -> bool:
    """Whether people of this organisation sign in through the provider only."""
    row = connection.execute("select forbids_passwords from org where id = %s", (org,)).fetchone()
    return bool(row and row[0])


def with_password(connection: "Connection", handle: str, password: str) -> Person | None:
    """The person with this handle and password, who may be disabled; None if there is none."""
    row = connection.execute("select id, password from person where handle = %s", (handle.strip().lower(),)).fetchone()
    if not is_password(password, row[1] if row else None) or not row:
        return None
    if is_outdated(row[1]):
        connection.execute("update person set password = %s where id = %s", (hash_password(password), row[0]))
    return next(iter(_people(connection, "p.id = %s and p.erased is null", row[0])), None)


def find_person(connection: "Connection", number: int) -> Person:
    """A person by number; NothingFound if they were disabled."""
    for person in _people(connection, "p.id = %s and p.disabled is null", number):
        return person
    raise NothingFound("there is no such person", "ask an administrator")


def person_of(connection: "Connection", org: int, handle: str) -> Person:
    """A person of an organisation by handle, disabled or not."""
    for person in _people(connection, "p.org = %s and p.handle = %s and p.erased is null", org, handle):
        return person
    raise NothingFound(f"no one here has the handle {handle}", "see People and teams")


def person_named(connection: "Connection", handle: str) -> Person:
    """A person by handle, which is unique on the server; NothingFound if they were disabled."""
    for person in _people(connection, "p.handle = %s and p.disabled is null", handle):
        return person
    raise NothingFound(f"no one here has the handle {handle}", "ask an administrator")


def people(connection: "Connection", org: int) -> list[Person]:
    """Everyone of an organisation."""
    return _people(connection, "p.org = %s and p.erased is null", org)


def not_joined(connection: "Connection", org: int) -> set[str]:
    """The handles of those who were invited and have not used their link."""
    rows = connection.execute(
        "select p.handle from person p where p.org = %s and p.password is null and p.subject is null"
        " and exists (select 1 from invitation i where i.person = p.id and i.used is null)"
        " and not exists (select 1 from web_session s where s.person = p.id)",
        (org,),
    )
    return {str(handle) for (handle,) in rows}


def administrator_now(connection: "Connection", by: Person) -> Person:
    """Who asks, as they are now, while no one else disables or demotes anyone: two owners cannot oust each other."""
    connection.execute("select pg_advisory_xact_lock(hashtext('roles'), %s)", (by.org,))
    now = find_person(connection, by.id)
    if not now.is_administrator:
        raise UsageError("you are no longer an administrator", "ask one")
    return now


def disable(connection: "Connection", by: Person, handle: str, *, undo: bool = False) -> None:
    """Let a person in no more: sessions end, keys and devices stop working. What they sent stays."""
    by = administrator_now(connection, by)
    person = person_of(connection, by.org, handle)
    if person.id == by.id or (person.role == "owner" and by.role != "owner"):
        raise UsageError(f"you cannot disable {handle}", "ask another owner")
    if connection.execute("select 1 from erasure where person = %s", (person.id,)).fetchone():
        raise UsageError(f"{handle} is being erased", "see Retention and erasures")
    connection.execute(
        "update person set disabled = case when %s then null else now() end where id = %s", (undo, person.id)
    )
    for table in ("web_session", "recovery_session"):
        connection.execute(f"delete from {table} where person = %s", (person.id,))  # noqa: S608 - names of ours
    record(connection, by.org, by.handle, "person.enable" if undo else "person.disable", handle)


def teams(connection: "Connection", org: int) -> list[Team]:
    """The teams of an organisation."""
    rows = connection.execute(
        "select t.id, t.name, array_remove(array_agg(p.handle order by p.handle), null) from team t"
        " left join membership m on m.team = t.id left join person p on p.id = m.person"
        " where t.org = %s group by t.id order by t.name",
        (org,),
    )
    return [Team(number, name, tuple(members)) for number, name, members in rows]


def audience_name(connection: "Connection", org: int, team: int | None) -> str:
    """What the audit log calls a team, or everyone."""
    if team is None:
        return "everyone"
    return next((f"team {one.name}" for one in teams(connection, org) if one.id == team), f"team {team}")


def teammates(connection: "Connection", person: Person) -> frozenset[str]:
    """The handles of those who are in a team with a person."""
    rows = connection.execute(
        "select distinct p.handle from membership m join person p on p.id = m.person"
        " where m.team = any(%s) and p.id <> %s and p.org = %s",
        (list(person.teams), person.id, person.org),
    )
    return frozenset(handle for (handle,) in rows)


def new_team(connection: "Connection", by: Person, name: str) -> int:
    """Make a team."""
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
    """These people, and no others, are members of a team."""
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


def _people(connection: "Connection", condition: str, *values: object) -> list[Person]:
    rows = connection.execute(f"{PEOPLE} where {condition} order by p.handle", values)
    return [Person._make((*row[:8], tuple(row[8]), tuple(row[9]), *row[10:])) for row in rows]


PEOPLE: Final = (
    "select p.id, p.org, p.handle, p.name, p.email, p.role, p.disabled, o.name,"
    " array(select m.team from membership m where m.person = p.id),"
    " array(select m.team from membership m where m.person = p.id and m.role = 'lead'), p.owner_since,"
    " (select count(*)::int from recovery r where r.person = p.id and r.dismissed is null), 0"
    " from person p join org o on o.id = p.org"
)
