"""Back up a server: what cannot be made again from the objects, a list of the objects, and on request their bytes.

The indexes and archives of people are not in a backup: workers make them from the objects. Sessions of browsers are
not in it either: after a restore everyone signs in again.
"""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from psycopg.sql import SQL, Identifier

from backscroll import __version__
from backscroll.disk import private_folder, write_private
from backscroll.errors import BackscrollError, UsageError
from backscroll.files.source_key import owner_of
from backscroll.sync.objects import parse_object
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.team.libraries import PEOPLE, STATE

if TYPE_CHECKING:
    from backscroll.team.database import Connection, Database

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
OBJECTS: Final = "objects.jsonl"
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
DERIVED: Final = ("archive", STATE)
"""What workers make again in the folder of a person."""


class FileSum(msgspec.Struct, frozen=True):
    """A file of a backup."""

    sha256: str
    size: int
    rows: int = 0


class Manifest(msgspec.Struct):
    """What is in a backup. It is written last: a backup without it is not whole."""

    format: int
    version: str
    created: str
    migrations: list[str]
    files: dict[str, FileSum] = {}
    objects: int = 0
    object_bytes: int = 0
    has_objects: bool = False
    """Whether the bytes of the objects are in it, too."""

    @property
    def rows(self) -> int:
        """Rows of all tables."""
        return sum(one.rows for name, one in self.files.items() if name.startswith("tables/"))


class ListedObject(msgspec.Struct, frozen=True):
    """An object that there was when the backup was made."""

    name: str
    size: int
    sha256: str = ""


class DamagedBackupError(BackscrollError):
    """A backup that is not what was written."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the backup is damaged: {what}", "use another one")


def back_up_server(
    database: "Database", objects: Remote, data: Path, to: Path, *, with_objects: bool = False
) -> Manifest:
    """Write a backup into a new folder, and read it again to be sure."""
    if to.exists() and any(to.iterdir()):
        raise UsageError(f"{to} is not empty", "give a new or empty folder")
    private_folder(to)
    with database.transaction() as connection:
        connection.execute("set transaction isolation level repeatable read read only")
        row = connection.execute(NOW).fetchone()
        done = [name for (name,) in connection.execute("select name from migrations order by name")]
        manifest = Manifest(FORMAT, __version__, str(row[0]) if row else "", done)
        for table in tables_of(connection):
            statement = SQL("select row_to_json(t)::text from {} t").format(Identifier(table))
            lines = (str(line).encode() + b"\n" for (line,) in connection.execute(statement))
            manifest.files[f"tables/{table}.jsonl"] = _write(to / "tables" / f"{table}.jsonl", lines)
    for name in _own_files(data / PEOPLE):
        manifest.files[f"{PEOPLE}/{name}"] = _write(to / PEOPLE / name, [(data / PEOPLE / name).read_bytes()])
    listed = [_listed(objects, one, to if with_objects else None) for one in objects.list()]
    manifest.files[OBJECTS] = _write(to / OBJECTS, (msgspec.json.encode(one) + b"\n" for one in listed))
    manifest.objects, manifest.object_bytes = len(listed), sum(one.size for one in listed)
    manifest.has_objects = with_objects
    write_private(to / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    check_backup(to)
    return manifest


def tables_of(connection: "Connection") -> list[str]:
    """The tables to keep, each after those that it refers to."""
    refers: dict[str, set[str]] = {}
    for name, other in connection.execute(REFERENCES):
        refers.setdefault(str(name), set())
        if other and other != name:
            refers[str(name)].add(str(other))
    ordered: list[str] = []
    while len(ordered) < len(refers):
        ordered += sorted(name for name, others in refers.items() if name not in ordered and others <= set(ordered))
    return [name for name in ordered if name not in PASSING]


def check_backup(folder: Path) -> Manifest:
    """The manifest of a backup whose every file is what was written; an error if one is not."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise DamagedBackupError("it has no manifest that can be read") from error
    if manifest.format != FORMAT:
        raise DamagedBackupError(f"it has the format {manifest.format}")
    for name, expected in manifest.files.items():
        try:
            found = _sum([(folder / name).read_bytes()])
        except OSError as error:
            raise DamagedBackupError(f"{name} cannot be read") from error
        if (found.sha256, found.size) != (expected.sha256, expected.size):
            raise DamagedBackupError(f"{name} is not what was written")
    if manifest.has_objects:
        for one in listed_objects(folder):
            path = folder / "objects" / one.name
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != one.sha256:
                raise DamagedBackupError(f"the object {one.name} is not what was written")
    return manifest


def listed_objects(folder: Path) -> Iterator[ListedObject]:
    """The objects that a backup lists."""
    for line in (folder / OBJECTS).read_bytes().splitlines():
        yield msgspec.json.decode(line, type=ListedObject)


def listed_rows(folder: Path, table: str) -> Iterator[dict[str, Any]]:
    """The rows of a table that a backup has."""
    file = folder / "tables" / f"{table}.jsonl"
    for line in file.read_bytes().splitlines() if file.exists() else ():
        yield msgspec.json.decode(line)


class BackedUpPerson(NamedTuple):
    """A person in a backup."""

    handle: str
    objects: int
    size: int
    """Of the objects."""


def people_in(folder: Path) -> list[BackedUpPerson]:
    """Everyone in a backup who was not erased."""
    objects: dict[str, list[int]] = {}
    for one in listed_objects(folder):
        parsed = parse_object(RemoteObject(one.name, one.size))
        if parsed is not None:
            objects.setdefault(owner_of(parsed.device), []).append(one.size)
    handles = sorted(row["handle"] for row in listed_rows(folder, "person") if row.get("erased") is None)
    return [BackedUpPerson(one, len(objects.get(one, ())), sum(objects.get(one, ()))) for one in handles]


def _listed(objects: Remote, one: RemoteObject, to: Path | None) -> ListedObject:
    if to is None:
        return ListedObject(one.name, one.size)
    data = objects.get(one.name)
    target = to / "objects" / one.name
    private_folder(target.parent)
    write_private(target, data)
    return ListedObject(one.name, len(data), hashlib.sha256(data).hexdigest())


def _own_files(people: Path) -> Iterator[str]:
    """What people have said of chats, and who their libraries are: nothing else has it."""
    for path in sorted(people.rglob("*")):
        parts = path.relative_to(people).parts
        if path.is_file() and len(parts) > 1 and not parts[1].startswith(DERIVED) and not path.name.endswith(".lock"):
            yield "/".join(parts)


def _write(path: Path, pieces: Iterable[bytes]) -> FileSum:
    private_folder(path.parent)
    data = b"".join(pieces)
    write_private(path, data)
    return _sum([data])


def _sum(pieces: Iterable[bytes]) -> FileSum:
    whole = b"".join(pieces)
    return FileSum(hashlib.sha256(whole).hexdigest(), len(whole), whole.count(b"\n"))


NOW: Final = """select to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"""
REFERENCES: Final = """
select c.relname, r.relname from pg_class c
left join pg_constraint k on k.conrelid = c.oid and k.contype = 'f' left join pg_class r on r.oid = k.confrelid
where c.relnamespace = 'team'::regnamespace and c.relkind = 'r'
"""
