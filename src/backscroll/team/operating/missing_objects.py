"""Find missing objects: compare what the server knows of objects with those that exist.

The database knows which machines have stored bytes. The state of a worker knows the last bundle that it took of each of
them. The bundles of a machine have numbers without gaps.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.files.source_key import owner_of
from backscroll.sync.objects import BundleObject, devices_in, in_log, latest_log, missing
from backscroll.sync.remotes import RemoteObject
from backscroll.sync.state import SyncState
from backscroll.team.arrival.libraries import PEOPLE, STATE

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


class StoringDevice(NamedTuple):
    """A machine that has stored objects, and how far a worker has taken them."""

    name: str
    stored_bytes: int
    log: str = ""
    """The log of its bundles; empty if no worker has taken any."""
    bundles: int = 0
    """The number of the last bundle that a worker took from this log."""
    has_library: bool = True
    """Whether the data folder has a library of its person, or a worker has yet to make it."""


def storing_devices(connection: "Connection", data: Path) -> list[StoringDevice]:
    """List the machines whose objects must be there: not of erased people, and not of undone imports."""
    rows = connection.execute(DEVICES).fetchall()
    return [
        StoringDevice(name, stored, *_taken(data, name), is_awaited or _state(data, name).exists())
        for name, stored, is_awaited in rows
    ]


def missing_of(devices: Iterable[StoringDevice], listing: Iterable[RemoteObject]) -> dict[str, str]:
    """Describe what is missing, by machine."""
    by_device = devices_in(listing)
    problems = {device.name: _problem(device, by_device.get(device.name, [])) for device in devices}
    return {name: problem for name, problem in problems.items() if problem}


def without_library(devices: Iterable[StoringDevice]) -> list[str]:
    """List the people whose machines stored objects, but without a library in the data folder."""
    return sorted({owner_of(device.name) for device in devices if device.stored_bytes and not device.has_library})


def _problem(device: StoringDevice, objects: list[BundleObject]) -> str:
    if not objects:
        return f"all objects, {device.stored_bytes:,} bytes" if device.stored_bytes or device.bundles else ""
    log = latest_log(objects) or ""
    if log < device.log:
        return f"the objects of log {device.log}"
    in_latest = in_log(objects, log)
    last = max(each.last for each in in_latest)
    lost = missing(in_latest, max(last, device.bundles) if log == device.log else last)
    return f"bundles {_ranges(lost)}" if lost else ""


def _ranges(numbers: list[int]) -> str:
    """Write sorted numbers with neighbours as ranges: `1, 4–6`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1] = [ranges[-1][0], number]
        else:
            ranges.append([number])
    return ", ".join("–".join(map(str, each)) for each in ranges)


def _taken(data: Path, device: str) -> tuple[str, int]:
    """Return the log of a machine, and the last bundle that a worker took from it."""
    path = _state(data, device)
    if not path.exists():
        return "", 0
    state = SyncState(path)
    try:
        return state.pulled(device)[:2]
    finally:
        state.close()


def _state(data: Path, device: str) -> Path:
    return data / PEOPLE / owner_of(device) / STATE


DEVICES: Final = """
select d.name, d.stored_bytes, exists (select 1 from job j where j.kind = 'pull' and j.about = d.name)
from device d join person p on p.id = d.person
where d.undone is null and p.erased is null
  and not exists (select 1 from erasure e where e.person = p.id) order by d.name
"""
