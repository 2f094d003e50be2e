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


@cache
def load_checksums() -> bool:
    """Have SQLite sum and check the pages of our files; False if this installation of apsw cannot."""
    # apsw.sqlite_extra would find the file too, but importing it takes ten times as long as the rest of this.
    folder = Path(apsw.__file__).parent / "sqlite_extra_binaries"
    file = next((folder / name for name in NAMES if (folder / name).exists()), None)
    if file is None:
        return False
    connection = apsw.Connection(":memory:")
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(file))
    except (apsw.Error, AttributeError):
        return False
    finally:
        connection.close()
    return True
