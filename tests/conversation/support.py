"""Drawn sessions made into chats, and chats written down again in the letters of the drawing.

A file is drawn under its name: `S1` is a session, `S1/x1` the agent x1 of that session. A chat is written down as its
branches, a branch as the rows of its turns: `a b | c d` are two turns, and `e f < a` is a branch that leaves after the
turn that begins with a.
"""

import json
from collections.abc import Mapping

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import Message, messages_of, results_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.conversation.tree import Turn
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from backscroll.records.sidecars import AgentMeta, agent_meta
from tests.support.drawings import draw, line, session_uuid

Drawing = str | Mapping[str, str]
Meta = Mapping[str, Mapping[str, object]]


def records_of(drawing: str, **defaults: str) -> list[Record]:
    """The records of a drawing; a line that is not one does not belong into a drawing."""
    decoded = [decode_line(line(row)) for row in draw(drawing, **defaults)]
    records = [record for record in decoded if isinstance(record, Record)]
    assert len(records) == len(decoded)
    return records


def all_chats(drawing: Drawing, meta: Meta | None = None, *, keep: bool = True) -> list[Chat]:
    """Every chat of these files; `meta` has the sidecars of agents, by the name of the file."""
    chats = ChatBuilder(keep=keep)
    for name, text in ({"S1": drawing} if isinstance(drawing, str) else drawing).items():
        session, _, agent = name.partition("/")
        place = TranscriptPlace(name, session_uuid(session), agent or None)
        defaults = {"session": session} | ({"agent": agent} if agent else {})
        chats.add(place, records_of(text, **defaults), _sidecar(name, meta or {}))
    return chats.chats()


def one_chat(drawing: Drawing, meta: Meta | None = None) -> Chat:
    """The only chat of these files."""
    (chat,) = all_chats(drawing, meta)
    return chat


def rows_of(turn: Turn) -> str:
    """The rows of a turn, in their order."""
    return " ".join(node.row.uuid for node in turn.in_order())


def written(branch: Branch) -> str:
    """A branch as the tests write it down."""
    left = f" < {branch.left_at.key}" if branch.left_at else ""
    return " | ".join(map(rows_of, branch.turns)) + left


def turns_of(chat: Chat) -> list[Turn]:
    """The turns of all branches."""
    return [turn for branch in chat.branches for turn in branch.turns]


def messages_in(chat: Chat, *, is_live: bool = False) -> list[Message]:
    """The messages of all branches, the active one first; `is_live` says that the client is at work on them."""
    results = results_of(row for session in chat.sessions for row in session.rows)
    return [message for turn in turns_of(chat) for message in messages_of(turn, results, is_live=is_live)]


def agent_named(chat: Chat, name: str) -> Agent:
    """The agent with this id."""
    (agent,) = (agent for agent in chat.agents if agent.id == name)
    return agent


def check_nothing_is_lost(chat: Chat) -> None:
    """Every row of the sessions stands in exactly one turn, and every turn in exactly one branch."""
    turns = turns_of(chat)
    assert len(turns) == len({id(turn) for turn in turns})
    shown = [node.row.uuid for turn in turns for node in turn.in_order()]
    assert sorted(shown) == sorted(node.row.uuid for node in chat.tree.nodes.values())
    copies = {copy.uuid for node in chat.tree.nodes.values() for copy in node.copies}
    assert copies == {row.uuid for session in chat.sessions for row in session.rows}


def _sidecar(name: str, meta: Meta) -> AgentMeta | None:
    return agent_meta(json.dumps(dict(meta[name])).encode()) if name in meta else None
