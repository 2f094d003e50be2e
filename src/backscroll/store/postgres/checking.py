"""Check a whole build: rows and words must belong to the same passages."""

from typing import Final

from backscroll.store.postgres.connection import OwnerRows, PgConnection
from backscroll.store.postgres.reader import PgReader
from backscroll.store.reader import EVERYTHING
from backscroll.store.sql.orphans import orphans
from backscroll.store.sql.statements import select


def problems_of(connection: PgConnection) -> list[str]:
    """Return the problems of a build; empty if it is sound. Reads all of it, and changes nothing."""
    with connection.snapshot():
        problems = orphans(OwnerRows(connection))
        waiting = PgReader(connection, EVERYTHING).pending().passages
        ((missing, extra),) = select(OwnerRows(connection), COMPARED, {"build": connection.build})
    if missing > waiting:
        problems.append(f"{missing - waiting:,} passages cannot be found by their words")
    if extra:
        problems.append(f"{extra:,} words point to passages that are not there")
    return problems


COMPARED: Final = """
select count(*) filter (where w.block is null), count(*) filter (where b.id is null)
from (select id from blocks) b full join (select block from words where build = :build and part = 0) w on w.block = b.id
"""
