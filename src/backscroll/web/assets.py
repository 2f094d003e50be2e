"""Static files: only those that existed at start are served."""

import os
from pathlib import Path

from starlette.staticfiles import StaticFiles


class KnownFiles(StaticFiles):
    """Serves files from a fixed list: a requested name is never looked up on disk."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder)
        self._known = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink()
        }

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return the path of a file, if it is on the list."""
        known = self._known.get(path.replace(os.sep, "/"))
        return (str(known), known.stat()) if known else ("", None)
