"""What a library shows: which homes, and which sessions are live, pinned or tagged."""

from collections.abc import Sequence

from backscroll.files.homes import Home
from backscroll.library.machine import Machine
from backscroll.library.marks import Marks
from backscroll.store.base import Store
from backscroll.store.reader import EVERYTHING, Scope


def scope_of(store: Store, homes: Sequence[Home], machine: Machine, marks: Marks, live: frozenset[str]) -> Scope:
    """The homes of this machine that were opened, and all homes of other machines."""
    opened = {(home.machine, str(home.path)) for home in homes}
    stored = store.within(EVERYTHING).homes()
    shown = opened | {(owner, home) for owner, home in stored if not machine.is_own(owner)}
    # Nothing is hidden in most libraries, and a scope of everything costs nothing.
    visible = None if stored <= shown else frozenset(shown)
    return Scope(visible, live, marks.pinned(), marks.tagged())
