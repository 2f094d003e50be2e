"""The names of objects, and which of them count.

All bundles of a device form its log. A device begins a new log when the remote has lost too much of the old one; the
highest counts. An object holds the bundles of one log from a first to a last number. Its name ends with a revision: a
merged or shortened object is written under a new name before the old ones are deleted. So at any moment a listing has
every bundle, and of two that overlap one counts: the one that reaches farther, then the higher revision.
"""

import re
import secrets
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

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
        """Its name in the remote."""
        return f"{folder_of(self.device)}{self.log}/{self.first:010}-{self.last:010}.{self.revision}"

    @property
    def bundles(self) -> range:
        """The numbers of its bundles."""
        return range(self.first, self.last + 1)


def folder_of(device: str) -> str:
    """What the names of a device's objects begin with."""
    return f"{ROOT}{quote(device, safe='')}/"


def parse_object(found: RemoteObject) -> BundleObject | None:
    """What a name says; None if it is not one of ours."""
    match = NAME.fullmatch(found.name)
    if match is None:
        return None
    first, last, revision = (int(match[part]) for part in ("first", "last", "revision"))
    device = unquote(match["device"])
    return BundleObject(device, match["log"], first, last, revision, found.size) if 1 <= first <= last else None


def devices_in(listing: Iterable[RemoteObject]) -> dict[str, list[BundleObject]]:
    """The objects of each device."""
    devices: dict[str, list[BundleObject]] = {}
    for found in listing:
        parsed = parse_object(found)
        if parsed is not None:
            devices.setdefault(parsed.device, []).append(parsed)
    return devices


def latest_log(objects: Iterable[BundleObject]) -> str | None:
    """The log of a device that counts; None if there is none."""
    return max((one.log for one in objects), default=None)


def next_log(objects: Iterable[BundleObject]) -> str:
    """A new log, which counts more than all others."""
    latest = latest_log(objects)
    number = int(latest.partition("-")[0]) if latest else 0
    return f"{number + 1:06}-{secrets.token_hex(4)}"


def in_log(objects: Iterable[BundleObject], log: str | None) -> list[BundleObject]:
    """The objects of one log."""
    return [one for one in objects if one.log == log]


def current(objects: Iterable[BundleObject]) -> list[BundleObject]:
    """The objects of one log that count, in order; those that others stand in for are left out."""
    chosen: list[BundleObject] = []
    for one in sorted(objects, key=lambda one: (one.first, -one.last, -one.revision)):
        if not chosen or one.last > chosen[-1].last:
            chosen.append(one)
    return chosen


def superseded(objects: Iterable[BundleObject]) -> list[BundleObject]:
    """The objects that others stand in for: what was left by a process that did not get to delete them."""
    every = list(objects)
    counting = set(current(every))
    return [one for one in every if one not in counting]


def missing(objects: Iterable[BundleObject], last: int) -> list[int]:
    """The numbers up to `last` that no object has."""
    there = {number for one in objects for number in one.bundles}
    return [number for number in range(1, last + 1) if number not in there]


ROOT: Final = "backscroll/1/"
NAME: Final = re.compile(
    rf"{ROOT}(?P<device>[^/]+)/(?P<log>\d{{6}}-[0-9a-f]{{8}})/(?P<first>\d{{10}})-(?P<last>\d{{10}})\.(?P<revision>\d{{1,9}})"
)
