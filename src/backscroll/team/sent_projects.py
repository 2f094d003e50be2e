"""The projects that people send, over all libraries of an organisation: by git remote where machines tell it."""

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
    """Its git remote, or the name of its folder."""
    projects: set[Project] = field(default_factory=set)
    """As the rules see it: everyone has it in another folder."""
    people: set[str] = field(default_factory=set)
    sessions: int = 0
    size: int = 0
    """Bytes of its sessions, as they were sent, unpacked."""


def sent_projects(
    sums: "PeopleSums", handles: Mapping[int, str], remotes: Mapping[str, Mapping[str, str]]
) -> list[SentProject]:
    """The projects that people send, the largest first.

    `handles` has the people by number, `remotes` the git remotes by person and folder.
    """
    found: dict[str, SentProject] = {}
    for one in sums.projects():
        handle = handles[one.person]
        project = Project(one.project, remotes.get(handle, {}).get(one.project or ""))
        row = found.setdefault(_name(project), SentProject(_name(project)))
        row.projects.add(project)
        row.people.add(handle)
        row.sessions += one.sessions
        row.size += one.size
    return sorted(found.values(), key=lambda one: (-one.size, one.name))


def _name(project: Project) -> str:
    if project.remote:
        return project.remote
    if not project.path:
        return NO_PROJECT
    return ONLY_METRICS if HIDDEN.fullmatch(project.path) else project_name(project.path)
