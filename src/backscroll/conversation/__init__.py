"""What happened. Pure: records in; messages, turns, branches, agents and chats out."""

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.chats import Chats
from backscroll.conversation.kinds import HUMAN, RowKind
from backscroll.conversation.messages import (
    CallResult,
    CallState,
    Message,
    ToolCall,
    gather,
    is_shown,
    message_of,
    messages_of,
    results_of,
    state_of,
)
from backscroll.conversation.overview import Overview, overview_of
from backscroll.conversation.passages import Passage, Role, has_picture, passages_of, text_of_block
from backscroll.conversation.pictures import bytes_of, pictures_of
from backscroll.conversation.rows import Row, RowCall
from backscroll.conversation.saved import restore, save, saved_row
from backscroll.conversation.signatures import signature_of
from backscroll.conversation.transcripts import Transcript, TranscriptPlace, queued_row
from backscroll.conversation.tree import Tree, Turn, walk
from backscroll.conversation.usage import SYNTHETIC, total

__all__ = [
    "HUMAN",
    "SYNTHETIC",
    "Agent",
    "Branch",
    "CallResult",
    "CallState",
    "Chat",
    "Chats",
    "Message",
    "Overview",
    "Passage",
    "Role",
    "Row",
    "RowCall",
    "RowKind",
    "ToolCall",
    "Transcript",
    "TranscriptPlace",
    "Tree",
    "Turn",
    "bytes_of",
    "gather",
    "has_picture",
    "is_shown",
    "message_of",
    "messages_of",
    "overview_of",
    "passages_of",
    "pictures_of",
    "queued_row",
    "restore",
    "results_of",
    "save",
    "saved_row",
    "signature_of",
    "state_of",
    "text_of_block",
    "total",
    "walk",
]
