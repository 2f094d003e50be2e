"""The policy of a machine: how much of each project may leave."""

import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from msgspec import Struct


class SyncMode(StrEnum):
    """Amount of a project that leaves."""

    FULL = "full"
    REDACTED = "redacted"
    """Everything, with secrets masked."""
    METRICS = "metrics"
    """Usage, tools and times; no prompt, title, path or output."""
    OFF = "off"

    @property
    def strictness(self) -> int:
        """Rank of the mode: the higher, the less leaves."""
        return STRICTNESS.index(self)


class Project(NamedTuple):
    """The properties of a project that a rule can match."""

    path: str | None = None
    """Folder that the sessions ran in."""
    remote: str | None = None
    """Git remote of the folder."""


class RanIn(NamedTuple):
    """A folder that a session ran in, with the git remotes seen for it."""

    path: str
    remotes: frozenset[str] = frozenset()
    """Every git remote that was ever seen for the folder."""
    was_bare: bool = True
    """Whether the folder was seen without a git remote while the session was there."""

    @property
    def is_known(self) -> bool:
        """Whether its git remotes were ever seen."""
        return self.was_bare or bool(self.remotes)

    @property
    def projects(self) -> list[Project]:
        """The folder with each of its git remotes: all of them count."""
        seen = [Project(self.path, remote) for remote in sorted(self.remotes)]
        return seen if seen and not self.was_bare else [Project(self.path), *seen]


class Verdict(NamedTuple):
    """The mode that a policy gives a folder, and the rule that decides."""

    mode: SyncMode
    rule: "PolicyRule | None" = None
    """Rule that decides; None if the default does."""
    undecided: "PolicyRule | None" = None
    """A stricter rule that may or may not apply: nothing leaves."""


class Judgement(NamedTuple):
    """The mode from a device's policy and its organisation's rules together."""

    mode: SyncMode
    wanted: SyncMode
    """Mode of the device's own policy, if it can be determined."""
    reason: str
    """The deciding rule, as part of a sentence."""
    is_decided: bool = True
    is_held_back: bool = False
    """Whether less leaves than under the own policy, or its mode cannot be determined."""


class PolicyRule(Struct, frozen=True):
    """A mode for the projects that a pattern matches; `*` stands for any text."""

    by: Literal["path", "remote", "project"]
    """`project`: the name of the folder, or of the git remote, wherever it lies."""
    pattern: str
    mode: SyncMode


class Policy(Struct, frozen=True):
    """Rules and a default: the first rule that matches decides."""

    default: SyncMode = SyncMode.REDACTED
    rules: tuple[PolicyRule, ...] = ()

    @property
    def is_uniform(self) -> bool:
        """Whether all projects have one mode, so that nothing has to be known of them."""
        return all(rule.mode is self.default for rule in self.rules)

    def verdict_on(self, place: RanIn) -> Verdict:
        """Return the strictest verdict on a folder with each of its git remotes.

        If the remotes were never seen, a rule about one of them could apply. Where that rule is the stricter
        one, the verdict is undecided, and nothing leaves.
        """
        rules = [self.rule_for(project) for project in place.projects]
        strictest = max(rules, key=lambda rule: (rule.mode if rule else self.default).strictness)
        mode = strictest.mode if strictest else self.default
        if not place.is_known:
            definite = self.rules.index(strictest) if strictest else len(self.rules)
            possible = (rule for rule in self.rules[:definite] if rule.by in ("remote", "project"))
            stricter_one = next((rule for rule in possible if rule.mode.strictness > mode.strictness), None)
            if stricter_one is not None:
                return Verdict(SyncMode.OFF, stricter_one, stricter_one)
        return Verdict(mode, strictest)

    def mode_of(self, project: Project | None) -> SyncMode:
        """Return the mode for files of a project; for files of no project OFF, unless all projects have one mode."""
        if project is None:
            return self.default if self.is_uniform else SyncMode.OFF
        rule = self.rule_for(project)
        return rule.mode if rule else self.default

    def rule_for(self, project: Project) -> PolicyRule | None:
        """Return the rule that decides about a project; None if the default does."""
        return next((rule for rule in self.rules if rule_matches(rule, project)), None)


class OrgRules(Struct, frozen=True, omit_defaults=True):
    """The policy of an organisation for its server. It never makes more leave than a device's own policy."""

    digest: str = ""
    """Digest of the rules; empty if there are none."""
    policy: Policy = Policy(SyncMode.FULL)
    org: str = ""
    """Name of the organisation."""


class EffectivePolicy(NamedTuple):
    """The policy of a device together with the rules of the organisation: of each project, the stricter mode holds."""

    own: Policy
    org: OrgRules = OrgRules()

    @property
    def is_uniform(self) -> bool:
        """Whether all projects have one mode, so that nothing has to be known of them."""
        return self.own.is_uniform and self.org.policy.is_uniform

    @property
    def org_name(self) -> str:
        """Name of the organisation, for a sentence."""
        return self.org.org or "your organisation"

    def mode_of(self, project: Project | None) -> SyncMode:
        """Return the mode for the files of a project."""
        return stricter(self.own.mode_of(project), self.org.policy.mode_of(project))

    def judge(self, place: RanIn) -> Judgement:
        """Return the stricter of both verdicts on a folder, with its reason."""
        own, org = self.own.verdict_on(place), self.org.policy.verdict_on(place)
        is_own = org.mode.strictness <= own.mode.strictness
        decisive, owner = (own, "your") if is_own else (org, f"{self.org_name}'s")
        if decisive.undecided is not None:
            return Judgement(SyncMode.OFF, own.mode, _undecided(decisive.undecided, owner, place), False, True)
        return Judgement(decisive.mode, own.mode, _reason(decisive.rule, owner, is_own=is_own), True, not is_own)


def _reason(rule: PolicyRule | None, owner: str, *, is_own: bool) -> str:
    if rule is None:
        return "the mode for every other project" if is_own else f"{owner} rule for every other project"
    return f"{owner} rule for {RULE_ABOUT[rule.by]} {rule.pattern}"


def _undecided(rule: PolicyRule, owner: str, place: RanIn) -> str:
    return (
        f"{owner} rule for {RULE_ABOUT[rule.by]} {rule.pattern}, which is undecided: the git remotes of {place.path}"
        " were never seen; decide with a --path rule for it"
    )


def stricter(one: SyncMode, other: SyncMode) -> SyncMode:
    """Return the stricter of two modes."""
    return max(one, other, key=lambda mode: mode.strictness)


def strictest_first(rules: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """Sort rules so that the first that matches is the strictest that does."""
    return tuple(sorted(rules, key=lambda rule: (-rule.mode.strictness, rule.by, rule.pattern)))


def normal_remote(url: str) -> str:
    """Return a git remote without protocol, user and `.git`: `github.com/acme/shop` however it was cloned."""
    match = REMOTE.fullmatch(url.strip())
    if match is None:
        return url.strip().lower()
    host, path = match["host"].lower(), match["path"].strip("/").removesuffix(".git")
    return f"{host}/{path}".lower()


def rule_matches(rule: PolicyRule, project: Project) -> bool:
    """Whether a rule is about a project."""
    if rule.by == "remote":
        return project.remote is not None and fnmatchcase(normal_remote(project.remote), normal_remote(rule.pattern))
    if rule.by == "project":
        return any(fnmatchcase(name, rule.pattern.lower()) for name in _names_of(project))
    return project.path is not None and path_matches(project.path, rule.pattern)


def path_matches(path: str, pattern: str) -> bool:
    """Whether a pattern names this folder, or a folder above it.

    `*` stands for any text; a name with brackets also matches itself. Paths of Windows are compared without regard to
    case, and with either slash; all paths on a system that ignores case are compared without regard to it.
    """
    is_windows = WINDOWS_PATH.match(path) is not None
    path, pattern = _plain_path(path, is_windows=is_windows), _plain_path(pattern, is_windows=is_windows)
    below = pattern.rstrip("/") + "/"
    return path == pattern or path.startswith(below) or fnmatchcase(path, pattern) or fnmatchcase(path, f"{below}*")


def _plain_path(path: str, *, is_windows: bool) -> str:
    """Return the form of a path that is compared."""
    path = unicodedata.normalize("NFC", path)
    if is_windows:
        path = path.removeprefix("\\\\?\\").replace("\\", "/")
    path = posixpath.normpath(path) if path else path
    if path.startswith("//") and not is_windows:
        path = path[1:]
    return path.casefold() if is_windows or IGNORES_CASE else path


def _names_of(project: Project) -> set[str]:
    remote = normal_remote(project.remote) if project.remote else ""
    path = (project.path or "").replace("\\", "/").rstrip("/")
    return {name for name in (remote.rpartition("/")[2], path.rpartition("/")[2].lower()) if name}


WINDOWS_PATH: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
IGNORES_CASE: Final = sys.platform in ("darwin", "win32")
STRICTNESS: Final = (SyncMode.FULL, SyncMode.REDACTED, SyncMode.METRICS, SyncMode.OFF)
RULE_ABOUT: Final = {"path": "the folder", "remote": "the git remote", "project": "the project"}
REMOTE: Final = re.compile(r"(?:[a-z+]+://)?(?:[^@/]+@)?(?P<host>[^:/]+)(?::\d+(?=/))?[:/](?P<path>.+)", re.IGNORECASE)
