"""Homes of this machine that are gone: moved, renamed, deleted, or on a disk that is not mounted.

The kept files of such a home are read from the archive, and shown by default. Another existing home is shown only if
the user names it: docs/why/scope.md.
"""

import json
from collections.abc import Iterable

from backscroll.files.homes import is_gone
from backscroll.library.machine import Machine


def gone_homes(machine: Machine, homes: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return those of these homes, each with its machine, that were on this machine and are gone."""
    return frozenset(home for home in _own(machine, homes) if is_gone(home))


def home_states(machine: Machine, homes: Iterable[tuple[str, str]]) -> str:
    """Return whether each home of this machine is gone, as text for `have_changed` to compare later."""
    return json.dumps({home: is_gone(home) for home in sorted(_own(machine, homes))})


def have_changed(states: str | None) -> bool:
    """Whether a home has gone or come back since. Checks each once."""
    return states is None or any(is_gone(home) != was_gone for home, was_gone in json.loads(states).items())


def _own(machine: Machine, homes: Iterable[tuple[str, str]]) -> set[str]:
    return {home for owner, home in homes if machine.is_own(owner)}
