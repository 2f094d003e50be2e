"""One branch of an open chat, as its page shows it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from backscroll.conversation.agents import Agent
from backscroll.conversation.messages import Message
from backscroll.errors import BackscrollError, NothingFound
from backscroll.library.chats.chat_reader import CHUNK, ChatReader
from backscroll.library.chats.outline import crossings_of, outline_of
from backscroll.library.chats.resume import resume_in
from backscroll.library.growing import is_recent
from backscroll.library.library import Library
from backscroll.library.marked_chats import marked_chat
from backscroll.library.opened_chat import holders_of
from backscroll.records.record import Record
from backscroll.records.sidecars import LiveSession
from backscroll.records.tools import AGENT_TOOLS
from backscroll.render.html.element import Html
from backscroll.render.html.messages import messages_html
from backscroll.render.html.page_data import BranchOrigin, ChatPageData, Fork, MessageChunk, OutlineItem, View
from backscroll.web.addresses import agent_address, chat_address, part
from backscroll.web.asker import author_name
from backscroll.web.reader_zone import reader_time

MAX_HEADING_LENGTH: Final = 120
MAX_AT_ONCE: Final = 2000
"""Up to this many messages, the outline comes with the page."""


@dataclass(frozen=True)
class ChatLinks:
    """The viewer's links out of a message."""

    chat: str
    branch: int = 1

    @property
    def _at(self) -> str:
        return chat_address(self.chat)

    @property
    def branch_page(self) -> str:
        """The page of this branch."""
        return f"{self._at}?branch={self.branch}"

    @property
    def compare(self) -> str:
        """The page that compares branches of this chat."""
        return f"{self._at}/compare"

    def message(self, message: str) -> str:
        """A message of this chat."""
        branch = f"&branch={self.branch}" if self.branch != 1 else ""
        return f"{self._at}?at={part(message)}{branch}#m-{part(message)}"

    def agent(self, agent: str) -> str | None:
        """A sub-agent's own page."""
        return agent_address(self.chat, agent)

    def agent_messages(self, agent: str) -> str | None:
        """What it said, as a fragment."""
        return f"{agent_address(self.chat, agent)}/messages"

    def picture(self, row: str, number: int) -> str | None:
        """A picture."""
        return f"{self._at}/pictures/{part(row)}/{number}"

    def raw(self, row: str) -> str | None:
        """A row as it was written."""
        return f"{self._at}/rows/{part(row)}"

    def prompt(self, message: str) -> str | None:
        """The form that saves a prompt to be used again."""
        return f"{self._at}/messages/{part(message)}/prompt"

    def whole(self, call: str) -> str | None:
        """All of a call and its result."""
        return f"{self._at}/whole/{part(call)}"

    def file(self, path: str) -> str | None:
        """What happened to a file."""
        return f"/files?path={part(path)}"


class ChatView:
    """One branch of a chat."""

    def __init__(self, library: Library, reader: ChatReader, branch: int) -> None:
        self.library = library
        self.reader = reader
        self.branch = branch
        self.branch_messages = reader.branch_messages(branch)
        self.links = ChatLinks(reader.stored.overview.id, branch)

    @property
    def is_live(self) -> bool:
        """Whether a client has it open, or wrote to it just now."""
        return bool(self._sessions) or is_recent(self.reader.written_ns, time.time_ns())

    @property
    def state(self) -> Literal["idle", "working", "waiting"]:
        """What it is doing: as the client says, or else judged by its last message."""
        if not self.is_live:
            return "idle"
        for session in self._sessions:
            if session.status:
                return "working" if session.status in WORKING else "waiting"
        said = (entry for entry in reversed(self.branch_messages.entries) if str(entry.rows[0].kind) in SAID)
        last = next(said, None)  # notes and hooks may stand behind it
        if last is None or last.rows[0].kind != "answer":
            return "working"
        is_open = any(call.id not in self.branch_messages.results for row in last.rows for call in row.calls)
        return "working" if is_open or last.rows[-1].calls else "waiting"

    @property
    def _sessions(self) -> list[LiveSession]:
        live = self.library.live
        return [live[name] for leaf in self.reader.chat.leaves if (name := (leaf.session_id or "").lower()) in live]

    def chunk(self, number: int) -> Html:
        """The messages of a chunk."""
        keys = [entry.key for entry in self.branch_messages.entries[number * CHUNK : (number + 1) * CHUNK]]
        before = self.branch_messages.entries[number * CHUNK - 1 : number * CHUNK] if number else []
        messages = self.messages([*(entry.key for entry in before), *keys])
        earlier = messages.pop(0) if before and messages and messages[0].key == before[0].key else None
        return messages_html(messages, self.view(messages), earlier)

    def messages(self, keys: Sequence[str]) -> list[Message]:
        """Messages, read."""
        is_live = self.is_live and self.branch == 1
        return self.reader.messages(self.library, self.branch_messages, keys, is_live=is_live)

    def message(self, name: str) -> Message | None:
        """A message by its key, its id, or the id of a tool call in it; also in sub-agents."""
        key = self.branch_messages.message_with(name)
        if key is not None:
            return next(iter(self.messages([key])), None)
        found = self.reader.locate(name)
        if found is not None and found[0] != self.branch:
            return ChatView(self.library, self.reader, found[0]).message(found[1])
        agent = self.reader.agent_with(name)
        branch_messages = self.reader.agent_branch(agent) if agent else None
        key = branch_messages.message_with(name) if branch_messages else None
        if branch_messages is None or key is None:
            return None
        return next(iter(self.reader.messages(self.library, branch_messages, [key])), None)

    def agent_messages(self, name: str) -> list[Message]:
        """The messages of a sub-agent."""
        branch_messages = self.reader.agent_branch(self.reader.agent(name))
        return self.reader.messages(self.library, branch_messages, branch_messages.keys, is_live=self.is_live)

    def record(self, name: str) -> Record:
        """A row as it was written."""
        node = self.reader.chat.tree.find(name)
        row = node.row if node else None
        if row is None:
            agent = self.reader.agent_with(name)
            row = next((one for one in agent.rows if one.uuid == name), None) if agent else None
        read = self.reader.read(self.library, [row]) if row else {}
        found = read[name].record if name in read else None
        if found is None:
            raise NothingFound(f"there is no row {name} in this chat", "reload the page")
        return found

    def view(self, messages: Sequence[Message], *, whole: bool = False) -> View:
        """How they are shown."""
        costs = self.library.answer_costs(message.id for message in messages if message.usage)
        crossings = crossings_of(self.reader, self.branch_messages, [message.key for message in messages])
        return View(
            self.links,
            costs=costs,
            agents=self._agents(messages),
            whole=whole,
            clock=time.thread_time,
            local=reader_time,
            author=author_name(self.reader.stored.machines),
            forks={
                key: Fork(crossing.here, crossing.ways, f"{self.links.compare}") for key, crossing in crossings.items()
            },
        )

    def _agents(self, messages: Sequence[Message]) -> dict[str, Agent]:
        calls = {name for message in messages for name, call in message.calls.items() if call.name in AGENT_TOOLS}
        agents = self.reader.chat.agents if calls else []
        return {agent.call.id: agent for agent in agents if agent.call and agent.call.id in calls}

    # The page

    def shown(self, at: str | None = None, *, is_whole: bool = False) -> ChatPageData:
        """The data of the page, with the chunk that holds message `at`, or the first chunk.

        A long chat has no outline unless `is_whole` is set: the outline could be larger than the messages shown.
        """
        stored, chat = self.reader.stored, self.reader.chat
        filled = {self.branch_messages.at[at] // CHUNK if at in self.branch_messages.at else 0}
        entries = self.branch_messages.entries
        count = max(1, (len(entries) + CHUNK - 1) // CHUNK)
        chunks = [
            MessageChunk(number, entries[number * CHUNK].key, min(CHUNK, len(entries) - number * CHUNK))
            for number in range(count if entries else 0)
        ]
        mark = marked_chat(self.library, stored).mark
        return ChatPageData(
            overview=stored.overview,
            title=stored.overview.title,
            branch=self.branch,
            branches=chat.branches,
            agents=chat.shown_agents,
            outline=self.outline() if is_whole or len(entries) <= MAX_AT_ONCE else None,
            chunks=chunks,
            filled={number: self.chunk(number) for number in filled if chunks},
            links=self.links,
            agent_messages=self._first_agent() if chat.is_without_session else None,
            cursor=self.reader.cursor,
            is_live=self.is_live,
            is_archived=stored.archived,
            is_pinned=mark.pinned,
            tags=[*stored.overview.tags, *mark.tags],
            notes=[note.text for note in mark.notes],
            tokens=stored.tokens,
            cost=stored.cost,
            resume=self._resume(),
            origins=origins_of(self.reader),
            holders=holders_of(chat),
            state=self.state,
        )

    def _first_agent(self) -> Html | None:
        agents = self.reader.chat.shown_agents
        messages = self.agent_messages(agents[0].id) if agents else []
        return messages_html(messages, self.view(messages)) if messages else None

    def outline(self) -> list[OutlineItem]:
        """The prompts and compactions, each with the cost and size of its turn."""
        return [
            OutlineItem(
                id=heading.key,
                kind=str(heading.kind),
                text=heading.text[:MAX_HEADING_LENGTH],
                when=heading.when,
                chunk=heading.at // CHUNK,
                messages=heading.messages,
                calls=heading.calls,
                errors=heading.errors,
                context=heading.context,
                model=heading.model,
                cost=heading.cost,
            )
            for heading in self.reader.remembered(
                ("outline", self.branch), lambda: outline_of(self.library, self.reader, self.branch_messages)
            )
        ]

    def _resume(self) -> str | None:
        try:
            return resume_in(self.reader.chat, self.reader.stored, self.library.machine, branch=self.branch).line
        except BackscrollError:
            return None


def origins_of(reader: ChatReader) -> list[BranchOrigin]:
    """Where each branch but the first left another one."""
    origins = []
    for branch in reader.chat.branches[1:]:
        step = branch.left_at
        parent = reader.branch_of(step) if step else None
        while step is not None and not (step.head and step.head.row.text.strip()):
            step = step.parent
        text = step.head.row.text if step and step.head else ""
        origins.append(BranchOrigin(branch.number, parent, text))
    return origins


SAID: Final = frozenset({"prompt", "queued", "answer", "command", "shell", "compact-summary", "interruption"})
WORKING: Final = frozenset({"busy", "shell"})
