"""The ledger of erasures beside the objects, so that it outlives the database: a restored one may be older than it."""

from collections.abc import Iterator
from typing import Final

import msgspec

from backscroll.sync.remotes import Remote
from backscroll.team.erasures import Erasure

LEDGER: Final = "backscroll/erasures/"


class LedgerEntry(msgspec.Struct, frozen=True):
    """That a person is to be erased wherever they turn up again."""

    handle: str
    asked_by: str
    asked: str
    reason: str = ""


def note_in_ledger(objects: Remote, entry: Erasure) -> None:
    """Write an entry, before anything of the person is removed. It is never changed."""
    noted = LedgerEntry(entry.handle, entry.asked_by, entry.asked.isoformat(), entry.reason)
    objects.put(f"{LEDGER}{entry.handle}.json", msgspec.json.encode(noted))


def read_ledger(objects: Remote) -> Iterator[LedgerEntry]:
    """All entries."""
    for one in objects.list(LEDGER):
        yield msgspec.json.decode(objects.get(one.name), type=LedgerEntry)
