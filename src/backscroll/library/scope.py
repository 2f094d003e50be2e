"""The scope of a library: the homes that it shows, and the sessions that are live, pinned or tagged."""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property

from backscroll.files.homes import Home
from backscroll.library.gone_homes import gone_homes
from backscroll.library.growing import growing_sessions
from backscroll.library.machine import Machine
from backscroll.library.marks import Marks
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, Scope


class LiveSessions(Set[str]):
    """The sessions that a client has open, or whose files were written a moment ago. Files are checked on demand."""

    def __init__(self, homes: Sequence[Home], opened: Iterable[str], growing: frozenset[str] | None) -> None:
        """Create the set; without `growing`, the files of these homes are checked."""
        self._homes = homes
        self._opened = frozenset(opened)
        self._growing = growing

    @cached_property
    def _all(self) -> frozenset[str]:
        return self._opened | (growing_sessions(self._homes) if self._growing is None else self._growing)

    def __contains__(self, session: object) -> bool:
        return session in self._opened or session in self._all

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


def scope_of(
    store: Store,
    homes: Sequence[Home],
    machine: Machine,
    marks: Marks,
    live: Set[str],
    only_chats: Sequence[str] | None = None,
) -> Scope:
    """Return the scope of the opened homes, the gone ones of this machine, and all of others; or `only_chats`."""
    if only_chats is not None:
        return _scope_of_chats(store, only_chats, marks)
    opened = {(home.machine, str(home.path)) for home in homes}
    stored = store.within(EVERYTHING).homes()
    gone = gone_homes(machine, stored - opened)
    visible_homes = opened | {(owner, home) for owner, home in stored if home in gone or not machine.is_own(owner)}
    # Nothing is hidden in most libraries, and a scope of everything costs nothing.
    visible = None if stored <= visible_homes else frozenset(visible_homes)
    own = frozenset((machine.id, *machine.formerly))
    return Scope(visible, live, marks.pinned(), marks.tagged(), own_machines=own)


def _scope_of_chats(store: Store, chats: Sequence[str], marks: Marks) -> Scope:
    """Return the scope of these chats, with all their files, and nothing else. An unknown chat adds nothing."""
    everything = store.within(EVERYTHING)
    known = everything.named(chats)
    sources = frozenset(everything.sources_of(chat.key for chat in known) if known else ())
    return Scope(frozenset(), pinned=marks.pinned(), tagged=marks.tagged(), sources=sources)
