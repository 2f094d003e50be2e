"""Restore one person, or one project, from a backup into a server that has others.

Only what is missing is put back. Erased people stay erased; forgotten and expired chats and undone imports stay away.
"""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from backscroll.disk import private_folder
from backscroll.errors import NothingFound, UsageError
from backscroll.files.source_key import owner_of
from backscroll.library.archives import open_writer
from backscroll.settings import Settings
from backscroll.sync.bundles import read_bundles, without
from backscroll.sync.objects import BundleObject, current, devices_in, in_log, latest_log
from backscroll.sync.policy import SyncMode
from backscroll.sync.pull import pull
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.removal import objects_of
from backscroll.sync.state import SyncState
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import record
from backscroll.team.database.jobs import enqueue
from backscroll.team.keeping.erasures import erasure_of, read_ledger
from backscroll.team.keeping.retention import is_about
from backscroll.team.operating.backup import COPIES, Manifest, listed_objects, listed_rows, people_in
from backscroll.team.operating.backup_place import Part
from backscroll.team.operating.file_names import write_below
from backscroll.team.operating.import_files import start_of
from backscroll.team.operating.import_history import Imported, import_history
from backscroll.team.operating.reset_after_update import RECOVERIES
from backscroll.team.operating.restore import insert_row, put_back_files, readable_backup
from backscroll.team.people.accounts import org_of, person_of

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.archive.kept_file import KeptFile
    from backscroll.team.database.connections import Connection, Database

OF_PERSON: Final = {"device": "person", "prompt": "owner"}
"""Tables whose rows are restored with a person, and the column that names the person. Shares are not restored."""


@dataclass
class RestoredPerson:
    """The result of restoring a person."""

    handle: str
    manifest: Manifest
    is_new: bool = False
    """Whether the person was not on this server."""
    devices: int = 0
    objects: int = 0
    missing: list[str] = field(default_factory=list)
    """Objects that the backup only lists, and the object store lacks."""


def restore_person(
    database: "Database", objects: Remote, data: Path, source: Remote, name: str, org: str | None = None
) -> RestoredPerson:
    """Put back what is missing of a person, with their row if they are not on this server."""
    manifest = readable_backup(source)
    row = _person_in(source, name)
    result = RestoredPerson(row["handle"], manifest)
    if _is_erased(database, objects, source, result.handle):
        raise UsageError(f"{result.handle} was erased, and is not brought back", "see Retention and erasures")
    with database.transaction() as connection:
        number = _put_back_rows(connection, source, row, org, result)
        undone = {device for (device,) in connection.execute("select name from device where undone is not null")}
    put_back_files(source, manifest, data, lambda handle: handle == result.handle)
    listed = devices_in(RemoteObject(each.name, each.size) for each in listed_objects(source))
    mine = {device: bundles for device, bundles in listed.items() if owner_of(device) == result.handle}
    for device, bundles in mine.items():
        if device not in undone:
            _put_back_objects(objects, source, device, bundles, result)
    with database.transaction() as connection:
        (in_org,) = connection.execute("select org from person where id = %s", (number,)).fetchone() or (0,)
        detail = f"{result.objects} objects from the backup of {manifest.created}"
        record(connection, in_org, "server", "person.restore", result.handle, detail)
        enqueue(connection, "index", result.handle)
        for device in mine:
            enqueue(connection, "pull", device)
    return result


@dataclass
class RestoredProject:
    """The result of restoring a project: imports by person, and people whose sessions were not imported."""

    people: dict[str, Imported] = field(default_factory=dict)
    erased: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """Handles of the people who are not on this server."""


def restore_project(
    database: "Database",
    objects: Remote,
    libraries: Libraries,
    source: Remote,
    work: Path,
    project: str,
    name: str | None = None,
) -> RestoredProject:
    """Import the sessions of a project from a backup, of a person or of everyone, as they were sent."""
    if not readable_backup(source).has_objects:
        raise UsageError("this backup lists objects without their bytes", "use one that was made --with-objects")
    result = RestoredProject()
    handles = [_person_in(source, name)["handle"]] if name else [each.handle for each in people_in(source)]
    for handle in handles:
        try:
            folder = private_folder(work) / "sessions"
            if not _unpack(source, work, folder, handle, project):
                continue
            if _is_erased(database, objects, source, handle):
                result.erased.append(handle)
                continue
            with database.transaction() as connection:
                row = connection.execute("select org from person where handle = %s", (handle,)).fetchone()
                person = person_of(connection, row[0], handle) if row else None
            if person is None:
                result.absent.append(handle)
                continue
            to = work / "import"
            result.people[handle] = import_history(
                database, objects, libraries, person, folder, to, mode=SyncMode.FULL
            )  # fmt: skip
        finally:
            shutil.rmtree(work, ignore_errors=True)
    if not (result.people or result.erased or result.absent):
        raise NothingFound(f"the backup has no session in {project}", "give a folder, or its last part")
    return result


def _is_erased(database: "Database", objects: Remote, source: Remote, handle: str) -> bool:
    """Whether a person is in a ledger of erasures: of this server, beside the objects, or of the backup."""
    with database.transaction() as connection:
        if erasure_of(connection, handle) is not None:
            return True
    return any(entry.handle == handle for entry in read_ledger(objects)) or any(
        row["handle"] == handle for row in listed_rows(source, "erasure")
    )


def _person_in(source: Remote, name: str) -> dict[str, Any]:
    key = name.strip().lower()
    rows = [row for row in listed_rows(source, "person") if key in (row["handle"], str(row.get("email") or "").lower())]
    if len(rows) != 1:
        hint = "backscroll server backup --check, with the address of the backup, lists who is in it"
        raise NothingFound(f"the backup has {len(rows) or 'no'} people called {name}", hint)
    return rows[0]


def _put_back_rows(
    connection: "Connection", source: Remote, row: dict[str, Any], org: str | None, result: RestoredPerson
) -> int:
    """Put back the row of the person, and those of their machines and prompts; return the number of the person here."""
    handle = row["handle"]
    existing = connection.execute(
        "select id, created = %s::timestamptz from person where handle = %s", (row["created"], handle)
    ).fetchone()
    if existing is not None and not existing[1]:
        raise UsageError(f"{handle} is another person here", "restore into a new server")
    old = row["id"]
    if existing is None:
        result.is_new = True
        if connection.execute("select 1 from org").fetchone() is None:
            raise UsageError("this server has no organisation yet", "start it once with backscroll server")
        role = "service" if row["role"] == "service" else "member"  # an owner gives other roles again
        must_change = RECOVERIES not in result.manifest.migrations or bool(row.get("must_change_password"))
        changed = {"org": org_of(connection, org), "role": role, "must_change_password": must_change}
        _insert(connection, "person", {**row, **changed})
        existing = connection.execute("select id from person where handle = %s", (handle,)).fetchone()
        for hold in listed_rows(source, "hold"):
            if hold["person"] == old and hold["released"] is None:
                _insert(
                    connection,
                    "hold",
                    {**hold, "org": org_of(connection, org), "person": existing[0] if existing else 0},
                )
    number = int(existing[0]) if existing else 0
    for table, column in OF_PERSON.items():
        names = {name for (name,) in connection.execute(f"select name from {table} where {column} = %s", (number,))}  # noqa: S608
        for backed_up in listed_rows(source, table):
            if backed_up[column] == old and backed_up["name"] not in names:
                _insert(connection, table, {**backed_up, column: number})
                result.devices += table == "device"
    return number


def _insert(connection: "Connection", table: str, row: dict[str, Any]) -> None:
    """Insert a row under a number of this server."""
    insert_row(connection, table, msgspec.json.encode({key: row[key] for key in row if key != "id"}).decode())


def _put_back_objects(
    objects: Remote, source: Remote, device: str, listed: list[BundleObject], result: RestoredPerson
) -> None:
    """Put back the bundles of a device that no object has.

    Objects that were rewritten since, without forgotten chats, stay as they are.
    """
    present = objects_of(objects, device)
    log = latest_log(listed)
    if log is None or (latest_log(present) or "") > log:
        return
    has = {number for each in in_log(present, log) for number in each.bundles}
    for each in current(in_log(listed, log)):
        lost = [number for number in each.bundles if number not in has]
        if not lost:
            continue
        if not result.manifest.has_objects:
            result.missing.append(each.name)
            continue
        data = Part(source, COPIES).get(each.name)
        if len(lost) == len(each.bundles):
            objects.put(each.name, data)
            result.objects += 1
            continue
        for bundle in read_bundles(data):
            number = bundle.index.number
            if number in lost:
                name = BundleObject(device, log, number, number, 0).name
                objects.put(name, without(bundle, lambda _: False))
                result.objects += 1


def _unpack(source: Remote, work: Path, folder: Path, handle: str, project: str) -> int:
    """Write the session files of a person in a project into a folder; return how many there are."""
    settings = Settings(homes=(), library=work / "library", file=work / "settings.toml")
    backup = Part(source, COPIES)
    listing = [each for each in backup.list() if each.name.startswith(f"backscroll/1/{handle}%2F")]
    state = SyncState(work / "state.sqlite")
    try:
        with open_writer(settings) as writer:
            pull(lambda: nullcontext(writer), backup, state, own="", listing=listing)
            return sum(1 for file in _of_project(writer, project) if _write(writer, file, folder))
    finally:
        state.close()


def _of_project(archive: "Archive", project: str) -> "Iterator[KeptFile]":
    """Yield the files of a project, with those of agents in the folder of a session."""
    files = [file for file in archive.files.values() if file.path.endswith(".jsonl") and file.latest]
    sessions = set()
    for file in files:
        version = file.latest
        first = b"".join(archive.content(version)).splitlines(keepends=True) if version else []
        if is_about(project, start_of(first).cwd or ""):
            sessions.add((file.machine, file.place.session_id or file.path))
    yield from (file for file in files if (file.machine, file.place.session_id or file.path) in sessions)


def _write(archive: "Archive", file: "KeptFile", folder: Path) -> bool:
    """Write each shown version of a file; an import arranges them as a home."""
    for version in file.shown_versions:
        data = b"".join(archive.content(version))
        write_below(folder, [str(file.number), str(version.number), *file.path.split("/")], data)
    return True
