"""Invitations: links that let people in, and joining by one of them, with a password or through the identity provider.

A link lets people in by itself only where there is nothing to see yet. An account in use is opened by a link of its own
person or of the operator; any other link begins a recovery, which has to be confirmed (`recoveries`).
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.people.accounts import Person, find_person, forbids_passwords, new_org, new_person, person_of
from backscroll.team.people.recoveries import announce_link, is_in_use, note_opened
from backscroll.team.people.secrets import digest, hash_password, new_secret

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

INVITATION: Final = timedelta(days=7)


def first_link(connection: "Connection", org: str = "Team") -> str | None:
    """Make a one-time secret for the first administrator, and the organisation if needed; None once one can sign in.

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


def invite(connection: "Connection", by: Person, handle: str, name: str, role: str) -> str:
    """Make a person; return a one-time secret with which they choose a password."""
    if role == "owner" and by.role != "owner":
        raise UsageError("only an owner can make someone an owner", "choose another role")
    person = new_person(connection, by.org, handle, name, role=role)
    record(connection, by.org, by.handle, "person.invite", handle, role)
    return new_invitation(connection, by.org, person, by.id)


def invite_again(connection: "Connection", by: Person, handle: str) -> str:
    """Make a new secret for a person, for instance after a lost password; earlier ones stop working.

    For an account in use, the secret opens nothing by itself: the recovery has to be confirmed (`recoveries`).
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
    """Make a new secret for a person on the command line of the server; earlier ones stop working.

    The secret opens the account whatever is in it. The person is told.
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
    """Store an invitation; return its secret. With `opens`, it opens an account whatever is in it."""
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


def accept(connection: "Connection", secret: str, password: str) -> Person:
    """Use an invitation to set the password of its person; every earlier session ends.

    If the account is in use, only a link of the operator does that.
    """
    person, lets_in = use_link(connection, digest(secret))
    if not lets_in:
        raise UsageError(f"the account of {person.handle} is in use: a new link has to be confirmed", "open the link")
    return set_password(connection, person, digest(secret), password)


def use_link(connection: "Connection", link: bytes) -> tuple[Person, bool]:
    """Use up an invitation, by its digest, and all others for its person; return the person, and whether it lets in.

    It does not let in by itself if the account is in use and the link was made neither by the person nor by the
    operator.
    """
    connection.execute(
        "select 1 from person where id = (select person from invitation where digest = %s) for update", (link,)
    )
    row = connection.execute(
        "update invitation set used = now() where digest = %s and used is null and expires > now()"
        " returning person, opens or invited_by is not distinct from person",
        (link,),
    ).fetchone()
    if row is None:
        raise NothingFound("this link has been used already, or has expired", "ask an administrator for a new one")
    connection.execute("delete from invitation where person = %s and used is null", (row[0],))
    person = find_person(connection, row[0])
    lets_in = bool(row[1]) or not is_in_use(connection, person.id)
    if lets_in:
        note_opened(connection, person, link)
    return person, lets_in


def link_lets_in(connection: "Connection", secret: str, person: Person) -> bool:
    """Whether this link for a person needs no confirmation."""
    row = connection.execute(
        "select opens or invited_by is not distinct from person from invitation where digest = %s", (digest(secret),)
    ).fetchone()
    return bool(row and row[0]) or not is_in_use(connection, person.id)


def set_password(connection: "Connection", person: Person, link: bytes, password: str) -> Person:
    """Set the password that a person chose with a link that lets them in."""
    if forbids_passwords(connection, person.org):
        raise UsageError("passwords are switched off here", "sign in through your organisation")
    own = connection.execute("select 1 from invitation where digest = %s and invited_by = person", (link,)).fetchone()
    if own:  # a password is changed by those who know it, also in a session that someone else took over
        raise UsageError("a link that you made for yourself sets no password", "change it on Account")
    stored = hash_password(password)
    connection.execute(
        "update person set password = %s, must_change_password = false where id = %s", (stored, person.id)
    )
    connection.execute("delete from web_session where person = %s", (person.id,))
    enqueue(connection, "index", person.handle)
    record(connection, person.org, person.handle, "password.set", person.handle)
    return person


def require_own_session(connection: "Connection", secret: str, session: Person | None) -> None:
    """Raise UsageError if a link that a person made for themself, to connect the provider, is opened by anyone else.

    Otherwise they could send it to a colleague, whose sign-in at the provider would then lead into their account.
    """
    row = connection.execute(
        "select person from invitation where digest = %s and invited_by = person", (digest(secret),)
    ).fetchone()
    if row is not None and (session is None or session.id != row[0]):
        raise UsageError("this link is for another account", "open Account, and connect yours there")
