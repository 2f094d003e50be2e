"""The part of the state that says which bundles of other devices were passed over, as no object of them can be read.

The bundles after them are taken. The missing ones are taken later, when an object that was not tried yet has them.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from backscroll.sync.objects import BundleObject

TABLES: Final = {
    "gap": "device text, number integer, hash text, last integer, why text, tried text, primary key (device, number)"
}

MOST_GAPS: Final = 100
"""Gaps of one device. Anyone who can write to a remote can leave junk in it."""
MOST_TOLD: Final = 3


class BundleGap(NamedTuple):
    """Bundles of a device that could not be read."""

    number: int
    """Number of the bundle before them."""
    hash: str
    """Hash of that bundle; empty if unknown."""
    last: int
    why: str
    tried: frozenset[str]
    """Stamps of the objects that were tried."""

    @property
    def problem(self) -> str:
        """A sentence about the missing bundles."""
        first = self.number + 1
        which = f"bundle {first} was" if first == self.last else f"bundles {first} to {self.last} were"
        return f"{which} left out until that machine writes them again: {self.why}"


def problems_of(gaps: Sequence[BundleGap]) -> list[str]:
    """Return sentences about the missing bundles; about the first places, if there are many."""
    sentences = [gap.problem for gap in gaps[:MOST_TOLD]]
    if more := len(gaps[MOST_TOLD:]):
        sentences.append(
            f"so were bundles in {more:,} more place{'' if more == 1 else 's'}, up to bundle {gaps[-1].last}"
        )
    return sentences


class Gaps:
    """The gaps of every device. Changes belong into `SyncState.saving`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def of(self, device: str) -> list[BundleGap]:
        """Return the gaps in the log of a device, in order."""
        query = "select number, hash, last, why, tried from gap where device = ? order by number"
        rows = self._db.execute(query, (device,))
        return [
            BundleGap(number, before, last, why, frozenset(tried.split("\n")))
            for number, before, last, why, tried in rows
        ]

    def note(self, device: str, gap: BundleGap) -> None:
        """Record passed bundles. The last of `MOST_GAPS` grows: the gaps before it are enough to heal one by one."""
        count, last = self._db.execute("select count(*), max(number) from gap where device = ?", (device,)).fetchone()
        if count >= MOST_GAPS and last < gap.number:
            self._db.execute("update gap set last = ? where device = ? and number = ?", (gap.last, device, last))
            return
        row = (device, *gap[:4], "\n".join(sorted(gap.tried)))
        self._db.execute("insert or replace into gap values (?, ?, ?, ?, ?, ?)", row)

    def forget(self, device: str, number: int = 0) -> None:
        """Drop the gaps from this bundle on, because the bundles after it are taken again."""
        self._db.execute("delete from gap where device = ? and number >= ?", (device, number))


def stamps(objects: Iterable[BundleObject]) -> frozenset[str]:
    """Return the stamps by which tried objects are recognised."""
    return frozenset(f"{bundle_object.name} {bundle_object.size}" for bundle_object in objects)
