"""What can be found: rows, chats and words, derived from the transcripts. One interface, several stores."""

from backscroll.store.base import (
    Answer,
    AnswerCost,
    ChatHits,
    ChatShape,
    DamagedStoreError,
    Document,
    Hit,
    Known,
    Passing,
    Pending,
    Spot,
    Store,
    StoredChat,
    Table,
)
from backscroll.store.batches import EPOCH, Batch, ChatChange, FileColumns, Keys, ProblemColumns, microseconds
from backscroll.store.columns import Flags, add_record, add_spilled, change_of, title_of

__all__ = [
    "EPOCH",
    "Answer",
    "AnswerCost",
    "Batch",
    "ChatChange",
    "ChatHits",
    "ChatShape",
    "DamagedStoreError",
    "Document",
    "FileColumns",
    "Flags",
    "Hit",
    "Keys",
    "Known",
    "Passing",
    "Pending",
    "ProblemColumns",
    "Spot",
    "Store",
    "StoredChat",
    "Table",
    "add_record",
    "add_spilled",
    "change_of",
    "microseconds",
    "title_of",
]
