"""Import a history for a person: a folder with session files, or what ClaudeLens wrote.

It is sent as a machine of the person would send it, with the code of `sync`, so that everything after it is the same:
objects, archive, index, erasing. The machine gets no credential.
"""

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from backscroll.disk import private_folder, write_private
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.homes import Home
from backscroll.files.names import project_folder
from backscroll.library.archives import find_archive
from backscroll.library.keeping.keep import keep
from backscroll.settings import Settings
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.push import Sender, push
from backscroll.sync.remotes import Remote
from backscroll.sync.state import SyncState
from backscroll.team.audit import record
from backscroll.team.claudelens import read_claudelens
from backscroll.team.devices import new_device
from backscroll.team.jobs import want
from backscroll.team.libraries import Libraries
from backscroll.team.people import Person

if TYPE_CHECKING:
    from backscroll.team.database import Database

SESSION: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
PROJECTS: Final = "projects"
NOWHERE: Final = "imported"


@dataclass
class Imported:
    """What an import has found and sent."""

    sessions: int = 0
    """Session files, with those of agents."""
    known: int = 0
    """Sessions that the person has already; copies count once."""
    size: int = 0
    left_out: int = 0
    """Files that are no sessions, and messages that cannot be read as such."""
    device: str = ""
    """The machine as which it was sent; empty for a trial."""


class _Start(msgspec.Struct):
    cwd: str | None = None
    session: str | None = msgspec.field(default=None, name="sessionId")


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
    home = work / "home"
    try:
        done = _gather(source, home)
        if not done.sessions:
            raise UsageError(
                f"no session was found in {source}", "give a folder with .jsonl files, or a ClaudeLens export"
            )
        done.known = _known(libraries, person, home)
        if not is_trial:
            done.device = _send(database, objects, person, work, home, mode, actor)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done


def _gather(source: Path, home: Path) -> Imported:
    """Lay out everything as Claude Code would have it."""
    done = Imported()
    for file in _files(source):
        lens = read_claudelens(file.read_bytes()) if file.suffix in {".json", ".jsonl"} else None
        if lens is not None:
            done.left_out += lens.left_out
            found = [(f"{_folder(one.cwd)}/{one.id}.jsonl", b"".join(one.lines)) for one in lens.sessions]
        else:
            path = _path_of(source, file)
            found = [(path, file.read_bytes())] if path else []
            done.left_out += not path
        for path, data in found:
            target = home / PROJECTS / path
            private_folder(target.parent)
            write_private(target, data)
            os.utime(target, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
            done.sessions += 1
            done.size += len(data)
    return done


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
        return
    for folder, _, names in os.walk(source):
        yield from (Path(folder, name) for name in sorted(names) if name.endswith((".jsonl", ".json")))


def _path_of(source: Path, file: Path) -> str | None:
    """Where a session file belongs below `projects`; None if it is none."""
    if file.suffix != ".jsonl":
        return None
    parts = file.relative_to(source if source.is_dir() else source.parent).parts
    if PROJECTS in parts[:-2]:
        return "/".join(parts[len(parts) - parts[::-1].index(PROJECTS) :])
    begins = _start_of(file)
    if SESSION.fullmatch(file.stem) or file.stem.startswith("agent-"):
        return f"{_folder(begins.cwd or '')}/{file.name}"
    if begins.session and SESSION.fullmatch(begins.session):
        return f"{_folder(begins.cwd or '')}/{begins.session}.jsonl"
    return None


def _start_of(file: Path) -> _Start:
    """The first folder and session that a file names."""
    found = _Start()
    with file.open("rb") as lines:
        for line in lines:
            try:
                row = msgspec.json.decode(line, type=_Start)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            found = _Start(found.cwd or row.cwd, found.session or row.session)
            if found.cwd and found.session:
                break
    return found


def _folder(cwd: str) -> str:
    return project_folder(cwd) if cwd else NOWHERE


def _known(libraries: Libraries, person: Person, home: Path) -> int:
    names = {path.stem for path in (home / PROJECTS).rglob("*.jsonl") if SESSION.fullmatch(path.stem)}
    known = 0
    with libraries.own(person.handle) as library:
        if not library.is_indexed:
            return 0
        for name in names:
            try:
                library.find(name)
                known += 1
            except BackscrollError:
                continue
    return known


def _send(
    database: "Database", objects: Remote, person: Person, work: Path, home: Path, mode: SyncMode, actor: str
) -> str:
    settings = Settings(homes=(), library=work / "library", file=work / "settings.toml")
    keep(settings, [Home(home)])
    archive = find_archive(settings)
    if archive is None:
        raise NothingFound("nothing was kept", "see what is in the folder")
    with database.transaction() as connection:
        device = new_device(connection, person, "import").device
        connection.execute("update device set revoked = now() where name = %s", (device,))
        record(connection, person.org, actor, "history.import", device, mode)
    state = SyncState(work / "state.sqlite")
    try:
        sender = Sender(device, device, archive, lambda _: True, lambda _: mode, Outgoing(secrets.token_bytes(32)))
        done = push(sender, objects, state)
    finally:
        state.close()
    with database.transaction() as connection:
        connection.execute("update device set sent_bytes = %s where name = %s", (done.stored, device))
        want(connection, "pull", device)
    return device
