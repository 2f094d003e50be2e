"""Sync whenever something changes here, and now and then to see what other machines sent."""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Final

from backscroll.errors import Busy
from backscroll.files.homes import Home
from backscroll.files.watching import watch
from backscroll.library.keeping.keep import keep
from backscroll.library.syncing.remote_settings import read_remotes
from backscroll.library.syncing.sync import Synced, sync
from backscroll.settings import Settings

LOOK_SECONDS: Final = 60.0
"""How often a remote is looked at while nothing changes here."""


def keep_in_sync(settings: Settings, homes: Sequence[Home], stop: threading.Event) -> Iterator[Synced]:
    """Keep and sync until `stop` is set; yield what each sync did."""
    changed = threading.Event()

    def listen() -> None:
        for _ in watch(homes, stop=stop):
            changed.set()
        changed.set()

    threading.Thread(target=listen, daemon=True).start()
    while not stop.is_set():
        changed.wait(LOOK_SECONDS)
        changed.clear()
        with contextlib.suppress(Busy):  # then another process keeps what is written
            keep(settings, homes)
        for remote in read_remotes(settings).values():
            if not remote.is_paused:
                yield sync(settings, remote)
