"""What is kept: the verbatim bytes of everything in a home, written once, with proof that they are whole."""

from backscroll.archive.archive import Archive, KeptFile, Version
from backscroll.archive.capture import Capture, capture, capture_changed
from backscroll.archive.forgetting import forget_key, keys_to_forget
from backscroll.archive.reading import KeptReading
from backscroll.archive.restore import Restored, restore
from backscroll.archive.verify import Damage, Report, verify
from backscroll.archive.writer import Writer

__all__ = [
    "Archive",
    "Capture",
    "Damage",
    "KeptFile",
    "KeptReading",
    "Report",
    "Restored",
    "Version",
    "Writer",
    "capture",
    "capture_changed",
    "forget_key",
    "keys_to_forget",
    "restore",
    "verify",
]
