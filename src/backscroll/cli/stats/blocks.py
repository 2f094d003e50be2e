"""`backscroll stats blocks`: windows of five hours."""

from datetime import UTC, datetime

import click

from backscroll.cli.options import global_options, limit_option
from backscroll.cli.output import write
from backscroll.cli.stats.common import begin, finish, report_options


@click.command("blocks")
@report_options
@click.option("--active", is_flag=True, help="Only the open window.")
@limit_option()
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool, active: bool, limit: int | None) -> None:
    """Add up tokens and costs by five-hour windows, as Claude's limits use them.

    A window starts with the first answer after the previous window ended, rounded down to the full hour (UTC), and
    lasts five hours. Windows span all chats; QUERY only chooses whose tokens are added up. For the open window it also
    shows the rate since the first answer, and the projected total at that rate.

    \b
    Examples:
      backscroll stats blocks --since 7d
      backscroll stats blocks --active --json
    """
    from backscroll.library.analytics.blocks import blocks

    request, library, scope = begin(query, since, until)
    report = blocks(library, scope, datetime.now(UTC), active=active)
    finish(report, as_csv=as_csv, limit=limit)
    if request.json or as_csv:
        return
    burning = report.facts["active"]
    if burning is None:
        if active:
            write("no window is open; the next answer opens one")
        return
    from backscroll.render.reports import dollars, short

    write()
    write(
        f"Open until {burning['end']}, {burning['minutes_left']:,.0f} minutes left:"
        f" {short(burning['tokens'])} tokens, {dollars(burning['cost_microdollars'])}"
    )
    write(
        f"Rate       {short(burning['tokens_per_minute'])} tokens per minute,"
        f" {dollars(burning['cost_microdollars_per_hour'])} per hour"
    )
    write(
        f"At the end {short(burning['projected_tokens'])} tokens,"
        f" {dollars(burning['projected_cost_microdollars'])}, at this rate"
    )
