"""Sub-agents, and the calls that started them.

An agent's rows are in a separate file, or up to 2.0.20 among the rows of its session as sidechains, or only repeated in
progress rows. It belongs to the call that its sidecar names, else to the call whose result names it, else to the one
that its progress rows name, else to the call with its prompt.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.rows import LONGEST_TEXT, Row, RowCall
from backscroll.conversation.transcripts import Transcript
from backscroll.conversation.tree import FAR, Tree, walk
from backscroll.conversation.usage import SYNTHETIC, total
from backscroll.records.content import Usage
from backscroll.records.tools import WORKFLOW_TOOL

TASKS: Final = (RowKind.PROMPT, RowKind.NOTIFICATION, RowKind.TOOL_RESULT)
"""The kinds of rows that can have an agent's task, the most usual first."""
SIDE_COPIES: Final = ("acompact", "aside_question", "prompt_suggestion")
"""Internal agents of the client: they repeat the session and add nothing."""


class Agent:
    """The conversation of a sub-agent."""

    def __init__(self, agent_id: str, rows: list[Row], transcript: Transcript | None = None) -> None:
        self.id = agent_id
        self.rows = rows
        self.transcript = transcript
        self.call: RowCall | None = None
        """The call that started the agent."""
        self.parent: Agent | None = None
        """The agent that made the call, if it was not the session itself."""
        self.workflow: str | None = None
        """The name of the workflow that the agent belongs to."""

    @cached_property
    def tree(self) -> Tree:
        """The tree of the agent's own turns."""
        name = self.rows[0].transcript if self.rows else self.id
        return Tree.of({name: self.rows}, {}, {})

    @property
    def prompt(self) -> str:
        """The start of the agent's task. A teammate gets it as a message of the session that leads the team, and a fork
        with the result of the call that started it."""
        return next((row.text for kind in TASKS for row in self.rows if row.kind is kind and row.text), "")

    @property
    def type(self) -> str | None:
        """The type of agent, such as `Explore`."""
        meta = self.transcript.meta if self.transcript else None
        request = self.call.agent if self.call else None
        if self.workflow:
            return f"workflow {self.workflow}"
        return (meta.agent_type if meta else None) or (request.subagent_type if request else None)

    @property
    def description(self) -> str | None:
        """The agent's purpose, in a few words."""
        meta = self.transcript.meta if self.transcript else None
        request = self.call.agent if self.call else None
        return (meta.description if meta else None) or (request.description if request else None)

    @property
    def models(self) -> list[str]:
        """The models that answered in the agent's conversation."""
        return list(dict.fromkeys(row.model for row in self.rows if row.model and row.model != SYNTHETIC))

    @property
    def calls(self) -> list[RowCall]:
        """The tool calls that the agent made."""
        return [call for row in self.rows for call in row.calls]

    @property
    def is_stub(self) -> bool:
        """Whether the agent was only started to warm up and got no task."""
        return self.prompt == "Warmup"

    @property
    def is_side_copy(self) -> bool:
        """Whether the agent repeats the session for the client's own purposes."""
        return self.id.startswith(SIDE_COPIES)

    @property
    def started(self) -> datetime | None:
        """Time of the agent's first row."""
        return min((row.when for row in self.rows if row.when), default=None)

    @property
    def usage(self) -> Usage:
        """Total usage of the agent's own rows."""
        return total(self.rows)


def find_agents(sessions: list[Transcript], files: list[Transcript], tree: Tree) -> list[Agent]:
    """Return all agents of a chat, each with the call that started it, if there is one."""
    agents = [Agent(file.place.agent_id or file.place.name, file.rows, file) for file in _without_copies(files)]
    in_progress = {name: each for transcript in (*files, *sessions) for name, each in transcript.agents_told.items()}
    agents = _joined(
        agents, _inline([*sessions, *files], tree.aliases, {each.first: name for name, each in in_progress.items()})
    )
    starting = (node for node in tree.all_nodes() if any(_starts_agents(call) for call in node.row.calls))
    nodes = sorted(starting, key=lambda node: (node.row.when or FAR, node.position))
    calls = {call.id: (call, None) for node in nodes for call in node.row.calls if _starts_agents(call)}
    named = {name: call for session in (*sessions, *files) for call, name in session.agents_named.items()}
    workflows = {run: each for transcript in (*sessions, *files) for run, each in transcript.workflows.items()}
    starts: dict[str, list[str]] = {}
    for agent in agents:
        meta = agent.transcript.meta if agent.transcript else None
        workflow = workflows.get((agent.transcript.place.workflow_run if agent.transcript else None) or "")
        agent.workflow = workflow.name if workflow else None
        started_by = in_progress[agent.id].call if agent.id in in_progress else None
        known = (
            meta.tool_use_id if meta else None,
            named.get(agent.id),
            started_by,
            workflow.call if workflow else None,
        )
        starts[agent.id] = [call for call in known if call]
        _leave_out_inherited(agent, starts[agent.id])
    callers: dict[str, tuple[RowCall, Agent | None]] = {}
    for agent in agents:
        if not agent.is_side_copy:
            callers |= {call.id: (call, agent) for call in agent.calls if _starts_agents(call)}
    callers |= calls
    free = {call: each for call, each in callers.items() if each[0].agent}
    for agent in agents:
        for call_id in starts[agent.id]:
            if call_id in callers and callers[call_id][1] is not agent:
                agent.call, agent.parent = callers[call_id]
                free.pop(call_id, None)
                break
    waiting: dict[str, deque[tuple[RowCall, Agent | None]]] = {}
    for call, parent in free.values():
        prompt = (call.agent.prompt if call.agent else None) or ""
        waiting.setdefault(prompt[:LONGEST_TEXT].strip(), deque()).append((call, parent))
    for agent in sorted(agents, key=lambda agent: (agent.started is None, agent.started, agent.id)):
        if agent.call is None and not agent.is_stub and not agent.is_side_copy:
            _attach_by_prompt(agent, waiting)
    return sorted(agents, key=lambda agent: (agent.started.timestamp() if agent.started else 0.0, agent.id))


def by_call(agents: Iterable[Agent]) -> dict[str, list[Agent]]:
    """Return the agents that each call started: a workflow may start many."""
    started: dict[str, list[Agent]] = {}
    for agent in agents:
        if agent.call is not None:
            started.setdefault(agent.call.id, []).append(agent)
    return started


def _starts_agents(call: RowCall) -> bool:
    return call.agent is not None or call.name == WORKFLOW_TOOL


def _leave_out_inherited(agent: Agent, starts: list[str]) -> None:
    """Leave out the answer that started the agent: the file of a fork begins with a copy of it."""
    copied = {row.message_id or row.uuid for row in agent.rows if any(call.id in starts for call in row.calls)}
    if copied:
        agent.rows = [row for row in agent.rows if (row.message_id or row.uuid) not in copied]


def _attach_by_prompt(agent: Agent, waiting: dict[str, deque[tuple[RowCall, Agent | None]]]) -> None:
    """Attach an agent to the first call with its prompt that has no agent and was not made by it."""
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
    """Return one file of each agent: a backup, a copy of the session or an earlier version holds it again.

    A file of this machine wins, and of several the longest.
    """
    longest: dict[tuple[str | None, str], Transcript] = {}
    for file in sorted(files, key=lambda file: (file.is_elsewhere, -len(file.rows), file.place.file)):
        longest.setdefault((file.place.agent_id, file.rows[0].uuid if file.rows else ""), file)
    with_rows = {file.place.agent_id for file in longest.values() if file.rows}
    return [file for file in longest.values() if file.rows or file.place.agent_id not in with_rows]


def _joined(agents: list[Agent], inline: Iterator[Agent]) -> list[Agent]:
    """Return all agents, each once: an agent with a file takes only its missing rows from progress rows."""
    with_file = {agent.id: agent for agent in agents}
    for other in inline:
        agent = with_file.get(other.id)
        if agent is None:
            agents.append(other)
            continue
        known = {row.uuid for row in agent.rows}
        missing = [row for row in other.rows if row.uuid not in known]
        if missing:
            agent.rows = [*agent.rows, *missing]
    return agents


def _inline(files: list[Transcript], aliases: Mapping[str, str], told: Mapping[str, str]) -> Iterator[Agent]:
    """Yield the agents among the rows of the files; resumed copies of a session hold equal ones.

    `told` has the ids of the agents in progress rows, by their first rows.
    """
    rows = {file.place.file: file.sidechains for file in files if file.sidechains}
    if not rows:
        return
    tree = Tree.of(rows, aliases, {}, in_parts=False)
    for root in tree.roots:
        nodes = [node for turn in walk([root]) for node in turn.in_order()]
        if nodes:
            first = nodes[0].row.uuid
            yield Agent(told.get(first, f"inline-{first}"), [node.row for node in nodes])
