"""Legal holds, which keep everything of a person, or one chat of theirs, from being erased or expiring."""

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person, person_of

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

LONGEST_REASON: Final = 300


class Hold(NamedTuple):
    """A hold that is in force."""

    id: int
    handle: str
    chat: str | None
    """The held chat; None for everything of the person."""
    reason: str
    placed_by: str
    placed: datetime


class HeldError(UsageError):
    """The error for something that a hold forbids."""

    def __init__(self, hold: Hold) -> None:
        what = f"the chat {hold.chat} of {hold.handle}" if hold.chat else hold.handle
        message = f"{what} is under a legal hold since {hold.placed:%Y-%m-%d}, by {hold.placed_by}: {hold.reason}"
        super().__init__(message, "an owner or auditor can release it, under Retention and erasures")


def place_hold(connection: "Connection", by: Person, handle: str, reason: str, chat: str | None = None) -> int:
    """Keep everything of a person, or one chat, until the hold is released."""
    person = person_of(connection, by.org, handle)
    lock_person(connection, person.id)
    if not reason.strip():
        raise UsageError("a hold needs a reason", "say for which matter it is")
    if connection.execute("select 1 from erasure where person = %s and begun is not null", (person.id,)).fetchone():
        raise UsageError(f"the erasure of {handle} has begun", "a hold cannot stop it any more")
    row = connection.execute(
        "insert into hold (org, person, chat, reason, placed_by) values (%s, %s, %s, %s, %s) returning id",
        (by.org, person.id, (chat or "").strip() or None, reason.strip()[:LONGEST_REASON], by.handle),
    ).fetchone()
    record(connection, by.org, by.handle, "hold.place", handle, (chat or "").strip() or "everything")
    return int(row[0]) if row else 0


def release_hold(connection: "Connection", by: Person, number: int) -> None:
    """Release a hold: erasing and expiry go on."""
    row = connection.execute(
        "update hold h set released = now(), released_by = %s from person p where h.id = %s and h.org = %s"
        " and h.released is null and p.id = h.person returning p.handle, h.chat",
        (by.handle, number, by.org),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such hold", "see Retention and erasures")
    record(connection, by.org, by.handle, "hold.release", row[0], row[1] or "everything")


def holds(connection: "Connection", org: int) -> list[Hold]:
    """The holds of an organisation that are in force, the newest first."""
    return _read(connection, "h.org = %s", org)


def holds_on(connection: "Connection", person: int) -> list[Hold]:
    """The holds on a person or a chat of theirs."""
    return _read(connection, "h.person = %s", person)


def require_no_hold(connection: "Connection", person: int) -> None:
    """Raise HeldError if there is a hold on a person or a chat of theirs; the lock stops new holds."""
    lock_person(connection, person)
    if held := holds_on(connection, person):
        raise HeldError(held[0])


def lock_person(connection: "Connection", person: int) -> None:
    """Lock a person: until the transaction ends no other places a hold on them, or begins to erase them."""
    connection.execute("select 1 from person where id = %s for update", (person,))


def _read(connection: "Connection", condition: str, value: int) -> list[Hold]:
    return [Hold(*row) for row in connection.execute(f"{HOLDS} and {condition} order by h.id desc", (value,))]


HOLDS: Final = (
    "select h.id, p.handle, h.chat, h.reason, h.placed_by, h.placed from hold h join person p on p.id = h.person"
    " where h.released is null"
)
