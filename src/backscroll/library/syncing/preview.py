"""What would leave this machine, project by project."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from backscroll.archive.kept_file import KeptFile
from backscroll.files.layout import FileKind
from backscroll.library.archives import open_archive
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.projects import FileProjects
from backscroll.settings import Settings
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.own_streams import new_segments, own_streams
from backscroll.sync.policy import EffectivePolicy, SyncMode
from backscroll.sync.streams import first_head


@dataclass
class ProjectPreview:
    """What of a project would leave."""

    project: str
    mode: SyncMode
    sessions: int = 0
    files: int = 0
    size: int = 0
    """Bytes of its files."""
    masked: Counter[str] = field(default_factory=Counter)
    """Places that would be masked, by rule."""
    reason: str = ""
    """Why less leaves than the user chose; empty if that decides."""


def preview(
    settings: Settings,
    policy: EffectivePolicy,
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> list[ProjectPreview]:
    """What would leave, by project; the largest first. Masks everything once, as a first push would."""
    archive = open_archive(settings)
    projects = FileProjects(archive)
    machine = ensure_machine(settings.library)
    outgoing = Outgoing(b"preview")
    found: dict[str, ProjectPreview] = {}

    def row_of(file: KeptFile) -> ProjectPreview:
        project, name = projects.project_of(file), projects.name_of(file)
        return found.setdefault(name, ProjectPreview(name, policy.mode_of(project), reason=policy.reason_for(project)))

    for file in archive.files.values():
        if machine.is_own(file.machine) and file.versions:
            row = row_of(file)
            row.files += 1
            row.sessions += file.kind is FileKind.SESSION
            row.size += sum(version.size for version in file.versions)
    streams = own_streams(archive, machine.is_own, lambda file: projects.mode_of(policy, file), outgoing)
    on_total(sum(stream.version.size for stream in streams))
    for stream in streams:
        if stream.mode is SyncMode.REDACTED:
            before = Counter(outgoing.masked)
            for _ in new_segments(archive, stream, outgoing, 0, first_head(stream.key(0)), 0):
                pass
            row_of(stream.file).masked += outgoing.masked - before
        on_bytes(stream.version.size)
    return sorted(found.values(), key=lambda row: (-row.size, row.project))
