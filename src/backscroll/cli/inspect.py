"""`backscroll inspect`: what is in these files."""

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
@global_options
def command(paths: tuple[Path, ...]) -> None:
    """Show what session files contain: record types, versions, times, and what could not be read.

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
        write_json(as_json(inspection))
    else:
        _write(inspection, shown=len(inspection.troubles) if request.verbosity > 0 else SHOWN)
    if inspection.unreadable:
        count = plural(len(inspection.unreadable), "file")
        raise BackscrollError(f"{count} could not be read", "see the list above; check the permissions")


def as_json(inspection: "Inspection") -> dict[str, object]:
    """The answer for a program; `docs/reference/json.md` describes it."""
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


def _write(inspection: "Inspection", shown: int) -> None:
    write(
        f"{plural(inspection.files, 'file')}, {size(inspection.size)}: {plural(inspection.lines, 'line')}, "
        f"{plural(inspection.records, 'record')}, {plural(inspection.problems, 'problem')}"
    )
    if inspection.first and inspection.last:
        zone = zone_of([inspection.first, inspection.last])
        write(f"from {minute(inspection.first)} to {minute(inspection.last)} {zone}")
    _write_counts("Record types", inspection.types)
    _write_counts("Claude Code versions (records)", inspection.versions)
    if inspection.troubles:
        write(f"\n{heading('Problems')}")
    for item in inspection.troubles[:shown]:
        write(warning(f"  {clean_line(str(item.file))}:{item.line}: {item.kind}: {clean_line(item.detail)}"))
    if inspection.problems > shown:
        write(f"  … and {inspection.problems - shown:,} more (-v lists up to 1,000)")
    for unread in inspection.unreadable:
        write(warning(f"  {clean_line(str(unread.path))}: {clean_line(unread.reason)}"))


def _write_counts(title: str, counts: Mapping[str, int]) -> None:
    if counts:
        write(f"\n{heading(title)}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        write(f"  {count:>11,}  {clean_line(name) or '(none)'}")
