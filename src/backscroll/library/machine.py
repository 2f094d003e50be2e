"""Which machine is this? Its id is part of the key of every file, and outlives a change of host name.

The id stands in `machine.json` in the library. It is made when the library first keeps something. A library that is
older than this file takes over the names under which it kept its files: all of them were this machine.
"""

import hashlib
import platform
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from backscroll.disk import FileLock, private_folder, write_private
from backscroll.errors import storage_error

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive

FILE: Final = "machine.json"
LOCK_SECONDS: Final = 10.0


class Machine(msgspec.Struct, frozen=True):
    """A machine, as its library knows it."""

    id: str
    """Its id in the archive and the index."""
    name: str
    """Its name: the host name when the id was created."""
    formerly: tuple[str, ...] = ()
    """Other ids under which this machine kept files, before it had a lasting one."""

    def is_own(self, machine: str) -> bool:
        """Whether this is an id of this machine."""
        return machine == self.id or machine in self.formerly


def host_name() -> str:
    """The current host name."""
    return platform.node() or "unknown"


def read_machine(library: Path) -> Machine:
    """This machine, without writing anything: from the library, or as it would be recorded."""
    return _read(library) or _propose_machine(library)


def ensure_machine(library: Path) -> Machine:
    """This machine; records its identity if the library has none yet."""
    found = _read(library)
    if found is not None:
        return found
    private_folder(library)
    busy = "another process is writing this library for the first time"
    with FileLock(library / "machine.lock", busy, "try again", wait=LOCK_SECONDS):
        found = _read(library)
        if found is None:
            found = _propose_machine(library)
            write_machine(library, found)
    return found


def write_machine(library: Path, machine: Machine) -> None:
    """Record which machine a library, or a backup of it, is from."""
    if _read(library) != machine:
        written = {**msgspec.structs.asdict(machine), "sum": _sum(machine)}
        write_private(library / FILE, msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n")


def machine_of_backup(backup: "Archive") -> Machine:
    """The machine that a backup is restored on: the one it is from, if the name is the same, otherwise a new one."""
    said = _read(backup.folder)
    name = host_name()
    if said is not None:
        return said if said.name == name else _new()
    return Machine(name, name) if name in backup.machines else _new()


def _read(library: Path) -> Machine | None:
    """The contents of the file; None if it is missing or damaged: the archive knows this machine too."""
    path = library / FILE
    try:
        data = path.read_bytes()
        found = msgspec.json.decode(data, type=Machine)
        said = msgspec.json.decode(data, type=dict[str, Any]).get("sum")
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise storage_error(error, f"cannot read {path}") from error
    return found if said == _sum(found) else None


def _sum(machine: Machine) -> str:
    return hashlib.sha256(msgspec.json.encode(machine)).hexdigest()[:16]


def _propose_machine(library: Path) -> Machine:
    """The machine in the archive, or a new id, which stays the same while this process runs."""
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
        # With lasting ids among them, this archive may hold files of other machines: they stay theirs.
        others = () if len(plain) < len(ids) else tuple(sorted(set(plain) - {own}))
        return Machine(own, name, others)
    return PROPOSED.setdefault(library, _new())


def _host_in(machine: str) -> str | None:
    found = LASTING.fullmatch(machine)
    return found[1] if found else None


def _new() -> Machine:
    name = host_name()
    import secrets

    return Machine(f"{name}-{secrets.token_hex(4)}", name)


LASTING: Final = re.compile("(.*)-[0-9a-f]{8}", re.DOTALL)
"""An id that was made here, and not just the host name that older libraries knew."""
PROPOSED: Final[dict[Path, Machine]] = {}
