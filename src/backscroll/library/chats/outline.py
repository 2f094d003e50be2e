"""The outline of a branch: what was asked, with what each turn took; and where other ways lead on."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from backscroll.conversation import Row, RowKind, Turn, gather
from backscroll.library.chats.branch_messages import BranchMessages
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.library import Library

HEADS: Final = frozenset({RowKind.PROMPT, RowKind.COMMAND, RowKind.SHELL, RowKind.COMPACTION})


@dataclass
class Heading:
    """A prompt, or a compaction, with what came of it until the next."""

    key: str
    kind: RowKind
    text: str
    when: datetime | None
    at: int
    """Which message of the branch it is."""
    messages: int = 0
    calls: int = 0
    errors: int = 0
    context: int | None = None
    """The tokens before the last answer."""
    cost: int | None = 0
    """In nanodollars; None where a price is not known."""


class BranchChoice(NamedTuple):
    """A way that leads on from a point where the user went back."""

    branch: int
    key: str
    text: str


class BranchPoint(NamedTuple):
    """All ways from one point, in the order of time, and which of them this branch takes."""

    here: int
    ways: list[BranchChoice]


def outline_of(library: Library, reader: ChatReader, branch_messages: BranchMessages) -> list[Heading]:
    """The headings of a branch."""
    names = {
        entry.rows[0].message_id or entry.key
        for entry in branch_messages.entries
        if entry.rows[0].kind is RowKind.ANSWER
    }
    took = library.store.answers(names)
    failed = library.store.failed(reader.stored.key)
    headings: list[Heading] = []
    for at, entry in enumerate(branch_messages.entries):
        row = entry.rows[0]
        if row.kind in HEADS or not headings:
            headings.append(Heading(row.uuid, row.kind, row.text, row.when, at))
        heading = headings[-1]
        heading.messages += 1
        for part in entry.rows:
            heading.calls += len(part.calls)
            heading.errors += sum(call.id in failed for call in part.calls)
        answer = took.pop(row.message_id or row.uuid, None)  # some APIs give an id twice: it counts once
        if answer is not None:
            heading.context = answer.context or heading.context
            heading.cost = None if heading.cost is None or answer.cost is None else heading.cost + answer.cost
    return headings


def crossings_of(reader: ChatReader, branch_messages: BranchMessages, keys: Iterable[str]) -> dict[str, BranchPoint]:
    """Where other ways lead on, by the message that the way of this branch begins with; of these messages only."""
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
    """What a turn is seen to begin with."""
    if turn.head is not None:
        return turn.head.row
    gathered = gather(node.row for node in turn.in_order())
    return gathered[0][0] if gathered else None
