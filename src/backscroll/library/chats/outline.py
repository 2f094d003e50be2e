"""The outline of a branch: its prompts with the usage of each turn, and where other branches start."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import gather
from backscroll.conversation.rows import Row
from backscroll.conversation.turns import Turn
from backscroll.library.chats.branch_messages import BranchMessages, MessageEntry
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library
from backscroll.store.reader import AnswerCost

HEADS: Final = frozenset({RowKind.PROMPT, RowKind.COMMAND, RowKind.SHELL, RowKind.COMPACTION})


@dataclass
class Heading:
    """A prompt or a compaction, with what followed until the next one."""

    key: str
    kind: RowKind
    text: str
    when: datetime | None
    at: int
    """Its index among the messages of the branch."""
    messages: int = 0
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """The tokens before the last answer."""
    model: str | None = None
    """The model of the last answer."""
    cost: int | None = 0
    """In nanodollars; None if a price is unknown."""


class BranchChoice(NamedTuple):
    """A branch that starts at a point where the user went back."""

    branch: int
    key: str
    text: str


class BranchPoint(NamedTuple):
    """All branches from one point in order of time, and which of them is this one."""

    here: int
    ways: list[BranchChoice]


def outline_of(library: Library, reader: ChatReader, branch_messages: BranchMessages) -> list[Heading]:
    """The headings of a branch."""
    names = {
        entry.rows[0].message_id or entry.key
        for entry in branch_messages.entries
        if entry.rows[0].kind is RowKind.ANSWER
    }
    costs = library.reader.answer_costs(names)
    return headings_of(branch_messages.entries, costs, library.reader.failed_calls(reader.stored.key))


def headings_of(
    entries: Iterable[MessageEntry], costs: Mapping[str, AnswerCost], failed: Collection[str]
) -> list[Heading]:
    """The headings of some messages that follow each other, by the costs of answers and the calls that failed."""
    counted: set[str] = set()
    headings: list[Heading] = []
    for at, entry in enumerate(entries):
        row = entry.rows[0]
        if row.kind in HEADS or not headings:
            headings.append(Heading(row.uuid, row.kind, row.text, row.when, at))
        heading = headings[-1]
        heading.messages += 1
        for part in entry.rows:
            heading.calls += len(part.calls)
            heading.errors += sum(call.id in failed for call in part.calls)
        name = row.message_id or row.uuid
        answer = costs.get(name) if name not in counted else None  # some APIs repeat an id: it counts once
        if answer is not None:
            counted.add(name)
            heading.context = answer.context or heading.context
            heading.model = row.model or heading.model
            cost = cost_of(answer)
            heading.cost = None if heading.cost is None or cost is None else heading.cost + cost
    first = headings[0] if len(headings) > 1 else None
    if first and first.kind not in HEADS and not first.calls and first.context is None:
        # Hooks and notes before the first prompt: nothing that a reader would look for.
        headings[1].messages += first.messages
        del headings[0]
    return headings


def cost_of(answer: AnswerCost) -> int | None:
    """The cost of an answer. What the client wrote itself used no tokens, so it needs no price."""
    return answer.cost if answer.context or answer.output else 0


def crossings_of(reader: ChatReader, branch_messages: BranchMessages, keys: Iterable[str]) -> dict[str, BranchPoint]:
    """Where other branches start, by the first message of this branch after the point; only for these messages."""
    if len(reader.chat.branches) < 2:
        return {}
    places, found = reader.places, {}
    known: dict[Turn | None, list[tuple[Turn, BranchChoice]]] = {}
    for turn in dict.fromkeys(branch_messages.entry(key).turn for key in keys if key in branch_messages.at):
        if turn.parent not in known:
            siblings = turn.parent.children if turn.parent else reader.chat.tree.roots
            firsts = [(way, row) for way in siblings if way in places and (row := _first(way)) is not None]
            firsts.sort(key=lambda one: (one[1].when.timestamp() if one[1].when else 0.0, one[1].uuid))
            known[turn.parent] = [(way, BranchChoice(places[way][0], row.uuid, row.text)) for way, row in firsts]
        ways = known[turn.parent]
        if len(ways) < 2:
            continue
        here = next((at for at, (way, _) in enumerate(ways) if way is turn), None)
        if here is not None:
            found[ways[here][1].key] = BranchPoint(here, [way for _, way in ways])
    return found


def _first(turn: Turn) -> Row | None:
    """The message that a turn visibly starts with."""
    if turn.head is not None:
        return turn.head.row
    gathered = gather(node.row for node in turn.in_order())
    return gathered[0][0] if gathered else None
