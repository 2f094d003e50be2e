"""Devices: machines that were let in, and those that ask to be.

A machine requests a code and shows it; a signed-in person compares it and lets the machine in; the machine then gets
its credential, once. RFC 8628 has the same steps.
"""

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import NothingFound, UsageError
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import CHANNEL, WANT
from backscroll.team.people.accounts import Person, find_person
from backscroll.team.people.rates import TooMuchError
from backscroll.team.people.secrets import digest, new_code, new_secret, typed_code

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

REQUEST: Final = timedelta(minutes=15)
MAX_REQUESTS: Final = 10_000
"""Machines that wait at the same time. Beyond, the one that asked longest ago makes room: as `connect` asks every two
seconds, a stranger who wants to get another one out has to send thousands of requests in that time."""
MAX_OF_ADDRESS: Final = 20
"""The same, at one address."""
POLLED: Final = timedelta(seconds=30)
"""A machine that has not asked for so long whether it was let in makes room for another at its address."""
NOTED: Final = timedelta(seconds=5)
"""The shortest time between two notes that a machine still asks."""
ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME: Final = 60


class DeviceRequest(NamedTuple):
    """A machine that waits to be let in."""

    secret: str
    """The secret with which the machine asks whether it was let in."""
    code: str
    """The code that a person compares."""
    seconds: int


class Credential(NamedTuple):
    """The credential of a machine that was let in. The secret is shown once."""

    secret: str
    device: str
    """The name of the device on the server."""
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
    """Whether the device stands for an import."""
    undone: datetime | None
    """The time at which the import was undone."""


class DeniedError(UsageError):
    """The person did not let the machine in."""

    def __init__(self) -> None:
        super().__init__("this machine was refused", "run backscroll connect again, and approve it")


def request_access(connection: "Connection", machine: str, address: str = "") -> DeviceRequest:
    """Note that a machine at this address asks to be let in; return its secret and code."""
    connection.execute("select pg_advisory_xact_lock(hashtext('device requests'))")
    connection.execute("delete from device_request where expires < now()")
    _make_room_at(connection, address)
    _make_room(connection)
    request = DeviceRequest(new_secret("r"), new_code(), round(REQUEST.total_seconds()))
    connection.execute(
        "insert into device_request (digest, code, machine, address, expires) values (%s, %s, %s, %s, now() + %s)",
        (digest(request.secret), request.code, _clean(machine), address, REQUEST),
    )
    return request


def _make_room_at(connection: "Connection", address: str) -> None:
    """Forget the machine at an address that has not asked for longest; TooMuchError if many wait, and still ask."""
    row = connection.execute("select count(*) from device_request where address = %s", (address,)).fetchone()
    if not row or row[0] < MAX_OF_ADDRESS:
        return
    gone = connection.execute(
        "delete from device_request where digest = (select digest from device_request where address = %s"
        " and person is null and polled < now() - %s order by polled limit 1) returning 1",
        (address, POLLED),
    ).fetchone()
    if gone is None:
        raise TooMuchError("too many machines at your address are waiting", POLLED.total_seconds())


def _make_room(connection: "Connection") -> None:
    """Forget machines that asked longest ago, if too many wait: strangers can make up addresses, and fill any number.

    No one is refused, or such strangers would keep all others out.
    """
    connection.execute(
        "delete from device_request where digest in (select digest from device_request where person is null"
        " order by polled limit greatest(0, (select count(*) from device_request) - %s + 1))",
        (MAX_REQUESTS,),
    )


def waiting(connection: "Connection", code: str) -> str:
    """Return the name of the machine that waits with this code; NothingFound if none does."""
    row = connection.execute(
        "select machine from device_request where code = %s and expires > now() and person is null and not denied",
        (typed_code(code),),
    ).fetchone()
    if row is None:
        raise NothingFound("no machine is waiting with this code", "compare it with the terminal, or run connect again")
    return str(row[0])


def approve(connection: "Connection", person: Person, code: str) -> None:
    """Let a machine in as a device of this person."""
    machine = waiting(connection, code)
    connection.execute("update device_request set person = %s where code = %s", (person.id, typed_code(code)))
    record(connection, person.org, person.handle, "device.approve", machine)


def deny(connection: "Connection", person: Person, code: str) -> None:
    """Refuse a machine."""
    machine = waiting(connection, code)
    connection.execute("update device_request set denied = true where code = %s", (typed_code(code),))
    record(connection, person.org, person.handle, "device.deny", machine)


def collect(connection: "Connection", secret: str) -> Credential | None:
    """Return the credential of a machine that was let in; None while it waits. It can be collected once."""
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
    """Make a device of a person. A name that was used before gets a number: no device continues another."""
    secret = new_secret("d")
    base_name = f"{person.handle}/{_clean(machine)}"
    taken = {
        name for (name,) in connection.execute("select name from device where starts_with(name, %s)", (base_name,))
    }
    name, number = base_name, 1
    while name in taken:
        number += 1
        name = f"{base_name}-{number}"
    connection.execute(
        "insert into device (person, name, credential) values (%s, %s, %s)", (person.id, name, digest(secret))
    )
    record(connection, person.org, person.handle, "device.new", name)
    return Credential(secret, name, person.handle, person.org_name)


def note_upload(connection: "Connection", device: str, sent: int, unpacked: int) -> bool:
    """Note how many bytes a device sent, and what they unpack to, and have a worker take them.

    Return False if the device was revoked meanwhile.
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
