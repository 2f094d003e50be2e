"""Decide for each request which libraries its person may read."""

import re
from typing import Final

from starlette.types import Scope

from backscroll.errors import BackscrollError, NothingFound
from backscroll.team.people.accounts import Person
from backscroll.team.people.context import OWNER, TeamContext
from backscroll.team.people.teams import teammates
from backscroll.team.reading.prompts import TeamPrompts
from backscroll.team.reading.shares import first_shared, note_access, shared_with
from backscroll.team.reading.viewer_pool import PersonViewer, ViewerPool
from backscroll.web.events import FEED
from backscroll.web.state import PROMPTS, VIEWER, ViewerState

CHAT: Final = re.compile(r"/(?:api/v1/)?chats/(?P<chat>[^/]+)(?P<rest>/.*)?")
SEARCHES: Final = frozenset({"/search", "/palette", "/api/v1/search"})
LISTS: Final = frozenset({"/chats", "/api/v1/chats"})


class ReadAccess:
    """Gives each request the libraries that its person may read, and nothing else."""

    def __init__(self, context: TeamContext, viewers: ViewerPool) -> None:
        self._context, self._viewers = context, viewers

    def __call__(self, scope: Scope, person: Person) -> None:
        """Prepare a request of a person, before any route."""
        viewer = self._viewers.own(person.handle)
        if self._is_about_others(scope):
            viewer = self._everyone(person) or viewer
        match = CHAT.fullmatch(scope["path"])
        if match and not _has(viewer.state, match["chat"]):
            with self._context.database.transaction(person.org) as connection:
                shared = first_shared(shared_with(connection, person), match["chat"])
                if shared is not None:
                    viewer = self._viewers.shared(person.handle, shared.owner, shared.chat)
                    scope[OWNER] = shared.owner
                    note_access(connection, person, shared)
        scope[VIEWER] = viewer.state
        scope[PROMPTS] = TeamPrompts(self._context.database, person)
        scope[FEED] = viewer.feed

    def _is_about_others(self, scope: Scope) -> bool:
        """Whether a list may show chats of others: searches do unless the query excludes them, lists on request."""
        path = scope["path"]
        return path in SEARCHES or (path in LISTS and b"owner" in scope.get("query_string", b"").lower())

    def _everyone(self, person: Person) -> PersonViewer | None:
        with self._context.database.transaction(person.org) as connection:
            shared = shared_with(connection, person)
            mates = teammates(connection, person) if shared else frozenset()
        return self._viewers.everyone(person.handle, mates, shared) if shared else None


def _has(state: ViewerState, chat: str) -> bool:
    try:
        with state.library() as library:
            library.find(chat)
    except NothingFound:
        return False
    except BackscrollError:
        return True  # an ambiguous name: the page says so
    return True
