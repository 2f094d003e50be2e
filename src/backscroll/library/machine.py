"""The identity of this machine: its id is part of the key of every file, and outlives a change of host name.

The id is in `machine.json` in the library. It is made when the library first keeps a file. A library that is older than
this file takes over the names under which it kept its files: all of them were this machine.

A library that was copied to another computer gets another id there, and its content counts as that of another machine.
It was copied if both the hardware and the folder differ from those that the file names: a folder that several computers
share, or a disk that moved, is still the same library. docs/why/sources.md has the reasons.
"""

import hashlib
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from backscroll import system
from backscroll.disk import FileLock, private_folder, read_own, write_private
from backscroll.errors import BackscrollError, storage_error
from backscroll.files.source_key import SourceKey

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

FILE: Final = "machine.json"
LOCK_SECONDS: Final = 10.0
MOST_HARDWARE: Final = 16
"""Number of computers sharing a library that are noted; more change nothing."""


class Machine(msgspec.Struct, frozen=True):
    """A machine, as its library knows it."""

    id: str
    """The id in the archive and the index."""
    name: str
    """The host name when the id was created."""
    formerly: tuple[str, ...] = ()
    """Other ids under which this machine kept files, before it had a lasting one."""
    copied_from: str = ""
    """The id of the machine that the library was first used on, if it is a copy from there."""

    def is_own(self, machine: str) -> bool:
        """Whether this is an id of this machine."""
        return machine == self.id or machine in self.formerly

    def is_elsewhere(self, source: str) -> bool:
        """Whether a file, by its id, is from another machine."""
        return not self.is_own(SourceKey.parse(source).machine)


class Stay(msgspec.Struct, frozen=True):
    """A machine that used a library, with its hardware ids."""

    machine: Machine
    hardware: tuple[str, ...]
    """Several, if computers share the folder of the library, or its disk was moved."""


class MachineFile(msgspec.Struct, frozen=True):
    """The content of `machine.json`."""

    stay: Stay
    folder: int = 0
    """The number of the library's folder on its disk, which no copy has; 0 if unknown."""
    others: tuple[Stay, ...] = ()
    """Other machines that used this library, or the one that it was copied from."""


def host_name() -> str:
    """Return the current host name."""
    return platform.node() or "unknown"


def read_machine(library: Path) -> Machine:
    """Return this machine, without writing anything: from the library, or as it would be recorded."""
    file = _read(library)
    return _settled(library, file).stay.machine if file is not None else _propose_machine(library)


def ensure_machine(library: Path) -> Machine:
    """Return this machine; records its identity if the library has none yet, or was copied from another one."""
    file = _read(library)
    if file is not None and (settled := _settled(library, file)).stay.machine == file.stay.machine:
        if settled != file:
            with suppress(OSError, BackscrollError):  # a library that cannot be written, or is written right now
                _record(library)
        return file.stay.machine
    return _record(library)


def _record(library: Path) -> Machine:
    private_folder(library)
    busy = "another process is writing this library for the first time"
    with FileLock(library / "machine.lock", busy, "try again", wait=LOCK_SECONDS):
        settled = _settled(library, _read(library) or MachineFile(Stay(_propose_machine(library), ())))
        _write(library, settled)
        return settled.stay.machine


def copy_machine(library: Path, backup: Path) -> None:
    """Record in a backup the machine that it is from."""
    file = _read(library) or MachineFile(Stay(read_machine(library), ()))
    settled = _settled(library, file)
    _write(backup, msgspec.structs.replace(settled, folder=0))


def take_machine(backup: "Archive", library: Path) -> None:
    """Record in a library the machine that a backup is restored on: the one it is from, or another.

    A backup from before the hardware was noted is recognized by the host name.
    """
    kept, name, known = _read(backup.folder), host_name(), None
    if kept is None:
        known = MachineFile(Stay(Machine(name, name), ())) if name in backup.machines else None
    elif not kept.stay.hardware or system.hardware_id() is None:
        known = kept if kept.stay.machine.name == name else None
    elif (settled := _settled(library, kept)).stay.machine == kept.stay.machine or _read(library) is None:
        known = settled
    file = known or _read(library) or MachineFile(Stay(_new(), ()))
    _write(library, _settled(library, file))


def _settled(library: Path, found: MachineFile) -> MachineFile:
    """Return the content of this library's file, updated for this hardware and folder."""
    hardware, folder = system.hardware_id(), _folder_number(library)
    if hardware is None:
        return found
    known = found.stay.hardware
    if not known or hardware in known:
        stay = msgspec.structs.replace(found.stay, hardware=known or (hardware,))
        return MachineFile(stay, folder, found.others)
    if folder and folder == found.folder:
        stay = msgspec.structs.replace(found.stay, hardware=(*known, hardware)[:MOST_HARDWARE])
        return MachineFile(stay, folder, found.others)
    others = [other for other in found.others if hardware not in other.hardware]
    before = next((other for other in found.others if hardware in other.hardware), None)
    return MachineFile(
        before or Stay(_copy_of(library, found.stay.machine), (hardware,)), folder, (*others, found.stay)
    )


def _copy_of(library: Path, machine: Machine) -> Machine:
    """Return a new machine, for a copied library; the same one while this process runs."""
    first = machine.copied_from or machine.id
    return PROPOSED.setdefault(library, msgspec.structs.replace(_new(), copied_from=first))


def _folder_number(library: Path) -> int:
    try:
        return library.stat().st_ino
    except OSError:
        return 0


class _Written(msgspec.Struct, omit_defaults=True):
    """The file in its stored form. Versions that know only the first fields read it, too."""

    id: str
    name: str
    formerly: tuple[str, ...] = ()
    sum: str = ""
    copied_from: str = ""
    hardware: tuple[str, ...] = ()
    folder: int = 0
    others: tuple[Stay, ...] = ()
    sum_of_all: str = ""


def _write(library: Path, file: MachineFile) -> None:
    if _read(library) == file:
        return
    machine = file.stay.machine
    written = _Written(
        machine.id, machine.name, machine.formerly, _sum(machine), machine.copied_from,
        file.stay.hardware, file.folder, file.others,
    )  # fmt: skip
    written.sum_of_all = _sum_of_all(written)
    private_folder(library)
    write_private(library / FILE, msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")


def _read(library: Path) -> MachineFile | None:
    """Return the contents of the file; None if it is missing or damaged: the archive knows this machine too.

    If only the part on the hardware is damaged, or an earlier version wrote it, that part is left out.
    """
    path = library / FILE
    try:
        data = read_own(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error
    try:
        written = msgspec.json.decode(data, type=_Written)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    machine = Machine(written.id, written.name, written.formerly)
    if written.sum != _sum(machine):
        return None
    if written.sum_of_all != _sum_of_all(written):
        return MachineFile(Stay(machine, ()))
    machine = msgspec.structs.replace(machine, copied_from=written.copied_from)
    return MachineFile(Stay(machine, written.hardware), written.folder, written.others)


def _sum(machine: Machine) -> str:
    """Return the checksum of the fields that every version writes."""
    fields = {"id": machine.id, "name": machine.name, "formerly": machine.formerly}
    return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()[:16]


def _sum_of_all(written: _Written) -> str:
    return hashlib.sha256(msgspec.json.encode(msgspec.structs.replace(written, sum_of_all=""))).hexdigest()[:16]


def _propose_machine(library: Path) -> Machine:
    """Return the machine in the archive, or a new id, which stays the same while this process runs."""
    if library in PROPOSED:
        return PROPOSED[library]
    name = host_name()
    try:
        from backscroll.archive.archive import Archive

        archive = Archive(library / "archive")
    except NotADirectoryError:
        return PROPOSED.setdefault(library, _new())
    except OSError as error:
        raise storage_error(error, "the archive could not be read") from error
    since: dict[str, str] = {}
    for (machine, _), at in archive.captured.items():
        since[machine] = max(at, since.get(machine, ""))
    last_kept = {file.machine: number for number, file in archive.files.items()}
    ids = sorted(archive.machines, key=lambda machine: (since.get(machine, ""), last_kept.get(machine, 0)))
    named = [machine for machine in ids if machine == name or _host_in(machine) == name]
    plain = [machine for machine in ids if not LASTING.fullmatch(machine)]
    if named or plain:
        own = (named or plain)[-1]
        # With lasting ids among them, this archive may hold files of other machines, which keep their ids.
        others = () if len(plain) < len(ids) else tuple(sorted(set(plain) - {own}))
        return Machine(own, name, others)
    return PROPOSED.setdefault(library, _new())


def _host_in(machine: str) -> str | None:
    match = LASTING.fullmatch(machine)
    return match[1] if match else None


def _new() -> Machine:
    name = host_name()
    import secrets

    return Machine(f"{name}-{secrets.token_hex(4)}", name)


LASTING: Final = re.compile("(.*)-[0-9a-f]{8}", re.DOTALL)
"""An id that was made here, and not just the host name that older libraries used."""
PROPOSED: Final[dict[Path, Machine]] = {}
