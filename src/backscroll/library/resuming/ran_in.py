"""The folders that a session ran in, in the order of its rows."""

from backscroll.library.indexing.sources import Source, records_in
from backscroll.records.kinds import ChainRecord


def folders_of(source: Source) -> list[str]:
    """Return every folder that the rows of a session name, once, in order."""
    folders: dict[str, None] = {}
    with source.open() as reading:
        for record, _, _ in records_in(reading):
            if isinstance(record, ChainRecord) and record.cwd:
                folders.setdefault(record.cwd)
    return list(folders)
