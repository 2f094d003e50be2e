"""Take what a device sent from the objects into the library of its person.

Objects are the truth; archives and indexes are made of them and can be made again. Only the objects of the one device
are listed.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import IO, Final

from backscroll.archive.archive import Archive
from backscroll.files.source_key import owner_of
from backscroll.library.archives import open_writer
from backscroll.library.indexing.changes import catalogue_stamp
from backscroll.library.indexing.kept_news import take_news
from backscroll.library.indexing.warm_chats import WarmChats
from backscroll.library.machine import ensure_machine
from backscroll.sync.forgotten_content import remove_forgotten
from backscroll.sync.objects import folder_of
from backscroll.sync.pull import Pulled, pull
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.state import SyncState
from backscroll.sync.withdrawn import withdraw
from backscroll.team.arrival.libraries import STATE, Libraries
from backscroll.team.arrival.line_limits import LineLimits
from backscroll.team.arrival.masks import ArrivalMasks

HEAVY: Final = threading.Lock()
"""Held while long lines are indexed: each takes several times its bytes in memory."""

log = logging.getLogger(__name__)


def take(
    libraries: Libraries,
    objects: Remote,
    device: str,
    *,
    masks: bool = False,
    warm: WarmChats | None = None,
) -> tuple[Pulled, int]:
    """Take the new objects of a device into its person's library, with secrets masked if `masks`, and index them.

    Return what was pulled, and how many bytes all objects of the device unpack to.
    """
    own = OneDevice(objects, device)
    settings = libraries.settings(owner_of(device))
    ensure_machine(settings.library)  # before anything is kept: a library without a name takes that of its first files
    state = SyncState(settings.library / STATE)
    limits = LineLimits(ArrivalMasks().incoming) if masks else LineLimits()
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
            withdrawal = withdraw(lambda: nullcontext(writer), own, own.listed, state, device)
            pulled.withdrawn = len(withdrawal.streams)
        with HEAVY if limits.is_heavy else nullcontext():
            _index(libraries, device, writer, pulled, before, warm)
        withdrawal.note(state, device)  # not before: an update would leave in the index what the archive has no more
        unpacked = state.received_bytes(device)
    finally:
        state.close()
    for problem in pulled.problems:
        log.error("cannot take an object: %s", problem)
    return pulled, max(sum(each.size for each in own.listed), unpacked)


def _index(
    libraries: Libraries, device: str, archive: Archive, pulled: Pulled, before: str, warm: WarmChats | None
) -> None:
    """Index what was taken into the archive, which had the stamp `before` until then."""
    with libraries.own(owner_of(device)) as library:
        if pulled.replaced or pulled.withdrawn:  # the index has words that the archive has no more
            library.rebuild()
            library.update()  # removes the index that was replaced
        elif pulled.forgotten:
            library.update()
            library.update()
        else:
            take_news(library, archive, pulled.sources, before, warm)


class OneDevice:
    """A remote with the objects of one device only."""

    def __init__(self, objects: Remote, device: str) -> None:
        self._objects, self._folder = objects, folder_of(device)
        self.listed: list[RemoteObject] = []
        """The objects of the device as of the last listing."""

    def list(self, _: str = "") -> Iterator[RemoteObject]:
        """List the objects of the device."""
        self.listed = list(self._objects.list(self._folder))
        yield from self.listed

    def get(self, name: str) -> bytes:
        """Read an object."""
        return self._objects.get(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        """Read an object piece by piece."""
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
