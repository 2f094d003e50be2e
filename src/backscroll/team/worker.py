"""The worker: takes what devices sent from the objects into the libraries of their people.

Objects are the truth; archives and indexes are made of them and can be made again. Work follows what is new: a job
names one device, and only its objects are listed.
"""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Final

from backscroll.archive.archive import Archive
from backscroll.errors import BackscrollError, storage_error
from backscroll.files.source_key import owner_of
from backscroll.library.archives import open_writer
from backscroll.library.indexing.changes import catalogue_stamp
from backscroll.library.indexing.kept_news import take_news
from backscroll.library.indexing.warm_chats import WarmChats
from backscroll.library.machine import ensure_machine
from backscroll.library.postgres import outdated_libraries
from backscroll.sync.forgotten_content import remove_forgotten
from backscroll.sync.objects import devices_in, folder_of
from backscroll.sync.pull import Pulled, pull
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.state import SyncState
from backscroll.sync.withdrawn import withdraw
from backscroll.team.arrival_limits import ArrivalLimits
from backscroll.team.arrival_masks import ArrivalMasks
from backscroll.team.erase_person import erase_person
from backscroll.team.erasures import JOB as ERASE
from backscroll.team.erasures import find_by_name, to_be_erased
from backscroll.team.exclusive import PersonBusy, exclusive
from backscroll.team.expire_chats import expire_chats
from backscroll.team.job_log import JobLog
from backscroll.team.jobs import CHANNEL, Job, Leases, next_job, want
from backscroll.team.libraries import STATE, Libraries
from backscroll.team.limits import note_stored
from backscroll.team.mask_library import mask_library
from backscroll.team.project_rules import MASK_JOB, masks_arrivals
from backscroll.team.rates import forget_unused
from backscroll.team.retention import JOB as EXPIRE
from backscroll.team.retention import want_due
from backscroll.team.undo_import import JOB as UNDO
from backscroll.team.undo_import import undo_import
from backscroll.team.viewers import ANEW

if TYPE_CHECKING:
    from backscroll.team.database import Connection, Database

CHANGED: Final = "backscroll_changed"
"""The channel that tells web processes whose library changed."""
LOOK_SECONDS: Final = 5.0
"""How often jobs are looked for that were put off, or whose notice was lost."""
EXPIRY_SECONDS: Final = 600.0
"""How often it is looked whose chats were not looked through for a day."""
STOP_SECONDS: Final = 0.5
"""How often it is looked whether to stop."""
THREADS: Final = 4
HEAVY: Final = threading.Lock()
"""Held while long lines are indexed: each takes several times its bytes in memory."""

log = logging.getLogger(__name__)


class Worker:
    """Does jobs until it is stopped.

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
        """Do every job that there is, and wait for the next."""
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
        """Do jobs beside the thread that listens."""
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
            with self._log.telling(job) if self._log else nullcontext():
                try:
                    self._do(job)
                except OSError as error:  # a full disk is not a bug
                    raise storage_error(error, f"cannot do the job {job.kind} of {job.about}") from error
        return True

    def look_for_work(self) -> None:
        """Want done what no job says: what was stored before a crash, and indexes that an older version made."""
        devices = devices_in(self._objects.list())
        with self._database.transaction() as connection:
            erased = to_be_erased(connection)
            for device in devices:
                owner = owner_of(device)
                want(connection, *((ERASE, owner) if owner in erased else ("pull", device)))
            old = connection.execute(
                "select handle from person where id = any(%s)", (outdated_libraries(self._database.address),)
            ).fetchall()
            for (handle,) in old:
                want(connection, "index", handle)

    def _do(self, job: Job) -> None:
        if job.kind == ERASE:
            erase_person(self._database, self._objects, self._libraries, job.about)
            self._tell(job.about, anew=True)
        if job.kind == UNDO and undo_import(self._database, self._objects, self._libraries, job.about):
            self._tell(owner_of(job.about), anew=True)
        if job.kind == EXPIRE:
            self._expire(job.about)
        if job.kind == MASK_JOB:
            self._mask(job.about)
        if job.kind in {"index", "pull"}:
            owner = owner_of(job.about) or job.about
            with exclusive(self._database, self._libraries.number(owner)) as connection:
                if owner not in to_be_erased(connection):
                    self._bring_up_to_date(connection, job)

    def _look_for_expired(self) -> None:
        """Once in a while, have everyone's chats looked through whose turn it is."""
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + EXPIRY_SECONDS
        with self._database.transaction() as connection:
            want_due(connection)
            forget_unused(connection)

    def _expire(self, handle: str) -> None:
        with self._database.transaction() as connection:
            person = find_by_name(connection, handle)
        if expire_chats(self._database, self._objects, self._libraries, person):
            self._tell(handle, anew=True)

    def _mask(self, handle: str) -> None:
        """Mask secrets in what is in a library already."""
        with exclusive(self._database, self._libraries.number(handle)) as connection:
            is_erased = handle in to_be_erased(connection)
            is_changed = not is_erased and mask_library(self._database, self._libraries, handle)
        if is_changed:
            self._tell(handle, anew=True)

    def _bring_up_to_date(self, connection: "Connection", job: Job) -> None:
        if job.kind == "index":  # a new person has an empty library, not none; an index may be of an older version
            is_old = self._libraries.number(job.about) in outdated_libraries(self._database.address)
            with self._libraries.own(job.about) as library:
                if is_old:
                    library.rebuild()
                library.update()
            if is_old:
                self._tell(job.about, anew=True)
            return
        masks = masks_arrivals(connection, owner_of(job.about))
        pulled, stored = take(self._libraries, self._objects, job.about, masks=masks, warm=self._warm)
        note_stored(connection, job.about, stored)
        self._tell(owner_of(job.about), anew=bool(pulled.replaced or pulled.withdrawn))
        if pulled.problems:
            raise BackscrollError(f"{job.about}: {len(pulled.problems)} problems", "see the log of the worker")

    def _tell(self, handle: str, *, anew: bool = False) -> None:
        """Tell web processes that the library of a person has changed, or that texts in it are not there any more."""
        with self._database.connection() as connection:
            connection.execute("select pg_notify(%s, %s)", (CHANGED, f"{handle} {ANEW}" if anew else handle))


def take(
    libraries: Libraries,
    objects: Remote,
    device: str,
    *,
    masks: bool = False,
    warm: WarmChats | None = None,
) -> tuple[Pulled, int]:
    """Take what is new of a device into its person's library, with its secrets masked if it `masks`, and index it.

    Returns how many bytes all its objects unpack to, too.
    """
    own = OneDevice(objects, device)
    settings = libraries.settings(owner_of(device))
    ensure_machine(settings.library)  # before anything is kept: a library without a name takes that of its first files
    state = SyncState(settings.library / STATE)
    limits = ArrivalLimits(ArrivalMasks().incoming) if masks else ArrivalLimits()
    try:
        with open_writer(settings) as writer:
            before = catalogue_stamp(settings)
            log_before, last_before, _ = state.pulled(device)
            pulled = pull(
                lambda: nullcontext(writer), own, state, own="",
                incoming=limits.incoming,
                temporary=libraries.temporary,
            )  # fmt: skip
            if pulled.ignored:  # chats that have expired, and that the machine sends again or goes on with
                is_same_log = state.pulled(device)[0] == log_before

                def is_forgotten(home: str, path: str) -> bool:
                    return writer.is_forgotten(home, path, device)

                remove_forgotten(objects, device, is_forgotten, last_before if is_same_log else 0)
                list(own.list())  # which are shorter now
            withdrawal = withdraw(lambda: nullcontext(writer), own, own.found, state, device)
            pulled.withdrawn = len(withdrawal.streams)
        with HEAVY if limits.is_heavy else nullcontext():
            _index(libraries, device, writer, pulled, before, warm)
        withdrawal.note(state, device)  # not before: an update would leave in the index what the archive has no more
        unpacked = state.received_bytes(device)
    finally:
        state.close()
    for problem in pulled.problems:
        log.error("cannot take an object: %s", problem)
    return pulled, max(sum(one.size for one in own.found), unpacked)


def _index(
    libraries: Libraries, device: str, archive: Archive, pulled: Pulled, before: str, warm: WarmChats | None
) -> None:
    """Index what was taken into the archive, whose stamp was `before` until then."""
    with libraries.own(owner_of(device)) as library:
        if pulled.replaced or pulled.withdrawn:  # the index has words that the archive has no more
            library.rebuild()
            library.update()  # removes the index that was replaced
        elif pulled.forgotten:
            library.update()
            library.update()
        else:
            take_news(library, archive, pulled.sources, before, warm)


def _wait_for_notice(listening: "Connection", stop: threading.Event) -> None:
    """Wait until a job is wanted, or it is time to look."""
    for _ in range(round(LOOK_SECONDS / STOP_SECONDS)):
        if stop.is_set() or any(True for _ in listening.notifies(timeout=STOP_SECONDS, stop_after=1)):
            return


class OneDevice:
    """The objects of one device: a remote on which there is no other."""

    def __init__(self, objects: Remote, device: str) -> None:
        self._objects, self._folder = objects, folder_of(device)
        self.found: list[RemoteObject] = []
        """Its objects, when they were last listed."""

    def list(self, _: str = "") -> Iterator[RemoteObject]:
        """Its objects."""
        self.found = list(self._objects.list(self._folder))
        yield from self.found

    def get(self, name: str) -> bytes:
        """One of its objects."""
        return self._objects.get(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """One of its objects, piece by piece."""
        return self._objects.pieces(name)

    def put(self, name: str, data: bytes) -> bool:
        """A worker stores nothing."""
        raise NotImplementedError

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """A worker stores nothing."""
        raise NotImplementedError

    def delete(self, name: str) -> None:
        """A worker removes nothing."""
        raise NotImplementedError


def _is_expected(error: Exception) -> bool:
    """Whether the database or the job is the cause, not a mistake of ours."""
    import psycopg

    return isinstance(error, (psycopg.OperationalError, BackscrollError))
