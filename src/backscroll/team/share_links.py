"""Links to one chat for people outside: redacted, until a day, and revoked at any time."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.people import Person
from backscroll.team.secrets import digest, new_secret

if TYPE_CHECKING:
    from backscroll.team.database import Connection

LONGEST_DAYS: Final = 90
USUAL_DAYS: Final = 7
MAX_LINKS: Final = 500
"""Links of a person that work at the same time."""


class ShareLink(NamedTuple):
    """A link to a chat."""

    id: int
    chat: str
    title: str
    created: datetime
    expires: datetime
    opened: int
    last_opened: datetime | None


class LinkedChat(NamedTuple):
    """The chat that a link leads to."""

    owner: str
    """The handle."""
    name: str
    chat: str
    expires: datetime


def new_link(connection: "Connection", owner: Person, chat: str, title: str, days: int) -> str:
    """A secret that lets anyone read this chat until it expires; it is shown once."""
    if not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"a link lasts 1 to {LONGEST_DAYS} days", "give another number of days")
    if len(links_of(connection, owner)) >= MAX_LINKS:
        raise UsageError(f"you have {MAX_LINKS} links", "revoke some that are no longer needed")
    secret = new_secret("u")
    connection.execute(
        "insert into share_link (owner, chat, title, digest, expires)"
        " values (%s, %s, %s, %s, now() + make_interval(days => %s))",
        (owner.id, chat, title[:300], digest(secret), days),
    )
    record(connection, owner.org, owner.handle, "link.new", chat, f"{days} days")
    return secret


def links_of(connection: "Connection", owner: Person, chat: str | None = None) -> list[ShareLink]:
    """The links of a person that work, or those to one chat."""
    rows = connection.execute(
        "select id, chat, title, created, expires, opened, last_opened from share_link"
        " where owner = %s and (%s::text is null or chat = %s) and revoked is null and expires > now()"
        " order by id desc",
        (owner.id, chat, chat),
    )
    return [ShareLink(*row) for row in rows]


def revoke_link(connection: "Connection", owner: Person, number: int) -> str:
    """Make a link stop working at once; return the chat."""
    row = connection.execute(
        "update share_link set revoked = now() where id = %s and owner = %s and revoked is null returning chat",
        (number, owner.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such link", "see who can read the chat")
    record(connection, owner.org, owner.handle, "link.revoke", row[0])
    return str(row[0])


def open_link(connection: "Connection", secret: str) -> LinkedChat:
    """What a link leads to, and count that it was opened. All links that do not work are alike."""
    row = connection.execute(
        "update share_link s set opened = s.opened + 1, last_opened = now() from person p"
        " where s.digest = %s and s.revoked is null and s.expires > now() and p.id = s.owner and p.disabled is null"
        " returning p.handle, p.name, s.chat, s.expires",
        (digest(secret),),
    ).fetchone()
    if row is None:
        raise NothingFound("this link does not work", "it was revoked, or it has expired: ask the person who sent it")
    return LinkedChat(*row)
