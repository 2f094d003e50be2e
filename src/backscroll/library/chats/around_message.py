"""A message of a chat and the messages around it, for readers who come from a search."""

from collections.abc import Sequence

from backscroll.conversation.agents import Agent
from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.messages import Message
from backscroll.errors import UsageError
from backscroll.library.library import Library
from backscroll.library.opened_chat import OpenedChat
from backscroll.store.reader import StoredChat


def message_named(library: Library, chat: StoredChat, name: str) -> str | None:
    """The id of the message that `name` is the start of; None if it names the chat or one of its sessions or agents."""
    if any(own.lower().startswith(name.lower()) for own in (chat.overview.id, *chat.overview.sessions)):
        return None
    found = library.reader.messages_named(chat.key, name)
    if len(found) > 1:
        raise UsageError(f"several messages start with {name}", "give a longer prefix")
    return found[0].uuid if found else None


class AroundMessage:
    """An opened chat of which only the messages around one are shown."""

    def __init__(self, opened: OpenedChat, message: str, count: int, *, is_first: bool = False) -> None:
        """With `count` messages before it, unless it `is_first`, and after it.

        UsageError if the message is not shown in the chat.
        """
        self._is_first = is_first
        self._opened = opened
        self.branches: list[Branch] = []
        """The branch that it is on; empty if it belongs to an agent."""
        self.agents: list[Agent] = []
        """The agent that it belongs to."""
        self.before = self.after = 0
        """The number of messages that are left out before and after."""
        self._messages: list[Message] = []
        for branch in opened.chat.branches:
            if self._take(opened.messages(branch), message, count):
                self.branches = [branch]
                return
        for agent in opened.chat.agents:
            if self._take(opened.agent_messages(agent), message, count):
                self.agents = [agent]
                return
        raise UsageError(f"message {message} is not shown in its chat", f"see backscroll show {opened.chat.id}")

    def _take(self, messages: Sequence[Message], wanted: str, count: int) -> bool:
        at = next((at for at, message in enumerate(messages) if _has(message, wanted)), None)
        if at is None:
            return False
        self.before = at if self._is_first else max(0, at - count)
        self._messages = list(messages[self.before : at + count + 1])
        self.after = len(messages) - self.before - len(self._messages)
        return True

    @property
    def chat(self) -> Chat:
        """The chat."""
        return self._opened.chat

    @property
    def title(self) -> str:
        """What the chat is called."""
        return self._opened.title

    def messages(self, branch: Branch) -> list[Message]:
        """The messages around it, if it is on this branch."""
        return self._messages if branch in self.branches else []

    def agent_messages(self, agent: Agent) -> list[Message]:
        """The messages around it, if it belongs to this agent."""
        return self._messages if agent in self.agents else []


def _has(message: Message, uuid: str) -> bool:
    """Whether a row is of this message: its own, or the result of one of its calls."""
    results = (call.result.row for call in message.calls.values() if call.result is not None)
    return any(row.uuid == uuid for row in (*message.rows, *results))
