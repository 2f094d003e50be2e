"""The names of objects, and the rule for which of them count.

All bundles of a device form its log. A device begins a new log when the remote has lost too much of the old one; the
highest counts. An object holds the bundles of one log from a first to a last number. Its name ends with a revision: a
merged or shortened object is written under a new name before the old ones are deleted. So at any moment a listing has
every bundle, and of two overlapping objects one counts: that with the higher last number, then the higher revision.
"""

import re
import secrets
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from backscroll.sync.bounds import is_machine_name
from backscroll.sync.remotes import RemoteObject


class BundleObject(NamedTuple):
    """An object with bundles in it."""

    device: str
    log: str
    first: int
    last: int
    revision: int
    size: int = 0

    @property
    def name(self) -> str:
        """Name of the object in the remote."""
        return f"{folder_of(self.device)}{self.log}/{self.first:010}-{self.last:010}.{self.revision}"

    @property
    def bundles(self) -> range:
        """Numbers of its bundles."""
        return range(self.first, self.last + 1)


def folder_of(device: str) -> str:
    """Return the prefix of the names of a device's objects."""
    return f"{ROOT}{quote(device, safe='')}/"


def parse_object(found: RemoteObject) -> BundleObject | None:
    """Parse the name of an object; None if this program does not write such a name."""
    match = NAME.fullmatch(found.name)
    if match is None:
        return None
    first, last, revision = (int(match[part]) for part in ("first", "last", "revision"))
    parsed = BundleObject(unquote(match["device"]), match["log"], first, last, revision, found.size)
    is_ours = 1 <= first <= last and is_machine_name(parsed.device) and parsed.name == found.name
    return parsed if is_ours else None


def devices_in(listing: Iterable[RemoteObject]) -> dict[str, list[BundleObject]]:
    """Return the objects of each device, by device."""
    devices: dict[str, list[BundleObject]] = {}
    for listed in listing:
        parsed = parse_object(listed)
        if parsed is not None:
            devices.setdefault(parsed.device, []).append(parsed)
    return devices


def latest_log(objects: Iterable[BundleObject]) -> str | None:
    """Return the log of a device that counts; None if there is none."""
    return max((bundle_object.log for bundle_object in objects), default=None)


def next_log(objects: Iterable[BundleObject]) -> str:
    """Return the name of a new log, higher than all others."""
    latest = latest_log(objects)
    number = int(latest.partition("-")[0]) if latest else 0
    return f"{number + 1:06}-{secrets.token_hex(4)}"


def in_log(objects: Iterable[BundleObject], log: str | None) -> list[BundleObject]:
    """Return the objects of one log."""
    return [bundle_object for bundle_object in objects if bundle_object.log == log]


def current(objects: Iterable[BundleObject]) -> list[BundleObject]:
    """Return the objects of one log that count, in order, without superseded ones."""
    chosen: list[BundleObject] = []
    for each in sorted(objects, key=lambda each: (each.first, -each.last, -each.revision)):
        if not chosen or each.last > chosen[-1].last:
            chosen.append(each)
    return chosen


def superseded(objects: Iterable[BundleObject]) -> list[BundleObject]:
    """Return the superseded objects: those that a process did not get to delete."""
    every = list(objects)
    counting = set(current(every))
    return [bundle_object for bundle_object in every if bundle_object not in counting]


class ObjectsInOrder:
    """The objects of a log, looked up by bundle number. Cheap for any number of lookups as long as the numbers grow."""

    def __init__(self, objects: Iterable[BundleObject]) -> None:
        self._sorted = sorted(objects, key=lambda bundle_object: bundle_object.first)
        self._next = self._number = 0
        self._open: list[BundleObject] = []

    def holding(self, number: int) -> list[BundleObject]:
        """Return the objects that claim to have a bundle."""
        self._go_to(number)
        return list(self._open)

    def first_after(self, number: int) -> int:
        """Return the first bundle of the next object that begins after this bundle; 0 if there is none."""
        self._go_to(number)
        return self._sorted[self._next].first if self._next < len(self._sorted) else 0

    def _go_to(self, number: int) -> None:
        if number < self._number:
            self._next, self._open = 0, []
        self._number = number
        while self._next < len(self._sorted) and self._sorted[self._next].first <= number:
            self._open.append(self._sorted[self._next])
            self._next += 1
        self._open = [bundle_object for bundle_object in self._open if bundle_object.last >= number]


def missing(objects: Iterable[BundleObject], last: int) -> list[int]:
    """Return the numbers up to `last` that no object has."""
    there = {number for bundle_object in objects for number in bundle_object.bundles}
    return [number for number in range(1, last + 1) if number not in there]


ROOT: Final = "backscroll/1/"
NAME: Final = re.compile(
    rf"{ROOT}(?P<device>[^/]+)/(?P<log>\d{{6}}-[0-9a-f]{{8}})/(?P<first>\d{{10}})-(?P<last>\d{{10}})\.(?P<revision>\d{{1,9}})"
)
