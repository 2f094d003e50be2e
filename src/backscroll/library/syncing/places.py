"""The location of a remote: its address, whether it exists, and unusable files in it."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from backscroll.errors import NoPermission, StorageError
from backscroll.sync.folder_objects import Findings
from backscroll.sync.remotes import Folder, Remote, folder_at
from backscroll.sync.state import SyncState


def address_of(url: str) -> str:
    """Return the address of a remote to keep: a folder by its absolute path, valid in any current folder."""
    folder = folder_at(url) if url.strip() and not urlsplit(url).scheme else None
    return url if folder is None else str(folder)


def absent_folder(url: str) -> Path | None:
    """Return the folder at an address if it does not exist; None if it does, or if the address is not a folder."""
    folder = folder_at(url)
    return None if folder is None or folder.is_dir() else folder


def demand_there(store: Remote) -> None:
    """Raise an error if a folder that was used before is missing; it may be on a disk that is away."""
    if isinstance(store, Folder) and not store.root.is_dir():
        hint = "mount it; or create the folder, to start again"
        raise StorageError(f"{store.root} is not there", hint)


def findings_of(store: Remote, device: str) -> Findings:
    """Return the files of the last listing that are not objects. Raises an error if they hide this device's objects."""
    findings = store.findings if isinstance(store, Folder) else Findings()
    for hidden, reason in findings.unreadable:
        if hidden in ("", device):
            what = "what this machine sent to it" if hidden else "the remote"
            raise NoPermission(f"{what} cannot be read: {reason}", "check the permissions of the folder and its files")
    return findings


def machine_names(state: SyncState) -> Callable[[str], str]:
    """Return a function that names the machine of a device, as far as known."""
    names = {seen.device: seen.machine for seen in state.seen() if seen.machine}
    return lambda device: names.get(device, device)
