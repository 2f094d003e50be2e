"""Files that other devices forgot, as their bundles say: passed on to ask the user, or removed at once on a server."""

from collections.abc import Callable
from dataclasses import dataclass

from backscroll.archive.forgetting import is_forgotten, owned_key
from backscroll.archive.rewriting import Writer
from backscroll.files.source_key import owner_of
from backscroll.sync.bundles import Index


@dataclass(frozen=True)
class ForgottenElsewhere:
    """Files that the user forgot on another device."""

    device: str
    machine: str
    """The name under which this archive keeps the files of that device."""
    at: str
    """Time at which the bundle was made, by the clock of that device."""
    keys: frozenset[str]
    """Hashes of the files, as this archive would note them. This archive has forgotten none of them."""


OnForgotten = Callable[[ForgottenElsewhere], object]
"""Durably records files that another device forgot: it is not called for that bundle again."""


def take_forgotten(writer: Writer, machine: str, index: Index, on_forgotten: OnForgotten | None) -> int:
    """Pass on the files that the device of a bundle forgot; without `on_forgotten`, remove them from the archive.

    Returns the number of files that were removed.
    """
    owner = owner_of(machine)
    keys = {owned_key(owner, key) for key in index.forgotten} - writer.forgotten
    if not keys:
        return 0
    if on_forgotten is not None:
        on_forgotten(ForgottenElsewhere(index.device, machine, index.at, frozenset(keys)))
        return 0
    return forget_keys(writer, keys)


def forget_keys(writer: Writer, keys: set[str]) -> int:
    """Remove the files with these keys from the archive, and never keep them again; return how many there were."""
    known = writer.forgotten | keys
    files = [
        file
        for file in writer.files.values()
        if is_forgotten(known, writer.machines, file.machine, file.home, file.path)
    ]
    writer.forget(files, keys)
    return len(files)
