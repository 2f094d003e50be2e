"""The folder names that Claude Code gives to projects.

They cannot be reversed reliably: `/a/b-c` and `/a/b/c` share a folder. The rows of a session name its project; this
module finds the folder of a known path, and the paths of this machine that have a folder.
"""

import os
import unicodedata
from collections.abc import Iterator
from typing import Final

MAX_NAME_LENGTH: Final = 200


def project_folder(path: str) -> str:
    """Return the folder name under `projects/` for an absolute working directory.

    Longer names end in a hash that was not the same in every version: compare only their first 200 characters.
    """
    units = unicodedata.normalize("NFC", path).encode("utf-16-le", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2], "little") for at in range(0, len(units), 2)]
    name = "".join(chr(code) if chr(code).isascii() and chr(code).isalnum() else "-" for code in codes)
    if len(name) <= MAX_NAME_LENGTH:
        return name
    return f"{name[:MAX_NAME_LENGTH]}-{_base36(abs(_hash(codes)))}"


def paths_of(folder: str) -> Iterator[str]:
    """Yield the working directories of this machine whose sessions are in this folder, in order; none if it is long."""
    waiting = [os.path.abspath(os.sep)]  # noqa: PTH100 - the root, or the drive
    while waiting:
        path = waiting.pop()
        name = project_folder(path)
        if name == folder:
            yield path
        if folder.startswith(name) and len(folder) <= MAX_NAME_LENGTH:
            try:
                with os.scandir(path) as entries:
                    inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            waiting += sorted(inner, reverse=True)


def _hash(codes: list[int]) -> int:
    value = 0
    for code in codes:
        value = (value * 31 + code) & 0xFFFFFFFF
    return value - 0x100000000 if value >= 0x80000000 else value


def _base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if number == 0:
            return digits
