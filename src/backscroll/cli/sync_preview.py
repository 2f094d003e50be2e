"""`backscroll sync preview`: sessions that would leave this machine under a policy, and the options for a policy."""

import contextlib
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import ProgressLine, heading, write, write_json
from backscroll.cli.sync_consent import LONGEST_TITLE, titles_of
from backscroll.errors import BackscrollError, Busy, UsageError
from backscroll.render.terminal import clean_line, plural, short_id, size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from backscroll.library.syncing.preview import ProjectPreview, SessionPreview
    from backscroll.settings import Settings
    from backscroll.sync.policy import EffectivePolicy, Policy, PolicyRule

MODES = ("full", "redacted", "metrics", "off")
MODE = click.Choice(MODES)
RULE = "PATTERN MODE"
PATHS = click.option(
    "--path", "paths", nargs=2, multiple=True, metavar=RULE, help="A different mode for folders that match."
)
GITS = click.option(
    "--git", "gits", nargs=2, multiple=True, metavar=RULE, help="A different mode for git remotes that match."
)


@click.command("preview", short_help="What would leave, project by project.")
@click.argument("name", required=False)
@click.option(
    "--mode", type=click.Choice(MODES), default="redacted", show_default=True, help="Without NAME: what leaves."
)
@click.option("--sessions", "lists", is_flag=True, help="List each session, with what decides about it.")
@global_options()
def sync_preview(name: str | None, mode: str, lists: bool) -> None:
    """Show what would leave for a remote, by project: sessions, size, and the secrets that are masked. Sends nothing.

    Sessions are decided about one by one, so a project may stand here several times, once for each mode.

    \b
    Examples:
      backscroll sync preview
      backscroll sync preview nas --sessions
      backscroll sync preview nas --json
    """
    from backscroll.library.syncing.org_rules import fetch_rules
    from backscroll.library.syncing.remote_settings import find_remote
    from backscroll.sync.policy import EffectivePolicy

    request = current_request()
    settings = request.settings()
    policy = EffectivePolicy(policy_from(mode, (), ()))
    if name:
        remote = find_remote(settings, name)
        if remote.device:  # a team server; while it is away, the rules that were fetched last are shown
            with contextlib.suppress(BackscrollError):
                remote = fetch_rules(settings, remote, tries=1)
        policy = remote.effective
    rows = preview_for(settings, policy)
    if request.json:
        write_json({"projects": [preview_as_json(row, lists=lists) for row in rows]})
    else:
        write_preview(rows, titles_of(settings) if lists else None)


def policy_from(mode: str, paths: tuple[Any, ...], gits: tuple[Any, ...]) -> "Policy":
    """Return the policy that options describe."""
    from backscroll.sync.policy import Policy, SyncMode

    return Policy(SyncMode(mode), rules_from(paths, gits))


def rules_from(paths: tuple[Any, ...], gits: tuple[Any, ...]) -> "tuple[PolicyRule, ...]":
    """Return the rules that options describe, those about folders first."""
    from backscroll.library.syncing.rules import whole_pattern
    from backscroll.sync.policy import PolicyRule, SyncMode

    for pattern, chosen in (*paths, *gits):
        if chosen not in MODES:
            raise UsageError(f"{chosen} is not a mode", f"the modes are: {', '.join(MODES)}")
        if not pattern.strip():
            raise UsageError("the pattern of a rule is empty", "write a folder or a git remote; * stands for any text")
    about_folders = [PolicyRule("path", whole_pattern(pattern), SyncMode(chosen)) for pattern, chosen in paths]
    return (*about_folders, *(PolicyRule("remote", pattern, SyncMode(chosen)) for pattern, chosen in gits))


def preview_for(settings: "Settings", policy: "EffectivePolicy") -> list["ProjectPreview"]:
    """Return the sessions that would leave under a policy, by project."""
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import keep
    from backscroll.library.syncing.preview import preview

    request = current_request()
    with contextlib.suppress(Busy):
        keep(settings, open_homes(settings))
    with ProgressLine("looking for secrets", quiet=request.quiet) as progress:
        return preview(settings, policy, progress.set_total, progress.add)


def write_preview(rows: list["ProjectPreview"], titles: "Mapping[str, str] | None" = None) -> None:
    """Print the sessions that would leave, by project; with the titles of chats, each session of it."""
    for row in rows:
        masked = sum(row.masked.values())
        note = f"; {plural(masked, 'secret')} masked" if masked else ""
        held = f"{plural(row.sessions, 'session')}, {plural(row.files, 'file')}, {size(row.size)}"
        write(f"  {row.mode:<8}  {clean_line(row.project)}")
        write(f"            {held}{note}")
        if row.reason:
            write(f"            because of {clean_line(row.reason)}")
        for item in sorted(row.listed.values(), key=_latest_first) if titles is not None else ():
            known = short_id(item.name) if item.is_session else clean_line(item.name)
            title = clean_line((titles or {}).get(item.name, ""))[:LONGEST_TITLE]
            parts = (f"    {known}", item.at, size(item.size), title, f"({clean_line(item.reason)})")
            write("  ".join(part for part in parts if part))
    leaving = [row for row in rows if row.mode != "off"]
    total = size(sum(row.size for row in leaving))
    write(heading(f"{plural(len(leaving), 'project')} with {total} would leave."))


def preview_as_json(row: "ProjectPreview", *, lists: bool = False) -> dict[str, Any]:
    """Return the part of a project that would leave; with `lists` its sessions, too."""
    row_json = {
        "project": row.project, "mode": str(row.mode), "sessions": row.sessions, "files": row.files,
        "bytes": row.size, "masked": dict(row.masked), "reason": row.reason,
    }  # fmt: skip
    if lists:
        row_json["listed"] = [
            {"name": item.name, "is_session": item.is_session, "reason": item.reason, "at": item.at, "bytes": item.size}
            for item in sorted(row.listed.values(), key=_latest_first)
        ]
    return row_json


def _latest_first(one: "SessionPreview") -> tuple[bool, int, str]:
    return not one.is_session, -int(one.at.replace("-", "")), one.name
