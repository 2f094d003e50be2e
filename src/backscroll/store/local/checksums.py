"""SQLite's checksum VFS: eight bytes at the end of every page tell whether the page is what was written.

The extension comes with apsw's wheels. Once it is loaded it serves every connection of the process, and looks after
each file that was made with room for the sums; without it such a file can be read, but not checked, and not written.
"""

from functools import cache
from pathlib import Path
from typing import Final

import apsw

SUM_BYTES: Final = 8
NAMES: Final = ("cksumvfs.so", "cksumvfs.dylib", "cksumvfs.dll")


def checksum_extension() -> str | None:
    """The file of the extension; None if apsw came without it."""
    # apsw.sqlite_extra would find it too, but importing that takes ten times as long as all of this.
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
