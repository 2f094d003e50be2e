"""One branch of an open chat, as its page shows it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backscroll.conversation.agents import Agent, by_call
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
from backscroll.records.tools import AGENT_TOOLS, WORKFLOW_TOOL
from backscroll.render.html.element import Html
from backscroll.render.html.messages import messages_html
from backscroll.render.html.page_data import (
    BranchOrigin,
    ChatPageData,
    ChatState,
    Fork,
    MessageChunk,
    OutlineItem,
    View,
)
from backscroll.web.addresses import agent_address, chat_address, part
from backscroll.web.asker import author_name
from backscroll.web.reader_zone import reader_time

MAX_HEADING_LENGTH: Final = 120
MAX_AT_ONCE: Final = 2000
"""Number of messages up to which the outline comes with the page."""


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
        """Address of this branch's page."""
        return f"{self._at}?branch={self.branch}"

    @property
    def compare(self) -> str:
        """Address of the page that compares branches of this chat."""
        return f"{self._at}/compare"

    def message(self, message: str) -> str:
        """Address of a message of this chat."""
        branch = f"&branch={self.branch}" if self.branch != 1 else ""
        return f"{self._at}?at={part(message)}{branch}#m-{part(message)}"

    def agent(self, agent: str) -> str | None:
        """Address of a sub-agent's own page."""
        return agent_address(self.chat, agent)

    def agent_messages(self, agent: str) -> str | None:
        """Address of a sub-agent's messages, as a fragment."""
        return f"{agent_address(self.chat, agent)}/messages"

    def picture(self, row: str, number: int) -> str | None:
        """Address of an image."""
        return f"{self._at}/pictures/{part(row)}/{number}"

    def raw(self, row: str) -> str | None:
        """Address of a row as it was written."""
        return f"{self._at}/rows/{part(row)}"

    def prompt(self, message: str) -> str | None:
        """Address of the form that saves a prompt to be used again."""
        return f"{self._at}/messages/{part(message)}/prompt"

    def whole(self, call: str) -> str | None:
        """Address of a whole call with its result."""
        return f"{self._at}/whole/{part(call)}"

    def file(self, path: str) -> str | None:
        """Address of a file's history."""
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
        """Whether a client has the chat open, or wrote to it just now."""
        is_growing = any((leaf.session_id or "") in self.library.scope.live for leaf in self.reader.chat.leaves)
        return bool(self._sessions) or (is_growing and is_recent(self.reader.written_ns, time.time_ns()))

    @property
    def state(self) -> ChatState:
        """State of the chat: as its client reports, or else judged by the last message."""
        if not self.is_live:
            return "idle"
        for session in self._sessions:
            if session.status:
                waits: ChatState = "permission" if session.waits_for_permission else "waiting"
                return "working" if session.status in WORKING else waits
        spoken = (entry for entry in reversed(self.branch_messages.entries) if str(entry.rows[0].kind) in SAID)
        last = next(spoken, None)  # notes and hooks may stand behind it
        if last is None or last.rows[0].kind != "answer":
            return "working"
        is_open = any(call.id not in self.branch_messages.results for row in last.rows for call in row.calls)
        return "working" if is_open or last.rows[-1].calls else "waiting"

    @property
    def asked_tool(self) -> str:
        """Tool that waits for a permission, if any: the last that was called."""
        if self.state != "permission":
            return ""
        rows = (row for entry in reversed(self.branch_messages.entries) for row in reversed(entry.rows))
        calls = (call for row in rows for call in reversed(row.calls))
        return next((call.name for call in calls if call.id not in self.branch_messages.results), "")

    @property
    def _sessions(self) -> list[LiveSession]:
        live = self.library.live
        return [live[name] for leaf in self.reader.chat.leaves if (name := (leaf.session_id or "").lower()) in live]

    def chunk(self, number: int) -> Html:
        """Return the messages of a chunk as HTML."""
        keys = [entry.key for entry in self.branch_messages.entries[number * CHUNK : (number + 1) * CHUNK]]
        before = self.branch_messages.entries[number * CHUNK - 1 : number * CHUNK] if number else []
        messages = self.messages([*(entry.key for entry in before), *keys])
        earlier = messages.pop(0) if before and messages and messages[0].key == before[0].key else None
        return messages_html(messages, self.view(messages), earlier)

    def messages(self, keys: Sequence[str]) -> list[Message]:
        """Return the messages with these keys, read."""
        is_live = self.is_live and self.branch == 1
        return self.reader.messages(self.library, self.branch_messages, keys, is_live=is_live)

    def message(self, name: str) -> Message | None:
        """Find a message by its key, its id, or the id of a tool call in it; also in sub-agents."""
        key = self.branch_messages.message_with(name)
        if key is not None:
            return next(iter(self.messages([key])), None)
        location = self.reader.locate(name)
        if location is not None and location[0] != self.branch:
            return ChatView(self.library, self.reader, location[0]).message(location[1])
        agent = self.reader.agent_with(name)
        branch_messages = self.reader.agent_branch(agent) if agent else None
        key = branch_messages.message_with(name) if branch_messages else None
        if branch_messages is None or key is None:
            return None
        return next(iter(self.reader.messages(self.library, branch_messages, [key])), None)

    def agent_messages(self, name: str) -> list[Message]:
        """Return the messages of a sub-agent."""
        branch_messages = self.reader.agent_branch(self.reader.agent(name))
        return self.reader.messages(self.library, branch_messages, branch_messages.keys, is_live=self.is_live)

    def record(self, name: str) -> Record:
        """Return a row as it was written."""
        node = self.reader.chat.tree.find(name)
        row = node.row if node else None
        if row is None:
            agent = self.reader.agent_with(name)
            row = next((candidate for candidate in agent.rows if candidate.uuid == name), None) if agent else None
        read = self.reader.read(self.library, [row]) if row else {}
        record = read[name].record if name in read else None
        if record is None:
            raise NothingFound(f"there is no row {name} in this chat", "reload the page")
        return record

    def view(self, messages: Sequence[Message], *, whole: bool = False) -> View:
        """Return the view of these messages: the facts that are not in the messages themselves."""
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
                key: Fork(crossing.here, crossing.ways, self.links.compare, crossing.is_rewind)
                for key, crossing in crossings.items()
            },
        )

    def _agents(self, messages: Sequence[Message]) -> dict[str, list[Agent]]:
        starts = any(call.name in STARTING for message in messages for call in message.calls.values())
        return by_call(self.reader.chat.agents) if starts else {}

    # The page

    def shown(self, at: str | None = None, *, is_whole: bool = False) -> ChatPageData:
        """Return the data of the page, with the chunk that holds message `at`, or the first chunk.

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
            unrecorded_tokens=stored.unrecorded_tokens,
            unrecorded_cost=stored.unrecorded_cost,
            resume=self._resume(),
            origins=origins_of(self.reader),
            holders=holders_of(chat),
            state=self.state,
            asked_tool=self.asked_tool,
        )

    def _first_agent(self) -> Html | None:
        agents = self.reader.chat.shown_agents
        messages = self.agent_messages(agents[0].id) if agents else []
        return messages_html(messages, self.view(messages)) if messages else None

    def outline(self) -> list[OutlineItem]:
        """Return the prompts and compactions, each with the cost and size of its turn."""
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
                agents_cost=heading.agents_cost,
                is_lower_bound=heading.is_lower_bound,
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
    """Return where each branch but the first left another one."""
    origins = []
    for branch in reader.chat.branches[1:]:
        step = branch.left_at
        parent = reader.branch_of(step) if step else None
        while step is not None and not (step.head and step.head.row.text.strip()):
            step = step.parent
        text = step.head.row.text if step and step.head else ""
        origins.append(BranchOrigin(branch.number, parent, text))
    return origins


STARTING: Final = AGENT_TOOLS | {WORKFLOW_TOOL}
SAID: Final = frozenset({"prompt", "queued", "answer", "command", "shell", "compact-summary", "interruption"})
WORKING: Final = frozenset({"busy", "shell"})
