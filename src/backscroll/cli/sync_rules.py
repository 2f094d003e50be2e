"""`backscroll sync rules`: show and change the rules of a remote for each project."""

import contextlib
import sys
from typing import TYPE_CHECKING, Any

import click

from backscroll.cli.options import current_request, global_options
from backscroll.cli.output import heading, warning, write, write_json, write_note
from backscroll.cli.sync_consent import LONGEST_TITLE, count_of, titles_of
from backscroll.cli.sync_output import withheld_words
from backscroll.cli.sync_preview import GITS, MODES, PATHS, rules_from
from backscroll.errors import Busy, NothingFound, UsageError
from backscroll.render.terminal import clean_line, plural, short_id, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from backscroll.library.syncing.remote_settings import RemoteSettings
    from backscroll.library.syncing.rules import ModeChange, RuleUse
    from backscroll.library.syncing.withdrawals import Withheld
    from backscroll.settings import Settings
    from backscroll.sync.policy import Policy, PolicyRule

KINDS = {"path": "--path", "remote": "--git", "project": "project"}
"""Option of each kind of rule; those about names are an organisation's."""


@click.command("rules", short_help="Show and change what a remote gets.")
@click.argument("name")
@PATHS
@GITS
@click.option("--remove", "removed", multiple=True, metavar="PATTERN", help="Remove the rule with this pattern.")
@click.option("--mode", type=click.Choice(MODES), help="What leaves of every other project.")
@click.option("--last", is_flag=True, help="Put new rules behind those that are there, not before them.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@global_options()
def sync_rules(
    name: str, paths: tuple[Any, ...], gits: tuple[Any, ...], removed: tuple[str, ...], mode: str | None, last: bool,
    yes: bool,
) -> None:  # fmt: skip
    """Show the rules about what a remote gets, and how many sessions each of them matches; or change them.

    Of the rules for one folder, the first that matches decides. New ones come before the others. A rule whose pattern
    is there already gets the new mode at its place. Every session of which more or less would leave is shown, and
    nothing changes until you agree. What was sent stays on the remote: `sync withdraw` removes it.

    \b
    Examples:
      backscroll sync rules nas
      backscroll sync rules nas --path '/home/ada/clients/*' off
      backscroll sync rules nas --git 'github.com/acme/*' metrics --mode off
      backscroll sync rules nas --remove '/home/ada/clients/*' --yes
    """
    from backscroll.library.syncing.remote_settings import find_remote, note_remote
    from backscroll.library.syncing.rules import changed_by, with_rules
    from backscroll.library.syncing.withdrawals import withheld
    from backscroll.sync.policy import SyncMode

    request = current_request()
    settings = request.settings()
    remote = find_remote(settings, name)
    policy = with_rules(
        remote.policy, mode=SyncMode(mode) if mode else None, added=rules_from(paths, gits),
        removed=_places_of(remote, removed), is_last=last,
    )  # fmt: skip
    _keep(settings)
    if policy == remote.policy:
        _show(settings, remote, policy, changes=None)
        return
    changes = changed_by(settings, remote, policy)
    if request.json:
        if not yes:
            _show(settings, remote, policy, changes=changes)
    elif not (yes and request.quiet):
        stricter = {row.name for row in changes if not row.leaves_more}
        sent = [row for row in withheld(settings, remote, policy) if row.name in stricter and not row.is_left_there]
        _write_changes(settings, changes, sent, name)
    if not yes:
        if request.json or not sys.stdin.isatty():
            raise UsageError("the rules do not change until you agree", "add --yes")
        if not click.confirm(f"Change the rules of {name}?"):
            write("Nothing was changed.")
            return
    note_remote(settings, name, policy=policy)
    if request.json or not request.quiet:
        _show(settings, remote, policy, changes=changes)


def _places_of(remote: "RemoteSettings", patterns: "Sequence[str]") -> list[int]:
    """Return the places of the rules with these patterns."""
    from backscroll.library.syncing.rules import whole_pattern

    places = []
    for pattern in patterns:
        same = [at for at, rule in enumerate(remote.policy.rules) if rule.pattern in (pattern, whole_pattern(pattern))]
        if not same:
            known = ", ".join(clean_line(rule.pattern) for rule in remote.policy.rules)
            hint = f"the patterns of its rules are: {known}" if known else "it has no rules"
            raise NothingFound(f"{remote.name} has no rule for {pattern}", hint)
        places += same
    return places


def _show(
    settings: "Settings", remote: "RemoteSettings", policy: "Policy", *, changes: "list[ModeChange] | None"
) -> None:
    from backscroll.library.syncing.rules import rule_uses

    request = current_request()
    uses = rule_uses(settings, policy)
    org = remote.org_rules
    if request.json:
        write_json({
            "remote": remote.name, "mode": str(policy.default), "rules": [use_as_json(use) for use in uses],
            "organisation": _policy_as_json(org.policy) if org.digest else None,
            "changes": None if changes is None else [_change_as_json(row) for row in changes],
        })  # fmt: skip
        return
    write(heading(f"{clean_line(remote.name)} gets, by the first rule that matches:"))
    for use in uses:
        count = f"  ({plural(use.sessions, 'session')})" if use.sessions else ""
        write(f"  {use.rule.mode:<8}  {_about(use.rule)}{count}")
        if not use.sessions:
            write(warning(f"            {_unmatched(use)}"))
    write(f"  {policy.default:<8}  {'every other project' if uses else 'every project'}")
    if org.digest:
        write(heading(f"and never more than the rules of {clean_line(org.org or 'your organisation')} let it:"))
        for rule in org.policy.rules:
            write(f"  {rule.mode:<8}  {_about(rule)}")
        write(f"  {org.policy.default:<8}  every other project")


def _about(rule: "PolicyRule") -> str:
    return f"{KINDS[rule.by]} {clean_line(rule.pattern)}"


def note_unmatched(settings: "Settings", policy: "Policy") -> None:
    """Print the rules that match no session, and what may have been meant."""
    from backscroll.library.syncing.rules import rule_uses

    if policy.rules and not current_request().quiet:
        _keep(settings)
        for use in rule_uses(settings, policy):
            if not use.sessions:
                write_note(warning(f"{_about(use.rule)} {_unmatched(use)}"))


def _unmatched(use: "RuleUse") -> str:
    return f"matches no session of this machine{': ' if use.hint else ''}{clean_line(use.hint)}"


def _keep(settings: "Settings") -> None:
    from backscroll.library.homes import open_homes
    from backscroll.library.keeping.keep import keep

    with contextlib.suppress(Busy):  # then another process keeps new records
        keep(settings, open_homes(settings))


def _write_changes(
    settings: "Settings", changes: "Sequence[ModeChange]", sent: "Sequence[Withheld]", name: str
) -> None:
    if not changes:
        write("No session changes.")
        return
    titles = titles_of(settings)
    for row in changes:
        known = short_id(row.name) if row.is_session else clean_line(row.name)
        title = clean_line(titles.get(row.name, ""))[:LONGEST_TITLE]
        parts = (f"  {row.before} → {row.after}", known, row.at, size(row.size), title)
        write("  ".join(part for part in parts if part))
        write(f"      {clean_line(row.project)}: {clean_line(row.reason)}")
    more = [row for row in changes if row.leaves_more]
    write(heading(f"Less leaves of {_words(changes, more)}; more leaves of {_words(more, ())}."))
    if sent:
        what = withheld_words(count_of(sent))
        was, stays = ("was", "stays") if len(sent) == 1 else ("were", "stay")
        write(
            warning(f"{what} of these {was} sent and {stays} on {name} until you run backscroll sync withdraw {name}")
        )


def _words(rows: "Sequence[ModeChange]", without: "Sequence[ModeChange]") -> str:
    counted = [row for row in rows if row not in without]
    sessions = sum(row.is_session for row in counted)
    files = len(counted) - sessions
    return f"{plural(sessions, 'session')} and {plural(files, 'other file')}" if files else plural(sessions, "session")


def use_as_json(use: "RuleUse") -> dict[str, Any]:
    """Return a rule, and how many sessions it matches."""
    return {
        "by": use.rule.by, "pattern": use.rule.pattern, "mode": str(use.rule.mode), "sessions": use.sessions,
        "hint": use.hint,
    }  # fmt: skip


def _policy_as_json(policy: "Policy") -> dict[str, Any]:
    rules = [{"by": rule.by, "pattern": rule.pattern, "mode": str(rule.mode)} for rule in policy.rules]
    return {"mode": str(policy.default), "rules": rules}


def _change_as_json(row: "ModeChange") -> dict[str, Any]:
    return {
        "name": row.name, "is_session": row.is_session, "project": row.project, "before": str(row.before),
        "after": str(row.after), "reason": row.reason, "at": row.at, "bytes": row.size,
    }  # fmt: skip
