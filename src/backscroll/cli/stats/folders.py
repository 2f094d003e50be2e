"""`backscroll stats folders`: the folders in which files were read and changed most."""

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.stats.common import begin, finish, report_options
from backscroll.cli.stats.files import sort_option


@click.command("folders")
@report_options
@sort_option
@limit_option(default=20)
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, sort: str, limit: int) -> None:
    """Count how often files were read and changed, by the folder that they are in.

    QUERY chooses chats, by the fields of `backscroll search`. Each call counts once, including those of agents. A file
    counts in its own folder, not in those above. Changes made by shell commands are not known.

    \b
    Examples:
      backscroll stats folders --since 30d
      backscroll stats folders project:shop --sort reads
      backscroll stats folders --csv
    """
    from backscroll.library.analytics.files import folders

    _, library, scope = begin(query, since, until)
    finish(folders(library, scope, sort), as_csv=as_csv, limit=limit)
