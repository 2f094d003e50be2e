"""Moved projects: the index has their sessions under the current folder of each project."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from backscroll.query.tree import All, Query
from backscroll.store.base import Store
from backscroll.store.batches import ChatChange
from backscroll.store.reader import EVERYTHING

NOTE: Final = "moved projects"


class Moves:
    """The current folders of moved projects."""

    def __init__(self, moves: Mapping[str, str] | None = None) -> None:
        self._moves = moves or {}

    def now(self, project: str | None) -> str | None:
        """Return the current folder of a project."""
        return self._moves.get(project, project) if project is not None else None

    def applied(self, change: ChatChange) -> ChatChange:
        """Return a chat with the current folder of its project."""
        if change.overview.project not in self._moves:
            return change
        overview = structs.replace(change.overview, project=self.now(change.overview.project))
        return replace(change, overview=overview)


NO_MOVES: Final = Moves()


def read_moved_again(store: Store, moves: Mapping[str, str]) -> None:
    """Mark the sessions of projects that were moved, or moved back, to be read again: their rows name the project."""
    before = json.loads(store.noted(NOTE) or "{}")
    if moves == before:
        return
    different = before.items() ^ moves.items()
    changed = {name for pair in different for name in pair}
    reader = store.within(EVERYTHING)
    chats = reader.chats(Query("", All(())), sort="newest", limit=None, offset=0) if store.noted("catalogue") else []
    keys = [chat.key for chat in chats if chat.overview.project in changed]
    store.read_again([file.source for key in keys for file in reader.files_of(key)])
    store.note(NOTE, json.dumps(moves))
