"""Join with an invitation: by a password that one chooses, or through the identity provider.

A link lets people in by itself only where there is nothing to see yet. An account in use is opened by a link of its own
person or of the operator; any other link begins a recovery, which has to be confirmed (`recoveries`).
"""

from typing import TYPE_CHECKING

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.jobs import want
from backscroll.team.people import Person, find_person, forbids_passwords
from backscroll.team.recoveries import is_in_use, note_opened
from backscroll.team.secrets import digest, hash_password

if TYPE_CHECKING:
    from backscroll.team.database import Connection


def accept(connection: "Connection", secret: str, password: str) -> Person:
    """Use an invitation: the person has this password from now on, and every earlier session ends.

    If the account is in use, only a link of the operator does that.
    """
    person, lets_in = use_link(connection, digest(secret))
    if not lets_in:
        raise UsageError(f"the account of {person.handle} is in use: a new link has to be confirmed", "open the link")
    return set_password(connection, person, digest(secret), password)


def set_password(connection: "Connection", person: Person, link: bytes, password: str) -> Person:
    """Give a person the password that they chose with a link that lets them in."""
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
    want(connection, "index", person.handle)
    record(connection, person.org, person.handle, "password.set", person.handle)
    return person


def demand_own_session(connection: "Connection", secret: str, session: Person | None) -> None:
    """An error if a link that a person made for themself, to connect the provider, is opened by anyone else.

    Otherwise they could send it to a colleague, whose sign-in at the provider would then lead into their account.
    """
    row = connection.execute(
        "select person from invitation where digest = %s and invited_by = person", (digest(secret),)
    ).fetchone()
    if row is not None and (session is None or session.id != row[0]):
        raise UsageError("this link is for another account", "open Account, and connect yours there")


def use_link(connection: "Connection", link: bytes) -> tuple[Person, bool]:
    """Use up an invitation, by its digest, and all others for the same person: whose it is, and whether it lets in.

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
