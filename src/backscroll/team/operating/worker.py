"""The worker: claims jobs and does them, each by the room that it belongs to.

Work follows what is new: a job names one device or one person.
"""

import logging
import threading
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from backscroll.errors import BackscrollError, storage_error
from backscroll.files.source_key import owner_of
from backscroll.library.indexing.warm_chats import WarmChats
from backscroll.library.postgres import outdated_libraries
from backscroll.sync.objects import devices_in
from backscroll.sync.remotes import Remote
from backscroll.team.arrival.intake import take
from backscroll.team.arrival.libraries import Libraries, announce_change
from backscroll.team.arrival.mask_library import mask_library
from backscroll.team.arrival.project_rules import MASK_JOB, masks_arrivals
from backscroll.team.database.jobs import CHANNEL, Job, Leases, enqueue, next_job
from backscroll.team.keeping.erase_person import erase_person
from backscroll.team.keeping.erasures import JOB as ERASE
from backscroll.team.keeping.erasures import find_by_name, to_be_erased
from backscroll.team.keeping.expire_chats import expire_chats
from backscroll.team.keeping.person_lock import PersonBusy, person_lock
from backscroll.team.keeping.retention import JOB as EXPIRE
from backscroll.team.keeping.retention import enqueue_due
from backscroll.team.operating.job_log import JobLog
from backscroll.team.operating.undo_import import JOB as UNDO
from backscroll.team.operating.undo_import import undo_import
from backscroll.team.people.limits import note_stored
from backscroll.team.people.rates import forget_unused

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

LOOK_SECONDS: Final = 5.0
"""Seconds between looks for jobs that were put off, or whose notice was lost."""
EXPIRY_SECONDS: Final = 600.0
"""Seconds between looks for people whose last expiry run was a day ago."""
STOP_SECONDS: Final = 0.5
"""Seconds between looks whether to stop."""
THREADS: Final = 4

log = logging.getLogger(__name__)


class Worker:
    """A worker, which does jobs until it is stopped.

    Several threads do so at the same time: most of an append is waiting for the disk and the database. One of them
    listens, and each that finds a job wakes the next.
    """

    def __init__(
        self,
        database: "Database",
        objects: Remote,
        libraries: Libraries,
        job_log: JobLog | None = None,
        threads: int = THREADS,
    ) -> None:
        self._database, self._objects, self._libraries = database, objects, libraries
        self._log = job_log
        self._next_look = 0.0
        self._threads = threads
        self._more = threading.Condition()
        self._warm = WarmChats()
        self._leases = Leases(database)

    def run(self, stop: threading.Event) -> None:
        """Do all jobs, and wait for new ones, until `stop` is set."""
        helpers = [threading.Thread(target=self._help, args=(stop,), daemon=True) for _ in range(self._threads - 1)]
        helpers.append(threading.Thread(target=self._leases.keep, args=(stop,), daemon=True))
        for helper in helpers:
            helper.start()
        self._lead(stop)
        with self._more:
            self._more.notify_all()
        for helper in helpers:
            helper.join()

    def _help(self, stop: threading.Event) -> None:
        """Do jobs in a helper thread, while another one listens."""
        while not stop.is_set():
            with self._more:
                self._more.wait(LOOK_SECONDS)
            try:
                self._do_all(stop)
            except Exception as error:  # the job is tried again, and the leading thread tells what is wrong
                name = type(error).__name__
                log.error(
                    "a job failed (%s) and will be tried again", name, exc_info=not _is_expected(error),
                    extra={"problem": name},
                )  # fmt: skip

    def _do_all(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                if not self.do_next():
                    return
            except PersonBusy as error:  # the job is due again soon
                log.info("a job waits: %s", error)

    def _lead(self, stop: threading.Event) -> None:
        listening: Connection | None = None
        has_looked = False
        while not stop.is_set():
            try:
                if not has_looked:
                    self.look_for_work()
                    has_looked = True
                self._do_all(stop)
                self._look_for_expired()
                if listening is None or listening.closed:
                    listening = self._database.connect()
                    listening.execute(f"listen {CHANNEL}")
                    continue  # a notice may have come before we listened
                _wait_for_notice(listening, stop)
            except BackscrollError as error:  # the database is away
                log.error("the worker waits: %s", error)
                stop.wait(LOOK_SECONDS)
            except Exception as error:  # a lost connection, or a bug: the job is tried again
                name = type(error).__name__
                log.error(
                    "the worker continues after an error (%s)", name, exc_info=not _is_expected(error),
                    extra={"problem": name},
                )  # fmt: skip
                listening = None
                stop.wait(1)
        if listening is not None:
            listening.close()

    def do_next(self) -> bool:
        """Do the next job; False if there is none."""
        with next_job(self._database, self._leases) as job:
            if job is None:
                return False
            if job.has_others:
                with self._more:
                    self._more.notify()
            with self._log.logging_job(job) if self._log else nullcontext():
                try:
                    self._do(job)
                except OSError as error:  # a full disk is not a bug
                    raise storage_error(error, f"cannot do the job {job.kind} of {job.about}") from error
        return True

    def look_for_work(self) -> None:
        """Add jobs for objects that were stored before a crash, and for indexes of an older version."""
        devices = devices_in(self._objects.list())
        with self._database.transaction() as connection:
            erased = to_be_erased(connection)
            for device in devices:
                owner = owner_of(device)
                enqueue(connection, *((ERASE, owner) if owner in erased else ("pull", device)))
            old = connection.execute(
                "select handle from person where id = any(%s)", (outdated_libraries(self._database.address),)
            ).fetchall()
            for (handle,) in old:
                enqueue(connection, "index", handle)

    def _do(self, job: Job) -> None:
        if job.kind == ERASE:
            erase_person(self._database, self._objects, self._libraries, job.about)
            announce_change(self._database, job.about, is_new=True)
        if job.kind == UNDO and undo_import(self._database, self._objects, self._libraries, job.about):
            announce_change(self._database, owner_of(job.about), is_new=True)
        if job.kind == EXPIRE:
            self._expire(job.about)
        if job.kind == MASK_JOB:
            self._mask(job.about)
        if job.kind in {"index", "pull"}:
            owner = owner_of(job.about) or job.about
            with person_lock(self._database, self._libraries.number(owner)) as connection:
                if owner not in to_be_erased(connection):
                    self._bring_up_to_date(connection, job)

    def _look_for_expired(self) -> None:
        """From time to time, add expiry jobs that are due, and forget unused rates."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + EXPIRY_SECONDS
        with self._database.transaction() as connection:
            enqueue_due(connection)
            forget_unused(connection)

    def _expire(self, handle: str) -> None:
        with self._database.transaction() as connection:
            person = find_by_name(connection, handle)
        if expire_chats(self._database, self._objects, self._libraries, person):
            announce_change(self._database, handle, is_new=True)

    def _mask(self, handle: str) -> None:
        """Mask secrets in an existing library."""
        with person_lock(self._database, self._libraries.number(handle)) as connection:
            is_erased = handle in to_be_erased(connection)
            is_changed = not is_erased and mask_library(self._database, self._libraries, handle)
        if is_changed:
            announce_change(self._database, handle, is_new=True)

    def _bring_up_to_date(self, connection: "Connection", job: Job) -> None:
        if job.kind == "index":  # a new person has an empty library, not none; an index may be of an older version
            is_old = self._libraries.number(job.about) in outdated_libraries(self._database.address)
            with self._libraries.own(job.about) as library:
                if is_old:
                    library.rebuild()
                library.update()
            if is_old:
                announce_change(self._database, job.about, is_new=True)
            return
        masks = masks_arrivals(connection, owner_of(job.about))
        pulled, stored = take(self._libraries, self._objects, job.about, masks=masks, warm=self._warm)
        note_stored(connection, job.about, stored)
        announce_change(self._database, owner_of(job.about), is_new=bool(pulled.replaced or pulled.withdrawn))
        if pulled.problems:
            raise BackscrollError(f"{job.about}: {len(pulled.problems)} problems", "see the log of the worker")


def _wait_for_notice(listening: "Connection", stop: threading.Event) -> None:
    """Wait until a job is wanted, or it is time to look."""
    for _ in range(round(LOOK_SECONDS / STOP_SECONDS)):
        if stop.is_set() or any(True for _ in listening.notifies(timeout=STOP_SECONDS, stop_after=1)):
            return


def _is_expected(error: Exception) -> bool:
    """Whether an error comes from the database or the job, and is no bug."""
    import psycopg

    return isinstance(error, (psycopg.OperationalError, BackscrollError))
