"""Compare a listing of a device's folder with the objects that the device has stored, by names and sizes. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from backscroll.sync.objects import BundleObject, current
from backscroll.sync.stored_objects import StoredObject


class Comparison(NamedTuple):
    """The difference between a listing and the objects that were stored."""

    whole: list[BundleObject]
    """The objects that count, in order: stored by this device, listed with their size."""
    superseded: list[BundleObject]
    """Stored by this device and listed, but others stand in for them."""
    torn: list[BundleObject]
    """Listed with another size than they were stored with, or known to be damaged."""
    absent: list[BundleObject]
    """Stored and not listed; others may stand in for them."""
    unknown: list[BundleObject]
    """Listed in the log of this device, which never stored them."""
    elsewhere: list[BundleObject]
    """Listed in other logs of this device."""
    lost: list[int]
    """The bundles that no whole object has."""

    @property
    def is_equal(self) -> bool:
        """Whether the remote has exactly the objects that were stored."""
        return not (self.superseded or self.torn or self.absent or self.unknown or self.elsewhere or self.lost)


def compare(
    stored: Iterable[StoredObject], listed: Iterable[BundleObject], log: str | None, last: int, damaged: Iterable[str]
) -> Comparison:
    """Compare by names and sizes; `damaged` are names of objects whose bytes are known to be wrong."""
    sizes = {each.one.name: each.one for each in stored}
    bad = set(damaged)
    right, torn, unknown, elsewhere, names = [], [], [], [], set()
    for listed_object in listed:
        names.add(listed_object.name)
        known = sizes.get(listed_object.name)
        if listed_object.log != log:
            elsewhere.append(listed_object)
        elif known is None:
            unknown.append(listed_object)
        elif known.size != listed_object.size or listed_object.name in bad:
            torn.append(listed_object)
        else:
            right.append(listed_object)
    whole = current(right)
    counting = set(whole)
    return Comparison(
        whole, [listed_object for listed_object in right if listed_object not in counting], torn,
        [listed_object for name, listed_object in sizes.items() if name not in names], unknown, elsewhere,
        not_covered((listed_object.bundles for listed_object in whole), last),
    )  # fmt: skip


def not_covered(ranges: Iterable[range], last: int) -> list[int]:
    """Return the numbers from 1 to `last` that are in none of these ranges, however far these go."""
    missing: list[int] = []
    at = 1
    for each in sorted(ranges, key=lambda each: (each.start, each.stop)):
        missing += range(at, min(each.start, last + 1))
        at = max(at, each.stop)
    missing += range(at, last + 1)
    return missing


def rows_of(numbers: Sequence[int]) -> Iterator[range]:
    """Sorted numbers as ranges without a gap."""
    start = previous = None
    for number in numbers:
        if previous is None or number != previous + 1:
            if start is not None and previous is not None:
                yield range(start, previous + 1)
            start = number
        previous = number
    if start is not None and previous is not None:
        yield range(start, previous + 1)
