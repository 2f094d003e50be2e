"""Who asks: the session of a browser, or the key of a program."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.people import Person, find_person
from backscroll.team.secrets import digest, new_secret

if TYPE_CHECKING:
    from backscroll.team.database import Connection

IDLE: Final = timedelta(days=7)
ABSOLUTE: Final = timedelta(days=30)
"""How long a session lasts without a request, and in all."""
NOTICED: Final = timedelta(minutes=5)
"""How often it is noted that a session is in use."""
SCOPES: Final = ("read", "mcp", "metrics")


class ApiKey(NamedTuple):
    """A key of a person, for programs."""

    id: int
    name: str
    scopes: list[str]
    created: datetime
    used: datetime | None


def begin_session(connection: "Connection", person: Person, browser: str = "", *, by_password: bool = True) -> str:
    """A new session; its secret is what the cookie holds. Who has to be confirmed first gets none."""
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
    """Whose session it is; None if there is none, or its time is up."""
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
    """Sign out."""
    connection.execute("delete from web_session where digest = %s", (digest(secret),))


def new_key(connection: "Connection", person: Person, name: str, scopes: list[str]) -> str:
    """A new key, which is shown once."""
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
    """A key that works."""

    key: int
    person: Person
    scopes: frozenset[str]
    """What it may be used for."""


def use_of_key(connection: "Connection", secret: str) -> KeyUse | None:
    """Whose key it is, and what it may be used for; None if it does not work."""
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
