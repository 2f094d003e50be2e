"""The sending device, as a push and a check need it, and the results of a push."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.errors import BackscrollError
from backscroll.sync.bundles import PLAIN, Seal
from backscroll.sync.consent import WithheldStream
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import LinesOf, ModeOf, OwnStream, no_lines, own_streams
from backscroll.sync.signing import Signer


@dataclass
class Sender:
    """This device, as a push needs it."""

    device: str
    """Name of the device on the remote."""
    machine: str
    """Name of the machine."""
    archive: Archive
    is_own: Callable[[str], bool]
    """Whether a machine of the archive is this one."""
    mode_of: ModeOf
    outgoing: Outgoing
    seal: Seal = PLAIN
    signer: Signer | None = None
    """Key that signs bundles; None on a team server, which knows its devices by their credentials."""
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
    takes_back: Callable[[KeptFile], bool] = lambda _: False
    """Whether a sent file is removed without asking the user, because the organisation of a team server says so."""
    is_held: Callable[[KeptFile], bool] = lambda _: False
    """Whether nothing more of a file is sent for now. The part on the remote stays there."""
    is_undecided: Callable[[KeptFile], bool] = lambda _: False
    """Whether the rules for a file cannot be determined, so that nothing of it is sent."""
    lines_of: LinesOf = no_lines
    """Returns the modes of the lines of a file, if its lines are of different projects."""

    def streams(self) -> list[OwnStream]:
        """Return every version of every file that may leave."""
        return own_streams(self.archive, self.is_own, self.mode_of, self.outgoing, self.lines_of)


@dataclass
class Healed:
    """Faults of this device's objects on a remote that were mended."""

    rewritten: int = 0
    """Bundles that the remote had lost, and that were written again."""
    adopted: int = 0
    """Bundles that were on the remote already, and not in the state."""
    torn: int = 0
    """Objects that were damaged, and were replaced."""
    foreign: int = 0
    """Objects that did not belong there, and were deleted."""
    is_set_back: bool = False
    """Whether the remote had been set back to an earlier state."""

    def __add__(self, other: "Healed") -> "Healed":
        """Add up the faults that two pushes mended."""
        return Healed(
            self.rewritten + other.rewritten, self.adopted + other.adopted, self.torn + other.torn,
            self.foreign + other.foreign, self.is_set_back or other.is_set_back,
        )  # fmt: skip

    @property
    def lines(self) -> list[str]:
        """Sentences about the mended faults and their reasons."""
        again = f"wrote {_count(self.rewritten, 'bundle')} again"
        lines = []
        if self.is_set_back:
            lines.append(f"the remote was set back to an earlier state: {again}" if self.rewritten else SET_BACK)
        elif self.torn and self.rewritten:
            lines.append(f"{_count(self.torn, 'object')} of this machine had been damaged: {again}")
        elif self.rewritten:
            lines.append(f"{again} that the remote had lost")
        if self.torn and not (self.rewritten and not self.is_set_back):
            lines.append(f"removed {_count(self.torn, 'damaged object')}")
        if self.foreign:
            lines.append(f"removed {_count(self.foreign, 'object')} that this machine did not write, or had replaced")
        return lines


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


SET_BACK = "the remote was set back to an earlier state: removed again what had been removed from it"


@dataclass
class Pushed:
    """Counts and results of a push."""

    streams: int = 0
    """Streams that were begun or continued."""
    segments: int = 0
    size: int = 0
    """Bytes that left, before they were packed."""
    stored: int = 0
    """Bytes of the objects."""
    objects: int = 0
    healed: Healed = field(default_factory=Healed)
    removed: int = 0
    """Streams whose content was removed from the remote."""
    asks: int = 0
    """Hashes of forgotten files that were sent to others: devices ask their user, a team server removes the files."""
    withheld: list[WithheldStream] = field(default_factory=list)
    """Streams that were sent, may not leave any more, and stay on the remote until the user agrees."""
    unknown: int = 0
    """Files on the remote under this name that the archive has less of, or nothing, and that were not forgotten."""

    @property
    def mended(self) -> int:
        """Bundles that the remote had lost, and that were written again."""
        return self.healed.rewritten

    @property
    def adopted(self) -> int:
        """Bundles that were on the remote already."""
        return self.healed.adopted

    @property
    def has_changed(self) -> bool:
        """Whether the push changed the remote."""
        return bool(self.objects or self.removed or self.healed.lines)


class CopiedLibraryError(BackscrollError):
    """Another machine writes as this device."""

    def __init__(self, device: str) -> None:
        message = f"another machine writes to this remote as {device}: its files are not those of this one"
        hint = "if this library is a copy, or was set up anew, run backscroll sync enroll: this machine gets a new name"
        super().__init__(message, hint)
