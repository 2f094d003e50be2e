"""`backscroll keep`: bring the archive up to date."""

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, write_json, write_note
from backscroll.errors import BackscrollError
from backscroll.render.terminal import clean_line, plural, size


@click.command("keep")
@click.option("--watch", "watching", is_flag=True, help="Keep running, and archive changes as they happen.")
@click.option("--sync", "syncs", is_flag=True, help="Then sync with every remote; sync status shows what failed.")
@global_options()
def command(watching: bool, syncs: bool) -> None:
    """Keep a verbatim copy of everything in your Claude Code homes.

    Reads only what is new since the last run. What Claude Code deletes stays in the archive. Other commands do this
    automatically if the last run was more than an hour ago. If a running `open` or `watch` keeps these homes already,
    this makes sure of that, and says so.

    \b
    Examples:
      backscroll keep
      backscroll keep --watch
      backscroll keep --sync
      backscroll keep --home ~/.claude --home /mnt/old-laptop/.claude
    """
    from backscroll.library.captures import started_by
    from backscroll.library.homes import no_history, open_homes
    from backscroll.library.keeping.keep import keep_watching
    from backscroll.library.keeping.watched import keep_or_confirm

    request = current_request()
    settings = request.settings()
    homes = open_homes(settings)
    if not any(home.exists for home in homes):
        raise no_history(homes)
    with ProgressLine("keeping", quiet=request.quiet) as progress:
        done, other = keep_or_confirm(settings, homes, progress.set_total, progress.add, by=started_by())
    if request.json:
        write_json({
            "files": done.files,
            "bytes": done.size,
            "gone": done.gone,
            "moved": done.moved,
            "unreadable": [{"file": str(item.path), "reason": item.reason} for item in done.unreadable],
            "kept_by": other or None,
        })  # fmt: skip
    elif other and not request.quiet:
        write_note(f"nothing to do: {clean_line(other)} has kept everything that is there")
    elif not request.quiet:
        write_note(_keep_summary(done.files, done.size, done.gone))
    for item in done.unreadable:
        write_note(f"cannot be read: {clean_line(str(item.path))}: {clean_line(item.reason)}")
    if syncs:
        from backscroll.library.syncing.automatic import sync_quietly

        sync_quietly(settings)
    if watching:
        for more in keep_watching(settings, homes):
            if not request.quiet:
                write_note(_keep_summary(more.files, more.size, more.gone))
    if done.unreadable:
        count = plural(len(done.unreadable), "file")
        raise BackscrollError(
            f"{count} could not be read and were not archived", "see the list above; check the permissions"
        )


def _keep_summary(files: int, new: int, gone: int) -> str:
    if not files and not gone:
        return "nothing new: everything is archived"
    left = f"; {plural(gone, 'file')} deleted by Claude Code; kept in the archive" if gone else ""
    return f"kept {size(new)} of {plural(files, 'file')}{left}"
