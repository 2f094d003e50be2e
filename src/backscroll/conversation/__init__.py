"""What happened. Pure: records in; messages, turns, branches, agents and chats out."""

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.chats import Chats
from backscroll.conversation.kinds import HUMAN, Kind
from backscroll.conversation.messages import Message, Result, State, ToolCall, messages_of, results_of, state_of
from backscroll.conversation.overview import Overview, overview_of
from backscroll.conversation.passages import Passage, Role, has_picture, passages_of, text_of_block
from backscroll.conversation.rows import Call, Row
from backscroll.conversation.saved import SavedRow, restore, save
from backscroll.conversation.signatures import signature_of
from backscroll.conversation.transcripts import Place, Transcript
from backscroll.conversation.tree import Tree, Turn, walk
from backscroll.conversation.usage import SYNTHETIC, total

__all__ = [
    "HUMAN",
    "SYNTHETIC",
    "Agent",
    "Branch",
    "Call",
    "Chat",
    "Chats",
    "Kind",
    "Message",
    "Overview",
    "Passage",
    "Place",
    "Result",
    "Role",
    "Row",
    "SavedRow",
    "State",
    "ToolCall",
    "Transcript",
    "Tree",
    "Turn",
    "has_picture",
    "messages_of",
    "overview_of",
    "passages_of",
    "restore",
    "results_of",
    "save",
    "signature_of",
    "state_of",
    "text_of_block",
    "total",
    "walk",
]
