"""Recognise a forgotten file, by hashes that reveal nothing about it.

A forgotten chat has several keys, so that a file which Claude Code still has stays forgotten if it grows, moves within
its home, or the machine is renamed.
"""

import hashlib
from collections.abc import Iterable, Set
from typing import Final

from backscroll.files.layout import LeftOut, place_of
from backscroll.files.source_key import owner_of


def forget_key(machine: str, home: str, path: str) -> str:
    """Return the key of early archives, still honoured. Renaming the machine makes it ineffective."""
    return _hash(machine, home, path)


def path_key(home: str, path: str) -> str:
    """Return the key of a file by its path, on any machine."""
    return _hash("path", home, path)


def session_key(session_id: str) -> str:
    """Return the key of everything that belongs to a session, anywhere."""
    return _hash("session", session_id.lower())


def agent_key(agent_id: str) -> str:
    """Return the key of an agent's transcript outside its session's folder."""
    return _hash("agent", agent_id.lower())


def start_key(session_start: str) -> str:
    """Return the key of files that are named only after the first characters of a session's id."""
    return _hash("session start", session_start.lower())


def keys_named_after(files: Iterable[tuple[str, str]]) -> set[str]:
    """Return the keys of files named after the sessions of these files (home and path), which are forgotten with them.

    They are not keys of the sessions themselves: two ids may begin alike.
    """
    places = (place_of(path.split("/")) for _, path in files)
    ids = {place.session_id for place in places if not isinstance(place, LeftOut) and place.session_id}
    return {start_key(session[:START]) for session in ids}


def keys_to_forget(files: Iterable[tuple[str, str]]) -> set[str]:
    """Return the keys that keep these files (home and path) and everything of their sessions forgotten."""
    return {key for home, path in files for key in _keys(home, path)}


def owned_key(owner: str, key: str) -> str:
    """Return a key that counts only for the files of one owner."""
    return _hash("owner", owner, key) if owner else key


def owned_keys(machine: str, keys: Iterable[str]) -> set[str]:
    """Return keys in the form that counts for the files of a machine."""
    return {owned_key(owner_of(machine), key) for key in keys}


def is_forgotten(forgotten: Set[str], machines: Iterable[str], machine: str, home: str, path: str) -> bool:
    """Whether one of these keys matches the file of a machine. `machines` are all machine names in this archive."""
    if not forgotten:
        return False
    if owner := owner_of(machine):
        return not forgotten.isdisjoint(owned_key(owner, key) for key in _keys(home, path))
    if not forgotten.isdisjoint(_keys(home, path)):
        return True
    return any(forget_key(name, home, path) in forgotten for name in (*machines, machine))


def keys_of(machines: Iterable[str], machine: str, home: str, path: str) -> set[str]:
    """Return every key by which a machine's file counts as forgotten. `machines` are all machine names in the
    archive.
    """
    if owner_of(machine):
        return owned_keys(machine, _keys(home, path))
    return {*_keys(home, path), *(forget_key(name, home, path) for name in (*machines, machine))}


def _keys(home: str, path: str) -> list[str]:
    keys = [path_key(home, path)]
    place = place_of(path.split("/"))
    if not isinstance(place, LeftOut):
        if place.session_id:
            keys.append(session_key(place.session_id))
        elif place.agent_id:
            keys.append(agent_key(place.agent_id))
        elif place.session_start:
            keys.append(start_key(place.session_start))
    return keys


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


START: Final = 8
"""The number of characters of a session's id that name files belonging to it."""
