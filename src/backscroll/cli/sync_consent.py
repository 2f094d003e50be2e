"""`backscroll sync withdraw`: remove from a remote sessions that may not leave any more, once the user agrees."""

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, write, write_json
from backscroll.cli.sync_output import withheld_words
from backscroll.errors import BackscrollError, UsageError
from backscroll.render.terminal import clean_line, short_id, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from backscroll.library.syncing.withdrawals import Withheld
    from backscroll.settings import Settings
    from backscroll.sync.consent import WithheldCount

LONGEST_TITLE = 60


@click.command("withdraw", short_help="Remove what may not leave any more.")
@click.argument("name")
@click.option("--keep", is_flag=True, help="Leave it on the remote, and do not mention it at each sync.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@global_options()
def sync_withdraw(name: str, keep: bool, yes: bool) -> None:
    """Show what was sent to a remote and may not leave any more, and remove it from there if you agree.

    A sync does not send these sessions any more, but leaves on the remote what it has of them. Only what is listed is
    removed. Your other machines keep what they have taken; a team server removes it.

    \b
    Examples:
      backscroll sync withdraw nas
      backscroll sync withdraw nas --yes
      backscroll sync withdraw nas --keep
    """
    from backscroll.cli.sync_each import sync_all
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.library.syncing.withdrawals import agree_to_withdraw, leave_there, withheld

    request = current_request()
    settings = request.settings()
    remote = find_remote(settings, name)
    rows = withheld(settings, remote)
    answers = keep or yes
    if not answers or (not rows and (request.json or not request.quiet)):
        _show(settings, name, rows, as_json=request.json)
    if not rows:
        return
    if keep:
        leave_there(settings, remote, rows)
        if request.json:
            write_json({"remote": name, "left_there": [withheld_as_json(row) for row in rows]})
        elif not request.quiet:
            write(f"{withheld_words(count_of(rows))} stay on {name}.")
        return
    if not yes:
        if request.json or not sys.stdin.isatty():
            hint = f"run backscroll sync withdraw {name} --yes to remove what is listed, or --keep to leave it there"
            raise UsageError("nothing is withdrawn until you agree", hint)
        if not click.confirm(f"Remove {withheld_words(count_of(rows))} from {name}?"):
            write(f"Nothing was removed. To leave it there for good, run backscroll sync withdraw {name} --keep")
            return
    agree_to_withdraw(settings, remote, rows)
    if remote.is_paused:
        write(f"{name} is paused: it is removed by the first sync after backscroll sync resume {name}.")
        return
    sync_all(settings, [remote])


def _show(settings: "Settings", name: str, rows: "Sequence[Withheld]", *, as_json: bool) -> None:
    if as_json:
        write_json({"remote": name, "withheld": [withheld_as_json(row) for row in rows]})
    elif not rows:
        write(f"Everything that was sent to {name} may leave: there is nothing to withdraw.")
    else:
        write(heading(f"These were sent to {clean_line(name)} and may not leave any more:"))
        write_withheld(rows, titles_of(settings))


def write_withheld(rows: "Sequence[Withheld]", titles: "Mapping[str, str]") -> None:
    """List sessions and files, each with the rule that keeps it here."""
    for row in rows:
        name = short_id(row.name) if row.is_session else clean_line(row.name)
        title = clean_line(titles.get(row.name, ""))[:LONGEST_TITLE]
        left = "  (you left it there)" if row.is_left_there else ""
        write("  ".join(part for part in (f"  {name}", row.at, size(row.size), title) if part) + left)
        write(f"      {clean_line(row.project)}: {row.mode}, {clean_line(row.reason)}")


def titles_of(settings: "Settings") -> dict[str, str]:
    """Return the titles of chats, as far as the index has them."""
    from backscroll.library.homes import open_homes
    from backscroll.library.local import local_library

    with contextlib.suppress(BackscrollError), local_library(settings, open_homes(settings), keeps=False) as library:
        return library.titles() if library.has_finished_update else {}
    return {}


def count_of(rows: "Sequence[Withheld]") -> "WithheldCount":
    """Count the sessions and the other files."""
    from backscroll.sync.consent import WithheldCount

    sessions = sum(row.is_session for row in rows)
    return WithheldCount(sessions, len(rows) - sessions)


def withheld_as_json(row: "Withheld") -> dict[str, Any]:
    """Return a session on a remote that may not leave any more."""
    return {
        "name": row.name, "is_session": row.is_session, "project": row.project, "mode": str(row.mode),
        "reason": row.reason, "at": row.at, "bytes": row.size, "is_left_there": row.is_left_there,
    }  # fmt: skip
