"""Earlier versions of a file, from transcripts and Claude Code's copies, never from the project on disk."""

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from backscroll.conversation.versions import FOUND, FileAccess, FileVersion, versions
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.layout import FileKind, is_session_id
from backscroll.files.opening import open_regular, opened_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.analytics.file_calls import (
    FileCallRow,
    file_calls,
    input_of,
    moment_of,
    of_chat,
    result_of,
)
from backscroll.library.analytics.reports import ReportRequest, reports_about
from backscroll.library.library import Library
from backscroll.query.times import parse_moment
from backscroll.records.edits import FileInput, FileResult

LONGEST_COPY = 16 * 1024 * 1024


class History(NamedTuple):
    """Every known version of a file in order of time, each with its call."""

    file: str
    versions: list[tuple[FileVersion, FileCallRow | None]]
    machine: str
    """The machine that the file is on."""
    others: tuple[str, ...] = ()
    """Other machines with a file at the same path."""


class FileState(NamedTuple):
    """The content of a file at some moment."""

    file: str
    number: int
    """The number of the version, from 1."""
    version: FileVersion
    call: FileCallRow | None
    certain: bool
    basis: str
    before: str | None
    """The version before, for a diff."""


def history(library: Library, path: str, asked: ReportRequest | None = None, *, machine: str | None = None) -> History:
    """Return the versions of the one file whose path ends with `path`.

    If several machines have it: on the machine whose id contains `machine`, else on this one, else where it was last
    read or changed.
    """
    calls = file_calls(library, asked or ReportRequest(), path)
    names = list(dict.fromkeys(call.file for call in calls))
    if not names:
        raise NothingFound(f"no chat read or changed {path}", "see backscroll stats files")
    if len(names) > 1:
        exact = [name for name in names if name == path]
        if len(exact) != 1:
            raise UsageError(
                f"{path} is the end of {len(names)} paths: {', '.join(sorted(names)[:4])}", "write more of it"
            )
        names = exact
    calls = [call for call in calls if call.file == names[0]]
    here, others = _machine(library, calls, machine)
    calls = [call for call in calls if _owner(library, call.machine) == here]
    done = {call.call or call.uuid or "": call for call in calls if call.is_done}
    touches = []
    with library.texts() as texts:
        for key, call in done.items():
            touches.append(FileAccess(call.when, call.tool, input_of(texts, call), result_of(texts, call), key))
    touches += _copies(library, names[0], list(done.values()), here)
    touches.sort(key=lambda touch: touch.when or START)
    with_calls = [(version, done.get(version.touch.source)) for version in versions(touches)]
    return History(names[0], with_calls, here, others)


def _machine(library: Library, calls: list[FileCallRow], wanted: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the machine whose file is shown, and the others that have it."""
    machines = list(dict.fromkeys(_owner(library, call.machine) for call in reversed(calls)))
    chosen = (
        [candidate for candidate in machines if wanted.lower() in candidate.lower()] if wanted is not None else machines
    )
    if wanted is not None and len(chosen) != 1:
        raise UsageError(
            f"{wanted} is the name of {len(chosen)} machines that have {calls[0].file}",
            f"the machines are {', '.join(sorted(machines))}",
        )
    here = library.machine.id if library.machine.id in chosen else chosen[0]
    return here, tuple(sorted(candidate for candidate in machines if candidate != here))


def _owner(library: Library, machine: str) -> str:
    """Return the current id of a machine; this one may have had others before."""
    return library.machine.id if library.machine.is_own(machine) else machine


def seen_at(library: Library, found: History, at: str | None, now: datetime) -> FileState:
    """Return the file at a message or a time; by default its latest known state."""
    if not found.versions:
        raise NothingFound(f"the content is unknown: {found.file}", "only parts of it were read")
    moment = _moment(library, found, at, now) if at else None
    numbered = list(enumerate(found.versions, start=1))
    past = [item for item in numbered if moment is None or (item[1][0].when or START) <= moment]
    if not past:
        # Nothing is older, but the first change contains the content it replaced, of unknown age.
        number, (version, call) = numbered[0]
        if version.basis != FOUND:
            raise NothingFound(
                f"nothing is known of {found.file} at that time", f"see backscroll file {found.file} --list"
            )
        return FileState(found.file, number, version, call, False, f"{version.basis}, later than that", None)
    number, (version, call) = past[-1]
    before = found.versions[number - 2][0].content if number > 1 else None
    certain = version.certain
    basis = version.basis
    following = found.versions[number][0] if number < len(found.versions) else None
    if certain and following is not None and following.basis == FOUND:
        certain = False
        basis += "; it changed outside Claude Code before the next version, perhaps already by then"
    return FileState(found.file, number, version, call, certain, basis, before)


def _moment(library: Library, found: History, at: str, now: datetime) -> datetime:
    """Return the time of a message, by the start of its id, or a time in query syntax."""
    try:
        return parse_moment(at, now, end=True)
    except UsageError:
        pass
    chat = library.find(at)
    rows = reports_about(library, of_chat(library, chat.overview.id)).row_times()
    # A copied row may have the time of the copy: the earliest is the original.
    times: dict[str, int] = {}
    messages: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        times[row.original] = min(row.time, times.get(row.original, row.time))
        if any(name.lower().startswith(at.lower()) for name in (row.uuid, row.message or "")):
            messages[row.message or row.original].add(row.original)
    if len(messages) != 1 and at not in messages:
        raise UsageError(f"{at} does not identify one message", "name one; see backscroll show --json")
    uuids = messages[at] if at in messages else next(iter(messages.values()))
    # A message's own calls belong to it, and their results come later.
    later = [call.time for _, call in found.versions if call and call.uuid in uuids and call.time is not None]
    return moment_of(max([*later, *(times[uuid] for uuid in uuids)])) or START


def _copies(library: Library, file: str, calls: list[FileCallRow], machine: str) -> Iterator[FileAccess]:
    """Yield the copies that the client on a machine made of a file before changing it, with their times."""
    claimed = {PurePosixPath(SourceKey.parse(call.source).path).stem for call in calls} | {
        call.chat for call in calls if call.chat
    }
    sessions = {name for name in claimed if is_session_id(name)}
    names = set()
    for call in calls:
        names.add(_copy_name(file))
        if call.project and file.startswith(call.project.rstrip("/") + "/"):
            names.add(_copy_name(file[len(call.project.rstrip("/")) + 1 :]))
    read = set()
    for home in library.homes if library.machine.is_own(machine) else ():
        for session in sorted(sessions):
            folder = home.path / "file-history" / session
            for name, copy in _live_copies(folder, names):
                read.add(folder / name)
                yield copy
    archive = library.archive
    for kept in archive.files.values() if archive is not None and names else ():
        path = kept.source
        if _owner(library, kept.machine) != machine:
            continue
        if kept.kind is FileKind.FILE_HISTORY and path not in read and path.parent.name in sessions:
            version = kept.latest
            if path.name.partition("@")[0] in names and archive and version and version.size <= LONGEST_COPY:
                try:
                    data = archive.read(version, 0, version.size)
                except (OSError, BackscrollError):
                    continue
                yield _copy(data, version.modified_ns)


def _copy_name(path: str) -> str:
    return hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _live_copies(folder: Path, names: set[str]) -> Iterator[tuple[str, FileAccess]]:
    """Yield the copies in a folder whose names start with one of these. No link is followed."""
    try:
        with opened_folder(folder) as descriptor:
            for name in sorted(os.listdir(descriptor)):  # noqa: PTH208 - of a descriptor
                start, at, _ = name.partition("@v")
                if at and start in names and (copy := _live_copy(name, descriptor)) is not None:
                    yield name, copy
    except OSError:
        return


def _live_copy(name: str, folder: int) -> FileAccess | None:
    try:
        with os.fdopen(open_regular(Path(name), folder=folder), "rb") as file:
            data = file.read(LONGEST_COPY + 1)
            return _copy(data, os.fstat(file.fileno()).st_mtime_ns) if len(data) <= LONGEST_COPY else None
    except OSError:
        return None


def _copy(data: bytes, modified_ns: int) -> FileAccess:
    try:
        when = datetime.fromtimestamp(modified_ns / 1e9, tz=UTC)
    except (ValueError, OverflowError, OSError):  # a broken clock
        when = START
    return FileAccess(when, "", FileInput(), FileResult(content=data.decode("utf-8", "replace")), "")


START = datetime.fromtimestamp(0, tz=UTC)
