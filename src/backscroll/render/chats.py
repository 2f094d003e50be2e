"""Chats as plain data, for programs: the objects that `--json` prints."""

from collections.abc import Iterator, Sequence
from typing import Any

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.messages import Message, ToolCall
from backscroll.conversation.origins import origins_of
from backscroll.conversation.overview import Overview
from backscroll.records.content import Text, Thinking, Usage
from backscroll.records.decode import value_of
from backscroll.records.kinds import System
from backscroll.render.parts import diff_of, result_text
from backscroll.render.terminal import moment


def chat_as_json(
    chat: Overview,
    *,
    archived: bool = False,
    pinned: bool = False,
    tags: Sequence[str] = (),
    machines: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the stored facts of a chat, without reading it; `tags` are the user's own, beside those in the
    transcripts."""
    return {
        "id": chat.id,
        "title": chat.title,
        "project": chat.project,
        "archived": archived,
        "pinned": pinned,
        **({"machines": list(machines)} if machines is not None else {}),  # an export does not tell
        "sessions": chat.sessions,
        "leaves": chat.leaves,
        "branches": chat.branches,
        "agents": chat.agents,
        "messages": chat.messages,
        "prompts": chat.prompts,
        "started": moment(chat.started) if chat.started else None,
        "last_active": moment(chat.last_active) if chat.last_active else None,
        "active_seconds": chat.active_seconds,
        "models": chat.models,
        "versions": chat.versions,
        "git_branches": chat.git_branches,
        "compactions": chat.compactions,
        "copies": chat.copies,
        "tags": list(dict.fromkeys([*chat.tags, *tags])),
        "pull_requests": [
            {"number": link.pr_number, "url": link.pr_url, "repository": link.pr_repository}
            for link in chat.pull_requests
        ],
        "files_touched": chat.files_touched,
        "todos": [{"text": todo.content, "status": todo.status} for todo in chat.todos],
    }


def branch_as_json(branch: Branch) -> dict[str, Any]:
    """Return a branch and where it left."""
    return {
        "number": branch.number,
        "active": branch.number == 1,
        "leaf": branch.leaf.key,
        "left_at": branch.left_at.key if branch.left_at else None,
        "turns": len(branch.turns),
        "sessions": branch.sessions,
    }


def sessions_as_json(chat: Chat) -> Iterator[dict[str, Any]]:
    """Yield the sessions of a chat, oldest first, each with the session that it came from."""
    leaves, origins = {leaf.place.file for leaf in chat.leaves}, origins_of(chat)
    for session in chat.sessions:
        origin = origins.get(session.place.file)
        yield {
            "id": session.session_id,
            "rows": len(session.rows),
            "leaf": session.place.file in leaves,
            "from": origin.session.session_id if origin else None,
            "how": str(origin.kind) if origin else None,
        }


def agent_as_json(agent: Agent) -> dict[str, Any]:
    """Return a sub-agent and the call that started it."""
    return {
        "id": agent.id,
        "type": agent.type,
        "description": agent.description,
        "call": agent.call.id if agent.call else None,
        "parent": agent.parent.id if agent.parent else None,
        "models": agent.models,
        "rows": len(agent.rows),
        "started": moment(agent.started) if agent.started else None,
        "usage": usage_as_json(agent.usage),
        "fork_context": _fork_context(agent),
        "is_stub": agent.is_stub,
        "is_side_copy": agent.is_side_copy,
    }


def _fork_context(agent: Agent) -> dict[str, str | None] | None:
    """Return the conversation that a forked agent began with, which its own rows only refer to."""
    context = agent.transcript.fork_context if agent.transcript else None
    return {"session": context.parent_session_id, "last": context.parent_last_uuid} if context else None


def usage_as_json(usage: Usage) -> dict[str, int]:
    """Return the four counts of tokens."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
    }


def message_as_json(message: Message, *, undecoded: bool = False) -> dict[str, Any]:
    """Return a message with its blocks, and each call with its result; with `undecoded`, tool inputs stay `Raw`."""
    return {
        "id": message.id,
        "kind": str(message.kind),
        "uuids": [row.uuid for row in message.rows],
        "when": moment(message.when) if message.when else None,
        "text": message.text or "\n".join(block.text for block in message.blocks if isinstance(block, Text)),
        "thinking": "\n".join(block.thinking for block in message.blocks if isinstance(block, Thinking)),
        "model": message.model,
        "usage": usage_as_json(message.usage) if message.usage else None,
        "stop_reason": message.stop_reason,
        "compaction": _compaction(message),
        **({"starts_part": str(message.starts_part)} if message.starts_part is not None else {}),
        "calls": [_call_as_json(call, undecoded=undecoded) for call in message.calls.values()],
        **({"conflicts": [other._asdict() for other in message.conflicts]} if message.conflicts else {}),
    }


def _compaction(message: Message) -> dict[str, Any] | None:
    """Return why the context was summarised, how many tokens that saved, and which rows stayed in it."""
    record = message.rows[0].record
    metadata = record.compact_metadata if isinstance(record, System) else None
    if metadata is None:
        return None
    segment, messages = metadata.preserved_segment, metadata.preserved_messages
    return {
        "trigger": metadata.trigger,
        "tokens_before": metadata.pre_tokens,
        "tokens_after": metadata.post_tokens,
        "preserved": messages.uuids if messages else [],
        "preserved_from": segment.head_uuid if segment else None,
        "preserved_to": segment.tail_uuid if segment else None,
    }


def _call_as_json(call: ToolCall, *, undecoded: bool) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "input": call.block.input if undecoded else value_of(call.block.input),
        "state": str(call.state),
        "result": result_text(call) if call.result else None,
        "result_uuid": call.result.row.uuid if call.result else None,
        "diff": diff_of(call) or None,
    }
