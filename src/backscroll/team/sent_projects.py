"""The projects that people send, over all libraries of an organisation: by git remote where machines tell it."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from backscroll.errors import BackscrollError
from backscroll.files.layout import Place, place_of
from backscroll.files.source_key import SourceKey
from backscroll.library.library import Library
from backscroll.render.projects import project_name
from backscroll.sync.policy import Project

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
    handles: Iterable[str], opened: Callable[[str], Library], remotes: Mapping[str, Mapping[str, str]]
) -> list[SentProject]:
    """The projects that these people send, the largest first. `remotes` has git remotes by person and folder."""
    found: dict[str, SentProject] = {}
    for handle in handles:
        with opened(handle) as library:
            try:
                if library.is_indexed:
                    _add(found, handle, library, remotes.get(handle, {}))
            except BackscrollError:  # it is being made
                continue
    return sorted(found.values(), key=lambda one: (-one.size, one.name))


def _add(found: dict[str, SentProject], handle: str, library: Library, remotes: Mapping[str, str]) -> None:
    sizes: dict[str, int] = {}
    for source, file in library.store.indexed_files().items():
        place = place_of(SourceKey.parse(source).path.split("/"))
        if isinstance(place, Place) and place.session_id:
            sizes[place.session_id] = sizes.get(place.session_id, 0) + file.size
    for stored in library.chats(""):
        chat = stored.overview
        project = Project(chat.project, remotes.get(chat.project or ""))
        row = found.setdefault(_name(project), SentProject(_name(project)))
        row.projects.add(project)
        row.people.add(handle)
        row.sessions += len(chat.sessions)
        row.size += sum(sizes.get(session, 0) for session in chat.sessions)


def _name(project: Project) -> str:
    if project.remote:
        return project.remote
    if not project.path:
        return NO_PROJECT
    return ONLY_METRICS if HIDDEN.fullmatch(project.path) else project_name(project.path)
