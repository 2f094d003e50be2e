"""Find the project of a session from its rows.

The folder name of a session cannot be turned back into a path, and two paths can share one folder.
"""

import re
from collections.abc import Iterable
from typing import Final

from backscroll.records.kinds import ChainRecord
from backscroll.records.outside import Relocated
from backscroll.records.record import Record

DRIVE: Final = re.compile(r"[a-z]:[\\/]")


class ProjectFinder:
    """Finds the project's path in records as they are read, so that no session is read twice."""

    def __init__(self) -> None:
        self.first: str | None = None
        """The folder where the session started."""
        self.relocated: str | None = None
        """The folder that the session last moved to."""

    def see(self, record: Record) -> None:
        """Process the next record of the file."""
        if isinstance(record, Relocated):
            self.relocated = record.relocated_cwd or self.relocated
        elif self.first is None and isinstance(record, ChainRecord):
            self.first = record.cwd

    @property
    def path(self) -> str | None:
        """The folder that the session last moved to, or started in; None if no record has named one yet."""
        path = self.relocated or self.first
        # On Windows, a drive letter in either case names the same folder.
        return path[0].upper() + path[1:] if path and DRIVE.match(path) else path


def project_of(records: Iterable[Record]) -> str | None:
    """Return the working directory of the session with these records."""
    finder = ProjectFinder()
    for record in records:
        finder.see(record)
    return finder.path
