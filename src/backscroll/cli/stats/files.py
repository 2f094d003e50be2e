"""`backscroll stats files`: the files that were read and changed most."""

import click

from backscroll.cli.options import global_options
from backscroll.cli.stats.common import begin, finish, report_options

SORTS = ("edits", "reads", "chats", "last")


@click.command("files", short_help="The files that were read and changed most.")
@report_options
@click.option("--sort", type=click.Choice(SORTS), default="edits", help="What to have most of first.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, metavar="NUMBER", help="At most so many rows.")
@global_options
def command(query: str, since: str | None, until: str | None, as_csv: bool, sort: str, limit: int) -> None:
    """Count how often files were read and changed, by how many chats, and the lines that came and went.

    QUERY chooses chats, by the fields of `backscroll search`. Each call counts once, those of agents too. What shell
    commands do to files is not known.

    \b
    Examples:
      backscroll stats files --since 30d
      backscroll stats files project:shop --sort reads -n 50
      backscroll stats files --csv
    """
    from backscroll.library.analytics.files import files

    _, library, asked = begin(query, since, until)
    finish(files(library, asked, sort, limit), as_csv=as_csv, limit=limit)
