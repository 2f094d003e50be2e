"""What may leave this machine, project by project."""

import re
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from msgspec import Struct


class SyncMode(StrEnum):
    """How much of a project leaves."""

    FULL = "full"
    REDACTED = "redacted"
    """Everything, with secrets masked."""
    METRICS = "metrics"
    """Usage, tools and times; no prompt, title, path or output."""
    OFF = "off"


class Project(NamedTuple):
    """What a rule can look at."""

    path: str | None = None
    """The folder that the sessions ran in."""
    remote: str | None = None
    """Its git remote."""


class PolicyRule(Struct, frozen=True):
    """A mode for the projects that a pattern matches; `*` stands for any text."""

    by: Literal["path", "remote"]
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
        for rule in self.rules:
            if _matches(rule, project):
                return rule.mode
        return self.default


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
    if project.path is None:
        return False
    pattern = rule.pattern.rstrip("/\\") or "/"
    return fnmatchcase(project.path, pattern) or fnmatchcase(project.path, f"{pattern}/*")


REMOTE = re.compile(r"(?:[a-z+]+://)?(?:[^@/]+@)?(?P<host>[^:/]+)(?::\d+(?=/))?[:/](?P<path>.+)", re.IGNORECASE)
