"""Everything a user can do. Doors call this package, and nothing below it."""

from backscroll.archive import Merged, Restored
from backscroll.conversation import Agent, Branch, Chat, Message, Overview, bytes_of, overview_of, pictures_of
from backscroll.files import Home
from backscroll.library.archives import find_archive, has_history, open_archive
from backscroll.library.chats.chat_reader import CHUNK, ChatChanges, ChatReader
from backscroll.library.chats.open_chats import OpenChats
from backscroll.library.homes import no_history, open_homes
from backscroll.library.indexing.follow import WATCHING, Followed, follow, observe
from backscroll.library.indexing.update import Updated
from backscroll.library.keeping.backup import back_up, repair, restore_backup
from backscroll.library.keeping.forget import forget, forget_everywhere
from backscroll.library.keeping.keep import ArchiveStatus, is_due, keep, keep_watching, status
from backscroll.library.keeping.kept_versions import KeptChat, KeptVersion, find_kept, versions_of
from backscroll.library.keeping.restore import put_back
from backscroll.library.keeping.verify import ArchiveVerification, prove
from backscroll.library.library import CHAT_SORTS, SORTS, Library
from backscroll.library.local import local_library
from backscroll.library.marks import Mark, Marks, change_marks, new_note
from backscroll.library.opened_chat import OpenedChat
from backscroll.library.searching.search import FoundChat, FoundPassage, SearchResults
from backscroll.library.setup.doctor import DriftExample, Health, HomeHealth, examine
from backscroll.library.setup.inspect import Inspection, LocatedProblem, find_transcripts, inspect
from backscroll.records import AGENT_TOOLS, LiveSession, Record
from backscroll.store import Hit, StoredChat, Table

__all__ = [
    "AGENT_TOOLS",
    "CHAT_SORTS",
    "CHUNK",
    "SORTS",
    "WATCHING",
    "Agent",
    "ArchiveStatus",
    "ArchiveVerification",
    "Branch",
    "Chat",
    "ChatChanges",
    "ChatReader",
    "DriftExample",
    "Followed",
    "FoundChat",
    "FoundPassage",
    "Health",
    "Hit",
    "Home",
    "HomeHealth",
    "Inspection",
    "KeptChat",
    "KeptVersion",
    "Library",
    "LiveSession",
    "LocatedProblem",
    "Mark",
    "Marks",
    "Merged",
    "Message",
    "OpenChats",
    "OpenedChat",
    "Overview",
    "Record",
    "Restored",
    "SearchResults",
    "StoredChat",
    "Table",
    "Updated",
    "back_up",
    "bytes_of",
    "change_marks",
    "examine",
    "find_archive",
    "find_kept",
    "find_transcripts",
    "follow",
    "forget",
    "forget_everywhere",
    "has_history",
    "inspect",
    "is_due",
    "keep",
    "keep_watching",
    "local_library",
    "new_note",
    "no_history",
    "observe",
    "open_archive",
    "open_homes",
    "overview_of",
    "pictures_of",
    "prove",
    "put_back",
    "repair",
    "restore_backup",
    "status",
    "versions_of",
]
