"""Projects that people send, over all libraries of an organisation, by git remote where machines report it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from backscroll.render.projects import project_name
from backscroll.sync.policy import Project

if TYPE_CHECKING:
    from backscroll.store.postgres.people_sums import PeopleSums

NO_PROJECT: Final = "no project"
ONLY_METRICS: Final = "projects of which only metrics are sent"
HIDDEN: Final = re.compile("/[0-9a-f]{12}")
"""The folder of a project of which only metrics leave (`sync.outgoing`)."""


@dataclass
class SentProject:
    """A project, wherever people have it."""

    name: str
    """The git remote of the project, or the name of its folder."""
    projects: set[Project] = field(default_factory=set)
    """The project as rules see it: each person has it in another folder."""
    people: set[str] = field(default_factory=set)
    sessions: int = 0
    size: int = 0
    """Unpacked bytes of its sessions."""


def sent_projects(
    sums: "PeopleSums", handles: Mapping[int, str], remotes: Mapping[str, Mapping[str, str]]
) -> list[SentProject]:
    """List the projects that people send, the largest first.

    `handles` has the people by number, `remotes` the git remotes by person and folder.
    """
    by_name: dict[str, SentProject] = {}
    for sent in sums.projects():
        handle = handles[sent.person]
        project = Project(sent.project, remotes.get(handle, {}).get(sent.project or ""))
        row = by_name.setdefault(_name(project), SentProject(_name(project)))
        row.projects.add(project)
        row.people.add(handle)
        row.sessions += sent.sessions
        row.size += sent.size
    return sorted(by_name.values(), key=lambda sent: (-sent.size, sent.name))


def _name(project: Project) -> str:
    if project.remote:
        return project.remote
    if not project.path:
        return NO_PROJECT
    return ONLY_METRICS if HIDDEN.fullmatch(project.path) else project_name(project.path)
