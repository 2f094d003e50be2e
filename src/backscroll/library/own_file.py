"""A small JSON file in the library that only the user's actions change: marks, or saved prompts.

Its content cannot be derived from anything. So it is changed under a lock and replaced in one step, it is never written
by a version that would lose a key, and a file that cannot be read is an error.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import msgspec

from backscroll.disk import FileLock, private_folder, read_own, write_private
from backscroll.errors import BackscrollError

LOCK_SECONDS: Final = 2.0
Content = TypeVar("Content")
Answer = TypeVar("Answer")


class OwnFile(Generic[Content]):
    """The file at a path: its content is of type `kind`, and `what` names it in messages."""

    def __init__(self, path: Path, kind: type[Content], what: str) -> None:
        self._path, self._kind, self._what = path, kind, what

    def read(self) -> Content:
        """Return the content; empty if there is no file."""
        return self._read()[0]

    def change(self, change: Callable[[Content], Answer], write: Callable[[Content], bytes]) -> Answer:
        """Change the content atomically: readers see the old or the new state. `write` encodes the content."""
        private_folder(self._path.parent)
        busy = f"another process is changing {self._what}"
        with FileLock(self._path.with_suffix(".lock"), busy, "try again in a moment", wait=LOCK_SECONDS):
            content, written = self._read()
            if unknown := unknown_key(written, content):
                hint = "a later version wrote it: update backscroll, and nothing is lost"
                raise BackscrollError(f"{self._path} has “{unknown}” in it, which this version does not know", hint)
            answer = change(content)
            write_private(self._path, write(content))
        return answer

    def _read(self) -> tuple[Content, Any]:
        """Return the content, decoded and as plain JSON."""
        try:
            data = read_own(self._path)
            return msgspec.json.decode(data, type=self._kind), msgspec.json.decode(data)
        except (FileNotFoundError, NotADirectoryError):
            return self._kind(), {}
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            hint = "repair the file, or move it away to start again"
            raise BackscrollError(f"cannot read {self._what} in {self._path}: {error}", hint) from error


def readable_json(value: Any) -> bytes:  # noqa: ANN401 - whatever msgspec can write
    """Return JSON for a file that people may read."""
    text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2)
    return (text + "\n").encode("utf-8", "replace")


def unknown_key(written: Any, value: Any) -> str | None:  # noqa: ANN401 - whatever JSON holds
    """Return a key in plain JSON that the value decoded from it lacks; None if there is none."""
    if isinstance(value, msgspec.Struct):
        if unknown := written.keys() - set(value.__struct_fields__):
            return str(min(unknown))
        parts = [(part, getattr(value, name)) for name, part in written.items()]
    elif isinstance(value, dict):
        parts = [(part, value[name]) for name, part in written.items()]
    elif isinstance(value, list):
        parts = list(zip(written, value, strict=True))
    else:
        return None
    return next((key for part, decoded in parts if (key := unknown_key(part, decoded))), None)
