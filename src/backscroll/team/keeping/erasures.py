"""The ledger of erasures: who is to be erased, at whose request, and when it was done.

A request takes effect at once: the person is locked out, and their shares end. A worker then removes everything that is
theirs (`erase_person`). The ledger and the audit log remain.

A copy of each entry lies beside the objects, because a restored database may be older than the erasure.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from backscroll.errors import NothingFound, UsageError
from backscroll.sync.remotes import Remote
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.holds import require_no_hold
from backscroll.team.people.accounts import Person, administrator_now, person_of
from backscroll.team.people.roles import check_other_owner

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

JOB: Final = "erase"
LEDGER: Final = "backscroll/erasures/"
"""Prefix of the entries beside the objects."""
OPERATOR: Final = "server"
"""The actor of commands on the command line of the server."""


class Erasure(NamedTuple):
    """An entry of the ledger."""

    handle: str
    person: int
    org: int
    reason: str
    asked_by: str
    asked: datetime
    done: datetime | None
    objects: int


def find_by_name(connection: "Connection", name: str) -> Person:
    """Find a person of any organisation by handle or by e-mail address: for the command line of the server."""
    rows = connection.execute(
        "select org, handle from person where (handle = %s or lower(email) = lower(%s)) and erased is null",
        (name.strip().lower(), name.strip()),
    ).fetchall()
    if len(rows) != 1:
        problem = f"{len(rows)} people have the address {name}" if rows else f"there is no person {name}"
        raise NothingFound(problem, "give the handle, as People and teams shows it")
    return person_of(connection, *rows[0])


def ask_erasure(connection: "Connection", by: Person | None, handle: str, org: int, reason: str = "") -> None:
    """Request the erasure of a person; without `by`, from the command line of the server."""
    by = administrator_now(connection, by) if by else None
    person = person_of(connection, org, handle)
    _check_asker(connection, by, person)
    require_no_hold(connection, person.id)
    if connection.execute("select 1 from erasure where person = %s", (person.id,)).fetchone():
        raise UsageError(f"the erasure of {handle} was already requested", "see Retention and erasures")
    actor = by.handle if by else OPERATOR
    connection.execute(
        "insert into erasure (org, person, handle, reason, asked_by) values (%s, %s, %s, %s, %s)",
        (org, person.id, handle, reason.strip()[:300], actor),
    )
    lock_out(connection, person.id)
    record(connection, org, actor, "person.erase", handle)
    enqueue(connection, JOB, handle)


def _check_asker(connection: "Connection", by: Person | None, person: Person) -> None:
    if by is not None and by.id == person.id:
        raise UsageError("you cannot erase yourself", "ask another owner")
    if by is not None and person.role == "owner" and by.role != "owner":
        raise UsageError("only an owner can erase an owner", "ask an owner")
    check_other_owner(connection, person)


def lock_out(connection: "Connection", person: int) -> None:
    """Lock out a person and their machines, and end what they share."""
    connection.execute("update person set disabled = coalesce(disabled, now()) where id = %s", (person,))
    for table in ("web_session", "recovery_session", "api_key", "invitation", "device_request"):
        connection.execute(f"delete from {table} where person = %s", (person,))  # noqa: S608 - names of ours
    connection.execute("update device set revoked = coalesce(revoked, now()) where person = %s", (person,))
    connection.execute("delete from share where owner = %s", (person,))
    connection.execute("delete from share_link where owner = %s", (person,))


def erasures(connection: "Connection", org: int) -> list[Erasure]:
    """The ledger of an organisation, the newest first."""
    return _read(connection, "org = %s", org)


def erasure_of(connection: "Connection", handle: str) -> Erasure | None:
    """The entry about a person; None if they are not to be erased."""
    return next(iter(_read(connection, "handle = %s", handle)), None)


def to_be_erased(connection: "Connection") -> set[str]:
    """Handles of all people who were erased or will be: nothing of them may be taken."""
    return {str(handle) for (handle,) in connection.execute("select handle from erasure")}


def _read(connection: "Connection", condition: str, value: object) -> list[Erasure]:
    return [Erasure(*row) for row in connection.execute(f"{ERASURES} where {condition} order by id desc", (value,))]


ERASURES: Final = "select handle, person, org, reason, asked_by, asked, done, objects from erasure"


class LedgerEntry(msgspec.Struct, frozen=True):
    """An entry beside the objects: this person is to be erased, also from a restored database."""

    handle: str
    asked_by: str
    asked: str
    reason: str = ""


def note_in_ledger(objects: Remote, erasure: Erasure) -> None:
    """Write an entry beside the objects, before anything of the person is removed. Entries never change."""
    entry = LedgerEntry(erasure.handle, erasure.asked_by, erasure.asked.isoformat(), erasure.reason)
    objects.put(f"{LEDGER}{erasure.handle}.json", msgspec.json.encode(entry))


def read_ledger(objects: Remote) -> Iterator[LedgerEntry]:
    """Read all entries beside the objects."""
    for entry in objects.list(LEDGER):
        yield msgspec.json.decode(objects.get(entry.name), type=LedgerEntry)
