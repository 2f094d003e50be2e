"""The public keys by which this library knows other machines, and refused keys.

Stored in `sync/keys.json`, one list for all remotes: a machine signs with the same key everywhere, and a writer to one
remote must not impersonate a machine that is known from another. A key changes only when the user says so.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.disk import FileLock, private_folder, read_own, write_private
from backscroll.errors import BackscrollError, NothingFound, storage_error
from backscroll.library.syncing.remote_settings import RemoteSettings, read_key, sync_folder_of
from backscroll.settings import Settings
from backscroll.sync.sealing import hidden_device
from backscroll.sync.signing import fingerprint
from backscroll.sync.trust import Judge

FILE: Final = "keys.json"
LOCK_SECONDS: Final = 10.0
UNSIGNED: Final = ""
"""The key of bundles that were refused because they were not signed."""


class KnownMachine(Struct, frozen=True, omit_defaults=True):
    """Another machine, as known by its signatures."""

    machine: str
    key: str
    """The public key that is trusted; empty if the user accepted that the machine does not sign."""
    since: str
    """When it was first seen, or accepted, in UTC."""
    refused: str | None = None
    """The key of refused bundles, empty if they were not signed; None if nothing was refused since."""
    refused_at: str = ""

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key, for people."""
        return fingerprint(self.key) if self.key else ""

    @property
    def refused_fingerprint(self) -> str:
        """The fingerprint of the refused key, for people; empty if the bundle was not signed."""
        return fingerprint(self.refused) if self.refused else ""


class TrustedKeys:
    """The keys of a library. Changes are durable when a method returns."""

    def __init__(self, settings: Settings) -> None:
        self._folder = sync_folder_of(settings)
        self._path = self._folder / FILE
        self._machines = self._read()

    @property
    def machines(self) -> dict[str, KnownMachine]:
        """The machines by name."""
        return dict(sorted(self._machines.items()))

    def key_of(self, machine: str) -> str | None:
        """Return the public key of a machine; None if it has not signed anything yet."""
        known = self._machines.get(machine)
        return known.key or None if known else None

    def trust(self, machine: str, key: str) -> None:
        """Trust the first key that a machine signs with."""
        self._change(machine, lambda known: known if known and known.key else KnownMachine(machine, key, _now()))

    def note_refused(self, machine: str, key: str | None) -> None:
        """Note that a bundle was refused: signed with another key, or not signed."""
        refused = key or UNSIGNED

        def change(known: KnownMachine | None) -> KnownMachine | None:
            if known is None or known.refused == refused:
                return known
            return msgspec.structs.replace(known, refused=refused, refused_at=_now())

        self._change(machine, change)

    def clear_refused(self, machine: str) -> None:
        """Note that nothing of a machine is refused any more."""
        known = self._machines.get(machine)
        if known is not None and known.refused is not None:
            self._change(machine, lambda known: known and KnownMachine(machine, known.key, known.since))

    def accept(self, machine: str) -> KnownMachine:
        """Trust the refused key of a machine from now on."""
        known = self._machines.get(machine)
        if known is None:
            raise NothingFound(f"{machine} has not signed anything yet", "see backscroll sync trust")
        if known.refused is None:
            raise NothingFound(f"nothing was refused of {machine}", "see backscroll sync trust")
        accepted = KnownMachine(machine, known.refused, _now())
        self._change(machine, lambda _: accepted)
        return accepted

    def _change(self, machine: str, change: Callable[[KnownMachine | None], KnownMachine | None]) -> None:
        private_folder(self._folder)
        busy = "another process is changing the trusted keys"
        with FileLock(self._folder / "keys.lock", busy, "try again", wait=LOCK_SECONDS):
            self._machines = self._read()  # another sync may have changed them
            before = self._machines.get(machine)
            after = change(before)
            if after is None or after == before:
                return
            self._machines[machine] = after
            data = msgspec.json.format(msgspec.json.encode(list(self._machines.values())), indent=2)
            write_private(self._path, data + b"\n")

    def _read(self) -> dict[str, KnownMachine]:
        try:
            machines = msgspec.json.decode(read_own(self._path), type=list[KnownMachine])
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise storage_error(error, f"cannot read {self._path}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "correct the file; or remove it, and the next key that each machine signs with is trusted"
            raise BackscrollError(f"{self._path} cannot be read: {error}", hint) from error
        return {machine.machine: machine for machine in machines}


def note_nothing_refused(settings: Settings) -> None:
    """Note that a remote has no refused bundles any more."""
    keys = TrustedKeys(settings)
    for machine in keys.machines:
        keys.clear_refused(machine)


def judge_of(settings: Settings, remote: RemoteSettings) -> Judge:
    """Return the judge of bundles on a remote that does not know its devices: any but a team server."""
    key = read_key(settings, remote)
    keys = TrustedKeys(settings)
    return Judge(keys, lambda machine: hidden_device(key, machine)) if key else Judge(keys)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
