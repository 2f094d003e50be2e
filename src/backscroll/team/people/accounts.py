"""Organisations and their people: made, looked up, renamed and disabled."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.secrets import hash_password, is_outdated, is_password

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

ROLES: Final = ("member", "service", "auditor", "admin", "owner")
ADMINISTRATORS: Final = frozenset({"owner", "admin"})
AUDITORS: Final = frozenset({"owner", "auditor"})
LONGEST_NAME: Final = 100
HANDLE: Final = re.compile("[a-z0-9][a-z0-9-]{0,30}")
RESERVED: Final = frozenset({"operator", "server", "me", "team", "org"})
"""Who acts in the audit log and in notices besides people, and what `owner:` means in queries."""


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
    """The number of notices about links that others made for this account."""
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


def new_org(connection: "Connection", name: str) -> int:
    """Make an organisation; return its number."""
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
    orgs = connection.execute("select id from org where %s::text is null or name = %s", (name, name)).fetchall()
    if len(orgs) != 1:
        raise UsageError(f"there are {len(orgs)} organisations" + (f" called {name}" if name else ""), "name one")
    return int(orgs[0][0])


def new_person(
    connection: "Connection", org: int, handle: str, name: str, *, email: str | None = None, role: str = "member"
) -> int:
    """Make a person; UsageError if the handle is taken."""
    if not HANDLE.fullmatch(handle):
        raise UsageError(f"{handle!r} is not a handle", "use at most 31 lower-case letters, digits and -")
    if handle in RESERVED:
        raise UsageError(f"the handle {handle} has a meaning of its own here", "choose another handle")
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
    """All people of an organisation who were not erased."""
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
    """Read the asking administrator again, and lock roles: two owners cannot oust each other at the same time."""
    connection.execute("select pg_advisory_xact_lock(hashtext('roles'), %s)", (by.org,))
    now = find_person(connection, by.id)
    if not now.is_administrator:
        raise UsageError("you are no longer an administrator", "ask one")
    return now


def disable(connection: "Connection", by: Person, handle: str, *, undo: bool = False) -> None:
    """Disable an account, or with `undo` enable it again.

    Its sessions end, keys and devices stop working. What the person sent stays.
    """
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
