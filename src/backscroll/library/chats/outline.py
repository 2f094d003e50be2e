"""The outline of a branch: its prompts with the usage of each turn, and the points where other branches start."""

from collections.abc import Iterable
from typing import NamedTuple

from backscroll.conversation.branches import is_rewind, ways_from
from backscroll.conversation.headings import AgentAnswers, HeadedMessage, Heading, headings_of
from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import gather
from backscroll.conversation.rows import Row
from backscroll.conversation.turns import Turn
from backscroll.library.chats.branch_messages import BranchMessages, MessageEntry
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library


class BranchChoice(NamedTuple):
    """A branch that starts at a point where the user went back."""

    branch: int
    key: str
    text: str


class BranchPoint(NamedTuple):
    """All branches from one point in order of time; `here` is the position of this branch among them."""

    here: int
    ways: list[BranchChoice]
    is_rewind: bool
    """Whether the user went back inside a session; else the ways are sessions of their own."""


def outline_of(library: Library, reader: ChatReader, branch_messages: BranchMessages) -> list[Heading]:
    """Return the headings of a branch."""
    agents = AgentAnswers(reader.chat.agents)
    names = agents.names() | {
        entry.rows[0].message_id or entry.key
        for entry in branch_messages.entries
        if entry.rows[0].kind is RowKind.ANSWER
    }
    costs = library.reader.answer_costs(names)
    failed = library.reader.failed_calls(reader.stored.key)
    return headings_of(map(headed, branch_messages.entries), costs, failed, agents)


def headed(entry: MessageEntry) -> HeadedMessage:
    """Return a message of a branch in the form that headings need."""
    return HeadedMessage(entry.rows[0].uuid, entry.rows[0].kind, entry.rows)


def crossings_of(reader: ChatReader, branch_messages: BranchMessages, keys: Iterable[str]) -> dict[str, BranchPoint]:
    """Return the points where other branches start, by the first message of this branch after each; only for `keys`."""
    if len(reader.chat.branches) < 2:
        return {}
    places, crossings = reader.places, {}
    known: dict[tuple[Turn | None, int], tuple[list[tuple[Turn, BranchChoice]], bool]] = {}
    for turn in dict.fromkeys(branch_messages.entry(key).turn for key in keys if key in branch_messages.at):
        point = turn.parent, id(turn.nodes[0].part)
        if point not in known:
            siblings = ways_from(turn, reader.chat.tree)
            firsts = [(way, row) for way in siblings if way in places and (row := _first(way)) is not None]
            firsts.sort(key=lambda one: (one[1].when.timestamp() if one[1].when else 0.0, one[1].uuid))
            choices = [(way, BranchChoice(places[way][0], row.uuid, row.text)) for way, row in firsts]
            known[point] = choices, is_rewind(way for way, _ in choices)
        ways, rewound = known[point]
        if len(ways) < 2:
            continue
        here = next((at for at, (way, _) in enumerate(ways) if way is turn), None)
        if here is not None:
            crossings[ways[here][1].key] = BranchPoint(here, [way for _, way in ways], rewound)
    return crossings


def _first(turn: Turn) -> Row | None:
    """Return the first visible row of a turn."""
    if turn.head is not None:
        return turn.head.row
    gathered = gather(node.row for node in turn.in_order())
    return gathered[0][0] if gathered else None
