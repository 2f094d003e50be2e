"""Output of a backup or a repair."""

from typing import TYPE_CHECKING

from backscroll.cli.output import warning, write
from backscroll.render.terminal import clean_line

if TYPE_CHECKING:
    from backscroll.library.keeping.backup import Merged


def merged_as_json(done: "Merged") -> dict[str, object]:
    """Return what was merged, and what was not."""
    return {
        "bytes": done.size,
        "files": done.files,
        "forgotten": done.forgotten,
        "refused": [{"file": str(item.file.source), "what": item.what} for item in done.refused],
        "only_in_backup": [str(file.source) for file in done.only_in_target],
    }


def write_merged(done: "Merged", more: str) -> None:
    """Print what was not copied, and what only the target has."""
    for item in done.refused:
        write(warning(f"not copied: {clean_line(str(item.file.source))}: {clean_line(item.what)}"))
    for file in done.only_in_target if more else ():
        write(f"{more}: {clean_line(str(file.source))}")
