"""What the `archive` commands print: lines for people, and JSON."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from backscroll.cli.output import heading, warning, write, write_note
from backscroll.render.cells import cut_start
from backscroll.render.terminal import clean_line, minute, moment, plural, size, zone_of

if TYPE_CHECKING:
    from backscroll.library.keeping.keep import ArchiveStatus
    from backscroll.library.keeping.kept_versions import KeptVersion
    from backscroll.library.keeping.restore import Restored
    from backscroll.library.keeping.verify import ArchiveVerification


def version_as_json(item: "KeptVersion") -> dict[str, object]:
    """A version of a file, as JSON."""
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
    """Every version of each file, below its path."""
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
    """A time in the catalogue."""
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None


def local(written: str) -> str:
    """A time in the catalogue, on the user's clock; unchanged if it is not a time."""
    when = time_of(written)
    return minute(when) if when else clean_line(written)


def restored_as_json(item: "Restored") -> dict[str, object]:
    """A restored file, as JSON."""
    return {"file": str(item.target), "outcome": item.outcome, "version": item.version.number}


def status_as_json(found: "ArchiveStatus", now: datetime) -> dict[str, object]:
    """The status of the archive, as JSON."""
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
    """The result of a verification, as JSON."""
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
    if proof.not_noted:
        write_note(f"not recorded in the catalogue: {clean_line(proof.not_noted)}")
    for damage in report.damages:
        write(warning(f"damaged: {clean_line(damage.what)}"))
        for file in damage.files:
            session = f" (session {file.place.session_id})" if file.place.session_id else ""
            write(f"  affects {clean_line(str(file.source))}{session}")
