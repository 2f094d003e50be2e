"""Short names of projects, where the whole path would be too long."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from backscroll.render.terminal import clean_line

SHORTEST_NAME: Final = 3
"""A shorter folder name is shown with its parent."""
MAX_PARTS: Final = 12
WORKTREES: Final = frozenset({"worktrees", ".worktrees"})
"""Folders that hold further working copies of the repository that they lie in."""


def project_name(project: str | None) -> str:
    """Return the last part of a project's path: `shop`. A worktree is named after its repository: `shop (fix-cart)`."""
    parts = clean_line(project or "-").replace("\\", "/").rstrip("/").split("/")
    if len(parts) > 2 and parts[-2] in WORKTREES:
        above = [part for part in parts[:-2] if not part.startswith(".")]
        if above and above[-1]:
            is_short = len(parts[-1]) < SHORTEST_NAME
            return f"{above[-1]} ({'worktree ' if is_short else ''}{parts[-1]})"
    names = [parts.pop()]
    while len(names[0]) < SHORTEST_NAME and parts and parts[-1]:
        names.insert(0, parts.pop())
    return "/".join(names) or "/"


def names_of(projects: Iterable[str]) -> dict[str, str]:
    """Return the names of projects, with more of the path where two would be equal."""
    names = {project: project_name(project) for project in projects}
    for _ in range(MAX_PARTS):
        often = Counter(names.values())
        same = [project for project, name in names.items() if often[name] > 1]
        if not same:
            break
        for project in same:
            parts = clean_line(project).replace("\\", "/").strip("/").split("/")
            names[project] = "/".join(parts[-names[project].count("/") - 2 :])
    return names
