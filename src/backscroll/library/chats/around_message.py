"""A message of a chat and the messages around it, for readers who come from a search."""

from collections.abc import Sequence

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.messages import Message
from backscroll.errors import UsageError
from backscroll.library.library import Library
from backscroll.library.opened_chat import OpenedChat
from backscroll.store.reader import StoredChat


def message_named(library: Library, chat: StoredChat, name: str) -> str | None:
    """Return the id of the message that `name` starts; None if it names the chat or one of its sessions or agents."""
    if any(own.lower().startswith(name.lower()) for own in (chat.overview.id, *chat.overview.sessions)):
        return None
    named = library.reader.messages_named(chat.key, name)
    if len(named) > 1:
        raise UsageError(f"several messages start with {name}", "give a longer prefix")
    return named[0].uuid if named else None


class AroundMessage:
    """An opened chat of which only the messages around one are shown."""

    def __init__(self, opened: OpenedChat, message: str, count: int, *, is_first: bool = False) -> None:
        """Select the message, `count` messages before it, unless it `is_first`, and `count` after it.

        Raises UsageError if the message is not visible in the chat.
        """
        self._is_first = is_first
        self._opened = opened
        self.branches: list[Branch] = []
        """The branch of the message; empty if it belongs to an agent."""
        self.agents: list[Agent] = []
        """The agent of the message, if any."""
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
        """The opened chat."""
        return self._opened.chat

    @property
    def title(self) -> str:
        """The title of the chat."""
        return self._opened.title

    def messages(self, branch: Branch) -> list[Message]:
        """Return the messages around the chosen one, if it is on this branch."""
        return self._messages if branch in self.branches else []

    def agent_messages(self, agent: Agent) -> list[Message]:
        """Return the messages around the chosen one, if it belongs to this agent."""
        return self._messages if agent in self.agents else []


def _has(message: Message, uuid: str) -> bool:
    """Whether a row belongs to this message: its own, or the result of one of its calls."""
    results = (call.result.row for call in message.calls.values() if call.result is not None)
    return any(row.uuid == uuid for row in (*message.rows, *results))
