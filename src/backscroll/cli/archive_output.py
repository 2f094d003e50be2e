"""Output of the `archive` commands: lines for people, and JSON."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.cli.output import heading, warning, write, write_note
from backscroll.render.cells import cut_start
from backscroll.render.terminal import clean_line, minute, moment, plural, size, zone_of

if TYPE_CHECKING:
    from pathlib import Path

    from backscroll.library.homes import KnownHome
    from backscroll.library.keeping.keep import ArchiveStatus
    from backscroll.library.keeping.kept_versions import KeptVersion
    from backscroll.library.keeping.restore import Restored
    from backscroll.library.keeping.verify import ArchiveVerification


def version_as_json(item: "KeptVersion") -> dict[str, object]:
    """Return a version of a file, as JSON."""
    return {
        "file": str(item.file.source),
        "version": item.version.number,
        "since": item.version.since,
        "bytes": item.version.size,
        "lines": item.lines,
        "damage": item.damage,
        "shown": item.is_shown,
        "live": item.is_live,
    }


def version_lines(found: "Sequence[KeptVersion]", room: int | None) -> Iterator[str]:
    """Yield every version of each file, below its path."""
    zone = zone_of(time_of(item.version.since) for item in found)
    sizes = max((len(f"{item.version.size:,}") for item in found), default=0)
    lines = max((len(f"{item.lines:,}") for item in found), default=0)
    for file in {item.file.number: item.file for item in found}.values():
        gone = "  deleted by Claude Code" if file.gone_since else ""
        path = clean_line(file.path)
        yield heading(path if room is None else cut_start(path, room - len(gone))) + gone
        for item in found:
            if item.file is file:
                yield _version_line(item, zone, sizes, lines)


def _version_line(item: "KeptVersion", zone: str, sizes: int, lines: int) -> str:
    notes = [name for name, holds in (("shown", item.is_shown), ("live", item.is_live)) if holds]
    state = "whole" if item.damage is None else warning(f"damaged: {clean_line(item.damage)}")
    counted = f"{item.version.size:>{sizes},} bytes  {item.lines:>{lines},} {'line ' if item.lines == 1 else 'lines'}"
    return f"  {item.version.number:>3}  {local(item.version.since)} {zone}  {counted}  {', '.join([state, *notes])}"


def time_of(written: str) -> datetime | None:
    """Parse a time in the catalogue."""
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def local(written: str) -> str:
    """Return a time in the catalogue, on the user's clock; unchanged if it is not a time."""
    when = time_of(written)
    return minute(when) if when else clean_line(written)


def restored_as_json(item: "Restored") -> dict[str, object]:
    """Return a restored file, as JSON."""
    return {"file": str(item.target), "outcome": item.outcome, "version": item.version.number}


def status_as_json(found: "ArchiveStatus", now: datetime) -> dict[str, object]:
    """Return the status of the archive, as JSON."""
    return {
        "folder": str(found.folder),
        "files": found.files,
        "sessions": found.sessions,
        "bytes": found.size,
        "stored_bytes": found.stored,
        "last_captured": found.captured,
        "last_verified": found.verified,
        "damaged_lines": found.damaged_lines,
        "gone": [
            {"session": file.place.session_id, "file": str(file.source), "since": file.gone_since}
            for file in found.gone
        ],
        "due": [
            {
                "session": item.file.place.session_id,
                "file": str(item.file.path),
                "due": moment(item.due),
                "overdue": item.due <= now,
            }
            for item in found.due
        ],
    }


def proof_as_json(proof: "ArchiveVerification") -> dict[str, object]:
    """Return the result of a verification, as JSON."""
    return {
        "files": proof.report.files,
        "chunks": proof.report.chunks,
        "bytes": proof.report.size,
        "unclaimed_bytes": proof.report.unclaimed,
        "damages": [
            {"what": damage.what, "files": [str(file.source) for file in damage.files]}
            for damage in proof.report.damages
        ],
        "unreadable": [
            {"what": item.what, "files": [str(file.source) for file in item.files]} for item in proof.report.unreadable
        ],
        "whole_again": [str(file.source) for file in proof.report.whole_again],
        "united": [str(file.source) for file in proof.report.united],
        "not_noted": proof.not_noted,
        "same_as_live": proof.same,
        "not_kept_yet": [str(path) for path in proof.ahead],
    }


def write_proof(proof: "ArchiveVerification", *, quick: bool) -> None:
    """Print the result of a verification."""
    report = proof.report
    how = "checked" if quick else "read and hashed"
    write(f"{plural(report.files, 'file')}, {plural(report.chunks, 'chunk')}, {size(report.size)} {how}")
    if not quick:
        write(f"{plural(proof.same, 'live file')} unchanged; {plural(len(proof.ahead), 'file')} with something new")
    if not report.damages and not report.unreadable:
        write("everything is intact")
    for item in report.unreadable:
        write(warning(f"could not be read: {clean_line(item.what)}"))
        write(f"  {plural(len(item.files), 'file')} not checked")
    if report.whole_again and not proof.not_noted:
        write(f"{plural(len(report.whole_again), 'file')} marked as damaged before: whole, mark removed")
    if report.united:
        now = "read as one" if proof.not_noted else "one file now"
        count = len(report.united)
        write(
            f"{plural(count, 'path')} {'was' if count == 1 else 'were'} kept as several files: {now}, nothing is lost"
        )
        for file in report.united:
            write(f"  {clean_line(str(file.source))}: {plural(len(file.versions), 'version')}")
    if proof.not_noted:
        write_note(f"not recorded in the catalogue: {clean_line(proof.not_noted)}")
    for damage in report.damages:
        write(warning(f"damaged: {clean_line(damage.what)}"))
        for file in damage.files:
            session = f" (session {file.place.session_id})" if file.place.session_id else ""
            write(f"  affects {clean_line(str(file.source))}{session}")


def home_as_json(home: "KnownHome") -> dict[str, object]:
    """Return a home that the library has, as JSON."""
    return {"path": home.path, "machine": home.machine, "sessions": home.sessions, "state": home.state}


def write_known_homes(homes: "Sequence[KnownHome]") -> None:
    """Print for each home that the library has and that is not open, why it is shown or not."""
    others = [home for home in homes if home.state != "open"]
    if others:
        write(f"\n{heading('Also in your library')}")
    for home in others:
        path = clean_line(home.path)
        reasons = {
            "gone": "not on this machine any more; shown from the archive",
            "on another machine": f"on {clean_line(home.machine)}; shown from the archive",
            "not shown": f"not shown, because it is not the home in use: --home {path} shows it",
            "open": "",
        }
        write(f"  {path}: {plural(home.sessions, 'session')}, {reasons[home.state]}")


def write_next_steps(backup: "Path", *, has_home: bool) -> None:
    """Print the next steps after a backup was restored."""
    write_note("\nnext:")
    steps = [
        ("backscroll list", "your chats; the first command indexes them"),
        ("backscroll resume ID", "continue a chat in Claude Code"),
        (f"backscroll archive backup {clean_line(str(backup))}", "keep the backup up to date from here"),
    ]
    if has_home:
        steps.insert(1, ("backscroll install hooks", "have new sessions archived by Claude Code"))
    room = max(len(command) for command, _ in steps)
    for command, why in steps:
        write_note(f"  {command:<{room}}  {why}")
