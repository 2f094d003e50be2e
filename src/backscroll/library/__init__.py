"""What one can do. The only way in: a door calls this, and nothing below it."""

from backscroll.conversation import Agent, Branch, Chat
from backscroll.library.browse import Filter, Reading, Shelf
from backscroll.library.doctor import Health, HomeHealth, Sighting, examine
from backscroll.library.homes import open_homes
from backscroll.library.inspect import Inspection, Trouble, find_transcripts, inspect
from backscroll.library.preserve import (
    Proof,
    Status,
    back_up,
    find_archive,
    forget,
    is_due,
    keep,
    keep_watching,
    prove,
    put_back,
    restore_backup,
    status,
)

__all__ = [
    "Agent",
    "Branch",
    "Chat",
    "Filter",
    "Health",
    "HomeHealth",
    "Inspection",
    "Proof",
    "Reading",
    "Shelf",
    "Sighting",
    "Status",
    "Trouble",
    "back_up",
    "examine",
    "find_archive",
    "find_transcripts",
    "forget",
    "inspect",
    "is_due",
    "keep",
    "keep_watching",
    "open_homes",
    "prove",
    "put_back",
    "restore_backup",
    "status",
]
