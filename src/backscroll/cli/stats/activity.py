"""`backscroll stats activity`: when you work."""

from datetime import datetime

import click

from backscroll.cli.options import global_options
from backscroll.cli.output import write, write_note
from backscroll.cli.stats.common import begin, finish, report_options
from backscroll.render.terminal import clean_line, plural


@click.command("activity")
@report_options
@global_options()
def command(query: str, since: str | None, until: str | None, as_csv: bool) -> None:
    """Show prompts by weekday and hour, in your time zone.

    \b
    Examples:
      backscroll stats activity
      backscroll stats activity --since 90d --json
      TZ=Asia/Tokyo backscroll stats activity project:shop
    """
    from backscroll.library.analytics.activity import activity

    request, library, scope = begin(query, since, until)
    report = activity(library, scope, datetime.now().astimezone().date())
    if request.json or as_csv:
        finish(report, as_csv=as_csv)
        return
    from backscroll.render.charts import heatmap

    for line in heatmap(report.rows):
        write(line)
    facts = report.facts
    longest, current, busiest = facts["longest_streak"], facts["current_streak"], facts["busiest_day"]
    write()
    write(f"Active days     {facts['active_days']:,}")
    if busiest:
        write(f"Longest streak  {plural(longest['days'], 'day')}, {longest['from']} to {longest['to']}")
        write(f"Current streak  {plural(current['days'], 'day')}")
        write(f"Busiest day     {busiest['day']}, {busiest['prompts']:,} prompts")
    if not request.quiet:
        for note in report.notes:
            write_note(clean_line(note))
