"""Export all that the server has of a person, a project or an organisation: session files as they are, usage as CSV."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from backscroll.disk import private_folder, write_private
from backscroll.errors import UsageError
from backscroll.library.analytics.reports import ReportRequest
from backscroll.library.analytics.usage import usage
from backscroll.library.keeping.kept_versions import find_kept
from backscroll.library.library import Library
from backscroll.library.prompts.prompt_file import FILE as PROMPTS
from backscroll.library.prompts.prompt_file import prompts_as_json
from backscroll.render.tables import csv_lines
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.database.audit import record
from backscroll.team.keeping.retention import is_about
from backscroll.team.operating.file_names import write_below
from backscroll.team.people.accounts import Person
from backscroll.team.reading.prompts import prompts_of

if TYPE_CHECKING:
    from backscroll.archive.archive import Archive
    from backscroll.archive.kept_file import KeptFile, Version
    from backscroll.team.database.connections import Database

USAGE: Final = "usage.csv"


@dataclass
class Exported:
    """Counts of what was written."""

    people: int = 0
    files: int = 0
    size: int = 0


def export_history(
    database: "Database",
    libraries: Libraries,
    people: list[Person],
    to: Path,
    project: str | None = None,
    actor: str = "server",
) -> Exported:
    """Write `HANDLE/MACHINE/HOME/…` and `HANDLE/prompts.json` for everyone, and `usage.csv`. Of a project, only its
    chats.
    """
    if to.exists() and any(to.iterdir()):
        raise UsageError(f"{to} is not empty", "give a new or empty folder")
    private_folder(to)
    result = Exported()
    rows: list[tuple[object, ...]] = []
    columns: tuple[str, ...] = ()
    for person in people:
        with database.transaction() as connection:
            record(connection, person.org, actor, "history.export", person.handle, project or "everything")
            saved = prompts_of(connection, person) if project is None else []
        if saved:
            write_private(private_folder(to / person.handle) / PROMPTS, prompts_as_json(saved))
        with libraries.own(person.handle) as library:
            if not library.is_indexed:
                continue
            result.people += 1
            _write_files(library, to / person.handle, project, result)
            columns, usage_rows = _usage_of(library, project)
            rows += [(person.handle, *row) for row in usage_rows]
    lines = csv_lines(("person", *columns), rows)
    write_private(to / USAGE, "".join(f"{line}\n" for line in lines).encode())
    return result


def _write_files(library: Library, folder: Path, project: str | None, result: Exported) -> None:
    archive = library.archive
    if archive is None:
        return
    for file in _chosen(library, archive, project):
        for version in file.versions:
            if version.size:
                _write(archive, file, version, folder, result)


def _chosen(library: Library, archive: "Archive", project: str | None) -> "Iterator[KeptFile]":
    if project is None:
        yield from archive.files.values()
        return
    seen: set[int] = set()
    for chat in library.chats():
        if is_about(project, chat.overview.project or ""):
            for file in find_kept(library, archive, chat.overview.id).files:
                if file.number not in seen:
                    seen.add(file.number)
                    yield file


def _write(archive: "Archive", file: "KeptFile", version: "Version", folder: Path, result: Exported) -> None:
    """Write the last version under the name of its file; earlier ones have their number appended."""
    machine, home = quote(file.machine.partition("/")[2] or file.machine, safe=""), quote(file.home, safe="")
    name = file.path if version is file.latest else f"{file.path}.v{version.number}"
    data = b"".join(archive.content(version))
    write_below(folder, [machine, home, *name.split("/")], data)
    result.files += 1
    result.size += len(data)


def _usage_of(library: Library, project: str | None) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    """Report tokens and costs by day and model; of a project, by project."""
    if project is None:
        report = usage(library, ReportRequest(zone=UTC), "day", breakdown=True)
        return report.columns, report.rows
    report = usage(library, ReportRequest(zone=UTC), "project", breakdown=True)
    return report.columns, [row for row in report.rows if is_about(project, str(row[0]))]
