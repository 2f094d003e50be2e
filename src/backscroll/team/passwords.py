"""Forbid passwords in an organisation: its people then sign in through the identity provider. And the way back."""

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.people import Person, invite_by_operator

if TYPE_CHECKING:
    from backscroll.team.database import Connection

RECENTLY: Final = timedelta(days=7)
"""So lately an owner must have signed in through the provider for passwords to be forbidden."""


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
