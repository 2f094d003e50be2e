"""All branches of a chat in one file: what they share stands there once, and every piece says whose it is."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import CallState, Message
from backscroll.conversation.tree import Turn
from backscroll.render.html.page_data import Fork, OutlineItem

HEADS: Final = frozenset({RowKind.PROMPT, RowKind.COMMAND, RowKind.SHELL, RowKind.COMPACTION})


@dataclass
class Segment:
    """A stretch of messages that no branch leaves in between."""

    branches: list[int]
    """The branches that it is part of; it is shown with the first."""
    messages: list[Message] = field(default_factory=list)
    is_beginning: bool = False
    """Whether a branch other than the active one begins here."""

    @property
    def names(self) -> str:
        """The branches, as the page has them."""
        return " ".join(map(str, self.branches))


def segments_of(chat: Chat, messages: Mapping[int, Sequence[Message]]) -> list[Segment]:
    """The messages of all branches, by number, cut where a branch leaves.

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
    """Where the user went back: the ways from there, by the message that each begins with."""
    if len(chat.branches) < 2:
        return {}
    owners = {turn: branch.number for branch in chat.branches for turn in branch.turns}
    firsts: dict[Turn, Message] = {}
    for message in messages:
        turn = turn_of(chat, message)
        if turn is not None:
            firsts.setdefault(turn, message)
    forks: dict[str, Fork] = {}
    for parent in dict.fromkeys(turn.parent for turn in firsts):
        siblings = parent.children if parent else chat.tree.roots
        ways = sorted((way for way in siblings if way in owners and way in firsts), key=lambda way: _age(firsts[way]))
        if len(ways) > 1:
            told = [(owners[way], firsts[way].key, firsts[way].text[:MAX_HEADING_LENGTH]) for way in ways]
            forks |= {firsts[way].key: Fork(here, told) for here, way in enumerate(ways)}
    return forks


def outline_of(messages: Iterable[Message], costs: Mapping[str, int | None]) -> Iterator[OutlineItem]:
    """The prompts and compactions among some messages, with what came of each."""
    turn: list[Message] = []
    for message in messages:
        if message.kind in HEADS:
            if turn:
                yield _item(turn, costs)
            turn = [message]
        elif turn:
            turn.append(message)
    if turn:
        yield _item(turn, costs)


def turn_of(chat: Chat, message: Message) -> Turn | None:
    """The turn that a message is part of."""
    node = chat.tree.find(message.rows[0].uuid)
    return node.turn if node else None


def _covers(branches: Sequence[Branch]) -> dict[int, dict[int, int]]:
    """Of each branch, how many turns of which branches lead to its end."""
    at = {turn: (branch.number, place) for branch in branches for place, turn in enumerate(branch.turns)}
    covers: dict[int, dict[int, int]] = {}
    for branch in branches:
        cover = {}
        if branch.left_at in at:
            number, place = at[branch.left_at]
            cover = {**covers.get(number, {}), number: place + 1}
        covers[branch.number] = {**cover, branch.number: len(branch.turns)}
    return covers


def _item(turn: Sequence[Message], costs: Mapping[str, int | None]) -> OutlineItem:
    head = turn[0]
    calls = [call for message in turn for call in message.calls.values()]
    usages = [message.usage for message in turn if message.usage]
    spent = [costs[message.id] for message in turn if message.id in costs]
    last = usages[-1] if usages else None
    known = sum(cost for cost in spent if cost is not None)
    return OutlineItem(
        id=head.key,
        kind=str(head.kind),
        text=head.text[: 4 * MAX_HEADING_LENGTH] or ("[picture]" if head.blocks else ""),
        when=head.when,
        chunk=0,
        messages=len(turn),
        calls=len(calls),
        errors=sum(call.state is CallState.ERROR for call in calls),
        context=last.input_tokens + last.cache_read_input_tokens + last.cache_creation_input_tokens if last else None,
        model=next((message.model for message in reversed(turn) if message.usage), None),
        cost=known if spent and None not in spent else None,
    )


def _age(message: Message) -> tuple[float, str]:
    return message.when.timestamp() if message.when else 0.0, message.key


MAX_HEADING_LENGTH: Final = 120
MAX_SWITCHABLE_BRANCHES: Final = 200
"""Past so many branches a file shows all of them, one behind the other, and does not let one be chosen."""
