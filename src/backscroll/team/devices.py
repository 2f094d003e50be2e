"""Devices: how a machine is let in, and by what it is known.

A machine asks for a code and shows it; a signed-in person compares it and lets the machine in; the machine then gets
its credential, once. (RFC 8628 has the same steps.)
"""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.audit import record
from backscroll.team.jobs import CHANNEL, WANT
from backscroll.team.people import Person, find_person
from backscroll.team.rates import TooMuchError
from backscroll.team.secrets import digest, new_code, new_secret, typed_code

if TYPE_CHECKING:
    from backscroll.team.database import Connection

REQUEST: Final = timedelta(minutes=15)
MAX_REQUESTS: Final = 1000
MAX_OF_ADDRESS: Final = 20
"""Machines that wait at the same time, in all and at one address."""
POLLED: Final = timedelta(seconds=30)
"""A machine that has not asked for so long whether it was let in makes room for another: `connect` keeps asking."""
NOTED: Final = timedelta(seconds=5)
"""How often it is noted that a machine asks."""
ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME: Final = 60


class DeviceRequest(NamedTuple):
    """A machine that waits to be let in."""

    secret: str
    """With which it asks whether it was."""
    code: str
    """Which a person compares."""
    seconds: int


class Credential(NamedTuple):
    """What a machine gets when it is let in. The secret is shown once."""

    secret: str
    device: str
    """Its name on the server."""
    person: str
    org: str


class RegisteredDevice(NamedTuple):
    """A machine that was let in."""

    id: int
    name: str
    created: datetime
    seen: datetime | None
    sent_bytes: int
    revoked: datetime | None
    handle: str
    is_import: bool
    """Whether it stands for an import."""
    undone: datetime | None
    """When the import was undone."""


class DeniedError(UsageError):
    """The person did not let the machine in."""

    def __init__(self) -> None:
        super().__init__("this machine was refused", "run backscroll connect again, and approve it")


def ask(connection: "Connection", machine: str, address: str = "") -> DeviceRequest:
    """A machine at this address wants to be let in."""
    connection.execute("select pg_advisory_xact_lock(hashtext('device requests'))")
    connection.execute("delete from device_request where expires < now()")
    _make_room(connection, "address = %s", [address], MAX_OF_ADDRESS, "too many machines at your address are waiting")
    _make_room(connection, "true", [], MAX_REQUESTS, "too many machines are waiting for approval")
    found = DeviceRequest(new_secret("r"), new_code(), round(REQUEST.total_seconds()))
    connection.execute(
        "insert into device_request (digest, code, machine, address, expires) values (%s, %s, %s, %s, now() + %s)",
        (digest(found.secret), found.code, _clean(machine), address, REQUEST),
    )
    return found


def _make_room(connection: "Connection", which: str, values: list[str], most: int, problem: str) -> None:
    """Forget the machine that has not asked for longest, if too many wait; TooMuchError if all of them still ask."""
    row = connection.execute(f"select count(*) from device_request where {which}", values).fetchone()  # noqa: S608
    if not row or row[0] < most:
        return
    gone = connection.execute(
        f"delete from device_request where digest = (select digest from device_request where {which}"  # noqa: S608
        " and person is null and polled < now() - %s order by polled limit 1) returning 1",
        (*values, POLLED),
    ).fetchone()
    if gone is None:
        raise TooMuchError(problem, POLLED.total_seconds())


def waiting(connection: "Connection", code: str) -> str:
    """What the machine with this code calls itself; NothingFound if none waits with it."""
    row = connection.execute(
        "select machine from device_request where code = %s and expires > now() and person is null and not denied",
        (typed_code(code),),
    ).fetchone()
    if row is None:
        raise NothingFound("no machine is waiting with this code", "compare it with the terminal, or run connect again")
    return str(row[0])


def approve(connection: "Connection", person: Person, code: str) -> None:
    """Let a machine in, as one of this person."""
    machine = waiting(connection, code)
    connection.execute("update device_request set person = %s where code = %s", (person.id, typed_code(code)))
    record(connection, person.org, person.handle, "device.approve", machine)


def deny(connection: "Connection", person: Person, code: str) -> None:
    """Do not let a machine in."""
    machine = waiting(connection, code)
    connection.execute("update device_request set denied = true where code = %s", (typed_code(code),))
    record(connection, person.org, person.handle, "device.deny", machine)


def collect(connection: "Connection", secret: str) -> Credential | None:
    """The credential of a machine that was let in; None while it waits. It can be collected once."""
    row = connection.execute(
        "select person, denied, machine from device_request where digest = %s and expires > now() for update",
        (digest(secret),),
    ).fetchone()
    if row is None:
        raise NothingFound("this request has expired, or was already answered", "run backscroll connect again")
    number, is_denied, machine = row
    if is_denied:
        raise DeniedError
    if number is None:
        connection.execute(
            "update device_request set polled = now() where digest = %s and polled < now() - %s",
            (digest(secret), NOTED),
        )
        return None
    person = find_person(connection, number)
    connection.execute("delete from device_request where digest = %s", (digest(secret),))
    return new_device(connection, person, machine)


def new_device(connection: "Connection", person: Person, machine: str) -> Credential:
    """Make a device of a person. A name that was used before gets a number: a device is never continued by another."""
    secret = new_secret("d")
    wanted = f"{person.handle}/{_clean(machine)}"
    taken = {name for (name,) in connection.execute("select name from device where starts_with(name, %s)", (wanted,))}
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    connection.execute(
        "insert into device (person, name, credential) values (%s, %s, %s)", (person.id, name, digest(secret))
    )
    record(connection, person.org, person.handle, "device.new", name)
    return Credential(secret, name, person.handle, person.org_name)


def take_sent(connection: "Connection", device: str, sent: int, unpacked: int) -> bool:
    """A device has sent so many bytes, which unpack to so many: note it, and have them taken.

    False if it was revoked meanwhile.
    """
    return connection.execute(SENT, (sent, unpacked, device, device, CHANNEL)).fetchone() is not None


def devices_of(connection: "Connection", person: Person, *, of_all: bool = False) -> list[RegisteredDevice]:
    """The devices of a person; with `of_all`, of everyone in the organisation."""
    rows = connection.execute(
        "select d.id, d.name, d.created, d.seen, d.sent_bytes, d.revoked, p.handle, d.is_import, d.undone from device d"
        " join person p on p.id = d.person where p.org = %s and (%s or p.id = %s)"
        " order by d.revoked nulls first, d.name",
        (person.org, of_all, person.id),
    )
    return [RegisteredDevice(*row) for row in rows]


def revoke_device(connection: "Connection", by: Person, device: int) -> None:
    """Make a credential stop working at once. What the device sent stays."""
    row = connection.execute(
        "update device d set revoked = now() from person p where d.id = %s and p.id = d.person and p.org = %s"
        " and (p.id = %s or %s and (p.role <> 'owner' or %s)) and d.revoked is null returning d.name",
        (device, by.org, by.id, by.is_administrator, by.role == "owner"),
    ).fetchone()
    if row is None:
        raise NothingFound("there is no such device", "see Devices")
    record(connection, by.org, by.handle, "device.revoke", row[0])


def _clean(machine: str) -> str:
    return ODD.sub("-", machine).strip("-.")[:LONGEST_NAME] or "machine"


SENT: Final = f"""
with noted as (
  update device set sent_bytes = sent_bytes + %s, stored_bytes = stored_bytes + %s
  where name = %s and revoked is null returning 1),
wanted as ({WANT.format("select 'pull', %s from noted")})
select pg_notify(%s, '') from noted
"""  # noqa: S608 - no values in it
