"""`backscroll sql`: query the index with SQL."""

import sys
from typing import TYPE_CHECKING

import click

from backscroll.cli.options import current_request, global_options, limit_option
from backscroll.cli.output import heading, open_library, warning, write, write_csv, write_json, write_note
from backscroll.cli.paging import width, write_lines, write_pieces
from backscroll.errors import UsageError

if TYPE_CHECKING:
    from backscroll.library import StatementResult
    from backscroll.library.library import Library


@click.command("sql")
@click.argument("statement", required=False)
@click.option(
    "--format", "shape", type=click.Choice(["table", "csv", "json"]), help="Default: table on a terminal, else csv."
)
@limit_option(default=1000)
@click.option(
    "--seconds", type=click.FloatRange(min=0.001), default=10.0, metavar="NUMBER", help="Stop after this long."
)
@click.option("--schema", is_flag=True, help="List the views and their columns, and nothing else.")
@global_options()
def command(statement: str | None, shape: str | None, limit: int, seconds: float, schema: bool) -> None:
    """Run a read-only SQLite statement on the documented views: v_chats, v_messages, v_usage and more.

    Without STATEMENT, or with `-`, it is read from stdin. Values in csv and json are exact: NULL is empty or null,
    bytes are hexadecimal. On a terminal, csv leaves out control characters, and rows with more columns than fit are
    shown one below the other.

    \b
    Examples:
      backscroll sql --schema
      backscroll sql 'select title, messages from v_chats order by messages desc limit 5'
      backscroll sql 'select tool, count(*), sum(is_error) from v_tool_calls group by tool' --format csv
      backscroll sql --json < report.sql | jq -r '.rows[][0]'
    """
    request = current_request()
    shape = "json" if request.json else shape or ("table" if sys.stdout.isatty() else "csv")
    if schema:
        _write_schema(open_library(request), shape)
        return
    if statement is None and sys.stdin.isatty():
        raise UsageError("no statement", "backscroll sql 'select * from v_chats', or see --schema")
    if statement in (None, "-"):
        statement = sys.stdin.read()
    if not statement or not statement.strip():
        raise UsageError("the statement is empty", "backscroll sql 'select * from v_chats', or see --schema")
    table = open_library(request).sql(statement, limit=limit, seconds=seconds)
    _write(table, shape)
    if table.is_cut and shape != "json" and not request.quiet:
        count = len(table.rows)
        hint = "see --limit" if count == limit else "but these are large: select less of each"
        write_note(warning(f"only the first {count:,} rows: there are more, {hint}"))


def _write(found: "StatementResult", shape: str) -> None:
    from backscroll.render.tables import has_room, plain_value, records, table

    if shape == "json":
        rows = [[plain_value(value) for value in row] for row in found.rows]
        write_json({"columns": found.columns, "rows": rows, "complete": not found.is_cut})
    elif shape == "csv":
        write_csv(found.columns, found.rows)
    else:
        room = width()
        if not has_room(found.columns, found.rows, room):
            write_lines(records(found.columns, found.rows))
            return
        first, *others = table(found.columns, found.rows, room)
        write_pieces(f"{line}\n" for line in (heading(first), *others))


def _write_schema(library: "Library", shape: str) -> None:
    rows = [(view.name, column) for view in library.views() for column in view.columns]
    if shape == "json":
        write_json({"dialect": library.dialect, "columns": COLUMNS, "rows": rows, "complete": True})
    elif shape == "csv":
        write_csv(COLUMNS, rows)
    else:
        write(f"views for statements in {library.dialect}'s SQL:")
        for view in library.views():
            write(f"{heading(view.name)} ({', '.join(view.columns)})")


COLUMNS = ["view", "column"]
