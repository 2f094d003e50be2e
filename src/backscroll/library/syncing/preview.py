"""Preview of the files that would leave this machine, project by project."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from backscroll.archive.kept_file import KeptFile
from backscroll.files.layout import FileKind
from backscroll.library.archives import open_archive
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.decisions import Decision, decisions_for
from backscroll.library.syncing.rules import day_of
from backscroll.settings import Settings
from backscroll.sync.consent import withheld_name
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import new_segments, own_streams
from backscroll.sync.policy import EffectivePolicy, SyncMode
from backscroll.sync.streams import first_head


@dataclass
class SessionPreview:
    """A session with all its files, or a file of no session, and how much of it would leave."""

    name: str
    """The id of the session, or the path of the file."""
    is_session: bool
    mode: SyncMode
    reason: str
    """The reason of the mode."""
    at: str = ""
    """The day of the last write."""
    size: int = 0
    """Bytes of the files."""


@dataclass
class ProjectPreview:
    """A project, and how much of it would leave."""

    project: str
    mode: SyncMode
    sessions: int = 0
    files: int = 0
    size: int = 0
    """Bytes of the project's files."""
    masked: Counter[str] = field(default_factory=Counter)
    """Number of places that would be masked, by rule."""
    reason: str = ""
    """Why less leaves than the user chose; empty if the user's choice decides."""
    listed: dict[tuple[bool, str], SessionPreview] = field(default_factory=dict)
    """The project's sessions, and its files of none, each of which was decided by itself."""

    def add(self, file: KeptFile, decision: Decision) -> None:
        """Count a file and its decision."""
        size = sum(version.size for version in file.versions)
        self.files += 1
        self.sessions += file.kind is FileKind.SESSION
        self.size += size
        is_session, name = key = withheld_name(file)
        listed_session = self.listed.setdefault(key, SessionPreview(name, is_session, decision.mode, decision.reason))
        listed_session.at = max(listed_session.at, day_of(file.versions[-1].modified_ns))
        listed_session.size += size


def preview(
    settings: Settings,
    policy: EffectivePolicy,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> list[ProjectPreview]:
    """Return the preview by project; the largest first. Masks everything once, as a first push would."""
    archive = open_archive(settings)
    decisions = decisions_for(settings, archive, policy, needs_folders=True)
    machine = ensure_machine(settings.library)
    outgoing = Outgoing(b"preview")
    rows: dict[tuple[str, SyncMode], ProjectPreview] = {}

    def row_of(file: KeptFile) -> ProjectPreview:
        decision, name = decisions.of(file), decisions.name_of(file)
        row = rows.setdefault((name, decision.mode), ProjectPreview(name, decision.mode))
        if decision.is_held_back:
            row.reason = decision.reason
        return row

    for file in archive.files.values():
        if machine.is_own(file.machine) and file.versions:
            row_of(file).add(file, decisions.of(file))
    streams = own_streams(archive, machine.is_own, decisions.mode_of, outgoing, decisions.lines_of)
    on_total(sum(stream.version.size for stream in streams))
    for stream in streams:
        if stream.mode is SyncMode.REDACTED:
            before = Counter(outgoing.masked)
            for _ in new_segments(archive, stream, outgoing, 0, first_head(stream.key(0)), 0):
                pass
            row_of(stream.file).masked += outgoing.masked - before
        on_bytes(stream.version.size)
    return sorted(rows.values(), key=lambda row: (-row.size, row.project))
