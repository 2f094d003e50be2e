"""Quotas and rates that administrators set: how much people may store, and how fast they may send.

Both count what objects unpack to: a few bytes may unpack to a gigabyte, and that is what takes time and room.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.errors import BackscrollError, UsageError
from backscroll.render.terminal import size
from backscroll.team.database.audit import record
from backscroll.team.people.accounts import Person, person_of
from backscroll.team.people.rates import TooMuchError, Use
from backscroll.team.people.secrets import digest

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection

DEVICE_RATE: Final = 16_000_000
PERSON_RATE: Final = 32_000_000
ORG_RATE: Final = 256_000_000
"""Default rates, in bytes a second."""
CREDIT_SECONDS: Final = 64
"""Seconds of the rate that may be sent at once."""
LEAST_COUNTED: Final = 64 << 10
"""Bytes that an object counts at least: each one costs a write to the disk."""
GIGABYTE: Final = 1_000_000_000
MEGABYTE: Final = 1_000_000
MAX_NUMBER: Final = 1_000_000
NOTICED: Final = timedelta(seconds=30)
"""The shortest time between two notes that a device was seen."""


class OverQuotaError(BackscrollError):
    """There is no room for more."""

    def __init__(self, whose: str, quota: int) -> None:
        self.whose = whose
        super().__init__(
            f"the quota of {whose} is used up ({size(quota)})",
            "nothing is lost: ask an administrator for more room, or forget chats, and sync again",
        )


class Limits(NamedTuple):
    """The limits of an organisation; None where it set none."""

    person_bytes: int | None = None
    org_bytes: int | None = None
    person_rate: int | None = None
    org_rate: int | None = None


class Allowance(NamedTuple):
    """The quotas and rates of a device, as they are now."""

    device: str
    rules: str = ""
    """The digest of the rules that it has to follow; empty if there are none."""
    person: str = ""
    org: str = ""
    """The names under which person and organisation are counted."""
    person_rate: int = PERSON_RATE
    org_rate: int = ORG_RATE
    waits: Mapping[str, float] = {}
    """Seconds until there is credit again, by name, where all of it was used."""
    person_quota: int | None = None
    org_quota: int | None = None
    person_stored: int = 0
    org_stored: int = 0

    def check(self, size: int) -> None:
        """Raise OverQuotaError if there is no room for an object that unpacks to so many bytes."""
        if self.person_quota is not None and self.person_stored + size > self.person_quota:
            raise OverQuotaError(self.person, self.person_quota)
        if self.org_quota is not None and self.org_stored + size > self.org_quota:
            raise OverQuotaError("your organisation", self.org_quota)

    def check_credit(self) -> None:
        """Raise TooMuchError if all credit was used before this request."""
        for use in self.uses(0):
            if use.name in self.waits:
                raise TooMuchError(use.message, self.waits[use.name])

    def uses(self, unpacked: int) -> list[Use]:
        """The credit of device, person and organisation that an object of this size uses."""
        size = max(unpacked, LEAST_COUNTED)
        rates = {f"bytes device {self.device}": ("this device", DEVICE_RATE)}
        if self.person:
            rates[f"bytes person {self.person}"] = (self.person, self.person_rate)
            rates[f"bytes {self.org}"] = ("your organisation", self.org_rate)
        return [
            Use(name, f"{whose} has sent too much in a short time", size / rate, CREDIT_SECONDS)
            for name, (whose, rate) in rates.items()
        ]


def allowance_of(connection: "Connection", credential: str) -> Allowance | None:
    """Read the allowance of the device with this credential, by one statement.

    None if there is none, it was revoked, or its person disabled.
    """
    row = connection.execute(ALLOWANCE, (NOTICED, digest(credential))).fetchone()
    if row is None:
        return None
    device, is_newly_seen, rules, person, org, person_rate, org_rate, waits, *sums = row
    if is_newly_seen:  # a push takes several requests, and each write waits for the disk
        connection.execute("update device set seen = now() where name = %s", (device,))
    stored = (int(value) if value is not None else None for value in sums)
    person_quota, org_quota, person_stored, org_stored = stored
    return Allowance(
        device, rules, person, f"org {org}", person_rate or PERSON_RATE, org_rate or ORG_RATE, waits or {},
        person_quota, org_quota, person_stored or 0, org_stored or 0,
    )  # fmt: skip


def limits_of(connection: "Connection", org: int) -> Limits:
    """Read the limits of an organisation."""
    row = connection.execute(
        "select person_bytes, org_bytes, person_rate, org_rate from org_limits where org = %s", (org,)
    ).fetchone()
    return Limits(*row) if row else Limits()


def set_limits(connection: "Connection", by: Person, limits: Limits) -> None:
    """Set all limits of an organisation."""
    connection.execute(
        "insert into org_limits (org, person_bytes, org_bytes, person_rate, org_rate) values (%s, %s, %s, %s, %s)"
        " on conflict (org) do update set person_bytes = excluded.person_bytes, org_bytes = excluded.org_bytes,"
        " person_rate = excluded.person_rate, org_rate = excluded.org_rate",
        (by.org, *limits),
    )
    detail = ", ".join(f"{name} {value:,}" for name, value in limits._asdict().items() if value is not None)
    record(connection, by.org, by.handle, "limits.set", by.org_name, detail or "none")


def set_quota(connection: "Connection", by: Person, handle: str, size: int | None) -> None:
    """Set the quota of a person in bytes; with None, that of everyone applies."""
    person = person_of(connection, by.org, handle)
    connection.execute("update person set quota_bytes = %s where id = %s", (size, person.id))
    record(connection, by.org, by.handle, "quota.set", handle, f"{size:,} bytes" if size else "as everyone")


def parsed_limit(text: str, unit: int) -> int | None:
    """Parse a typed number and multiply it by its unit; None if the field is empty."""
    text = text.strip().replace(",", ".")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= MAX_NUMBER or round(value * unit) < 1:
        raise UsageError(f"“{text[:40]}” is not a limit", f"give a number up to {MAX_NUMBER:,}, or leave it empty")
    return round(value * unit)


def note_stored(connection: "Connection", device: str, size: int) -> None:
    """Note how many bytes all objects of a device unpack to."""
    connection.execute(
        "update device set stored_bytes = %s where name = %s and stored_bytes <> %s", (size, device, size)
    )


ALLOWANCE: Final = """
select d.name, d.seen is null or d.seen < now() - %s, o.rules_digest, p.handle, o.id, l.person_rate, l.org_rate,
  (select json_object_agg(r.name, extract(epoch from r.until - room - now())) from request_rate r
    where r.name in ('bytes device ' || d.name, 'bytes person ' || p.handle, 'bytes org ' || o.id)
      and r.until >= now() + room),
  coalesce(p.quota_bytes, l.person_bytes), l.org_bytes,
  case when coalesce(p.quota_bytes, l.person_bytes) is not null then
    (select sum(stored_bytes) from device where person = p.id) end,
  case when l.org_bytes is not null then (
    select sum(every.stored_bytes) from device every join person q on q.id = every.person where q.org = o.id) end
from device d join person p on p.id = d.person join org o on o.id = p.org left join org_limits l on l.org = o.id
where d.credential = %s and d.revoked is null and p.disabled is null
"""
