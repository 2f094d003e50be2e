"""Compare two branches of a chat: prompts and answers after the fork, changed files, cost.

`compare` is pure and counts everything; `comparison_of` reads its data from the library. Only the texts of the first
turns are read, so that two long branches do not have to be read whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, Final, NamedTuple

from backscroll.conversation.agents import Agent
from backscroll.conversation.headings import AgentAnswers, AnswerCost, Heading, headings_of, outermost
from backscroll.conversation.kinds import HUMAN, PROMPTS, RowKind
from backscroll.conversation.messages import CallState, results_of, state_of
from backscroll.conversation.rows import Row
from backscroll.conversation.usage import SYNTHETIC
from backscroll.errors import NothingFound, UsageError
from backscroll.library.chats.branch_messages import BranchMessages, MessageEntry
from backscroll.library.chats.chat_reader import ChatReader
from backscroll.library.chats.outline import headed
from backscroll.library.library import Library
from backscroll.records.content import Text
from backscroll.records.edits import file_result

MAX_TURNS: Final = 100
"""Number of turns of a branch whose texts are read; all of them are counted."""
LAST_ANSWERS: Final = 3
"""Number of answers at the end of a turn that are searched for one with text."""


class LineCounts(NamedTuple):
    """The lines that one change added and removed."""

    added: int
    removed: int


@dataclass
class FileChange:
    """The changes of a branch to a file."""

    edits: int = 0
    added: int = 0
    removed: int = 0


@dataclass
class ComparedTurn:
    """A prompt, with its last answer, changed files and cost."""

    heading: Heading
    prompt: str
    answer: str = ""
    """The last answer with text; empty if there is none, or if it was not read."""
    answer_key: str | None = None
    files: list[str] = field(default_factory=list)
    cost: int | None = 0
    """Cost with the agents that the turn started, in nanodollars; None if a price is unknown."""


@dataclass
class ComparedBranch:
    """A branch after the fork."""

    number: int
    first: str | None
    """The branch's first message after the fork; None if it ends there."""
    turns: list[ComparedTurn]
    prompts: int
    answers: int
    calls: int
    errors: int
    agents: int
    cost: int | None
    """Cost in nanodollars, with the agents; None if a price is unknown."""
    started: datetime | None
    ended: datetime | None
    models: list[str]
    files: dict[str, FileChange]

    @property
    def added(self) -> int:
        """The number of lines that the branch added."""
        return sum(change.added for change in self.files.values())

    @property
    def removed(self) -> int:
        """The number of lines that the branch removed."""
        return sum(change.removed for change in self.files.values())


@dataclass(frozen=True)
class ComparedFile:
    """A file that at least one of two branches changed."""

    file: str
    left: FileChange | None
    right: FileChange | None


@dataclass(frozen=True)
class BranchComparison:
    """Two branches of a chat."""

    left: ComparedBranch
    right: ComparedBranch
    shared_messages: int
    shared_prompts: int
    fork: str | None
    """The last common message; None if there is none."""
    fork_text: str
    """The last common prompt."""

    @property
    def files(self) -> list[ComparedFile]:
        """The changed files: those that both branches changed first, then by name."""
        names = {**self.left.files, **self.right.files}
        changed = [ComparedFile(name, self.left.files.get(name), self.right.files.get(name)) for name in names]
        return sorted(changed, key=lambda item: (item.left is None or item.right is None, item.file))

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return {
            "shared": {
                "messages": self.shared_messages,
                "prompts": self.shared_prompts,
                "last_message": self.fork,
                "last_prompt": self.fork_text or None,
            },
            "branches": [_as_json(side) for side in (self.left, self.right)],
            "files": [
                {
                    "file": item.file,
                    "changes": [asdict(change) if change else None for change in (item.left, item.right)],
                }
                for item in self.files
            ],
        }


class BranchFacts(NamedTuple):
    """Data that the rows alone do not have."""

    costs: Mapping[str, AnswerCost]
    """Costs by message id."""
    failed: frozenset[str]
    """The calls that ended in an error."""
    changes: Mapping[str, LineCounts]
    """The successful changes of files, by call."""


class BranchSide(NamedTuple):
    """A branch to be compared."""

    number: int
    messages: BranchMessages


def compare(left: BranchSide, right: BranchSide, agents: Sequence[Agent], facts: BranchFacts) -> BranchComparison:
    """Compare two branches; `agents` are all agents of the chat."""
    theirs = set(right.messages.turns)
    shared = [entry for entry in left.messages.entries if entry.turn in theirs]
    prompts = [entry.rows[0].text for entry in shared if entry.rows[0].kind in HUMAN]
    return BranchComparison(
        _branch(left.number, own_entries(left.messages, right.messages), agents, facts),
        _branch(right.number, own_entries(right.messages, left.messages), agents, facts),
        len(shared),
        len(prompts),
        shared[-1].key if shared else None,
        prompts[-1] if prompts else "",
    )


def own_entries(branch: BranchMessages, other: BranchMessages) -> list[MessageEntry]:
    """Return the messages of a branch that are not on the other one."""
    theirs = set(other.turns)
    return [entry for entry in branch.entries if entry.turn not in theirs]


def landing(reader: ChatReader, here: int, there: int) -> str | None:
    """Return the message to show when a reader changes from one branch to another: the first that only the new one has.

    If the new branch has none, the last message that both have.
    """
    branch = reader.branch_messages(there)
    if not 1 <= here <= len(reader.chat.branches):
        return None
    own = own_entries(branch, reader.branch_messages(here))
    if own:
        return own[0].key
    return branch.entries[-1].key if branch.entries else None


def comparison_of(library: Library, reader: ChatReader, left: int, right: int) -> BranchComparison:
    """Compare two branches of an open chat, with the texts of their first turns."""
    count = len(reader.chat.branches)
    if count < 2:
        raise NothingFound("this chat has only one branch", "a chat gets another when you rewind or fork it")
    if left == right:
        raise UsageError(f"branch {left} cannot be compared with itself", f"choose two of {count}")
    with reader.lock:
        side, other = (BranchSide(number, reader.branch_messages(number)) for number in (left, right))
        own, theirs = own_entries(side.messages, other.messages), own_entries(other.messages, side.messages)
        compared = compare(side, other, reader.chat.agents, _facts(library, reader, [*own, *theirs]))
        _read_texts(library, reader, side.messages, own, compared.left)
        _read_texts(library, reader, other.messages, theirs, compared.right)
    return compared


def _branch(number: int, own: Sequence[MessageEntry], agents: Sequence[Agent], facts: BranchFacts) -> ComparedBranch:
    rows = [row for entry in own for row in entry.rows]
    started = _agents_of(rows, agents)
    headings = headings_of(map(headed, own), facts.costs, facts.failed, AgentAnswers(started))
    turns = _turns(own, headings, started, facts)
    whens = [row.when for row in rows if row.when]
    files: dict[str, FileChange] = {}
    for row in (*rows, *(row for agent in started for row in agent.rows)):
        for call in row.calls:
            if call.file is not None and (lines := facts.changes.get(call.id)) is not None:
                change = files.setdefault(call.file, FileChange())
                change.edits += 1
                change.added += lines.added
                change.removed += lines.removed
    return ComparedBranch(
        number=number,
        first=own[0].key if own else None,
        turns=turns,
        prompts=sum(entry.rows[0].kind in PROMPTS for entry in own),
        answers=sum(entry.rows[0].kind is RowKind.ANSWER for entry in own),
        calls=sum(heading.calls for heading in headings),
        errors=sum(heading.errors for heading in headings),
        agents=len(started),
        cost=_sum(turn.cost for turn in turns),
        started=min(whens, default=None),
        ended=max(whens, default=None),
        models=list(dict.fromkeys(row.model for row in rows if row.model and row.model != SYNTHETIC)),
        files=files,
    )


def _turns(
    own: Sequence[MessageEntry], headings: Sequence[Heading], agents: Sequence[Agent], facts: BranchFacts
) -> list[ComparedTurn]:
    turns = []
    for heading, entries in zip(headings, _entries_of(own, headings), strict=True):
        rows = [row for entry in entries for row in entry.rows]
        started = _agents_of(rows, agents)
        every = (*rows, *(row for agent in started for row in agent.rows))
        files = dict.fromkeys(call.file for row in every for call in row.calls if call.id in facts.changes)
        turns.append(
            ComparedTurn(
                heading,
                heading.text,
                files=[file for file in files if file],
                cost=heading.cost,
            )
        )
    return turns


def _entries_of(own: Sequence[MessageEntry], headings: Sequence[Heading]) -> list[Sequence[MessageEntry]]:
    """Return the messages of each turn, up to the next heading."""
    starts = [heading.at for heading in headings]
    return [own[start:end] for start, end in pairwise([*starts, len(own)])]


def _agents_of(rows: Iterable[Row], agents: Sequence[Agent]) -> list[Agent]:
    """Return the agents that were started by calls in these rows, also by other agents."""
    calls = {call.id for row in rows for call in row.calls if call.agent is not None}
    firsts = ((agent, outermost(agent).call) for agent in (agents if calls else ()))
    return [
        agent
        for agent, call in firsts
        if call is not None and call.id in calls and not agent.is_stub and not agent.is_side_copy
    ]


def _as_json(side: ComparedBranch) -> dict[str, Any]:
    turns = [
        {
            "message": turn.heading.key,
            "kind": str(turn.heading.kind),
            "when": _moment(turn.heading.when),
            "prompt": turn.prompt,
            "answer": turn.answer,
            "answer_message": turn.answer_key,
            "calls": turn.heading.calls,
            "errors": turn.heading.errors,
            "files": turn.files,
            "cost_microdollars": _microdollars(turn.cost),
        }
        for turn in side.turns
    ]
    return {
        "number": side.number,
        "active": side.number == 1,
        "first_message": side.first,
        "prompts": side.prompts,
        "answers": side.answers,
        "calls": side.calls,
        "errors": side.errors,
        "agents": side.agents,
        "files": len(side.files),
        "added": side.added,
        "removed": side.removed,
        "cost_microdollars": _microdollars(side.cost),
        "started": _moment(side.started),
        "ended": _moment(side.ended),
        "models": side.models,
        "turns": turns,
    }


def _microdollars(cost: int | None) -> int | None:
    return None if cost is None else round(cost / 1000)


def _moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _sum(costs: Iterable[int | None]) -> int | None:
    total = 0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


def _facts(library: Library, reader: ChatReader, entries: Sequence[MessageEntry]) -> BranchFacts:
    rows = [row for entry in entries for row in entry.rows]
    agents = _agents_of(rows, reader.chat.agents)
    rows += [row for agent in agents for row in agent.rows]
    names = {row.message_id or row.uuid for row in rows if row.kind is RowKind.ANSWER}
    results = dict(reader.branch_messages().results)
    results |= {call: row for agent in agents for row in agent.rows for call in row.results}
    calls = [call.id for row in rows for call in row.calls if call.file is not None and call.id in results]
    read = reader.read(library, [results[call] for call in calls])
    changes = {}
    for call, result in results_of(row for row in read.values() if row.results).items():
        if state_of(result.block, result.row.record) is CallState.DONE:
            result_of_change = file_result(result.details)
            changes[call] = LineCounts(result_of_change.added, result_of_change.removed)
    failed = frozenset(library.reader.failed_calls(reader.stored.key))
    return BranchFacts(library.reader.answer_costs(names), failed, changes)


def _read_texts(
    library: Library, reader: ChatReader, branch: BranchMessages, own: Sequence[MessageEntry], side: ComparedBranch
) -> None:
    """Fill in the full prompts and the last answers of the first turns."""
    wanted: dict[str, list[str]] = {}
    parts = _entries_of(own, [turn.heading for turn in side.turns])
    for turn, entries in zip(side.turns[:MAX_TURNS], parts, strict=False):
        answers = [
            entry.key for entry in entries if entry.rows[0].kind is RowKind.ANSWER and entry.rows[0].model != SYNTHETIC
        ]
        wanted[turn.heading.key] = answers[-LAST_ANSWERS:]
    keys = [key for head, answers in wanted.items() for key in (head, *answers)]
    read = {message.key: message for message in reader.messages(library, branch, list(dict.fromkeys(keys)))}
    for turn in side.turns[:MAX_TURNS]:
        head = read.get(turn.heading.key)
        if head is not None and head.kind is not RowKind.ANSWER:
            turn.prompt = head.text or turn.prompt
        for key in reversed(wanted[turn.heading.key]):
            blocks = read[key].blocks if key in read else ()
            text = "\n\n".join(block.text for block in blocks if isinstance(block, Text) and block.text.strip())
            if text:
                turn.answer, turn.answer_key = text, key
                break
