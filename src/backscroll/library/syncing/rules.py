"""The rules about what a remote gets: the sessions that each matches, and the effect of other rules on each session."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.files.layout import FileKind
from backscroll.library.archives import open_archive
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.decisions import decisions_for
from backscroll.library.syncing.remote_settings import RemoteSettings
from backscroll.settings import Settings
from backscroll.sync.consent import withheld_name
from backscroll.sync.policy import (
    EffectivePolicy,
    Policy,
    PolicyRule,
    RanIn,
    SyncMode,
    normal_remote,
    path_matches,
    rule_matches,
)


class RuleUse(NamedTuple):
    """A rule, and the number of sessions of this machine that it matches, whether it decides them or not."""

    rule: PolicyRule
    sessions: int
    hint: str = ""
    """Why it may match nothing; empty if unknown."""


@dataclass
class ModeChange:
    """A session, or a file of none, of which different rules would let more or less leave."""

    name: str
    """The id of the session, or the path of the file."""
    is_session: bool
    project: str
    before: SyncMode
    after: SyncMode
    reason: str
    """The reason of the new mode."""
    at: str = ""
    """The day of the last write."""
    size: int = 0

    @property
    def leaves_more(self) -> bool:
        """Whether more leaves than before."""
        return self.after.strictness < self.before.strictness


def with_rules(
    policy: Policy,
    *,
    mode: SyncMode | None = None,
    added: Sequence[PolicyRule] = (),
    removed: Iterable[int] = (),
    is_last: bool = False,
) -> Policy:
    """Return a policy with other rules: those at the `removed` places are left out, and new ones come before all
    others.

    A rule on the same target as an existing one changes its mode, at its place. With `is_last`, new ones come last.
    """
    gone = set(removed)
    rules = [rule for number, rule in enumerate(policy.rules) if number not in gone]
    new = []
    for rule in added:
        same = [number for number, existing in enumerate(rules) if _about(existing) == _about(rule)]
        if same:
            rules[same[0]] = rule
        else:
            new.append(rule)
    return Policy(mode or policy.default, (*rules, *new) if is_last else (*new, *rules))


def rule_uses(settings: Settings, policy: Policy) -> list[RuleUse]:
    """Return the number of sessions that each rule matches."""
    if not policy.rules:
        return []
    archive = open_archive(settings)
    decisions = decisions_for(settings, archive, EffectivePolicy(policy), needs_folders=True)
    is_own = ensure_machine(settings.library).is_own
    own = [file for file in archive.files.values() if file.kind is FileKind.SESSION and is_own(file.machine)]
    places = [decisions.of(file).places for file in own if file.versions]
    return [_use(rule, places) for rule in policy.rules]


def changed_by(settings: Settings, remote: RemoteSettings, policy: Policy) -> list[ModeChange]:
    """Return the sessions, and files of none, of which more or less leaves under another policy of the user."""
    archive = open_archive(settings)
    old = decisions_for(settings, archive, remote.effective, needs_folders=True)
    new = old.under(EffectivePolicy(policy, remote.org_rules))
    is_own = ensure_machine(settings.library).is_own
    changes: dict[tuple[bool, str], ModeChange] = {}
    for file in archive.files.values():
        if not is_own(file.machine) or not file.versions:
            continue
        before, after = old.of(file), new.of(file)
        if before.mode is after.mode:
            continue
        is_session, name = key = withheld_name(file)
        row = changes.setdefault(
            key, ModeChange(name, is_session, new.name_of(file), before.mode, after.mode, after.reason)
        )
        row.at = max(row.at, day_of(file.versions[-1].modified_ns))
        row.size += sum(version.size for version in file.versions)
    return sorted(changes.values(), key=lambda row: (not row.is_session, row.project, row.at, row.name))


def whole_pattern(pattern: str) -> str:
    """Return a pattern for folders with the user's home for `~`, which a shell leaves alone inside quotation marks."""
    return os.path.expanduser(pattern) if pattern.startswith("~") else pattern  # noqa: PTH111 - a pattern, no path


def _use(rule: PolicyRule, sessions: Sequence[Sequence[RanIn]]) -> RuleUse:
    count = sum(
        any(rule_matches(rule, project) for place_of_session in places for project in place_of_session.projects)
        for places in sessions
    )
    return RuleUse(rule, count, "" if count else _hint(rule, {place for places in sessions for place in places}))


def _hint(rule: PolicyRule, places: set[RanIn]) -> str:
    """Return a suggestion for a rule that matches nothing."""
    if rule.by == "remote":
        remotes = sorted({remote for place in places for remote in place.remotes})
        similar = [
            remote_url
            for remote_url in remotes
            if path_matches(f"/{remote_url}", f"*{normal_remote(rule.pattern).lstrip('/')}*")
        ]
        return f"did you mean the git remote {similar[0]}?" if similar else ""
    paths = sorted(place.path for place in places)
    is_pattern_like = [path for path in paths if path_matches(path.casefold(), rule.pattern.casefold())]
    if is_pattern_like:
        return f"it differs from {is_pattern_like[0]} only in upper and lower case"
    plain = _letters(rule.pattern)
    same_letters = [path for path in paths if plain and _letters(path).startswith(plain)]
    if same_letters:
        return f"did you mean {same_letters[0]}? Write it in quotation marks"
    if not rule.pattern.startswith(("/", "*", "~")) and not WINDOWS.match(rule.pattern):
        return f"a folder is written with its whole path, such as {Path.cwd() / rule.pattern}"
    return ""


def _letters(path: str) -> str:
    """Return a path without the characters that a shell removes from it."""
    return re.sub(r"[\\/*]", "", path).casefold()


def _about(rule: PolicyRule) -> tuple[str, str]:
    return rule.by, normal_remote(rule.pattern) if rule.by == "remote" else rule.pattern


def day_of(moment_ns: int) -> str:
    """Return the day of a time of change, in UTC."""
    return datetime.fromtimestamp(moment_ns / 1e9, UTC).date().isoformat()


WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
