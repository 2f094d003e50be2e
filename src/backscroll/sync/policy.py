"""What may leave this machine, project by project."""

import re
from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from msgspec import Struct


class SyncMode(StrEnum):
    """How much of a project leaves."""

    FULL = "full"
    REDACTED = "redacted"
    """Everything, with secrets masked."""
    METRICS = "metrics"
    """Usage, tools and times; no prompt, title, path or output."""
    OFF = "off"

    @property
    def strictness(self) -> int:
        """Grows with how little leaves."""
        return STRICTNESS.index(self)


class Project(NamedTuple):
    """What a rule can look at."""

    path: str | None = None
    """The folder that the sessions ran in."""
    remote: str | None = None
    """Its git remote."""


class PolicyRule(Struct, frozen=True):
    """A mode for the projects that a pattern matches; `*` stands for any text."""

    by: Literal["path", "remote", "project"]
    """`project`: the name of its folder, or of its git remote, wherever it lies."""
    pattern: str
    mode: SyncMode


class Policy(Struct, frozen=True):
    """The first rule that matches decides; else the default."""

    default: SyncMode = SyncMode.REDACTED
    rules: tuple[PolicyRule, ...] = ()

    def mode_of(self, project: Project | None) -> SyncMode:
        """The mode for the files of a project. Files of no project, such as the history of prompts, mix projects:
        they leave only if all projects have one mode."""
        if project is None:
            return self.default if all(rule.mode is self.default for rule in self.rules) else SyncMode.OFF
        rule = self.rule_for(project)
        return rule.mode if rule else self.default

    def rule_for(self, project: Project) -> PolicyRule | None:
        """The rule that decides about a project; None if the default does."""
        return next((rule for rule in self.rules if _matches(rule, project)), None)


class OrgRules(Struct, frozen=True, omit_defaults=True):
    """What an organisation lets devices send to its server. It never makes more leave than a device's own policy."""

    digest: str = ""
    """Changes with the rules; empty if there are none."""
    policy: Policy = Policy(SyncMode.FULL)
    org: str = ""
    """What the organisation is called."""


class EffectivePolicy(NamedTuple):
    """The policy of a device together with the rules of the organisation: of each project, the stricter mode holds."""

    own: Policy
    org: OrgRules = OrgRules()

    def mode_of(self, project: Project | None) -> SyncMode:
        """The mode for the files of a project."""
        return stricter(self.own.mode_of(project), self.org.policy.mode_of(project))

    def reason_for(self, project: Project | None) -> str:
        """Why less leaves than the user chose; empty if the user's own choice decides."""
        wanted = self.org.policy.mode_of(project)
        if wanted.strictness <= self.own.mode_of(project).strictness:
            return ""
        name = self.org.org or "your organisation"
        if project is None:
            return f"{name}'s rules, which differ by project: these files mix projects"
        rule = self.org.policy.rule_for(project)
        if rule is None:
            return f"{name}'s rule for every other project"
        return f"{name}'s rule for {RULE_ABOUT[rule.by]} {rule.pattern}"


def stricter(one: SyncMode, other: SyncMode) -> SyncMode:
    """The mode under which less leaves."""
    return max(one, other, key=lambda mode: mode.strictness)


def strictest_first(rules: Iterable[PolicyRule]) -> tuple[PolicyRule, ...]:
    """Rules in an order in which the first that matches is the strictest that does."""
    return tuple(sorted(rules, key=lambda rule: (-rule.mode.strictness, rule.by, rule.pattern)))


def normal_remote(url: str) -> str:
    """A git remote without protocol, user and `.git`: `github.com/acme/shop` however it was cloned."""
    found = REMOTE.fullmatch(url.strip())
    if found is None:
        return url.strip().lower()
    host, path = found["host"].lower(), found["path"].strip("/").removesuffix(".git")
    return f"{host}/{path}".lower()


def _matches(rule: PolicyRule, project: Project) -> bool:
    if rule.by == "remote":
        return project.remote is not None and fnmatchcase(normal_remote(project.remote), normal_remote(rule.pattern))
    if rule.by == "project":
        return any(fnmatchcase(name, rule.pattern.lower()) for name in _names_of(project))
    if project.path is None:
        return False
    pattern = rule.pattern.rstrip("/\\") or "/"
    return fnmatchcase(project.path, pattern) or fnmatchcase(project.path, f"{pattern}/*")


def _names_of(project: Project) -> set[str]:
    remote = normal_remote(project.remote) if project.remote else ""
    path = (project.path or "").replace("\\", "/").rstrip("/")
    return {name for name in (remote.rpartition("/")[2], path.rpartition("/")[2].lower()) if name}


STRICTNESS: Final = (SyncMode.FULL, SyncMode.REDACTED, SyncMode.METRICS, SyncMode.OFF)
RULE_ABOUT: Final = {"path": "the folder", "remote": "the git remote", "project": "the project"}
REMOTE: Final = re.compile(r"(?:[a-z+]+://)?(?:[^@/]+@)?(?P<host>[^:/]+)(?::\d+(?=/))?[:/](?P<path>.+)", re.IGNORECASE)
