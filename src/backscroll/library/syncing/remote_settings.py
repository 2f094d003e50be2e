"""The remotes of a library, and this machine's name and key for writing to them.

Stored in `sync/` in the library. The key, for masks and signatures, never leaves the machine; `enroll` makes another.
"""

import hashlib
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.disk import FileLock, private_folder, read_own, write_private
from backscroll.errors import BackscrollError, NothingFound, UsageError, storage_error
from backscroll.library.machine import ensure_machine
from backscroll.settings import Settings
from backscroll.sync.policy import EffectivePolicy, OrgRules, Policy
from backscroll.sync.signing import Signer

FOLDER: Final = "sync"
DEVICE: Final = "device.json"
CREDENTIAL: Final = ".credential"
STATE: Final = re.compile(r"\.sqlite(-wal|-shm|-journal)?$")
OTHERS: Final = "other-machines"
"""The folder with the device files of other machines, if the library was copied."""
LOCK_SECONDS: Final = 10.0


class RemoteSettings(Struct, frozen=True, kw_only=True):
    """A remote that was accepted by the user."""

    name: str
    url: str
    policy: Policy = Policy()
    org_rules: OrgRules = OrgRules()
    """The rules of the organisation on a team server, as last fetched."""
    rules_before: OrgRules | None = None
    """The previous rules, until files that the change switched off were removed from the server; None after that."""
    told_projects: str = ""
    """The digest of the projects that were last sent to the server."""
    is_paused: bool = False
    is_encrypted: bool = False
    device: str | None = None
    """The name of this machine on a team server, which assigned it; elsewhere its own name."""
    last_sync: str | None = None
    """Time of the last complete sync, in UTC."""
    last_proof: str | None = None
    """Time when the remote was last verified to have everything."""
    problem: str | None = None
    """Why the last sync did not complete; None if it did."""

    @property
    def effective(self) -> EffectivePolicy:
        """The user's own policy, limited by the organisation."""
        return EffectivePolicy(self.policy, self.org_rules)


class Device(Struct, frozen=True):
    """The name and key of this machine as a writer."""

    name: str
    key: str
    """The key in hexadecimal."""
    machine: str = ""
    """The id of the machine; empty for the one that this library was first used on."""

    @property
    def secret(self) -> bytes:
        """The key for masks, from which the key of the signatures is derived."""
        return bytes.fromhex(self.key)

    @property
    def signer(self) -> Signer:
        """The signer of this machine's writes.

        Its key is derived from the other one: so two copies of a library from before there were signatures, or a
        machine that is restored from such a backup, sign with the same key, and nobody has to accept a new one.
        """
        return Signer(hashlib.sha256(b"backscroll signing key\n" + self.secret).digest())


def sync_folder_of(settings: Settings) -> Path:
    """Return the folder of the files of this module."""
    return settings.library / FOLDER


def read_remotes(settings: Settings) -> dict[str, RemoteSettings]:
    """Return the remotes by name."""
    path = sync_folder_of(settings) / "remotes.json"
    try:
        remotes = msgspec.json.decode(read_own(path), type=list[RemoteSettings])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackscrollError(f"{path} cannot be read: {error}", "correct the file, or remove it") from error
    return {remote.name: remote for remote in remotes}


def find_remote(settings: Settings, name: str) -> RemoteSettings:
    """Return a remote by its name."""
    remotes = read_remotes(settings)
    if name not in remotes:
        known = f"the remotes are: {', '.join(remotes)}" if remotes else "add one with backscroll sync add NAME URL"
        raise NothingFound(f"there is no remote {name}", known)
    return remotes[name]


def write_remote(settings: Settings, remote: RemoteSettings) -> None:
    """Add or change a remote."""
    check_name(remote.name)
    _change(settings, lambda remotes: {**remotes, remote.name: remote})


def check_name(name: str) -> None:
    """Raise an error if a remote cannot have this name."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name} is not a name for a remote", "use letters, digits, - and _")


def note_remote(settings: Settings, name: str, **changes: object) -> None:
    """Change these fields of a remote and leave the others, which another process may have changed in between."""

    def change(remotes: dict[str, RemoteSettings]) -> dict[str, RemoteSettings]:
        if name not in remotes:  # removed in between
            return remotes
        return {**remotes, name: msgspec.structs.replace(remotes[name], **changes)}

    _change(settings, change)


def remove_remote(settings: Settings, name: str) -> None:
    """Forget a remote and its local state. Its content stays there."""
    find_remote(settings, name)
    _change(settings, lambda remotes: {key: remote for key, remote in remotes.items() if key != name})
    kept = (_key_path(settings, name), key_facts_path(settings, name), _credential_path(settings, name))
    for path in (*sync_folder_of(settings).glob(f"{name}.sqlite*"), *kept):
        path.unlink(missing_ok=True)


def read_key(settings: Settings, remote: RemoteSettings) -> bytes | None:
    """Return the key of an encrypted remote; None for others."""
    if not remote.is_encrypted:
        return None
    path = _key_path(settings, remote.name)
    try:
        return bytes.fromhex(read_own(path).decode("ascii"))
    except (OSError, ValueError) as error:
        hint = f"run backscroll sync remove {remote.name}, and add it again with its passphrase"
        raise BackscrollError(f"the key of {remote.name} cannot be read: {error}", hint) from error


def write_key(settings: Settings, name: str, key: bytes) -> None:
    """Store the key of a remote on this machine, so that it can sync in the background. The passphrase is not kept."""
    private_folder(sync_folder_of(settings))
    write_private(_key_path(settings, name), key.hex().encode())


def read_credential(settings: Settings, name: str) -> str | None:
    """Return this machine's credential for a team server; None if it is not connected."""
    _leave_other_machine(settings)
    try:
        return read_own(_credential_path(settings, name)).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise BackscrollError(
            f"the credential of {name} cannot be read: {error}", "connect this machine again"
        ) from error


def write_credential(settings: Settings, name: str, credential: str) -> None:
    """Store the credential of this machine, readable only by its owner."""
    private_folder(sync_folder_of(settings))
    write_private(_credential_path(settings, name), credential.encode("ascii"))


def _credential_path(settings: Settings, name: str) -> Path:
    return sync_folder_of(settings) / f"{name}{CREDENTIAL}"


def _key_path(settings: Settings, name: str) -> Path:
    return sync_folder_of(settings) / f"{name}.key"


def key_facts_path(settings: Settings, name: str) -> Path:
    """Return the path of the kept content of a remote's key object."""
    return sync_folder_of(settings) / f"{name}.key.json"


def state_path(settings: Settings, name: str) -> Path:
    """Return the path of the sync state for a remote."""
    _leave_other_machine(settings)
    return sync_folder_of(settings) / f"{name}.sqlite"


def device_of(settings: Settings, *, is_new: bool = False) -> Device:
    """Return this machine's device; made at first use. `is_new` makes a new one, for a library that was copied."""
    _leave_other_machine(settings)
    folder = sync_folder_of(settings)
    with _locked(folder):
        known = _read_device(folder / DEVICE)
        if known is not None and not is_new:
            return known
        machine = ensure_machine(settings.library)
        name = machine.id if known is None else f"{machine.name}-{secrets.token_hex(4)}"
        made = Device(name, secrets.token_hex(32), machine.id)
        write_private(folder / DEVICE, msgspec.json.encode(made) + b"\n")
        return made


def _read_device(path: Path) -> Device | None:
    try:
        return msgspec.json.decode(read_own(path), type=Device)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = "remove the file: this machine gets a new name on its remotes"
        raise BackscrollError(f"{path} cannot be read: {error}", hint) from error


def _leave_other_machine(settings: Settings) -> None:
    """Put aside the device files of another machine, if the library was copied.

    Files that this machine put aside before are restored.
    """
    folder = sync_folder_of(settings)
    device = _read_device(folder / DEVICE)
    if device is None and not (folder / OTHERS).is_dir():
        return
    machine = ensure_machine(settings.library)
    owner = (device.machine or machine.copied_from or machine.id) if device is not None else ""
    if owner == machine.id:
        return
    with _locked(folder):
        if _read_device(folder / DEVICE) != device:
            return  # another process has done it
        left, back = (folder, folder / OTHERS / owner), (folder / OTHERS / machine.id, folder)
        for source, target in (left, back) if owner else (back,):
            private_folder(target)
            # The device file goes last, and is restored last: an interrupted move is repeated.
            for path in sorted(source.iterdir() if source.is_dir() else (), key=lambda path: path.name == DEVICE):
                if path.name == DEVICE or path.suffix == CREDENTIAL or STATE.search(path.name):
                    path.replace(target / path.name)


def _change(settings: Settings, change: Callable[[dict[str, RemoteSettings]], dict[str, RemoteSettings]]) -> None:
    folder = sync_folder_of(settings)
    with _locked(folder):
        remotes = change(read_remotes(settings))
        data = msgspec.json.format(msgspec.json.encode(list(remotes.values())), indent=2)
        write_private(folder / "remotes.json", data + b"\n")


def _locked(folder: Path) -> FileLock:
    private_folder(folder)
    return FileLock(folder / "lock", "another process is changing the remotes", "try again", wait=LOCK_SECONDS)


NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
