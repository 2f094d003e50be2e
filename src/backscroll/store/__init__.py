"""What can be found: rows, chats and words, derived from the transcripts. One interface, several stores."""

from backscroll.store.base import (
    AnswerCost,
    ChatHits,
    ChatShape,
    DamagedStoreError,
    Hit,
    IndexedFile,
    PassageText,
    Pending,
    PendingPassage,
    Scope,
    SearchPage,
    Store,
    StoredChat,
    Table,
)
from backscroll.store.batches import EPOCH, Batch, ChatChange, FileColumns, Keys, ProblemColumns, microseconds
from backscroll.store.columns import Flags, add_record, add_spilled, change_of, title_of

__all__ = [
    "EPOCH",
    "AnswerCost",
    "Batch",
    "ChatChange",
    "ChatHits",
    "ChatShape",
    "DamagedStoreError",
    "FileColumns",
    "Flags",
    "Hit",
    "IndexedFile",
    "Keys",
    "PassageText",
    "Pending",
    "PendingPassage",
    "ProblemColumns",
    "Scope",
    "SearchPage",
    "Store",
    "StoredChat",
    "Table",
    "add_record",
    "add_spilled",
    "change_of",
    "microseconds",
    "title_of",
]
