"""Shares: the chats that people share, with whom, and who read them. A chat is private until its owner shares it."""

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person
from backscroll.team.people.teams import audience_name

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

LONGEST_DAYS: Final = 3650


class Share(NamedTuple):
    """A chat that one person shares with others."""

    id: int
    chat: str
    title: str
    """The title of the chat when it was shared."""
    owner: str
    """The handle of the owner."""
    owner_id: int
    audience: str
    team: str | None
    created: datetime
    expires: datetime | None
    without: tuple[str, ...] = ()
    """Members who joined the team since, and do not read the chat until the owner includes them; only for the owner."""
    is_held: bool = False
    """Whether another chat became one with it since: then no one reads it until the owner agrees."""


class ReadChat(NamedTuple):
    """A person's reading of another's chat, on one day."""

    reader: str
    chat: str
    first: datetime
    last: datetime
    requests: int
    title: str
    """The title when the chat was shared; empty if it never was."""


def share(
    connection: "Connection",
    owner: Person,
    chat: str,
    title: str,
    *,
    team: int | None = None,
    days: int | None = None,
) -> int:
    """Share a chat with a team as it is now, or, without one, with everyone of the organisation.

    Sharing it again with the same people changes until when, and includes those who have joined the team since, and
    chats that became one with it.
    """
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"a share lasts 1 to {LONGEST_DAYS} days", "give another number, or none")
    if team is not None and team not in owner.teams:
        raise NothingFound("you are not in this team", "choose one of your teams")
    audience = "org" if team is None else "team"
    agreed = parts_of(connection, owner, chat)
    row = connection.execute(AGAIN, (title[:300], days, agreed, owner.id, chat, audience, team)).fetchone()
    if row is None:
        row = connection.execute(
            "insert into share (owner, chat, title, audience, team, expires, agreed)"
            " values (%s, %s, %s, %s, %s, now() + make_interval(days => %s), %s) returning id",
            (owner.id, chat, title[:300], audience, team, days, agreed),
        ).fetchone()
    record(connection, owner.org, owner.handle, "chat.share", chat, audience_name(connection, owner.org, team))
    return int(row[0]) if row else 0


def revoke_share(connection: "Connection", owner: Person, number: int) -> str:
    """Stop sharing a chat, from now on; return the chat."""
    row = connection.execute(
        "update share set revoked = now() where id = %s and owner = %s and revoked is null returning chat",
        (number, owner.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such share", "see who can read the chat")
    record(connection, owner.org, owner.handle, "chat.unshare", row[0])
    return str(row[0])


def include_members(connection: "Connection", owner: Person, number: int) -> str:
    """Share a chat also with those who have joined the team since; return the chat."""
    row = connection.execute(
        "update share s set members_as_of = now() from team t where s.id = %s and s.owner = %s and s.revoked is null"
        " and t.id = s.team returning s.chat, t.name",
        (number, owner.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such share", "see who can read the chat")
    record(connection, owner.org, owner.handle, "chat.share", row[0], f"team {row[1]}, with its new members")
    return str(row[0])


def include_joined(connection: "Connection", owner: Person, number: int) -> str:
    """Share all of a chat that became one with another; return its id now."""
    row = connection.execute(AGREE, (number, owner.id)).fetchone()
    if row is None:
        raise NothingFound("there is no such share", "see who can read the chat")
    record(connection, owner.org, owner.handle, "chat.share", row[0], "with the chats that became one with it")
    return str(row[0])


def parts_of(connection: "Connection", owner: Person, chat: str) -> list[str]:
    """The chats that became this one; itself, if it was always one."""
    found = connection.execute(PARTS, (owner.id, chat)).fetchall()
    return sorted({chat, *(str(part) for (part,) in found)})


def shares_of(connection: "Connection", owner: Person, chat: str | None = None) -> list[Share]:
    """List the shares of a person, or those of one chat, by any id of its parts."""
    if chat is None:
        return _read(connection, "s.owner = %s", owner.id, without=JOINED_SINCE)
    parts = parts_of(connection, owner, chat)
    return _read(connection, "s.owner = %s and s.chat = any(%s)", owner.id, parts, without=JOINED_SINCE)


def shared_with(connection: "Connection", reader: Person) -> list[Share]:
    """List the shares that a person may read: with everyone, and with a team in which the person was then and is now.

    Administrators put people into teams, and owners of chats share with the people that they see there: being put into
    a team afterwards gives no right to read. Chats that became one with a shared one do not widen it: nobody reads it
    until its owner agrees.
    """
    condition = (
        f"not {HELD} and s.owner <> %s and p.org = %s and p.disabled is null and (s.audience = 'org' or exists ("
        "select from membership m where m.team = s.team and m.person = %s and m.since <= s.members_as_of))"
    )
    return _read(connection, condition, reader.id, reader.org, reader.id)


def first_shared(shares: Iterable[Share], chat: str) -> Share | None:
    """Return the share of the chat with exactly this id; of several people's, the one that was made first.

    A person who knows the id of a shared chat can send a chat of their own with the same id: it never replaces the
    shared one. The start of an id is not enough, because it would reveal that there is a chat.
    """
    return min((each for each in shares if each.chat == chat), key=lambda each: each.id, default=None)


def note_access(connection: "Connection", reader: Person, read: Share) -> None:
    """Note that a person reads a shared chat."""
    connection.execute(
        "insert into access (owner, reader, chat) values (%s, %s, %s) on conflict (owner, reader, chat, day)"
        " do update set last = now(), requests = access.requests + 1",
        (read.owner_id, reader.id, read.chat),
    )


def readers_of(connection: "Connection", owner: Person, limit: int = 500) -> list[ReadChat]:
    """List who read the chats of a person, the last first."""
    rows = connection.execute(
        "select p.handle, a.chat, a.first, a.last, a.requests, coalesce((select s.title from share s"
        " where s.owner = a.owner and s.chat = a.chat order by s.id desc limit 1), '') from access a"
        " join person p on p.id = a.reader where a.owner = %s order by a.last desc limit %s",
        (owner.id, limit),
    )
    return [ReadChat(*row) for row in rows]


def _read(connection: "Connection", condition: str, *values: object, without: str = "'{}'::text[]") -> list[Share]:
    statement = f"{SHARES.format(without=without, held=HELD)} and {condition} order by s.id desc"
    rows = connection.execute(statement, values)
    return [Share._make((*row[:-2], tuple(row[-2]), row[-1])) for row in rows]


JOINED: Final = (
    "backscroll.builds b join backscroll.joined_chats me on me.build = b.id"
    " join backscroll.joined_chats other on other.build = me.build and other.chat = me.chat where b.is_current"
)
HELD: Final = (
    f"exists (select from {JOINED} and b.org = s.owner and me.part = s.chat and other.part <> all(s.agreed || s.chat))"
)
"""Whether a share or a link, `s`, leads to a chat that another became one with, and its owner has not agreed."""
PARTS: Final = f"select other.part from {JOINED} and b.org = %s and me.part = %s"  # noqa: S608 - no values in it
CHAT_NOW: Final = f"select min(me.chat) from {JOINED} and b.org = s.owner and me.part = s.chat"  # noqa: S608
AGREE: Final = f"""
update share s set chat = coalesce(({CHAT_NOW}), s.chat),
  agreed = array(select other.part from {JOINED} and b.org = s.owner and me.part = s.chat)
where s.id = %s and s.owner = %s and s.revoked is null returning s.chat
"""  # noqa: S608
SHARES: Final = (
    "select s.id, s.chat, s.title, p.handle, p.id, s.audience, t.name, s.created, s.expires, {without}, {held}"
    " from share s join person p on p.id = s.owner left join team t on t.id = s.team"
    " where s.revoked is null and (s.expires is null or s.expires > now())"
)
JOINED_SINCE: Final = (
    "array(select q.handle from membership m join person q on q.id = m.person where m.team = s.team"
    " and m.since > s.members_as_of and q.id <> s.owner and q.disabled is null order by q.handle)"
)
AGAIN: Final = (
    "update share set title = %s, expires = now() + make_interval(days => %s), members_as_of = now(), agreed = %s"
    " where owner = %s and chat = %s"
    " and audience = %s and team is not distinct from %s and revoked is null and (expires is null or expires > now())"
    " returning id"
)
