"""What happened. Pure: records in; messages, turns, branches, agents and chats out."""

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.chats import Chats
from backscroll.conversation.kinds import HUMAN, Kind
from backscroll.conversation.messages import Message, Result, State, ToolCall, messages_of, results_of
from backscroll.conversation.rows import Row
from backscroll.conversation.transcripts import Place, Transcript
from backscroll.conversation.tree import Tree, Turn, walk
from backscroll.conversation.usage import total

__all__ = [
    "HUMAN",
    "Agent",
    "Branch",
    "Chat",
    "Chats",
    "Kind",
    "Message",
    "Place",
    "Result",
    "Row",
    "State",
    "ToolCall",
    "Transcript",
    "Tree",
    "Turn",
    "messages_of",
    "results_of",
    "total",
    "walk",
]
