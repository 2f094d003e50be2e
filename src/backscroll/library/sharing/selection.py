"""Select the part of a shared chat for a file: one branch, with or without tools and thinking.

Content that is left out is not in the file at all, in any format.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from msgspec import structs

from backscroll.conversation.agents import Agent
from backscroll.conversation.branch_paths import path_of
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.headings import AnswerCost
from backscroll.conversation.kinds import PROMPTS, RowKind
from backscroll.conversation.messages import Message
from backscroll.conversation.overview import Overview
from backscroll.conversation.rows import Row
from backscroll.conversation.todos import todos_of
from backscroll.conversation.usage import SYNTHETIC
from backscroll.errors import NothingFound
from backscroll.library.sharing.share import SharedChat
from backscroll.records.content import (
    Block,
    RedactedThinking,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    WebSearchResult,
)


@dataclass(frozen=True)
class ShareSelection:
    """The selected part of a chat."""

    branch: int | None = None
    """The branch; None for all."""
    tools: bool = True
    """Tool calls with their results, and the conversations of agents."""
    thinking: bool = True

    @property
    def is_everything(self) -> bool:
        """Whether the selection is the whole chat."""
        return self == ShareSelection()


class SelectedChat:
    """A part of a shared chat, which is exported like a whole one."""

    def __init__(self, shared: SharedChat, selection: ShareSelection) -> None:
        self._shared = shared
        self._selection = selection
        self.title = shared.title
        self.clock = shared.clock
        self.is_archived = shared.is_archived
        self.unrecorded = shared.unrecorded if selection.branch is None else (0, None)
        self.is_pinned = shared.is_pinned
        self.is_redacted = shared.is_redacted
        self.tags = shared.tags
        self.chat = _part_of(shared.chat, selection)

    def messages(self, branch: Branch) -> list[Message]:
        """Return the selected messages of a branch."""
        return self._only(self._shared.messages(branch))

    def agent_messages(self, agent: Agent) -> list[Message]:
        """Return the selected messages of a sub-agent."""
        return self._only(self._shared.agent_messages(agent))

    @cached_property
    def answer_costs(self) -> Mapping[str, AnswerCost]:
        """The usage of the answers in the part, by message id."""
        if self._selection.branch is None:
            return self._shared.answer_costs
        rows = [*self._rows, *(row for agent in self.chat.agents for row in agent.rows)]
        names = {row.message_id or row.uuid for row in rows}
        return {name: cost for name, cost in self._shared.answer_costs.items() if name in names}

    @cached_property
    def overview(self) -> Overview:
        """The overview of the part: nothing of other branches, and no files where the tools are left out."""
        whole, chat = self._shared.overview, self.chat
        part = structs.replace(whole, agents=len(chat.agents), branches=len(chat.branches))
        if self._selection.branch is not None:
            rows = self._rows
            whens = [row.when for row in rows if row.when]
            calls = [call for row in rows for call in row.calls]
            calls += [call for agent in chat.agents for call in agent.calls]
            prompts = sum(row.kind in PROMPTS or (row.kind is RowKind.TOOL_RESULT and bool(row.text)) for row in rows)
            answers = {row.message_id or row.uuid for row in rows if row.kind is RowKind.ANSWER}
            part = structs.replace(
                part,
                started=min(whens, default=whole.started),
                last_active=max(whens, default=whole.last_active),
                models=list(dict.fromkeys(row.model for row in rows if row.model and row.model != SYNTHETIC)),
                messages=prompts + len(answers),
                prompts=prompts,
                compactions=sum(row.kind is RowKind.COMPACTION for row in rows),
                files_touched=list(dict.fromkeys(call.file for call in calls if call.file)),
                todos=todos_of(calls),
            )
        if not self._selection.tools:
            part = structs.replace(part, files_touched=[], todos=[])
        return part

    @cached_property
    def _rows(self) -> list[Row]:
        return [node.row for branch in self.chat.branches for turn in branch.turns for node in turn.in_order()]

    def _only(self, messages: Iterable[Message]) -> list[Message]:
        selection = self._selection
        if selection.tools and selection.thinking:
            return list(messages)
        return [kept for message in messages if (kept := _without(message, selection)) is not None]


def selected(shared: SharedChat, selection: ShareSelection) -> SharedChat | SelectedChat:
    """Return the chosen part of a shared chat; the chat itself if that is everything."""
    return shared if selection.is_everything else SelectedChat(shared, selection)


def _part_of(chat: Chat, selection: ShareSelection) -> Chat:
    """Return a chat with only the chosen branch, and the agents that were started on it."""
    branches, agents = chat.branches, chat.agents
    if selection.branch is not None:
        if not 1 <= selection.branch <= len(branches):
            raise NothingFound(f"there is no branch {selection.branch}", f"this chat has {len(branches)}")
        chosen = branches[selection.branch - 1]
        turns = path_of(chat, chosen)
        calls = {call.id for turn in turns for node in turn.nodes for call in node.row.calls}
        branches = [Branch(1, turns, None, chosen.sessions)]
        agents = [agent for agent in agents if _started_by(agent) in calls]
    part = copy.copy(chat)
    part.__dict__["branches"] = branches
    part.__dict__["agents"] = agents if selection.tools else []
    return part


def _started_by(agent: Agent) -> str | None:
    """Return the call on a branch that led to an agent, perhaps through other agents."""
    while agent.parent is not None:
        agent = agent.parent
    return agent.call.id if agent.call else None


def _without(message: Message, selection: ShareSelection) -> Message | None:
    """Return the message without its tools or its thinking; None if nothing is left of it."""
    if not message.blocks:
        return message
    blocks = [block for block in message.blocks if _is_kept(block, selection)]
    if not blocks and not message.text:
        return None
    kept = Message(message.id, message.kind, message.rows[0])
    kept.rows, kept.text, kept.blocks = message.rows, message.text, blocks
    kept.calls = message.calls if selection.tools else {}
    return kept


def _is_kept(block: Block, selection: ShareSelection) -> bool:
    if isinstance(block, (Thinking, RedactedThinking)):
        return selection.thinking
    if isinstance(block, (ToolUse, ToolResult, ToolReference, WebSearchResult)):
        return selection.tools
    return True
