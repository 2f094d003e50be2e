"""`backscroll inspect`: the contents of session files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import PATH, current_request, global_options
from backscroll.cli.output import ProgressLine, heading, keep_first, warning, write, write_json
from backscroll.errors import BackscrollError
from backscroll.render.terminal import clean_line, minute, moment, plural, size, zone_of

if TYPE_CHECKING:
    from backscroll.library.setup.inspect import Inspection

SHOWN = 20


@click.command("inspect")
@click.argument("paths", type=PATH, nargs=-1, metavar="[PATH]...")
@global_options()
def command(paths: tuple[Path, ...]) -> None:
    """Show what session files contain: record types, versions, times, what could not be read, and what is not known.

    PATH is a session file, a folder of them or a Claude Code home; without PATH, it reads your homes. Changes nothing.

    \b
    Examples:
      backscroll inspect
      backscroll inspect ~/.claude/projects/-home-me-shop
      backscroll inspect session.jsonl --json | jq .types
    """
    from backscroll.library.homes import open_homes
    from backscroll.library.setup.inspect import find_transcripts, inspect

    request = current_request()
    if not paths:
        keep_first(request)
    transcripts = find_transcripts(paths, [] if paths else open_homes(request.settings()))
    with ProgressLine("reading", quiet=request.quiet) as progress:
        progress.set_total(sum(path.stat().st_size for path in transcripts if path.exists()))
        inspection = inspect(transcripts, progress.add)
    if request.json:
        write_json({**as_json(inspection), "unknown": unknown_as_json(inspection)})
    else:
        _write(inspection, shown=len(inspection.troubles) if request.verbosity > 0 else SHOWN)
    if inspection.unreadable:
        count = plural(len(inspection.unreadable), "file")
        raise BackscrollError(f"{count} could not be read", "see the list above; check the permissions")


def as_json(inspection: "Inspection") -> dict[str, object]:
    """Return the answer for a program; `docs/reference/json.md` describes it."""
    return {
        "files": inspection.files,
        "bytes": inspection.size,
        "lines": inspection.lines,
        "records": inspection.records,
        "problems": inspection.problems,
        "types": dict(inspection.types.most_common()),
        "versions": dict(inspection.versions.most_common()),
        "first": moment(inspection.first) if inspection.first else None,
        "last": moment(inspection.last) if inspection.last else None,
        "problem_list": [
            {"file": str(item.file), "line": item.line, "offset": item.offset, "kind": item.kind, "detail": item.detail}
            for item in inspection.troubles
        ],
        "unreadable": [{"file": str(item.path), "reason": item.reason} for item in inspection.unreadable],
    }


def unknown_as_json(found: "Inspection") -> list[dict[str, object]]:
    """Return the record types and fields that this version of backscroll does not know."""
    return [
        {
            "what": item.drift.what,
            "name": item.drift.name,
            "count": item.count,
            "version": item.version,
            "file": str(item.file),
            "line": item.line,
        }
        for item in found.unknown.values()
    ]


def write_totals(found: "Inspection", indent: str = "") -> None:
    """Print totals of the records that were read, and their period."""
    write(
        f"{indent}{plural(found.files, 'file')}, {size(found.size)}: {plural(found.lines, 'line')}, "
        f"{plural(found.records, 'record')}, {plural(found.problems, 'problem')}"
    )
    if found.first and found.last:
        write(f"{indent}from {minute(found.first)} to {minute(found.last)} {zone_of([found.first, found.last])}")


def write_problems(found: "Inspection", shown: int, more: str) -> None:
    """Print the lines and files that could not be read; `more` says how to see all of them."""
    for item in found.troubles[:shown]:
        write(warning(f"  {clean_line(str(item.file))}:{item.line}: {item.kind}: {clean_line(item.detail)}"))
    if found.problems > shown:
        write(f"  … and {found.problems - shown:,} more ({more})")
    for unread in found.unreadable:
        write(warning(f"  cannot be read: {clean_line(str(unread.path))}: {clean_line(unread.reason)}"))


def write_unknown(found: "Inspection", shown: int) -> None:
    """Print the unknown record types and fields; the most frequent first."""
    if not found.files:
        return
    write(f"\n{heading('Unknown to this version of backscroll')}")
    if not found.unknown:
        write("  nothing")
    for item in sorted(found.unknown.values(), key=lambda item: -item.count)[:shown]:
        version = f", first in {clean_line(item.version)}" if item.version else ""
        write(f"  {item.count:>9,}  {item.drift.what} {clean_line(item.drift.name) or '(none)'}{version}")
    if len(found.unknown) > shown:
        write(f"  … and {len(found.unknown) - shown:,} more (-v lists all)")
    if found.unknown:
        write("  Nothing is lost: it is archived as it is. A newer version of backscroll may know it.")


def _write(found: "Inspection", shown: int) -> None:
    write_totals(found)
    _write_counts("Record types", found.types)
    _write_counts("Claude Code versions (records)", found.versions)
    if found.troubles:
        write(f"\n{heading('Problems')}")
    write_problems(found, shown, "-v lists up to 1,000")
    write_unknown(found, 10**9 if shown > SHOWN else SHOWN)


def _write_counts(title: str, counts: Mapping[str, int]) -> None:
    if counts:
        write(f"\n{heading(title)}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        write(f"  {count:>11,}  {clean_line(name) or '(none)'}")
