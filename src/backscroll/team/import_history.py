"""Import a history for a person: a folder with session files, or what ClaudeLens wrote.

It is sent as a machine of the person would send it, with the code of `sync`, so that everything after it is the same:
objects, archive, index, erasing. The machine gets no credential. What the person has already is not sent.
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
from backscroll.sync.push import Sender, push
from backscroll.sync.remotes import Remote
from backscroll.sync.state import SyncState
from backscroll.team.audit import record
from backscroll.team.devices import new_device
from backscroll.team.import_files import LaidOut, lay_out
from backscroll.team.jobs import want
from backscroll.team.libraries import Libraries
from backscroll.team.people import Person
from backscroll.team.project_rules import masks_arrivals
from backscroll.team.session_copies import CopyState, KeptSessions
from backscroll.team.undo_import import JOB as UNDO

if TYPE_CHECKING:
    from backscroll.team.database import Database

UNSENT: Final = frozenset({CopyState.EQUAL, CopyState.FORGOTTEN})


class ImportedFile(NamedTuple):
    """A session file, or one of an agent."""

    path: str
    size: int
    standing: CopyState


@dataclass
class Imported:
    """What an import has found and sent."""

    files: list[ImportedFile] = field(default_factory=list)
    copies: int = 0
    """Files that another one of the import contains."""
    left_out: int = 0
    """Files that are no sessions, and messages that cannot be read as such."""
    device: str = ""
    """The machine as which it was sent; empty for a trial, and if there was nothing to send."""

    @property
    def totals(self) -> dict[CopyState, int]:
        """How many files there are of each standing."""
        found = Counter(one.standing for one in self.files)
        return {standing: found[standing] for standing in CopyState}

    @property
    def sent(self) -> list[ImportedFile]:
        """What is imported of it."""
        return [one for one in self.files if one.standing not in UNSENT]


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
        found = lay_out(source, work)
        if not found.files:
            raise UsageError(
                f"no session was found in {source}", "give a folder with .jsonl files, or a ClaudeLens export"
            )
        done = Imported(copies=found.copies, left_out=found.left_out)
        with database.transaction() as connection:
            masks = masks_arrivals(connection, person.handle)
        done.files = _compare(libraries, person, found, SyncMode.REDACTED if masks else mode)
        if done.sent and not is_trial:
            done.device = _send(database, objects, person, work, found.homes, mode, actor)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done


def _compare(libraries: Libraries, person: Person, found: LaidOut, mode: SyncMode) -> list[ImportedFile]:
    """Compare every file with what the person has; those that need not be sent are removed."""
    kept = KeptSessions(find_archive(libraries.settings(person.handle)))
    outgoing = Outgoing(secrets.token_bytes(32))
    files = []
    for home, path in found.files:
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
        done = push(sender, objects, state)
    finally:
        state.close()
    with database.transaction() as connection:
        row = connection.execute(
            "update device set sent_bytes = %s, stored_bytes = %s where name = %s returning undone is not null",
            (done.stored, done.stored, device),
        ).fetchone()
        want(connection, UNDO if row and row[0] else "pull", device)  # it may be undone while it is sent
    return device
