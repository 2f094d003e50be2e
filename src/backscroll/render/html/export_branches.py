"""All branches of a chat in one file: shared messages are there once, and every piece names its branches."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backscroll.conversation.agents import Agent
from backscroll.conversation.branches import Branch, is_rewind, ways_from
from backscroll.conversation.chat import Chat
from backscroll.conversation.headings import AgentAnswers, AnswerCost, HeadedMessage, headings_of
from backscroll.conversation.messages import CallState, Message
from backscroll.conversation.tree import Turn
from backscroll.render.html.page_data import Fork, OutlineItem


@dataclass
class Segment:
    """A stretch of messages that no branch leaves in between."""

    branches: list[int]
    """Branches that contain the stretch; it is shown with the first."""
    messages: list[Message] = field(default_factory=list)
    is_beginning: bool = False
    """Whether a branch other than the active one begins here."""

    @property
    def names(self) -> str:
        """Numbers of the branches, as the page has them."""
        return " ".join(map(str, self.branches))


def segments_of(chat: Chat, messages: Mapping[int, Sequence[Message]]) -> list[Segment]:
    """Cut the messages of all branches, by number, where a branch leaves.

    The segments of every branch are in reading order: a branch comes after the one that it leaves. If there are very
    many branches, each is one segment, because naming all branches of every piece would take the square of their
    number.
    """
    if len(chat.branches) > MAX_SWITCHABLE_BRANCHES:
        return [Segment([branch.number], list(messages[branch.number]), branch.number > 1) for branch in chat.branches]
    covers = _covers(chat.branches)
    segments = []
    for branch in chat.branches:
        ends = sorted({cover[branch.number] for cover in covers.values() if cover.get(branch.number)})
        own = [
            Segment([number for number, cover in covers.items() if cover.get(branch.number, 0) >= end]) for end in ends
        ]
        if not own:
            continue
        own[0].is_beginning = branch.number > 1
        places = {turn: at for at, turn in enumerate(branch.turns)}
        current = 0
        for message in messages[branch.number]:
            turn = turn_of(chat, message)
            place = places.get(turn, -1) if turn is not None else -1
            while place >= ends[current]:
                current += 1
            own[current].messages.append(message)
        segments += own
    return segments


def forks_of(chat: Chat, messages: Iterable[Message]) -> dict[str, Fork]:
    """Return where the user went back: the ways from there, by the message that each begins with."""
    if len(chat.branches) < 2:
        return {}
    owners = {turn: branch.number for branch in chat.branches for turn in branch.turns}
    firsts: dict[Turn, Message] = {}
    for message in messages:
        turn = turn_of(chat, message)
        if turn is not None:
            firsts.setdefault(turn, message)
    forks: dict[str, Fork] = {}
    done: set[Turn] = set()
    for turn in firsts:
        if turn in done or turn not in owners:
            continue
        ways = [way for way in ways_from(turn, chat.tree) if way in owners and way in firsts]
        ways.sort(key=lambda way: _age(firsts[way]))
        done.update(ways)
        if len(ways) > 1:
            texts = [(owners[way], firsts[way].key, firsts[way].text[:MAX_HEADING_LENGTH]) for way in ways]
            rewound = is_rewind(ways)
            forks |= {firsts[way].key: Fork(here, texts, is_rewind=rewound) for here, way in enumerate(ways)}
    return forks


def outlines_of(
    messages: Mapping[int, Sequence[Message]], costs: Mapping[str, AnswerCost], agents: Sequence[Agent]
) -> dict[int, list[OutlineItem]]:
    """Return the prompts and compactions of all branches, by number, each with its outcome."""
    answers = AgentAnswers(agents)
    return {number: _outline(some, costs, answers) for number, some in messages.items()}


def _outline(messages: Sequence[Message], costs: Mapping[str, AnswerCost], agents: AgentAnswers) -> list[OutlineItem]:
    calls = ((name, call) for message in messages for name, call in message.calls.items())
    failed = {name for name, call in calls if call.state is CallState.ERROR}
    headed = (HeadedMessage(message.key, message.kind, message.rows) for message in messages)
    return [
        OutlineItem(
            id=heading.key,
            kind=str(heading.kind),
            text=_name(messages[heading.at]),
            when=heading.when,
            chunk=0,
            messages=heading.messages,
            calls=heading.calls,
            errors=heading.errors,
            context=heading.context,
            model=heading.model,
            cost=heading.cost,
            agents_cost=heading.agents_cost,
            is_lower_bound=heading.is_lower_bound,
        )
        for heading in headings_of(headed, costs, failed, agents)
    ]


def _name(message: Message) -> str:
    return message.text[: 4 * MAX_HEADING_LENGTH] or ("[picture]" if message.blocks else "")


def turn_of(chat: Chat, message: Message) -> Turn | None:
    """Return the turn that a message is part of."""
    node = chat.tree.find(message.rows[0].uuid)
    return node.turn if node else None


def _covers(branches: Sequence[Branch]) -> dict[int, dict[int, int]]:
    """Return for each branch how many turns of which branches lead to its end."""
    at = {turn: (branch.number, place) for branch in branches for place, turn in enumerate(branch.turns)}
    covers: dict[int, dict[int, int]] = {}
    for branch in branches:
        cover = {}
        if branch.left_at in at:
            number, place = at[branch.left_at]
            cover = {**covers.get(number, {}), number: place + 1}
        covers[branch.number] = {**cover, branch.number: len(branch.turns)}
    return covers


def _age(message: Message) -> tuple[float, str]:
    return message.when.timestamp() if message.when else 0.0, message.key


MAX_HEADING_LENGTH: Final = 120
MAX_SWITCHABLE_BRANCHES: Final = 200
"""Most branches to choose from: with more, a file shows all of them, one behind the other."""
