"""`backscroll file`: earlier contents of a file."""

import difflib
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, open_library, write_json, write_note
from backscroll.cli.paging import width, write_lines
from backscroll.errors import NothingFound, UsageError
from backscroll.render.terminal import clean, clean_line, minute, moment, zone_of

if TYPE_CHECKING:
    from backscroll.library.chats.file_versions import FileState, History


@click.command("file")
@click.argument("path", metavar="PATH")
@click.option("--at", metavar="MESSAGE|TIME", help="The start of a message id, or a time. Default: the latest version.")
@click.option("--diff", is_flag=True, help="Show only what changed from the previous version.")
@click.option("--list", "as_list", is_flag=True, help="List every known version.")
@click.option(
    "--machine", metavar="NAME", help="Part of the name of the machine, if several have the file. Default: this one."
)
@global_options()
def command(path: str, at: str | None, diff: bool, as_list: bool, machine: str | None) -> None:
    """Show what a file looked like at some time, rebuilt from what Claude Code read, wrote and changed.

    PATH is the end of its path. A line on stderr says what the result is based on and whether it is certain: changes by
    shell commands or by you show up only when Claude next reads or edits the file. Nothing is written to disk.

    \b
    Examples:
      backscroll file src/app.py --list
      backscroll file src/app.py --at yesterday > app.py
      backscroll file src/app.py --at 4f8c2a10 --diff
    """
    from backscroll.library.chats.file_versions import history, seen_at

    if as_list and (at or diff):
        raise UsageError("--list shows every version", "leave out --at and --diff")
    request = current_request()
    library = open_library(request)
    past = history(library, path, machine=machine)
    if past.others and not request.quiet:
        others = ", ".join(map(clean_line, past.others))
        write_note(f"this is the file on {clean_line(past.machine)}; --machine shows it on {others}")
    if as_list:
        _write_list(past, as_json=request.json)
        return
    seen = seen_at(library, past, at, datetime.now().astimezone())
    if request.json:
        write_json({**_as_json(seen, diff=diff), "machine": past.machine, "other_machines": past.others})
        return
    if seen.version.content is None:
        raise NothingFound(
            f"what was in {past.file} at that time is not known: {seen.basis}",
            f"see backscroll file {past.file} --list",
        )
    text = "".join(_diff(seen)) if diff else seen.version.content
    # When piped, it is the file itself, byte for byte.
    click.echo(clean(text) if sys.stdout.isatty() else text, nl=False, color=True)
    if not request.quiet:
        when = f"{minute(seen.version.when)} {zone_of([seen.version.when])}" if seen.version.when else "some time"
        sure = "certain" if seen.certain else "NOT certain"
        write_note(f"{clean_line(seen.file)}, version {seen.number} of {len(past.versions)}, {when}: {sure}")
        write_note(f"based on {clean_line(seen.basis)}")


def _diff(seen: "FileState") -> Iterator[str]:
    before, after = (
        (seen.before or "").splitlines(keepends=True),
        (seen.version.content or "").splitlines(keepends=True),
    )
    for line in difflib.unified_diff(before, after, f"a{seen.file}", f"b{seen.file}"):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _as_json(seen: "FileState", *, diff: bool) -> dict[str, Any]:
    version = seen.version
    answer = {
        "file": seen.file,
        "version": seen.number,
        "time": moment(version.when) if version.when else None,
        "certain": seen.certain and version.content is not None,
        "basis": seen.basis,
        "tool": version.touch.tool or None,
        "chat": seen.call.chat if seen.call else None,
        "message": seen.call.uuid if seen.call else None,
    }
    return {**answer, "diff": "".join(_diff(seen))} if diff else {**answer, "content": version.content}


def _write_list(found: "History", *, as_json: bool) -> None:
    from backscroll.render.layout import Column
    from backscroll.render.tables import fit

    rows: list[dict[str, Any]] = [
        {
            "version": number,
            "time": moment(version.when) if version.when else None,
            "tool": version.touch.tool or None,
            "chat": call.chat if call else None,
            "message": call.uuid if call else None,
            "characters": None if version.content is None else len(version.content),
            "added": version.added,
            "removed": version.removed,
            "certain": version.certain,
            "basis": version.basis,
        }
        for number, (version, call) in enumerate(found.versions, start=1)
    ]
    if as_json:
        write_json({"file": found.file, "machine": found.machine, "other_machines": found.others, "versions": rows})
        return
    times = [version.when for version, _ in found.versions]
    columns = [
        Column("VERSION", right=True, shrinks="never"),
        Column(f"TIME {zone_of(times)}", shrinks="never"),
        Column("TOOL"),
        Column("CHAT", shrinks="never"),
        Column("CHARACTERS", right=True, shrinks="never", extra=2, short="CHARS"),
        Column("LINES", shrinks="never"),
        Column("CERTAIN", shrinks="never"),
        Column("BASIS", least=20, extra=1),
    ]
    values = [
        (
            row["version"], minute(times[number]), row["tool"], (row["chat"] or "")[:8], row["characters"],
            "" if row["added"] is None else f"+{row['added']} -{row['removed']}", "yes" if row["certain"] else "no",
            row["basis"],
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    lines = fit(columns, values, width()).lines
    write_lines([clean_line(found.file), heading(lines[0]), *lines[1:]])
