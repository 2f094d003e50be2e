"""Sub-agents, and the calls that started them.

An agent's rows are in a separate file, or up to 2.0.20 among the rows of its session as sidechains. It belongs to the
call that its sidecar names, else to the call whose result names it, else to the call with its prompt.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.rows import LONGEST_TEXT, Row, RowCall
from backscroll.conversation.transcripts import Transcript
from backscroll.conversation.tree import FAR, Tree, walk
from backscroll.conversation.usage import SYNTHETIC, total
from backscroll.records.content import Usage

SIDE_COPIES: Final = ("acompact", "aside_question", "prompt_suggestion")
"""Internal agents of the client: they repeat the session and add nothing."""


class Agent:
    """A sub-agent's conversation."""

    def __init__(self, agent_id: str, rows: list[Row], transcript: Transcript | None = None) -> None:
        self.id = agent_id
        self.rows = rows
        self.transcript = transcript
        self.call: RowCall | None = None
        """The call that started it."""
        self.parent: Agent | None = None
        """The agent that made the call, if it was not the session itself."""

    @cached_property
    def tree(self) -> Tree:
        """Its own turns."""
        name = self.rows[0].transcript if self.rows else self.id
        return Tree.of({name: self.rows}, {}, {})

    @property
    def prompt(self) -> str:
        """The start of its task."""
        return next((row.text for row in self.rows if row.kind is RowKind.PROMPT), "")

    @property
    def type(self) -> str | None:
        """The type of agent, such as `Explore`."""
        meta = self.transcript.meta if self.transcript else None
        asked = self.call.agent if self.call else None
        return (meta.agent_type if meta else None) or (asked.subagent_type if asked else None)

    @property
    def description(self) -> str | None:
        """Its purpose, in a few words."""
        meta = self.transcript.meta if self.transcript else None
        asked = self.call.agent if self.call else None
        return (meta.description if meta else None) or (asked.description if asked else None)

    @property
    def models(self) -> list[str]:
        """The models that answered."""
        return list(dict.fromkeys(row.model for row in self.rows if row.model and row.model != SYNTHETIC))

    @property
    def calls(self) -> list[RowCall]:
        """The tools it called."""
        return [call for row in self.rows for call in row.calls]

    @property
    def is_stub(self) -> bool:
        """Whether it was only started to warm up and got no task."""
        return self.prompt == "Warmup"

    @property
    def is_side_copy(self) -> bool:
        """Whether it repeats the session for the client's own purposes."""
        return self.id.startswith(SIDE_COPIES)

    @property
    def started(self) -> datetime | None:
        """When it began."""
        return min((row.when for row in self.rows if row.when), default=None)

    @property
    def usage(self) -> Usage:
        """Its own tokens."""
        return total(self.rows)


def find_agents(sessions: list[Transcript], files: list[Transcript], tree: Tree) -> list[Agent]:
    """All agents of a chat, each with the call that started it, if there is one."""
    agents = [Agent(file.place.agent_id or file.place.name, file.rows, file) for file in _without_copies(files)]
    agents += _inline(sessions, tree.aliases)
    starting = (node for node in tree.all_nodes() if any(call.agent for call in node.row.calls))
    nodes = sorted(starting, key=lambda node: (node.row.when or FAR, node.position))
    calls = {call.id: (call, None) for node in nodes for call in node.row.calls if call.agent}
    by_call: dict[str, tuple[RowCall, Agent | None]] = dict(calls)
    for agent in agents:
        if not agent.is_side_copy:
            by_call |= {call.id: (call, agent) for call in agent.calls if call.agent}
    named = {name: call for session in (*sessions, *files) for call, name in session.agents_named.items()}
    free = dict(by_call)
    for agent in agents:
        meta = agent.transcript.meta if agent.transcript else None
        for call_id in (meta.tool_use_id if meta else None, named.get(agent.id)):
            if call_id in by_call:
                agent.call, agent.parent = by_call[call_id]
                free.pop(call_id, None)
                break
    waiting: dict[str, deque[tuple[RowCall, Agent | None]]] = {}
    for call, parent in free.values():
        asked = (call.agent.prompt if call.agent else None) or ""
        waiting.setdefault(asked[:LONGEST_TEXT].strip(), deque()).append((call, parent))
    for agent in sorted(agents, key=lambda agent: (agent.started is None, agent.started, agent.id)):
        if agent.call is None and not agent.is_stub and not agent.is_side_copy:
            _attach_by_prompt(agent, waiting)
    return sorted(agents, key=lambda agent: (agent.started.timestamp() if agent.started else 0.0, agent.id))


def _attach_by_prompt(agent: Agent, waiting: dict[str, deque[tuple[RowCall, Agent | None]]]) -> None:
    """Attach an agent to the first call with its prompt that has none and is not its own."""
    prompt = agent.prompt.strip()
    calls = waiting.get(prompt) if prompt else None
    if not calls:
        return
    own = []
    while calls and calls[0][1] is agent:
        own.append(calls.popleft())
    if calls:
        agent.call, agent.parent = calls.popleft()
    calls.extendleft(reversed(own))


def _without_copies(files: list[Transcript]) -> list[Transcript]:
    """One file of each agent, the longest: a backup, a copy of the session or an earlier version holds them again."""
    longest: dict[tuple[str | None, str], Transcript] = {}
    for file in sorted(files, key=lambda file: (-len(file.rows), file.place.file)):
        longest.setdefault((file.place.agent_id, file.rows[0].uuid if file.rows else ""), file)
    said = {file.place.agent_id for file in longest.values() if file.rows}
    return [file for file in longest.values() if file.rows or file.place.agent_id not in said]


def _inline(sessions: list[Transcript], aliases: Mapping[str, str]) -> Iterator[Agent]:
    """The agents among the rows of the sessions; resumed copies of a session hold the same ones."""
    rows = {session.place.file: session.sidechains for session in sessions if session.sidechains}
    if not rows:
        return
    tree = Tree.of(rows, aliases, {})
    for root in tree.roots:
        nodes = [node for turn in walk([root]) for node in turn.in_order()]
        if nodes:
            yield Agent(f"inline-{nodes[0].row.uuid}", [node.row for node in nodes])
