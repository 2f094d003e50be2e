"""What a library shows: which homes, and which sessions are live, pinned or tagged."""

from collections.abc import Sequence

from backscroll.files.homes import Home
from backscroll.library.machine import Machine
from backscroll.library.marks import Marks
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, Scope, StoredChat


def scope_of(
    store: Store,
    homes: Sequence[Home],
    machine: Machine,
    marks: Marks,
    live: frozenset[str],
    only_chats: Sequence[str] | None = None,
) -> Scope:
    """The homes of this machine that were opened, and all homes of other machines; or `only_chats`."""
    if only_chats is not None:
        return _scope_of_chats(store, only_chats, marks)
    opened = {(home.machine, str(home.path)) for home in homes}
    stored = store.within(EVERYTHING).homes()
    shown = opened | {(owner, home) for owner, home in stored if not machine.is_own(owner)}
    # Nothing is hidden in most libraries, and a scope of everything costs nothing.
    visible = None if stored <= shown else frozenset(shown)
    return Scope(visible, live, marks.pinned(), marks.tagged())


def _scope_of_chats(store: Store, chats: Sequence[str], marks: Marks) -> Scope:
    """These chats, with all their files, and nothing else. Of an unknown chat there is nothing to see."""
    everything = store.within(EVERYTHING)
    found = {chat.key for name in chats for chat in everything.find(name) if name in _names(chat)}
    sources = frozenset(file.source for key in found for file in everything.files_of(key))
    return Scope(frozenset(), pinned=marks.pinned(), tagged=marks.tagged(), sources=sources)


def _names(chat: StoredChat) -> tuple[str, ...]:
    return (chat.overview.id, *chat.overview.sessions)
