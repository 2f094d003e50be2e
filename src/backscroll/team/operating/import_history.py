"""Import a history for a person: a folder with session files, or an export of ClaudeLens.

The history is sent as from a machine of the person, with the code of `sync`, so that all later steps are the same:
objects, archive, index, erasing. The machine gets no credential. Sessions that the person has already are not sent.
"""

import secrets
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from backscroll.disk import private_folder
from backscroll.errors import NothingFound, UsageError
from backscroll.files.homes import Home
from backscroll.library.archives import find_archive
from backscroll.library.keeping.keep import keep
from backscroll.settings import Settings
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.push import push
from backscroll.sync.remotes import Remote
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from backscroll.team.arrival.devices import new_device
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.project_rules import masks_arrivals
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.operating.import_files import ImportLayout, lay_out
from backscroll.team.operating.session_copies import CopyState, KeptSessions
from backscroll.team.operating.undo_import import JOB as UNDO
from backscroll.team.people.accounts import Person

if TYPE_CHECKING:
    from backscroll.team.database.connections import Database

UNSENT: Final = frozenset({CopyState.EQUAL, CopyState.FORGOTTEN})


class ImportedFile(NamedTuple):
    """A session file, or one of an agent."""

    path: str
    size: int
    standing: CopyState


@dataclass
class Imported:
    """The result of an import."""

    files: list[ImportedFile] = field(default_factory=list)
    copies: int = 0
    """Files that another file of the import contains."""
    left_out: int = 0
    """Files that are no sessions, and messages that cannot be read as such."""
    device: str = ""
    """The device that the import made; empty for a trial, or without anything to send."""

    @property
    def totals(self) -> dict[CopyState, int]:
        """The number of files of each standing."""
        counts = Counter(file.standing for file in self.files)
        return {standing: counts[standing] for standing in CopyState}

    @property
    def sent(self) -> list[ImportedFile]:
        """The files that are sent."""
        return [file for file in self.files if file.standing not in UNSENT]


def import_history(
    database: "Database",
    objects: Remote,
    libraries: Libraries,
    person: Person,
    source: Path,
    work: Path,
    *,
    mode: SyncMode = SyncMode.REDACTED,
    is_trial: bool = False,
    actor: str = "server",
) -> Imported:
    """Import everything below a folder, or one file. `work` is a folder for the time of the import."""
    if not source.exists():
        raise NothingFound(f"there is no {source}", "name a folder or a file")
    private_folder(work)
    try:
        layout = lay_out(source, work)
        if not layout.files:
            raise UsageError(
                f"no session was found in {source}", "give a folder with .jsonl files, or a ClaudeLens export"
            )
        result = Imported(copies=layout.copies, left_out=layout.left_out)
        with database.transaction() as connection:
            masks = masks_arrivals(connection, person.handle)
        result.files = _compare(libraries, person, layout, SyncMode.REDACTED if masks else mode)
        if result.sent and not is_trial:
            result.device = _send(database, objects, person, work, layout.homes, mode, actor)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return result


def _compare(libraries: Libraries, person: Person, layout: ImportLayout, mode: SyncMode) -> list[ImportedFile]:
    """Compare every file with what the person has; delete those that need not be sent."""
    kept = KeptSessions(find_archive(libraries.settings(person.handle)))
    outgoing = Outgoing(secrets.token_bytes(32))
    files = []
    for home, path in layout.files:
        data = (home / path).read_bytes()
        standing = kept.standing(
            str(home), path, f"{person.handle}/import", data, lambda line: outgoing.line(mode, line, is_json=True)
        )
        files.append(ImportedFile(path.partition("/")[2], len(data), standing))
        if standing in UNSENT:
            (home / path).unlink()
    return files


def _send(
    database: "Database", objects: Remote, person: Person, work: Path, homes: list[Path], mode: SyncMode, actor: str
) -> str:
    settings = Settings(homes=(), library=work / "library", file=work / "settings.toml")
    keep(settings, [Home(home) for home in homes])
    archive = find_archive(settings)
    if archive is None:
        raise NothingFound("nothing was kept", "see what is in the folder")
    with database.transaction() as connection:
        device = new_device(connection, person, "import").device
        connection.execute("update device set revoked = now(), is_import = true where name = %s", (device,))
        record(connection, person.org, actor, "history.import", device, mode)
    state = SyncState(work / "state.sqlite")
    try:
        sender = Sender(device, device, archive, lambda _: True, lambda _: mode, Outgoing(secrets.token_bytes(32)))
        pushed = push(sender, objects, state)
    finally:
        state.close()
    with database.transaction() as connection:
        row = connection.execute(
            "update device set sent_bytes = %s, stored_bytes = %s where name = %s returning undone is not null",
            (pushed.stored, pushed.stored, device),
        ).fetchone()
        enqueue(connection, UNDO if row and row[0] else "pull", device)  # it may be undone while it is sent
    return device
