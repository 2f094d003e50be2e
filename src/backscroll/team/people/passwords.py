"""Change your own password. Forbid passwords in an organisation, and allow them again.

Where they are forbidden, people sign in through the identity provider.
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person, forbids_passwords
from backscroll.team.people.invitations import invite_by_operator, new_invitation
from backscroll.team.people.recoveries import refuse_all
from backscroll.team.people.secrets import digest, hash_password, is_password

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

NEW_PASSWORD: Final = timedelta(minutes=15)
"""Lifetime of a link for choosing another password right after sign-in."""
RECENTLY: Final = timedelta(days=7)
"""Passwords can be forbidden only if an owner has signed in through the provider within this time."""


class PasswordOf(NamedTuple):
    """The ways in which a person can sign in."""

    stored: str | None
    through_provider: bool
    forbidden: bool
    """Whether passwords are forbidden in the organisation."""

    @property
    def why_none(self) -> str:
        """The reason why the person cannot change a password, with how they sign in; empty if they can."""
        if self.forbidden:
            return "Passwords are switched off here: you sign in through your organisation."
        if self.stored is not None:
            return ""
        if self.through_provider:
            return "You have no password: you sign in through your organisation."
        return "You have no password: you signed in with a link of this demo."


def password_of(connection: "Connection", person: Person) -> PasswordOf:
    """Return whether a person has a password and may use it."""
    row = connection.execute("select password, subject from person where id = %s", (person.id,)).fetchone()
    stored, subject = row or (None, None)
    return PasswordOf(stored, subject is not None, forbids_passwords(connection, person.org))


def change_password(connection: "Connection", person: Person, current: str, new: str, session: str) -> bool:
    """Give a person a new password if they know the current one; False if they do not.

    Their other sessions end, and links by which they or an administrator could set a password stop working. `session`
    is the secret of the one that stays.
    """
    sign_in = password_of(connection, person)
    if sign_in.why_none:
        raise UsageError(sign_in.why_none.rstrip("."), "see Account")
    stored = hash_password(new)
    if not is_password(current, sign_in.stored):
        return False
    connection.execute("update person set password = %s where id = %s", (stored, person.id))
    connection.execute("delete from web_session where person = %s and digest <> %s", (person.id, digest(session)))
    connection.execute("delete from invitation where person = %s and used is null", (person.id,))
    refuse_all(connection, person.id, person.handle)
    record(connection, person.org, person.handle, "password.change", person.handle)
    return True


def must_change_password(connection: "Connection", person: Person) -> bool:
    """Whether a person must choose another password before anything else."""
    row = connection.execute("select must_change_password from person where id = %s", (person.id,)).fetchone()
    return bool(row and row[0])


def link_for_new_password(connection: "Connection", person: Person) -> str:
    """A secret for a person who has just shown their old password and must choose another one.

    It opens their account, unless it is not known whose password the old one was.
    """
    row = connection.execute("select unproved from person where id = %s", (person.id,)).fetchone()
    is_proved = row is not None and not row[0]
    return new_invitation(connection, person.org, person.id, None, opens=is_proved, lasts=NEW_PASSWORD)


def forbid_passwords(connection: "Connection", by: Person, issuer: str | None) -> None:
    """End every session that began with a password, and let none begin. `issuer` is the provider of this server.

    It is refused unless an owner came in through the provider lately: otherwise everyone might be locked out.
    """
    if by.role != "owner":
        raise UsageError("only an owner can switch passwords off", "ask an owner")
    if issuer is None:
        raise UsageError("no identity provider is set", "start the server with --oidc-issuer and --oidc-client")
    row = connection.execute(
        "select count(*) from person where org = %s and role = 'owner' and disabled is null and issuer = %s"
        " and provider_seen > now() - %s",
        (by.org, issuer, RECENTLY),
    ).fetchone()
    if not row or not row[0]:
        raise UsageError(
            f"no owner has signed in through the provider in the last {RECENTLY.days} days",
            "open Account, connect yours with the provider, and try again",
        )
    connection.execute("update org set forbids_passwords = true where id = %s", (by.org,))
    connection.execute(
        "delete from web_session s using person p where p.id = s.person and p.org = %s and s.by_password", (by.org,)
    )
    record(connection, by.org, by.handle, "passwords.forbid", by.org_name)


def allow_passwords(connection: "Connection", by: Person) -> None:
    """Let people sign in with a password again."""
    if by.role != "owner":
        raise UsageError("only an owner can allow passwords", "ask an owner")
    _allow(connection, by.org, by.handle)


def allow_by_operator(connection: "Connection", org: int, owner: str | None = None) -> str | None:
    """Allow passwords from the command line. With the handle of an `owner`, return a link secret for them."""
    _allow(connection, org, "operator")
    if owner is None:
        return None
    row = connection.execute(
        "select id from person where org = %s and handle = %s and role = 'owner' and disabled is null", (org, owner)
    ).fetchone()
    if row is None:
        raise NothingFound(f"{owner} is not an owner here", "name an owner who is not disabled")
    return invite_by_operator(connection, org, int(row[0]), owner)


def _allow(connection: "Connection", org: int, actor: str) -> None:
    row = connection.execute(
        "update org set forbids_passwords = false where id = %s and forbids_passwords returning name", (org,)
    ).fetchone()
    if row is not None:
        record(connection, org, actor, "passwords.allow", row[0])
