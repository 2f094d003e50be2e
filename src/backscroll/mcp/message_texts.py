"""Messages of a chat as text, for tools and resources."""

from itertools import chain

import msgspec

from backscroll.conversation.agents import Agent, by_call
from backscroll.conversation.branch_paths import branch_of_session
from backscroll.conversation.messages import Message
from backscroll.errors import NothingFound
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.quoting import name_of
from backscroll.render.parts import PartFilter, call_title, diff_of, parts_of, result_text

LONGEST_ERROR = 200
AT_ONCE = 16
"""Number of messages read at a time."""


class ReadTarget(msgspec.Struct, frozen=True):
    """A branch of a chat or one of its agents to read, and optionally a message in it."""

    reader: ChatReader
    branch_messages: BranchMessages
    branch: int
    agent: Agent | None = None
    key: str | None = None


class MessageText(msgspec.Struct, frozen=True):
    """A message of a chat as text."""

    number: int
    uuid: str | None
    message: Message
    text: str


def open_chat(context: CallContext, name: str, *, branch: int = 0, agent: str = "", message: str = "") -> ReadTarget:
    """Find the branch or agent to read; `name` may also be the id of an agent or a message. Branch 0 is that of a
    session."""
    stored = context.find(name)
    reader = context.pool.browse(context.library, stored)
    is_chat = any(known.startswith(name.lower()) for known in (stored.overview.id, *stored.overview.sessions))
    if not is_chat and not agent and not message:
        agent, message = (name, "") if _agents(reader, name) else ("", name)
    if agent:
        agents = _agents(reader, agent)
        if len(agents) != 1:
            raise NothingFound(
                f"{len(agents)} agents of this chat match {agent}", "leave out agent; tool calls name their agents"
            )
        branch_messages = reader.agent_branch(agents[0])
        return ReadTarget(
            reader,
            branch_messages,
            0,
            agents[0],
            branch_messages.message_with(_whole(branch_messages, message)) if message else None,
        )
    if not message:
        branch = branch or branch_of_session(reader.chat, name)
        return ReadTarget(reader, reader.branch_messages(branch), branch)
    return _at_message(reader, message)


def _at_message(reader: ChatReader, message: str) -> ReadTarget:
    branches = range(1, max(1, len(reader.chat.branches)) + 1)
    names = (_whole(reader.branch_messages(branch), message) for branch in branches)
    for name in chain([message], names):
        if (located := reader.locate(name)) is not None:
            return ReadTarget(reader, reader.branch_messages(located[0]), located[0], None, located[1])
    for agent in reader.chat.agents:
        branch_messages = reader.agent_branch(agent)
        if (key := branch_messages.message_with(_whole(branch_messages, message))) is not None:
            return ReadTarget(reader, branch_messages, 0, agent, key)
    raise NothingFound(f"there is no message {message} in this chat", "leave out message to read from the start")


def _whole(branch_messages: BranchMessages, begin: str) -> str:
    """Return the message with the only id that has this prefix; the prefix itself if there are none or several."""
    if branch_messages.message_with(begin) is not None:
        return begin
    names = {
        name for entry in branch_messages.entries for row in entry.rows for name in (row.uuid, row.message_id) if name
    }
    names |= {row.uuid for row in branch_messages.result_rows()}
    keys = {branch_messages.message_with(name) for name in names if name.lower().startswith(begin.lower())} - {None}
    return keys.pop() or begin if len(keys) == 1 else begin


def _agents(reader: ChatReader, name: str) -> list[Agent]:
    exact = [agent for agent in reader.chat.agents if agent.id == name]
    return exact or [agent for agent in reader.chat.agents if agent.id.startswith(name)]


def message_texts(
    context: CallContext, place: ReadTarget, numbers: list[int], *, thinking: bool, most: int
) -> list[MessageText]:
    """Return messages as texts, in the given order, until `most` characters are reached."""
    started = by_call(place.reader.chat.agents)
    agents = {call: ", agent ".join(agent.id for agent in called) for call, called in started.items()}
    items: list[MessageText] = []
    length = 0
    for start in range(0, len(numbers), AT_ONCE):
        chunk = numbers[start : start + AT_ONCE]
        keys = {place.branch_messages.entries[number].key: number for number in chunk}
        messages = place.reader.messages(context.library, place.branch_messages, list(keys))
        texts = {keys[message.key]: (message, text_of(message, agents, thinking=thinking)) for message in messages}
        for number in chunk:
            if number in texts:
                message, text = texts[number]
                items.append(MessageText(number, name_of(message.key), message, text))
                length += len(text)
        if length > most:
            break
    return items


def text_of(message: Message, agents: dict[str, str], *, thinking: bool) -> str:
    """Return the text of a message, and a line for each of its tool calls."""
    parts = parts_of([message], PartFilter("none", thinking))
    lines = [": ".join(piece for piece in (part.title, part.text) if piece) for part in parts]
    for call in message.calls.values():
        output = result_text(call)
        agent = f", agent {agents[call.id]}" if call.id in agents else ""
        wrong = f": {' '.join(output[:LONGEST_ERROR].split())}" if call.state == "error" else ""
        size = f", {len(output)} characters" if output else ""
        lines.append(f"[call {call.id}: {call_title(call)} {call.state}{size}{agent}{wrong}]")
    return "\n".join(lines)


def output_of(message: Message, call_id: str) -> str | None:
    """Return the input and output of a tool call; None if it is not in this message."""
    call = message.calls.get(call_id)
    if call is None:
        return None
    raw = call.block.input
    request = bytes(raw).decode("utf-8", "replace") if raw else ""
    return f"{call.name} {call.state}\ninput: {request}\noutput: {diff_of(call) or result_text(call)}"
