"""Which homes a request is about."""

from backscroll.errors import NothingFound
from backscroll.files import Home, find_homes
from backscroll.settings import Settings


def open_homes(settings: Settings) -> list[Home]:
    """The homes to read: those that the user named, which must be there, else the one that Claude Code would use."""
    homes = find_homes(settings.homes)
    for home in homes:
        if settings.homes and not home.exists:
            inside = home.path.name == "projects" and home.path.is_dir()
            hint = f"did you mean {home.path.parent}?" if inside else "a home is the folder that holds `projects`"
            raise NothingFound(f"no Claude Code home at {home.path}", hint)
    return homes
