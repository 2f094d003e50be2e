"""The audit log of a server: who did what, to what, when. Events form a chain of hashes.

An event never holds text of a conversation or a secret.
"""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

START: Final = b"\0" * 32


class AuditEvent(NamedTuple):
    """An entry of the audit log."""

    number: int
    at: datetime
    actor: str
    """The handle of a person, the name of a device, `server`, `operator`, or whose link was used: `link by HANDLE`."""
    action: str
    about: str
    detail: str
    hash: bytes

    def follows(self, before: bytes) -> bool:
        """Whether the event was written right after the one with this hash."""
        return self.hash == _hash(before, self.number, self.at, self.actor, self.action, self.about, self.detail)


def record(connection: "Connection", org: int, actor: str, action: str, about: str, detail: str = "") -> None:
    """Add an event, in the same transaction as the change that it describes."""
    connection.execute("select 1 from org where id = %s for update", (org,))  # one event after the other
    row = connection.execute(
        "select number, hash from audit where org = %s order by number desc limit 1", (org,)
    ).fetchone()
    number, before = (row[0] + 1, bytes(row[1])) if row else (1, START)
    (at,) = connection.execute("select now()").fetchone() or (datetime.now(UTC),)
    chained = _hash(before, number, at, actor, action, about, detail)
    connection.execute(
        "insert into audit (org, number, at, actor, action, about, detail, hash)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s)",
        (org, number, at, actor, action, about, detail, chained),
    )


def events(connection: "Connection", org: int, *, before: int | None = None, limit: int = 200) -> list[AuditEvent]:
    """The newest events of an organisation, or those before a number."""
    return [
        AuditEvent._make((*row[:6], bytes(row[6])))
        for row in connection.execute(
            f"select {COLUMNS} from audit where org = %s and number < %s order by number desc limit %s",  # noqa: S608
            (org, before or 2**62, limit),
        )
    ]


def broken_at(connection: "Connection", org: int) -> int | None:
    """The number of the first event that was changed, or before which one is missing; None if the chain is whole."""
    before, expected = START, 1
    for event in _all(connection, org):
        if event.number != expected or not event.follows(before):
            return expected
        before, expected = event.hash, expected + 1
    return None


def _all(connection: "Connection", org: int) -> Iterator[AuditEvent]:
    for row in connection.execute(f"select {COLUMNS} from audit where org = %s order by number", (org,)):  # noqa: S608
        yield AuditEvent._make((*row[:6], bytes(row[6])))


def _hash(before: bytes, number: int, at: datetime, *fields: str) -> bytes:
    parts = (str(number), str(round(at.timestamp() * 1e6)), *fields)
    return hashlib.sha256(before + "\0".join(parts).encode(errors="replace")).digest()


COLUMNS: Final = "number, at, actor, action, about, detail, hash"
