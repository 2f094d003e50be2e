"""A whole chat as one document: its head, its branches, and its agents."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.messages import Message
from backscroll.render.markdown import markdown
from backscroll.render.parts import WITHOUT_SESSION, ChatPart, PartFilter, parts_of
from backscroll.render.terminal import clean_line, minute, moment, zone_of


class Readable(Protocol):
    """A chat that is open for reading."""

    @property
    def chat(self) -> Chat:
        """The chat that is open."""

    @property
    def title(self) -> str:
        """Title of the chat."""

    def messages(self, branch: Branch) -> list[Message]:
        """Return the messages of a branch."""

    def agent_messages(self, agent: Agent) -> list[Message]:
        """Return the messages of a sub-agent, its task included."""


def document_parts(
    opened: Readable, branches: Sequence[Branch], choice: PartFilter, *, agents: bool, for_terminal: bool = False
) -> Iterator[ChatPart]:
    """Yield the parts of some branches, and of the agents if they are wanted.

    The head has the whole id and times in UTC, or `for_terminal` a short id and times on the user's clock.
    """
    chat = opened.chat
    title = clean_line(opened.title)
    yield ChatPart("divider", title=title if len(title) <= 70 else title[:69] + "…")
    times = [when for when in (chat.started, chat.last_active) if when]
    if for_terminal:
        facts = [chat.id[:8], chat.project, f"{' – '.join(map(minute, times))} {zone_of(times)}".strip()]
    else:
        facts = [chat.id, chat.project, " – ".join(map(moment, times))]
    facts += [", ".join(chat.models), f"{len(chat.branches)} branches" if len(chat.branches) > 1 else ""]
    yield ChatPart("output", " · ".join(word for word in facts if word))
    for branch in branches:
        if len(branches) > 1:
            yield ChatPart("divider", title=f"branch {branch.number} of {len(chat.branches)}")
        yield from parts_of(opened.messages(branch), choice)
    if chat.is_without_session and chat.shown_agents:
        yield ChatPart("output", WITHOUT_SESSION)
    for agent in chat.shown_agents if agents or chat.is_without_session else ():
        yield ChatPart("divider", title=f"agent {agent.id}: {agent.type or ''} {agent.description or ''}")
        yield from parts_of(opened.agent_messages(agent), choice)


def markdown_of(opened: Readable, branches: Sequence[Branch], choice: PartFilter, *, agents: bool) -> Iterator[str]:
    """Yield the document as Markdown, piece by piece."""
    yield f"# {clean_line(opened.title)}\n\n"
    yield from markdown(document_parts(opened, branches, choice, agents=agents))
