"""Sessions of browsers, and keys of programs."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person, find_person
from backscroll.team.people.secrets import digest, new_secret

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

IDLE: Final = timedelta(days=7)
ABSOLUTE: Final = timedelta(days=30)
"""Lifetime of a session without a request, and in all."""
NOTICED: Final = timedelta(minutes=5)
"""The shortest time between two notes that a session is in use."""
SCOPES: Final = ("read", "mcp", "metrics")


class ApiKey(NamedTuple):
    """A key of a person, for programs."""

    id: int
    name: str
    scopes: list[str]
    created: datetime
    used: datetime | None


def begin_session(connection: "Connection", person: Person, browser: str = "", *, by_password: bool = True) -> str:
    """Begin a session; return the secret for its cookie. A person whose recovery waits gets none."""
    if person.recovery:
        raise UsageError("this account has to be confirmed first", "sign in again")
    secret = new_secret("s")
    connection.execute(
        "insert into web_session (digest, person, browser, by_password) values (%s, %s, %s, %s)",
        (digest(secret), person.id, browser[:200], by_password),
    )
    connection.execute("delete from web_session where created < now() - %s", (ABSOLUTE,))
    record(connection, person.org, person.handle, "sign-in", person.handle)
    return secret


def person_of_session(connection: "Connection", secret: str) -> Person | None:
    """Return the person of a session; None if there is none, or its time is up."""
    row = connection.execute(
        "select s.person, s.seen < now() - %s from web_session s join person p on p.id = s.person"
        " join org o on o.id = p.org where s.digest = %s and s.seen > now() - %s and s.created > now() - %s"
        " and not (s.by_password and o.forbids_passwords)",
        (NOTICED, digest(secret), IDLE, ABSOLUTE),
    ).fetchone()
    if row is None:
        return None
    if row[1]:
        connection.execute("update web_session set seen = now() where digest = %s", (digest(secret),))
    return _enabled(connection, row[0])


def end_session(connection: "Connection", secret: str) -> None:
    """End a session."""
    connection.execute("delete from web_session where digest = %s", (digest(secret),))


def new_key(connection: "Connection", person: Person, name: str, scopes: list[str]) -> str:
    """Make a key; return its secret, which is shown once."""
    if not name.strip() or not scopes or not set(scopes) <= set(SCOPES):
        raise UsageError("a key needs a name and a scope", f"the scopes are: {', '.join(SCOPES)}")
    secret = new_secret("k")
    connection.execute(
        "insert into api_key (person, name, digest, scopes) values (%s, %s, %s, %s)",
        (person.id, name.strip()[:100], digest(secret), scopes),
    )
    record(connection, person.org, person.handle, "key.new", name.strip()[:100], " ".join(scopes))
    return secret


def keys_of(connection: "Connection", person: Person) -> list[ApiKey]:
    """The keys of a person that work."""
    rows = connection.execute(
        "select id, name, scopes, created, used from api_key where person = %s and revoked is null order by id",
        (person.id,),
    )
    return [ApiKey(*row) for row in rows]


def revoke_key(connection: "Connection", person: Person, key: int) -> None:
    """Make a key stop working at once."""
    row = connection.execute(
        "update api_key set revoked = now() where id = %s and person = %s and revoked is null returning name",
        (key, person.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such key", "see your keys")
    record(connection, person.org, person.handle, "key.revoke", row[0])


class KeyUse(NamedTuple):
    """The use of a key that works."""

    key: int
    person: Person
    scopes: frozenset[str]
    """The purposes that the key is for."""


def use_of_key(connection: "Connection", secret: str) -> KeyUse | None:
    """Note the use of a key; return its person and scopes, or None if it does not work."""
    row = connection.execute(
        "update api_key set used = now() where digest = %s and revoked is null and (expires is null or expires > now())"
        " returning id, person, scopes",
        (digest(secret),),
    ).fetchone()
    person = _enabled(connection, row[1]) if row else None
    return KeyUse(row[0], person, frozenset(row[2])) if row and person else None


def _enabled(connection: "Connection", number: int) -> Person | None:
    try:
        return find_person(connection, number)
    except NothingFound:
        return None
