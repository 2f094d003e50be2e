"""Where lines come from. Reads the disk, and never writes to it."""

from backscroll.files.changes import HomeChanges, find_changes
from backscroll.files.discovery import Discovery, HomeFile, Omission, Unreadable, discover, look
from backscroll.files.homes import Home, find_homes
from backscroll.files.layout import TRANSCRIPTS, FileKind, LeftOut, Place, is_session_id, place_of
from backscroll.files.live import is_running
from backscroll.files.names import project_folder
from backscroll.files.opening import open_regular, opened_folder, read_small
from backscroll.files.reading import LONGEST_LINE, Bookmark, Change, Line, Reading, lines_of, pieces_of, read_lines
from backscroll.files.retention import Deletion, deletions, retention_days
from backscroll.files.source_key import SourceKey
from backscroll.files.watching import ChangedFile, watch

__all__ = [
    "LONGEST_LINE",
    "TRANSCRIPTS",
    "Bookmark",
    "Change",
    "ChangedFile",
    "Deletion",
    "Discovery",
    "FileKind",
    "Home",
    "HomeChanges",
    "HomeFile",
    "LeftOut",
    "Line",
    "Omission",
    "Place",
    "Reading",
    "SourceKey",
    "Unreadable",
    "deletions",
    "discover",
    "find_changes",
    "find_homes",
    "is_running",
    "is_session_id",
    "lines_of",
    "look",
    "open_regular",
    "opened_folder",
    "pieces_of",
    "place_of",
    "project_folder",
    "read_lines",
    "read_small",
    "retention_days",
    "watch",
]
