"""What is kept: the exact bytes of everything in a home, written once, with checksums."""

from backscroll.archive.archive import Archive, KeptFile, Version
from backscroll.archive.capture import Capture, capture, capture_changed
from backscroll.archive.forgetting import forget_key, keys_to_forget
from backscroll.archive.line_copies import copies_in, gaps
from backscroll.archive.merge import Merged, RefusedFile, mend, merge
from backscroll.archive.reading import KeptReading
from backscroll.archive.recovery import Recovered, has_all_copies
from backscroll.archive.restore import Restored, restore
from backscroll.archive.rewriting import Writer
from backscroll.archive.stamp import disk_state, has_catalogue, stamp_of
from backscroll.archive.verify import Damage, Verification, verify

__all__ = [
    "Archive",
    "Capture",
    "Damage",
    "KeptFile",
    "KeptReading",
    "Merged",
    "Recovered",
    "RefusedFile",
    "Restored",
    "Verification",
    "Version",
    "Writer",
    "capture",
    "capture_changed",
    "copies_in",
    "disk_state",
    "forget_key",
    "gaps",
    "has_all_copies",
    "has_catalogue",
    "keys_to_forget",
    "mend",
    "merge",
    "restore",
    "stamp_of",
    "verify",
]
