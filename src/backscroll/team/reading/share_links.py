"""Links to one chat for people outside: redacted, with an end, and revocable at any time."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person
from backscroll.team.people.secrets import digest, new_secret
from backscroll.team.reading.shares import HELD, parts_of

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

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
    is_held: bool
    """Whether another chat became one with it since, so that it does not work."""


class LinkedChat(NamedTuple):
    """The chat that a link leads to."""

    owner: str
    """The handle of the owner."""
    name: str
    chat: str
    expires: datetime


def new_link(connection: "Connection", owner: Person, chat: str, title: str, days: int) -> str:
    """Make a link to a chat; return its secret, which is shown once."""
    if not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"a link lasts 1 to {LONGEST_DAYS} days", "give another number of days")
    if len(links_of(connection, owner)) >= MAX_LINKS:
        raise UsageError(f"you have {MAX_LINKS} links", "revoke some that are no longer needed")
    secret = new_secret("u")
    connection.execute(
        "insert into share_link (owner, chat, title, digest, expires, agreed)"
        " values (%s, %s, %s, %s, now() + make_interval(days => %s), %s)",
        (owner.id, chat, title[:300], digest(secret), days, parts_of(connection, owner, chat)),
    )
    record(connection, owner.org, owner.handle, "link.new", chat, f"{days} days")
    return secret


def links_of(connection: "Connection", owner: Person, chat: str | None = None) -> list[ShareLink]:
    """List the links of a person that were not revoked and have not expired, or those to one chat."""
    parts = None if chat is None else parts_of(connection, owner, chat)
    rows = connection.execute(
        f"select s.id, s.chat, s.title, s.created, s.expires, s.opened, s.last_opened, {HELD} from share_link s"  # noqa: S608
        " where s.owner = %s and (%s::text[] is null or s.chat = any(%s)) and s.revoked is null and s.expires > now()"
        " order by s.id desc",
        (owner.id, parts, parts),
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
    """Return the chat of a link, and count the opening. All links that do not work give the same error.

    A link does not work while another chat has become one with its own: its owner makes a new one.
    """
    row = connection.execute(OPEN, (digest(secret),)).fetchone()
    if row is None:
        raise NothingFound("this link does not work", "it was revoked, or it has expired: ask the person who sent it")
    return LinkedChat(*row)


OPEN: Final = f"""
update share_link s set opened = s.opened + 1, last_opened = now() from person p
where s.digest = %s and s.revoked is null and s.expires > now() and p.id = s.owner and p.disabled is null and not {HELD}
returning p.handle, p.name, s.chat, s.expires
"""  # noqa: S608 - no values in it
