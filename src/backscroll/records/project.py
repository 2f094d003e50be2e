"""Which project a session belongs to, by what its rows say.

The name of the folder that a session lies in cannot be turned back into a path, and two paths can share one folder.
"""

from collections.abc import Iterable

from backscroll.records.kinds import ChainRecord
from backscroll.records.outside import Relocated
from backscroll.records.record import Record


class ProjectFinder:
    """Learns the project's path from records as they come, so that no session is read twice for it."""

    def __init__(self) -> None:
        self.first: str | None = None
        """Where the session began."""
        self.relocated: str | None = None
        """Where it last moved to."""

    def see(self, record: Record) -> None:
        """Take one more record, in the order of the file, into account."""
        if isinstance(record, Relocated):
            self.relocated = record.relocated_cwd or self.relocated
        elif self.first is None and isinstance(record, ChainRecord):
            self.first = record.cwd

    @property
    def path(self) -> str | None:
        """Where the session last moved to, else where it began; None if no record has said so yet."""
        return self.relocated or self.first


def project_of(records: Iterable[Record]) -> str | None:
    """The working directory that the session with these records belongs to."""
    finder = ProjectFinder()
    for record in records:
        finder.see(record)
    return finder.path
