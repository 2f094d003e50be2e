"""How a forgotten file is recognised: by hashes that reveal nothing about it.

A forgotten chat has several keys, so that a file which Claude Code still has stays forgotten if it grows, moves within
its home, or the machine is renamed.
"""

import hashlib
from collections.abc import Iterable

from backscroll.files.layout import LeftOut, place_of
from backscroll.files.source_key import owner_of


def forget_key(machine: str, home: str, path: str) -> str:
    """The key of early archives, still honoured. Renaming the machine makes it ineffective."""
    return _hash(machine, home, path)


def path_key(home: str, path: str) -> str:
    """A file by its path, on any machine."""
    return _hash("path", home, path)


def session_key(session_id: str) -> str:
    """Everything that belongs to a session, wherever it is."""
    return _hash("session", session_id.lower())


def agent_key(agent_id: str) -> str:
    """The transcript of an agent outside its session's folder."""
    return _hash("agent", agent_id.lower())


def keys_to_forget(files: Iterable[tuple[str, str]]) -> set[str]:
    """The keys that keep these files (home and path) and everything of their sessions forgotten."""
    return {key for home, path in files for key in _keys(home, path)}


def owned_key(owner: str, key: str) -> str:
    """A key that counts only for the files of one owner."""
    return _hash("owner", owner, key) if owner else key


def is_forgotten(forgotten: set[str], machines: Iterable[str], machine: str, home: str, path: str) -> bool:
    """Whether one of these keys matches the file of a machine. `machines` are all machine names in this archive."""
    if not forgotten:
        return False
    if owner := owner_of(machine):
        return not forgotten.isdisjoint(owned_key(owner, key) for key in _keys(home, path))
    if not forgotten.isdisjoint(_keys(home, path)):
        return True
    return any(forget_key(name, home, path) in forgotten for name in (*machines, machine))


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
