"""One chat: its sessions, branches, agents, title and times.

Everything here follows from the transcripts and their tree, and is computed on demand.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

from backscroll.conversation.agents import Agent, find_agents
from backscroll.conversation.kinds import HUMAN, RowKind, plain_title
from backscroll.conversation.rows import LONGEST_TEXT, RowCall
from backscroll.conversation.titles import title_of_prompt
from backscroll.conversation.todos import todos_of
from backscroll.conversation.transcripts import Transcript
from backscroll.conversation.tree import Node, Tree, Turn, walk
from backscroll.records.outside import PrLink
from backscroll.records.tools import Todo

LONGEST_PAUSE: Final = timedelta(minutes=5)
"""A longer pause does not count as active time."""


class Branch(NamedTuple):
    """One path through a chat, without the part that it shares with earlier branches."""

    number: int
    turns: list[Turn]
    left_at: Turn | None
    """The turn of another branch after which this one begins; None if it has no common part."""
    sessions: list[str]
    """The sessions that contain its end, and can be resumed."""

    @property
    def leaf(self) -> Turn:
        """Its last turn."""
        return self.turns[-1]

    @property
    def compactions(self) -> int:
        """The number of compactions on it."""
        return sum(node.row.kind is RowKind.COMPACTION for turn in self.turns for node in turn.nodes)


class Chat:
    """A conversation, across all sessions that share it."""

    def __init__(
        self, sessions: list[Transcript], agents: list[Transcript], tree: Tree, summaries: dict[str, str]
    ) -> None:
        self.sessions = sessions
        """Oldest first."""
        self.tree = tree
        self._agents = agents
        self._summaries = summaries

    @property
    def transcripts(self) -> list[Transcript]:
        """All files that it was read from, including those of agents."""
        return [*self.sessions, *self._agents]

    @property
    def id(self) -> str:
        """The id of its oldest session; for agents whose session was deleted, the id of that session."""
        for transcript in self.transcripts:
            if transcript.session_id:
                return transcript.session_id
        return self.transcripts[0].place.name

    @cached_property
    def leaves(self) -> list[Transcript]:
        """The sessions that are not contained in a later one, the most recently active first."""
        contained = _contained(self.sessions, self.tree)
        leaves = [session for session in self.sessions if session.place.file not in contained]
        ends = {session.place.file: self.leaf_of(session) for session in leaves}
        # A session may also go on in another file without being copied there.
        passed: set[int] = set()
        for end in ends.values():
            step = end.parent if end else None
            while step is not None and id(step) not in passed:
                passed.add(id(step))
                step = step.parent
        leaves = [session for session in leaves if id(ends[session.place.file]) not in passed]
        return sorted(leaves, key=_activity, reverse=True)

    @cached_property
    def branches(self) -> list[Branch]:
        """The active branch first, then the others in order of where they branch off."""
        return list(_branches(self))

    @property
    def active(self) -> Branch | None:
        """The branch that the client would resume."""
        return self.branches[0] if self.branches else None

    @cached_property
    def agents(self) -> list[Agent]:
        """All sub-agents, including those without a call; nested ones are listed too."""
        return find_agents(self.sessions, self._agents, self.tree)

    @property
    def is_without_session(self) -> bool:
        """Whether only files of agents are there, and not what the session itself said."""
        return not self.tree.nodes

    @cached_property
    def shown_agents(self) -> list[Agent]:
        """The agents that people read: none that only warmed up, and copies of the session only where it is gone."""
        has_session = not self.is_without_session
        return [agent for agent in self.agents if not agent.is_stub and not (agent.is_side_copy and has_session)]

    @cached_property
    def title(self) -> str:
        """The title from the user or the model, else its first prompt."""
        recent = sorted(self.sessions, key=_activity, reverse=True)
        for name in ("agent_name", "title_beside", "custom_title", "ai_title"):
            for session in recent:
                if title := getattr(session, name):
                    return plain_title(str(title))
        agents = self.shown_agents if self.is_without_session else []
        asked = next((agent.description or agent.prompt for agent in agents), "")
        first = title_of_prompt(plain_title(self.first_prompt or asked), LONGEST_TEXT)
        return plain_title(self._summary or "") or first or self.id[:8]

    @property
    def _summary(self) -> str | None:
        """The summary that names the latest row."""
        named = ((self.tree.find(leaf), text) for leaf, text in self._summaries.items())
        dated = [(_time(node.row.when), text) for node, text in named if node is not None]
        return max(dated)[1] if dated else None

    @property
    def first_prompt(self) -> str:
        """The first prompt on the active branch; a command if there is no prompt."""
        heads = [turn for turn in (self.active.leaf.path() if self.active else ()) if turn.head and turn.head.row.text]
        asked = (turn for turn in heads if turn.has_answer or (turn.head and turn.head.row.kind is RowKind.PROMPT))
        first = next(asked, heads[0] if heads else None)
        return first.head.row.text if first and first.head else ""

    @property
    def project(self) -> str | None:
        """The working directory of the most recently active session."""
        for transcript in sorted(self.transcripts, key=_activity, reverse=True):
            if transcript.project:
                return transcript.project
        return None

    @cached_property
    def started(self) -> datetime | None:
        """When the first row was written, by its original time."""
        return min((when for transcript in self.transcripts if (when := transcript.first)), default=None)

    @cached_property
    def last_active(self) -> datetime | None:
        """When the last row was written, by its original time: not when a file was touched or copied."""
        lasts = [transcript.last for transcript in self.transcripts if transcript.last]
        if self.tree.has_copies:
            lasts = [node.row.when for node in self.tree.all_nodes() if node.row.when]
            lasts += [agent.last for agent in self._agents if agent.last]
        return max(lasts, default=None)

    @cached_property
    def active_time(self) -> timedelta:
        """The active time, without long pauses."""
        whens = sorted(node.row.when for node in self.tree.all_nodes() if node.row.when)
        gaps = (later - earlier for earlier, later in pairwise(whens))
        return sum((gap for gap in gaps if gap <= LONGEST_PAUSE), timedelta())

    @cached_property
    def kinds(self) -> Counter[RowKind]:
        """The number of rows of each kind; copies count once."""
        return Counter(node.row.kind for node in self.tree.all_nodes())

    @property
    def prompts(self) -> int:
        """The number of prompts that the user typed, including those in the row of a tool result."""
        beside = sum(1 for node in self._rows(RowKind.TOOL_RESULT) if node.row.text)
        return sum(self.kinds[kind] for kind in HUMAN) + beside

    @cached_property
    def messages(self) -> int:
        """The number of prompts and answers; an answer of several rows is one message."""
        answers = {node.row.message_id or node.row.uuid for node in self._rows(RowKind.ANSWER)}
        return self.prompts + len(answers)

    @property
    def compactions(self) -> int:
        """The number of compactions."""
        return max(self.kinds[RowKind.COMPACTION], self.kinds[RowKind.COMPACT_SUMMARY])

    @property
    def copies(self) -> int:
        """The number of rows that have copies."""
        return sum(len(node.copies) - 1 for node in self.tree.all_nodes())

    @property
    def models(self) -> list[str]:
        """The models that answered, in order of their first answer."""
        return _merged(session.models for session in self.sessions)

    @property
    def versions(self) -> list[str]:
        """The versions of Claude Code that wrote it."""
        return _merged(session.versions for session in self.sessions)

    @property
    def git_branches(self) -> list[str]:
        """The git branches that it worked on."""
        return _merged(session.branches for session in self.sessions)

    @property
    def tags(self) -> list[str]:
        """The user's tags."""
        return _merged(session.tags for session in self.sessions)

    @property
    def pr_links(self) -> list[PrLink]:
        """The pull requests that it created."""
        return list({url: link for session in self.sessions for url, link in session.pr_links.items()}.values())

    @cached_property
    def files_touched(self) -> list[str]:
        """The files changed by it and its agents, in order of their first change."""
        calls = [*self._calls, *(call for agent in self.agents for call in agent.calls)]
        return list(dict.fromkeys(call.file for call in calls if call.file))

    @cached_property
    def todos(self) -> list[Todo]:
        """The to-do list, with its progress."""
        return todos_of(self._calls)

    @cached_property
    def _calls(self) -> list[RowCall]:
        """The calls that change a file or the to-do list, in order of time."""
        calling = (
            node
            for node in self._rows(RowKind.ANSWER)
            if any(call.file is not None or call.todo is not None for call in node.row.calls)
        )
        return [call for node in _by_time(calling) for call in node.row.calls]

    def leaf_of(self, session: Transcript) -> Turn | None:
        """The turn from which the client would resume this session; None if it would start over."""
        last = self.tree.find(session.rows[-1].uuid) if session.rows else None
        checkpoint = session.checkpoint
        if checkpoint is None or last is None:
            return last.turn if last else None
        if checkpoint.leaf is None:
            return last.turn if session.rows[-1].position > checkpoint.position else None
        marked = self.tree.find(checkpoint.leaf)
        if marked is None or marked.turn is None or last.turn is None:
            return last.turn
        is_taken_back = checkpoint.explicit and session.rows[-1].position < checkpoint.position
        return last.turn if not is_taken_back and self._is_above(marked.turn, last.turn) else marked.turn

    def _is_above(self, turn: Turn, other: Turn) -> bool:
        """Whether one turn is, or leads to, another."""
        if turn is other:
            return True
        first, last = self._spans[turn]
        return first <= self._spans[other][0] <= last

    @cached_property
    def _spans(self) -> dict[Turn, tuple[int, int]]:
        """For each turn, its number in depth-first order and that of its last descendant."""
        order = list(walk(self.tree.roots))
        last: dict[Turn, int] = {}
        for number, turn in reversed(list(enumerate(order))):
            last[turn] = max(number, *(last[child] for child in turn.children)) if turn.children else number
        return {turn: (number, last[turn]) for number, turn in enumerate(order)}

    def _rows(self, kind: RowKind | None = None) -> Iterator[Node]:
        return (node for node in self.tree.all_nodes() if kind is None or node.row.kind is kind)


def _branches(chat: Chat) -> Iterator[Branch]:
    real = _real_turns(chat.tree)
    ends = [turn for turn in (chat.leaf_of(session) for session in chat.leaves) if turn is not None]
    ends = [_last_real(turn, real) for turn in ends]
    forgotten = [turn for turn in real if not any(child in real for child in turn.children)]
    everything = dict.fromkeys([*ends, *sorted(forgotten, key=_turn_time)])
    if not everything:  # nothing but commands, and then taken back
        everything = dict.fromkeys(turn for turn in walk(chat.tree.roots) if not turn.children)
    sessions = {session.place.file: (at, session.session_id) for at, session in enumerate(chat.leaves)}
    taken: dict[Turn, int] = {}
    number = 0
    for end in everything:
        path: list[Turn] = []
        step: Turn | None = end
        while step is not None and step not in taken:  # all that leads to what is taken is taken
            path.append(step)
            step = step.parent
        own = dict.fromkeys(reversed(path))
        if not own and taken:
            continue
        number += 1
        beside = [turn for parent in own for turn in parent.children if turn not in real and turn not in own]
        if number == 1:
            beside += [turn for turn in chat.tree.roots if turn not in real and turn not in own]
        extra = list(walk(beside))
        taken.update(dict.fromkeys([*own, *extra], number))
        turns = _in_place(list(own), extra)
        yield Branch(number, turns, path[-1].parent if path else None, _sessions_at(end, sessions))


def _real_turns(tree: Tree) -> dict[Turn, None]:
    """The turns with a prompt or an answer, and their ancestors."""
    real: dict[Turn, None] = {}
    for turn in walk(tree.roots):
        if turn.has_answer or (turn.head is not None and turn.head.row.kind is RowKind.PROMPT):
            step: Turn | None = turn
            while step is not None and step not in real:
                real[step] = None
                step = step.parent
    return real


def _last_real(turn: Turn, real: dict[Turn, None]) -> Turn:
    """The turn itself, or the last one before it with a prompt: a branch does not end with a mere command."""
    step: Turn | None = turn
    while step is not None and step not in real:
        step = step.parent
    return step or turn


def _in_place(path: list[Turn], beside: list[Turn]) -> list[Turn]:
    """Put turns that are not on the path after their parents."""
    if not beside:
        return path
    below: dict[Turn | None, list[Turn]] = {}
    for turn in sorted(beside, key=_turn_time):
        below.setdefault(turn.parent, []).append(turn)
    ordered: list[Turn] = []
    waiting = [*reversed(path), *reversed(below.get(None, []))]
    while waiting:
        turn = waiting.pop()
        ordered.append(turn)
        waiting.extend(reversed(below.pop(turn, [])))
    return ordered


def _contained(sessions: list[Transcript], tree: Tree) -> set[str]:
    """The files of sessions whose prompts and answers are all in a later session too."""
    if len(sessions) < 2:
        return set()
    sizes: Counter[str] = Counter()
    stands_in: dict[str, set[frozenset[str]]] = {}
    for node in tree.all_nodes():
        if node.row.kind in SAID:
            files = frozenset(copy.transcript for copy in node.copies)
            sizes.update(files)
            for file in files:
                stands_in.setdefault(file, set()).add(files)
    ranks = {session.place.file: (sizes[session.place.file], *_activity(session)) for session in sessions}
    contained = set()
    largest: dict[frozenset[frozenset[str]], str] = {}
    for file, where in stands_in.items():
        # Copies share long stretches, so that few such sets are different.
        key = frozenset(where)
        if key not in largest:
            largest[key] = max(frozenset.intersection(*where), key=lambda name: ranks[name])
        if ranks[largest[key]] > ranks[file]:
            contained.add(file)
    # A session in which nothing was said is no leaf beside one in which something was.
    return contained | {file for file in ranks if sizes and not sizes[file]}


def _sessions_at(turn: Turn, leaves: dict[str, tuple[int, str | None]]) -> list[str]:
    """The sessions that contain a turn, in the order of the leaves, which are given by their files."""
    files = {copy.transcript for node in turn.nodes for copy in node.copies}
    return [name for _, name in sorted(leaves[file] for file in files if file in leaves) if name]


def _activity(transcript: Transcript) -> tuple[float, str]:
    return _time(transcript.last), transcript.place.file


def _turn_time(turn: Turn) -> tuple[float, str]:
    return min((_time(node.row.when) for node in turn.nodes), default=0.0), turn.key


def _by_time(nodes: Iterator[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (_time(node.row.when), node.position))


def _time(when: datetime | None) -> float:
    return when.timestamp() if when else 0.0


def _merged(parts: Iterator[dict[str, None]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


SAID: Final = frozenset({RowKind.PROMPT, RowKind.ANSWER, RowKind.TOOL_RESULT, RowKind.COMMAND, RowKind.COMPACT_SUMMARY})
