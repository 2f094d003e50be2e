"""Back up a server: all that cannot be made again from the objects, a list of these, and on request their bytes.

A backup has no indexes and archives of people: workers make them from the objects. It has no sessions of browsers
either: after a restore everyone signs in again.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from psycopg.sql import SQL, Identifier

from backscroll import __version__
from backscroll.errors import BackscrollError, NothingFound
from backscroll.files.source_key import owner_of
from backscroll.store.postgres.connection import SCHEMA as INDEX
from backscroll.sync.objects import parse_object
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.team.arrival.libraries import PEOPLE, STATE
from backscroll.team.database.connections import SCHEMA
from backscroll.team.operating.backup_place import MANIFEST, Part, write_new
from backscroll.team.operating.missing_objects import StoringDevice, missing_of, storing_devices, without_library

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection, Database

FORMAT: Final = 1
OBJECTS: Final = "objects.jsonl"
COPIES: Final = "objects/"
"""Prefix of the names of copied objects."""
TRIES: Final = 5
"""Listings of the objects until no machine has replaced one meanwhile."""
PASSING: Final = frozenset(
    {
        "migrations",
        "job",
        "job_total",
        "web_session",
        "recovery_session",
        "device_request",
        "oidc_request",
        "request_rate",
    }
)
"""Tables with nothing to keep."""
FIRST_CHATS: Final = "first_chats"
"""The one table of the index that cannot be made again: it says which chats became one."""
DERIVED: Final = ("archive", STATE)
"""Names in the folder of a person that workers make again."""


class FileSum(msgspec.Struct, frozen=True):
    """A file of a backup."""

    sha256: str
    size: int
    rows: int = 0


class Manifest(msgspec.Struct):
    """The contents of a backup. The manifest is written last: a backup without it is not whole."""

    format: int
    version: str
    created: str
    migrations: list[str]
    files: dict[str, FileSum] = {}
    objects: int = 0
    object_bytes: int = 0
    has_objects: bool = False
    """Whether the backup has the bytes of the objects."""
    missing: list[str] = []
    """Objects and folders that the server lacked when the backup was made."""

    @property
    def rows(self) -> int:
        """The number of rows of all tables."""
        return sum(file.rows for name, file in self.files.items() if name.startswith("tables/"))


class ListedObject(msgspec.Struct, frozen=True):
    """An object at the time of the backup."""

    name: str
    size: int
    sha256: str = ""


class DamagedBackupError(BackscrollError):
    """The error for a backup that differs from what was written."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the backup is damaged: {what}", "use another one")


class MissingObjectsError(BackscrollError):
    """The error for objects that should be there and are not."""

    def __init__(self, message: str, missing: list[str]) -> None:
        names = [f"\n  {name}" for name in missing[:MAX_SHOWN]]
        more = f"\n  and {len(missing) - MAX_SHOWN} more" if len(missing) > MAX_SHOWN else ""
        super().__init__(f"{message}{''.join(names)}{more}", "check --objects and --data, and run the command again")


def back_up_server(
    database: "Database", objects: Remote, data: Path, to: Remote, *, with_objects: bool = False
) -> Manifest:
    """Write a backup into an empty place, then read and check it. The manifest lists missing objects."""
    with database.transaction() as connection:
        connection.execute("set transaction isolation level repeatable read read only")
        row = connection.execute(NOW).fetchone()
        migrations = [name for (name,) in connection.execute("select name from migrations order by name")]
        manifest = Manifest(FORMAT, __version__, str(row[0]) if row else "", migrations)
        for table, schema in [*((table, SCHEMA) for table in tables_of(connection)), (FIRST_CHATS, INDEX)]:
            statement = SQL("select row_to_json(t)::text from {} t").format(Identifier(schema, table))
            lines = (str(line).encode() + b"\n" for (line,) in connection.execute(statement))
            manifest.files[f"tables/{table}.jsonl"] = _write(to, f"tables/{table}.jsonl", lines)
        devices = storing_devices(connection, data)
    for name in _own_files(data / PEOPLE):
        manifest.files[f"{PEOPLE}/{name}"] = _write(to, f"{PEOPLE}/{name}", [(data / PEOPLE / name).read_bytes()])
    listed = _copy_objects(objects, Part(to, COPIES)) if with_objects else _list_objects(objects)
    manifest.files[OBJECTS] = _write(to, OBJECTS, (msgspec.json.encode(each) + b"\n" for each in listed))
    manifest.objects, manifest.object_bytes = len(listed), sum(each.size for each in listed)
    manifest.has_objects = with_objects
    manifest.missing = _missing(database, data, devices, listed)
    write_new(to, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    check_backup(to)
    return manifest


def tables_of(connection: "Connection") -> list[str]:
    """List the tables to keep, each after those that it refers to."""
    refers: dict[str, set[str]] = {}
    for name, other in connection.execute(REFERENCES):
        refers.setdefault(str(name), set())
        if other and other != name:
            refers[str(name)].add(str(other))
    ordered: list[str] = []
    while len(ordered) < len(refers):
        ordered += sorted(name for name, others in refers.items() if name not in ordered and others <= set(ordered))
    return [name for name in ordered if name not in PASSING]


def check_backup(backup: Remote) -> Manifest:
    """Check every file of a backup; return its manifest, or raise DamagedBackupError."""
    try:
        manifest = msgspec.json.decode(backup.get(MANIFEST), type=Manifest)
    except (NothingFound, msgspec.DecodeError) as error:
        raise DamagedBackupError("it has no manifest that can be read; it was not finished, or is no backup") from error
    if manifest.format != FORMAT:
        raise DamagedBackupError(f"it has the format {manifest.format}")
    for name, expected in manifest.files.items():
        try:
            actual = _sum([backup.get(name)])
        except BackscrollError as error:
            raise DamagedBackupError(f"{name} cannot be read") from error
        if (actual.sha256, actual.size) != (expected.sha256, expected.size):
            raise DamagedBackupError(f"{name} is not what was written")
    if manifest.has_objects:
        copies = Part(backup, COPIES)
        for listed in listed_objects(backup):
            try:
                is_same = hashlib.sha256(copies.get(listed.name)).hexdigest() == listed.sha256
            except NothingFound:
                is_same = False
            if not is_same:
                raise DamagedBackupError(f"the object {listed.name} is not what was written")
    return manifest


def listed_objects(backup: Remote) -> Iterator[ListedObject]:
    """Yield the objects that a backup lists."""
    for line in backup.get(OBJECTS).splitlines():
        yield msgspec.json.decode(line, type=ListedObject)


def listed_rows(backup: Remote, table: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in a backup."""
    for line in table_lines(backup, table):
        yield msgspec.json.decode(line)


def table_lines(backup: Remote, table: str) -> list[bytes]:
    """Read the rows of a table as JSON; none for a table that a later version added."""
    try:
        return backup.get(f"tables/{table}.jsonl").splitlines()
    except NothingFound:
        return []


class BackedUpPerson(NamedTuple):
    """A person in a backup."""

    handle: str
    objects: int
    size: int
    """Bytes of the objects."""


def people_in(backup: Remote) -> list[BackedUpPerson]:
    """List the people in a backup who were not erased."""
    objects: dict[str, list[int]] = {}
    for each in listed_objects(backup):
        parsed = parse_object(RemoteObject(each.name, each.size))
        if parsed is not None:
            objects.setdefault(owner_of(parsed.device), []).append(each.size)
    handles = sorted(row["handle"] for row in listed_rows(backup, "person") if row.get("erased") is None)
    return [BackedUpPerson(each, len(objects.get(each, ())), sum(objects.get(each, ()))) for each in handles]


def _list_objects(objects: Remote) -> list[ListedObject]:
    return [ListedObject(each.name, each.size) for each in objects.list()]


def _copy_objects(objects: Remote, to: Remote) -> list[ListedObject]:
    """Copy all objects. If some are replaced meanwhile, list again, and remove their copies."""
    copies: dict[str, ListedObject] = {}
    for _ in range(TRIES):
        present = {each.name for each in objects.list()}
        for name in copies.keys() - present:
            to.delete(name)
            del copies[name]
        if present == copies.keys():
            break
        for name in sorted(present - copies.keys()):
            with suppress(NothingFound):
                data = objects.get(name)
                write_new(to, name, data)
                copies[name] = ListedObject(name, len(data), hashlib.sha256(data).hexdigest())
    return list(copies.values())


def _missing(database: "Database", data: Path, devices: list[StoringDevice], listed: list[ListedObject]) -> list[str]:
    """List what should be there of these machines, and is not in the list."""
    lacking = missing_of(devices, (RemoteObject(each.name, each.size) for each in listed))
    people = without_library(devices)
    if lacking or people:
        with database.transaction() as connection:  # someone may have been erased meanwhile
            there = {device.name for device in storing_devices(connection, data)}
        lacking = {name: problem for name, problem in lacking.items() if name in there}
        people = [handle for handle in people if any(owner_of(name) == handle for name in there)]
    return [
        *(f"{name}: {problem}" for name, problem in lacking.items()),
        *(f"{handle}: the folder {data / PEOPLE / handle}, with pins and notes" for handle in people),
    ]


def _own_files(people: Path) -> Iterator[str]:
    """Names of the files with marks and identities of libraries: nothing else has these."""
    for path in sorted(people.rglob("*")):
        parts = path.relative_to(people).parts
        if path.is_file() and len(parts) > 1 and not parts[1].startswith(DERIVED) and not path.name.endswith(".lock"):
            yield "/".join(parts)


def _write(to: Remote, name: str, pieces: Iterable[bytes]) -> FileSum:
    data = b"".join(pieces)
    write_new(to, name, data)
    return _sum([data])


def _sum(pieces: Iterable[bytes]) -> FileSum:
    whole = b"".join(pieces)
    return FileSum(hashlib.sha256(whole).hexdigest(), len(whole), whole.count(b"\n"))


MAX_SHOWN: Final = 20
NOW: Final = """select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
REFERENCES: Final = """
select c.relname, r.relname from pg_class c
left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' left join pg_class r on r.oid = k.confrelid
where c.relnamespace = 'team'::regnamespace and c.relkind = 'r'
"""
