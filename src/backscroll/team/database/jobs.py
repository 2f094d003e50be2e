"""The queue of jobs for workers: rows of a table, claimed with `for update skip locked`.

A job names a state to reach, not an event: adding the same job again while it waits changes nothing. A claimed job is
due again when its lease ends, so that another worker does the job of one that died; doing a job twice does no harm. A
running worker renews the lease as long as the job takes.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

CHANNEL: Final = "backscroll_jobs"
LONGEST_WAIT: Final = 300
"""Seconds until a job that fails is tried again."""
LEASE: Final = 60.0
"""Seconds after which the job of a worker that died is claimed again."""
RENEWED: Final = 3
"""Number of renewals within one lease."""

log = logging.getLogger(__name__)


class Job(NamedTuple):
    """A job that a worker has claimed."""

    id: int
    kind: str
    about: str
    tries: int
    has_others: bool = False
    """Whether more jobs are due."""


def enqueue(connection: "Connection", kind: str, about: str) -> None:
    """Add a job unless it waits already, and wake a worker when the transaction is committed."""
    connection.execute(WANT.format("values (%s, %s)"), (kind, about))
    connection.execute(f"notify {CHANNEL}")


class Leases:
    """The jobs that this process does. A thread renews their leases."""

    def __init__(self, database: "Database", seconds: float = LEASE) -> None:
        self.seconds = seconds
        self._database = database
        self._held: set[tuple[int, int]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def holding(self, job: int, version: int) -> Iterator[None]:
        """Keep the lease of a job renewed while the block runs."""
        with self._lock:
            self._held.add((job, version))
        try:
            yield
        finally:
            with self._lock:
                self._held.discard((job, version))

    def keep(self, stop: threading.Event) -> None:
        """Renew leases until `stop` is set."""
        while not stop.wait(self.seconds / RENEWED):
            try:
                self.renew()
            except Exception as error:  # the database is away: the next time will do
                log.warning("the leases of jobs are not renewed at the moment (%s)", type(error).__name__)

    def renew(self) -> None:
        """Extend the leases of all held jobs. A job that was enqueued again meanwhile stays due."""
        with self._lock:
            held = list(self._held)
        if held:
            with self._database.connection() as connection:
                connection.execute(RENEW, (self.seconds, *map(list, zip(*held, strict=True))))


@contextmanager
def next_job(
    database: "Database", leases: Leases | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Job | None]:
    """Claim the next job that is due; None if there is none. `leases` holds its lease.

    The job is done when the block ends, unless it was enqueued again meanwhile; after an error it is tried again later.
    """
    leases = leases or Leases(database)
    with database.connection() as connection:
        row = connection.execute(CLAIM, (leases.seconds,)).fetchone()
    if row is None:
        yield None
        return
    job, version = Job(*row[:5]), row[5]
    began = clock()
    try:
        with leases.holding(job.id, version):
            yield job
    except Exception as error:
        wait = min(LONGEST_WAIT, 2 ** min(job.tries, 10))
        with database.transaction() as connection:
            connection.execute(COUNT, (job.kind, 0, 1, clock() - began))
            connection.execute(
                "update job set problem = %s, due = now() + make_interval(secs => %s) where id = %s and version = %s",
                (f"{type(error).__name__}: {error}"[:500], wait, job.id, version),
            )
        raise
    with database.connection() as connection:
        connection.execute(DONE + COUNT, (job.id, version, job.kind, 1, 0, clock() - began))


def waiting_jobs(connection: "Connection") -> int:
    """Return the number of waiting jobs."""
    row = connection.execute("select count(*) from job").fetchone()
    return int(row[0]) if row else 0


WANT: Final = """
insert into job (kind, about) {} on conflict (kind, about)
do update set due = now(), tries = 0, version = job.version + 1
"""
DONE: Final = "with done as (delete from job where id = %s and version = %s)"
COUNT: Final = """
insert into job_total as t (kind, done, failed, seconds) values (%s, %s, %s, %s) on conflict (kind) do update
set done = t.done + excluded.done, failed = t.failed + excluded.failed, seconds = t.seconds + excluded.seconds
"""
RENEW: Final = """
update job j set due = now() + make_interval(secs => %s)
from unnest(%s::bigint[], %s::int[]) as held (id, version) where j.id = held.id and j.version = held.version
"""
CLAIM: Final = """
update job set due = now() + make_interval(secs => %s), tries = tries + 1 where id = (
  select id from job where due <= now() order by due limit 1 for update skip locked)
returning id, kind, about, tries,
  exists (select 1 from job other where other.due <= now() and other.id <> job.id), version
"""
