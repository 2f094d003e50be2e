"""The details of a tool call needed to resume a transcript: the agent it starts, the list it changes."""

import msgspec
from msgspec import Struct

from backscroll.conversation.rows import LONGEST_TEXT, RowCall
from backscroll.records.tools import AgentCall, TodoCall


class CallDetail(Struct, omit_defaults=True):
    """The details that few calls have."""

    agent: AgentCall | None = None
    todo: TodoCall | None = None


def detail_of(call: RowCall) -> str | None:
    """Return the details of a call as JSON; None for most calls."""
    if call.agent is None and call.todo is None:
        return None
    agent = call.agent
    if agent is not None and agent.prompt and len(agent.prompt) > LONGEST_TEXT:
        # An agent is recognised by the start of its prompt.
        agent = AgentCall(
            prompt=agent.prompt[:LONGEST_TEXT], description=agent.description, subagent_type=agent.subagent_type
        )
    return msgspec.json.encode(CallDetail(agent, call.todo)).decode()


def decode_detail(text: str | None) -> CallDetail:
    """Return the saved details of a call."""
    return DECODER.decode(text) if text else CallDetail()


DECODER = msgspec.json.Decoder(CallDetail)
