"""Which chats people share, with whom, and who read them. A chat is private until its owner shares it."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.people import Person, audience_name

if TYPE_CHECKING:
    from backscroll.team.database import Connection

LONGEST_DAYS: Final = 3650


class Share(NamedTuple):
    """A chat that one person shares with others."""

    id: int
    chat: str
    title: str
    """When it was shared."""
    owner: str
    """The handle."""
    owner_id: int
    audience: str
    team: str | None
    created: datetime
    expires: datetime | None
    without: tuple[str, ...] = ()
    """Who joined the team since, and does not read it until the owner includes them; only its owner is told."""


class ReadChat(NamedTuple):
    """That a person read a chat of another, on one day."""

    reader: str
    chat: str
    first: datetime
    last: datetime
    requests: int
    title: str
    """What it was called when it was shared; empty if it never was."""


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

    Sharing it again with the same people changes until when, and includes those who have joined the team since.
    """
    if days is not None and not 1 <= days <= LONGEST_DAYS:
        raise UsageError(f"a share lasts 1 to {LONGEST_DAYS} days", "give another number, or none")
    if team is not None and team not in owner.teams:
        raise NothingFound("you are not in this team", "choose one of your teams")
    audience = "org" if team is None else "team"
    row = connection.execute(AGAIN, (title[:300], days, owner.id, chat, audience, team)).fetchone()
    if row is None:
        row = connection.execute(
            "insert into share (owner, chat, title, audience, team, expires)"
            " values (%s, %s, %s, %s, %s, now() + make_interval(days => %s)) returning id",
            (owner.id, chat, title[:300], audience, team, days),
        ).fetchone()
    record(connection, owner.org, owner.handle, "chat.share", chat, audience_name(connection, owner.org, team))
    return int(row[0]) if row else 0


def revoke_share(connection: "Connection", owner: Person, number: int) -> str:
    """Share it no more, from now on; return the chat."""
    row = connection.execute(
        "update share set revoked = now() where id = %s and owner = %s and revoked is null returning chat",
        (number, owner.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such share", "see who can read the chat")
    record(connection, owner.org, owner.handle, "chat.unshare", row[0])
    return str(row[0])


def include_members(connection: "Connection", owner: Person, number: int) -> str:
    """Share it with those, too, who have joined the team since; return the chat."""
    row = connection.execute(
        "update share s set members_as_of = now() from team t where s.id = %s and s.owner = %s and s.revoked is null"
        " and t.id = s.team returning s.chat, t.name",
        (number, owner.id),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such share", "see who can read the chat")
    record(connection, owner.org, owner.handle, "chat.share", row[0], f"team {row[1]}, with its new members")
    return str(row[0])


def shares_of(connection: "Connection", owner: Person, chat: str | None = None) -> list[Share]:
    """What a person shares: everything, or one chat."""
    condition = "s.owner = %s" if chat is None else "s.owner = %s and s.chat = %s"
    return _read(connection, condition, owner.id, *(() if chat is None else (chat,)), without=JOINED_SINCE)


def shared_with(connection: "Connection", reader: Person) -> list[Share]:
    """What others share with a person: with everyone, and with a team in which the person was then and is now.

    Administrators put people into teams, and owners of chats share with the people that they see there: being put into
    a team afterwards gives no right to read.
    """
    condition = (
        "s.owner <> %s and p.org = %s and p.disabled is null and (s.audience = 'org' or exists ("
        "select from membership m where m.team = s.team and m.person = %s and m.since <= s.members_as_of))"
    )
    return _read(connection, condition, reader.id, reader.org, reader.id)


def note_access(connection: "Connection", reader: Person, read: Share) -> None:
    """A person reads a chat of another."""
    connection.execute(
        "insert into access (owner, reader, chat) values (%s, %s, %s) on conflict (owner, reader, chat, day)"
        " do update set last = now(), requests = access.requests + 1",
        (read.owner_id, reader.id, read.chat),
    )


def readers_of(connection: "Connection", owner: Person, limit: int = 500) -> list[ReadChat]:
    """Who read the chats of a person, the last first."""
    rows = connection.execute(
        "select p.handle, a.chat, a.first, a.last, a.requests, coalesce((select s.title from share s"
        " where s.owner = a.owner and s.chat = a.chat order by s.id desc limit 1), '') from access a"
        " join person p on p.id = a.reader where a.owner = %s order by a.last desc limit %s",
        (owner.id, limit),
    )
    return [ReadChat(*row) for row in rows]


def _read(connection: "Connection", condition: str, *values: object, without: str = "'{}'::text[]") -> list[Share]:
    rows = connection.execute(f"{SHARES.format(without=without)} and {condition} order by s.id desc", values)
    return [Share._make((*row[:-1], tuple(row[-1]))) for row in rows]


SHARES: Final = (
    "select s.id, s.chat, s.title, p.handle, p.id, s.audience, t.name, s.created, s.expires, {without} from share s"
    " join person p on p.id = s.owner left join team t on t.id = s.team"
    " where s.revoked is null and (s.expires is null or s.expires > now())"
)
JOINED_SINCE: Final = (
    "array(select q.handle from membership m join person q on q.id = m.person where m.team = s.team"
    " and m.since > s.members_as_of and q.id <> s.owner and q.disabled is null order by q.handle)"
)
AGAIN: Final = (
    "update share set title = %s, expires = now() + make_interval(days => %s), members_as_of = now()"
    " where owner = %s and chat = %s"
    " and audience = %s and team is not distinct from %s and revoked is null and (expires is null or expires > now())"
    " returning id"
)
