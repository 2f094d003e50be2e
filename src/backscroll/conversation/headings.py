"""The headings of a branch: its prompts and compactions, each with the counts and costs of the messages up to the next.

The only place that computes the cost of a turn: its own answers, and those of the agents that were started in it. So
the turns of a branch, and the rows before its first prompt, add up to the cost of the branch.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.conversation.agents import Agent
from backscroll.conversation.kinds import TURNS, RowKind
from backscroll.conversation.rows import Row

HEADS: Final = TURNS | {RowKind.COMPACTION}


class AnswerCost(NamedTuple):
    """The usage of an answer."""

    context: int
    """The tokens in its context."""
    output: int
    cost: int | None
    """Cost in nanodollars; None where no price is known."""
    is_final: bool = True
    """Whether the final output count is known; if not, output and cost are lower bounds."""


class HeadedMessage(NamedTuple):
    """A message as far as headings need it."""

    key: str
    kind: RowKind
    rows: Sequence[Row]


@dataclass
class Heading:
    """A prompt or a compaction, with what followed until the next one."""

    key: str
    kind: RowKind
    text: str
    when: datetime | None
    at: int
    """Index of the heading among the messages of the branch."""
    messages: int = 0
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """The tokens before the last answer."""
    model: str | None = None
    """The model of the last answer."""
    cost: int | None = 0
    """Cost of the whole turn with its agents, in nanodollars; None if a price is unknown. A compaction has none.

    The messages after a compaction are still part of the turn.
    """
    agents_cost: int | None = 0
    """The share of the cost that agents cost."""
    is_lower_bound: bool = False
    """Whether it contains an answer whose final output count is not known."""


class AgentAnswers:
    """The answers of agents, by the call of the conversation that started them."""

    def __init__(self, agents: Iterable[Agent]) -> None:
        self.by_call: dict[str, list[str]] = defaultdict(list)
        """Ids of answers by call, including those of agents of agents."""
        self.unattached: list[tuple[datetime | None, list[str]]] = []
        """Start time and answer ids of each agent whose call is not known."""
        for agent in agents:
            names = list(dict.fromkeys(row.message_id or row.uuid for row in agent.rows if row.kind is RowKind.ANSWER))
            call = outermost(agent).call
            if call is not None:
                self.by_call[call.id] += names
            else:
                self.unattached.append((agent.started, names))

    def names(self) -> set[str]:
        """Return the ids of all answers."""
        return {name for some in (*self.by_call.values(), *(names for _, names in self.unattached)) for name in some}


def outermost(agent: Agent) -> Agent:
    """Return the ancestor of an agent that the conversation itself started."""
    seen = {agent.id}
    while agent.parent is not None and agent.parent.id not in seen:
        agent = agent.parent
        seen.add(agent.id)
    return agent


def headings_of(
    messages: Iterable[HeadedMessage],
    costs: Mapping[str, AnswerCost],
    failed: Collection[str],
    agents: AgentAnswers,
) -> list[Heading]:
    """Return the headings of consecutive messages, from the costs of answers and the calls that failed."""
    counted: set[str] = set()
    headings: list[Heading] = []
    turn: Heading | None = None
    for at, message in enumerate(messages):
        row = message.rows[0]
        if message.kind in HEADS or not headings:
            headings.append(Heading(message.key, message.kind, row.text, row.when, at))
            if turn is None or message.kind is not RowKind.COMPACTION:
                turn = headings[-1]
        heading = headings[-1]
        assert turn is not None  # noqa: S101 - the first message has a heading
        heading.messages += 1
        for part in message.rows:
            heading.calls += len(part.calls)
            heading.errors += sum(call.id in failed for call in part.calls)
            for call in part.calls:
                _add_agents(turn, agents.by_call.get(call.id, ()), costs, counted)
        name = row.message_id or row.uuid
        answer = costs.get(name) if name not in counted else None  # some APIs repeat an id: it counts once
        if answer is not None:
            counted.add(name)
            heading.context = answer.context or heading.context
            heading.model = row.model or heading.model
            turn.cost = plus(turn.cost, cost_of(answer))
            turn.is_lower_bound |= is_lower_bound(answer)
    turns = [heading for heading in headings if heading.kind is not RowKind.COMPACTION] or headings
    for started, names in agents.unattached if turns else ():
        before = [each for each in turns if each.when and started and each.when <= started]
        _add_agents(before[-1] if before else turns[0], names, costs, counted)
    first = headings[0] if len(headings) > 1 else None
    if first and first.kind not in HEADS and not first.calls and first.context is None and first.cost == 0:
        # Hooks and notes before the first prompt: nothing that a reader would look for.
        headings[1].messages += first.messages
        del headings[0]
    return headings


def cost_of(answer: AnswerCost) -> int | None:
    """Return the cost of an answer. A text of the client itself used no tokens, so it needs no price."""
    return answer.cost if answer.context or answer.output else 0


def is_lower_bound(answer: AnswerCost) -> bool:
    """Whether the cost of an answer is a lower bound, because its final output count is not known."""
    return not answer.is_final and bool(answer.context or answer.output)


def plus(one: int | None, other: int | None) -> int | None:
    """Return the sum of two costs; None if either is unknown."""
    return None if one is None or other is None else one + other


def _add_agents(turn: Heading, names: Iterable[str], costs: Mapping[str, AnswerCost], counted: set[str]) -> None:
    for name in names:
        if name in costs and name not in counted:
            counted.add(name)
            cost = cost_of(costs[name])
            turn.cost, turn.agents_cost = plus(turn.cost, cost), plus(turn.agents_cost, cost)
            turn.is_lower_bound |= is_lower_bound(costs[name])
