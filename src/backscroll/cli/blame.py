"""`backscroll blame`: which chats changed a file, and why."""

from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import global_options, limit_option, period_options
from backscroll.cli.output import heading, write_json, write_note
from backscroll.cli.paging import width, write_lines
from backscroll.cli.stats.common import begin
from backscroll.render.terminal import clean_line, minute, moment, zone_of

if TYPE_CHECKING:
    from backscroll.library.analytics.blame import TurnEdits


@click.command("blame")
@click.argument("path", metavar="PATH")
@click.option("--reads", is_flag=True, help="Include turns that only read it.")
@period_options
@limit_option("turns")
@global_options()
def command(path: str, reads: bool, since: str | None, until: str | None, limit: int | None) -> None:
    """Show the turns that changed a file, newest first, with the prompt and the lines added and removed.

    PATH is the end of a path: `app.py` and `src/app.py` are both ends of `/home/ada/shop/src/app.py`. Only tools that
    edit files count; changes made by shell commands are not known.

    \b
    Examples:
      backscroll blame src/app.py
      backscroll blame app.py --reads --since 30d
      backscroll blame src/app.py --json
    """
    from backscroll.library.analytics.blame import blame

    request, library, question = begin("", since, until)
    rows = blame(library, path, question, reads=reads)
    turns = rows[:limit]
    if request.json:
        write_json({"turns": [_as_json(row) for row in turns], "total": len(rows)})
        return
    write_lines(_lines(turns, with_machine=library.has_other_machines))
    if not request.quiet:
        if len(turns) < len(rows):
            write_note(f"{len(rows) - len(turns):,} more turns: --limit")
        if not rows:
            write_note("no chat changed it; use --reads to list chats that read it")
        files = list(dict.fromkeys(row.file for row in turns))
        write_note("\n".join(clean_line(file) for file in files[:10]))


def _lines(rows: "list[TurnEdits]", *, with_machine: bool) -> "list[str]":
    from backscroll.render.layout import Column
    from backscroll.render.tables import fit

    several = len({row.file for row in rows}) > 1
    columns = [
        Column(f"TIME {zone_of(row.last for row in rows)}", shrinks="never"),
        Column("CHAT", shrinks="never"),
        Column("LINES", shrinks="never"),
        Column("EDITS", right=True, shrinks="never", extra=1),
        *([Column("FILE", shrinks="start", least=16)] if several else []),
        Column("PROMPT", least=24),
    ]
    values = [
        (
            minute(row.last) if row.last else "",
            (row.chat or "-")[:8],
            f"+{row.added} -{row.removed}" if row.edits else "read" if row.reads else "failed",
            row.edits,
            *([row.file] if several else []),
            " ".join(
                word
                for word in (
                    f"[on {row.machine}]" if with_machine else "",
                    f"[agent {row.agent[:8]}]" if row.agent else "",
                    "[rewound]" if row.abandoned else "",
                    row.prompt or row.title,
                )
                if word
            ),
        )
        for row in rows
    ]
    if not values:
        return []
    lines = fit(columns, values, width()).lines
    return [heading(lines[0]), *lines[1:]]


def _as_json(row: "TurnEdits") -> dict[str, Any]:
    answer = row._asdict()
    answer["first"] = moment(row.first) if row.first else None
    answer["last"] = moment(row.last) if row.last else None
    return answer
