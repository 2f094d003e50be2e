"""The identity of a file: the machine that it is on, the home that it is in, and its path there.

This is the only module that writes such an id or reads one. Everywhere else it is an opaque text: in the store, in
hits, and as the key of a transcript.
"""

import os
import re
from typing import Final, NamedTuple


class SourceKey(NamedTuple):
    """A file on a machine, or an earlier version of it in the archive."""

    machine: str
    home: str
    path: str
    """The path below the home, with slashes."""
    version: int | None = None
    """The number of an earlier version; None for the current or last one."""

    @classmethod
    def parse(cls, source: str) -> "SourceKey":
        """Parse an id. Any other text becomes an id that no file has."""
        parts = [_unescape(part) for part in source.split(SEPARATOR)]
        if len(parts) == 4 and VERSION.fullmatch(parts[3]):
            return cls(parts[0], parts[1], parts[2], int(parts[3]))
        return cls(parts[0], parts[1], parts[2]) if len(parts) == 3 else cls("", "", source)

    @property
    def id(self) -> str:
        """The key as a string. A file comes before its versions, and files are in the order of their paths."""
        parts = (self.machine, self.home, self.path, *(() if self.version is None else (str(self.version),)))
        return SEPARATOR.join(map(_escape, parts))

    @property
    def origin(self) -> str:
        """The path of the file on its machine."""
        return os.path.join(self.home, self.path)  # noqa: PTH118 - a Path takes three times as much

    @property
    def name(self) -> str:
        """The path for display; an earlier version has its number appended."""
        return self.origin if self.version is None else f"{self.origin}@v{self.version}"

    @property
    def current(self) -> "SourceKey":
        """The key of the file that this is a version of."""
        return self if self.version is None else self._replace(version=None)

    def beside(self, path: str) -> "SourceKey":
        """Return the key of another file in the same home."""
        return SourceKey(self.machine, self.home, path)


def owner_of(machine: str) -> str:
    """Return the owner of a machine. On a team server machines are named `owner/name`; elsewhere there are no owners:
    ''.

    Files of two owners are never taken for copies of each other, even if they are.
    """
    owner, slash, _ = machine.partition("/")
    return owner if slash else ""


def _escape(part: str) -> str:
    if SEPARATOR not in part and "%" not in part:
        return part
    return part.replace("%", "%25").replace(SEPARATOR, "%7C")


def _unescape(part: str) -> str:
    return part.replace("%7C", SEPARATOR).replace("%25", "%") if "%" in part else part


SEPARATOR: Final = "|"
VERSION: Final = re.compile("[1-9][0-9]{0,8}")
