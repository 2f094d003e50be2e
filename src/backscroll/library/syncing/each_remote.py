"""Sync with several remotes; a remote that fails delays no other."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from backscroll.errors import BackscrollError
from backscroll.library.syncing.remote_settings import RemoteSettings, note_remote
from backscroll.library.syncing.sync import Synced
from backscroll.settings import Settings


class Outcome(NamedTuple):
    """The result of the sync with one remote."""

    remote: str
    done: Synced | None
    error: Exception | None = None

    @property
    def problem(self) -> str:
        """Why the sync failed; empty if it did not."""
        if isinstance(self.error, BackscrollError):
            return self.error.message
        return f"{type(self.error).__name__}: {self.error}" if self.error else ""


def sync_each(
    settings: Settings, remotes: Iterable[RemoteSettings], sync_one: Callable[[RemoteSettings], Synced]
) -> list[Outcome]:
    """Sync with remote after remote. Errors are values: also those that should never happen."""
    outcomes = []
    for remote in remotes:
        try:
            outcomes.append(Outcome(remote.name, sync_one(remote)))
        except Exception as error:
            outcome = Outcome(remote.name, None, error)
            outcomes.append(outcome)
            if not isinstance(error, BackscrollError):  # a sync notes these itself
                with suppress(BackscrollError, OSError):
                    note_remote(settings, remote.name, problem=outcome.problem)
    return outcomes
