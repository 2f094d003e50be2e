"""What a forgotten file is known by: hashes that say nothing of it, and by which it is never kept again.

A forgotten chat is known by more than one key, so that a file which Claude Code still has stays forgotten when it
grows, when it moves in its home, and when the machine gets another name.
"""

import hashlib
from collections.abc import Iterable

from backscroll.files import LeftOut, place_of


def forget_key(machine: str, home: str, path: str) -> str:
    """The key that archives had at first; it is still honoured. A machine that is renamed undoes it."""
    return _hash(machine, home, path)


def path_key(home: str, path: str) -> str:
    """A file by where it lies, on whatever machine."""
    return _hash("path", home, path)


def session_key(session_id: str) -> str:
    """Everything of a session, wherever it lies."""
    return _hash("session", session_id.lower())


def agent_key(agent_id: str) -> str:
    """The transcript of an agent that lies outside of the folder of its session."""
    return _hash("agent", agent_id.lower())


def keys_to_forget(files: Iterable[tuple[str, str]]) -> set[str]:
    """The keys by which these files, each a home and a path, and all that belongs to their sessions stay forgotten."""
    return {key for home, path in files for key in _keys(home, path)}


def is_forgotten(forgotten: set[str], machines: Iterable[str], home: str, path: str) -> bool:
    """Whether one of these keys means the file. `machines` are all names that this archive has seen."""
    if not forgotten:
        return False
    if not forgotten.isdisjoint(_keys(home, path)):
        return True
    return any(forget_key(machine, home, path) in forgotten for machine in machines)


def _keys(home: str, path: str) -> list[str]:
    keys = [path_key(home, path)]
    place = place_of(path.split("/"))
    if not isinstance(place, LeftOut):
        if place.session_id:
            keys.append(session_key(place.session_id))
        elif place.agent_id:
            keys.append(agent_key(place.agent_id))
    return keys


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
