"""What one can do. The only way in: a door calls this, and nothing below it."""

from backscroll.conversation import Agent, Branch, Chat, Overview, overview_of
from backscroll.library.doctor import Health, HomeHealth, Sighting, examine
from backscroll.library.follow import Followed, follow
from backscroll.library.homes import open_homes
from backscroll.library.inspect import Inspection, Trouble, find_transcripts, inspect
from backscroll.library.library import SORTS, Library, OpenedChat
from backscroll.library.marks import Mark, Marks, change_marks, new_note
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
from backscroll.library.searching import Found, FoundChat, FoundPassage
from backscroll.library.update import Updated
from backscroll.store import Hit, StoredChat, Table

__all__ = [
    "SORTS",
    "Agent",
    "Branch",
    "Chat",
    "Followed",
    "Found",
    "FoundChat",
    "FoundPassage",
    "Health",
    "Hit",
    "HomeHealth",
    "Inspection",
    "Library",
    "Mark",
    "Marks",
    "OpenedChat",
    "Overview",
    "Proof",
    "Sighting",
    "Status",
    "StoredChat",
    "Table",
    "Trouble",
    "Updated",
    "back_up",
    "change_marks",
    "examine",
    "find_archive",
    "find_transcripts",
    "follow",
    "forget",
    "inspect",
    "is_due",
    "keep",
    "keep_watching",
    "new_note",
    "open_homes",
    "overview_of",
    "prove",
    "put_back",
    "restore_backup",
    "status",
]
