"""SQLite's checksum VFS: eight bytes at the end of every page verify that the page is as it was written.

The extension comes with apsw's wheels. Once loaded, it serves every connection of the process, and handles each file
that was created with room for the sums; without it such a file can be read, but not checked, and not written.
"""

from functools import cache
from pathlib import Path
from typing import Final

import apsw

SUM_BYTES: Final = 8
NAMES: Final = ("cksumvfs.so", "cksumvfs.dylib", "cksumvfs.dll")


def checksum_extension() -> str | None:
    """Return the file of the extension; None if apsw came without it."""
    # apsw.sqlite_extra would find it too, but importing it takes ten times as long as all of this.
    folder = Path(apsw.__file__).parent / "sqlite_extra_binaries"
    return next((str(folder / name) for name in NAMES if (folder / name).exists()), None)


@cache
def load_checksums() -> bool:
    """Have SQLite sum and check the pages of our files; False if this installation of apsw cannot."""
    file = checksum_extension()
    if file is None:
        return False
    connection = apsw.Connection(":memory:")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(file)
    except (apsw.Error, AttributeError):
        return False
    finally:
        connection.close()
    return True
