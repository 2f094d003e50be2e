"""The files that pages are made with: those that were there at the start, and no others."""

import os
from pathlib import Path

from starlette.staticfiles import StaticFiles


class KnownFiles(StaticFiles):
    """Files of a folder, each by its name in a list: what somebody asks for is never looked for on the disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder)
        self._known = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Where a file is."""
        known = self._known.get(path.replace(os.sep, "/"))
        return (str(known), known.stat()) if known else ("", None)
