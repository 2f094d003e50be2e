"""The remotes of a library, and the name and key under which this machine writes to them.

They lie in `sync/` in the library. The key for masks never leaves the machine; `enroll` makes a new one.
"""

import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from backscroll.disk import FileLock, private_folder, write_private
from backscroll.errors import BackscrollError, NothingFound, UsageError, storage_error
from backscroll.library.machine import ensure_machine
from backscroll.settings import Settings
from backscroll.sync.policy import EffectivePolicy, OrgRules, Policy

FOLDER: Final = "sync"
LOCK_SECONDS: Final = 10.0


class RemoteSettings(Struct, frozen=True, kw_only=True):
    """A remote that was accepted by the user."""

    name: str
    url: str
    policy: Policy = Policy()
    org_rules: OrgRules = OrgRules()
    """The rules of the organisation on a team server, as they were last fetched."""
    told_projects: str = ""
    """The digest of the projects that the server was last told."""
    is_paused: bool = False
    is_encrypted: bool = False
    device: str | None = None
    """The name of this machine on a team server, which gave it; elsewhere its own name."""
    last_sync: str | None = None
    """When everything was last sent and taken, in UTC."""
    last_proof: str | None = None
    """When the remote was last found to have everything."""
    problem: str | None = None
    """Why the last sync did not get to its end; None if it did."""

    @property
    def effective(self) -> EffectivePolicy:
        """What may leave: the user's own policy, and what the organisation allows of it."""
        return EffectivePolicy(self.policy, self.org_rules)


class Device(Struct, frozen=True):
    """As whom this machine writes."""

    name: str
    key: str
    """Hexadecimal."""

    @property
    def secret(self) -> bytes:
        """The key for masks."""
        return bytes.fromhex(self.key)


def sync_folder_of(settings: Settings) -> Path:
    """Where all of this lies."""
    return settings.library / FOLDER


def read_remotes(settings: Settings) -> dict[str, RemoteSettings]:
    """The remotes by name."""
    path = sync_folder_of(settings) / "remotes.json"
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[RemoteSettings])
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BackscrollError(f"{path} cannot be read: {error}", "correct the file, or remove it") from error
    return {one.name: one for one in found}


def find_remote(settings: Settings, name: str) -> RemoteSettings:
    """A remote by its name."""
    remotes = read_remotes(settings)
    if name not in remotes:
        known = f"the remotes are: {', '.join(remotes)}" if remotes else "add one with backscroll sync add NAME URL"
        raise NothingFound(f"there is no remote {name}", known)
    return remotes[name]


def write_remote(settings: Settings, remote: RemoteSettings) -> None:
    """Add or change a remote."""
    if not NAME.fullmatch(remote.name):
        raise UsageError(f"{remote.name} is not a name for a remote", "use letters, digits, - and _")
    _change(settings, lambda remotes: {**remotes, remote.name: remote})


def note_remote(settings: Settings, name: str, **changes: object) -> None:
    """Change these fields of a remote and leave the others, which another process may have changed meanwhile."""

    def change(remotes: dict[str, RemoteSettings]) -> dict[str, RemoteSettings]:
        if name not in remotes:  # removed meanwhile
            return remotes
        return {**remotes, name: msgspec.structs.replace(remotes[name], **changes)}

    _change(settings, change)


def remove_remote(settings: Settings, name: str) -> None:
    """Forget a remote and what was known of it. What is on it stays there."""
    find_remote(settings, name)
    _change(settings, lambda remotes: {key: remote for key, remote in remotes.items() if key != name})
    kept = (_key_path(settings, name), _credential_path(settings, name))
    for path in (*sync_folder_of(settings).glob(f"{name}.sqlite*"), *kept):
        path.unlink(missing_ok=True)


def read_key(settings: Settings, remote: RemoteSettings) -> bytes | None:
    """The key of an encrypted remote; None for others."""
    if not remote.is_encrypted:
        return None
    path = _key_path(settings, remote.name)
    try:
        return bytes.fromhex(path.read_text(encoding="ascii"))
    except (OSError, ValueError) as error:
        hint = f"run backscroll sync remove {remote.name}, and add it again with its passphrase"
        raise BackscrollError(f"the key of {remote.name} cannot be read: {error}", hint) from error


def write_key(settings: Settings, name: str, key: bytes) -> None:
    """Remember the key of a remote on this machine, so that it can sync by itself. The passphrase is not kept."""
    private_folder(sync_folder_of(settings))
    write_private(_key_path(settings, name), key.hex().encode())


def read_credential(settings: Settings, name: str) -> str | None:
    """What a team server knows this machine by; None if it is not connected."""
    try:
        return _credential_path(settings, name).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError) as error:
        raise BackscrollError(
            f"the credential of {name} cannot be read: {error}", "connect this machine again"
        ) from error


def write_credential(settings: Settings, name: str, credential: str) -> None:
    """Keep the credential of this machine, for its owner only."""
    private_folder(sync_folder_of(settings))
    write_private(_credential_path(settings, name), credential.encode("ascii"))


def _credential_path(settings: Settings, name: str) -> Path:
    return sync_folder_of(settings) / f"{name}.credential"


def _key_path(settings: Settings, name: str) -> Path:
    return sync_folder_of(settings) / f"{name}.key"


def state_path(settings: Settings, name: str) -> Path:
    """Where the state for a remote lies."""
    return sync_folder_of(settings) / f"{name}.sqlite"


def device_of(settings: Settings, *, is_new: bool = False) -> Device:
    """As whom this machine writes; made at first use. `is_new` makes a new one, for a library that was copied."""
    folder = sync_folder_of(settings)
    path = folder / "device.json"
    with _locked(folder):
        try:
            found = msgspec.json.decode(path.read_bytes(), type=Device)
            if not is_new:
                return found
        except FileNotFoundError:
            found = None
        except OSError as error:
            raise storage_error(error, f"cannot read {path}") from error
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            hint = "remove the file: this machine gets a new name on its remotes"
            raise BackscrollError(f"{path} cannot be read: {error}", hint) from error
        machine = ensure_machine(settings.library)
        name = machine.id if found is None else f"{machine.name}-{secrets.token_hex(4)}"
        made = Device(name, secrets.token_hex(32))
        write_private(path, msgspec.json.encode(made) + b"\n")
        return made


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
