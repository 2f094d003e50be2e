"""One chat: its sessions, branches, agents, title and times.

Everything here follows from the transcripts and their tree, and is computed on demand.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Final

from backscroll.conversation.agents import Agent, find_agents
from backscroll.conversation.branches import Branch, branches_of
from backscroll.conversation.kinds import PROMPTS, RowKind, plain_title
from backscroll.conversation.rows import LONGEST_TEXT, RowCall
from backscroll.conversation.titles import title_of_prompt
from backscroll.conversation.todos import todos_of
from backscroll.conversation.transcripts import TITLES, Transcript
from backscroll.conversation.tree import Node, Tree, Turn, walk
from backscroll.records.outside import PrLink
from backscroll.records.tools import Todo

ABOUT_CONTEXT: Final = re.compile(r"/(?:clear|compact)(?!\S)")
"""Commands that no chat is named after: a fork of a compacted session begins with one."""
LONGEST_PAUSE: Final = timedelta(minutes=5)
"""A longer pause does not count as active time."""


class Chat:
    """A conversation, across all sessions that share it."""

    def __init__(
        self, sessions: list[Transcript], agents: list[Transcript], tree: Tree, summaries: dict[str, str]
    ) -> None:
        self.sessions = sessions
        """The sessions, oldest first."""
        self.tree = tree
        self._agents = agents
        self._summaries = summaries

    @property
    def transcripts(self) -> list[Transcript]:
        """All transcripts that the chat was read from, including those of agents."""
        return [*self.sessions, *self._agents]

    @property
    def id(self) -> str:
        """Id of the oldest session; for agents whose session was deleted, the id of that session."""
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
        # A session may also continue in another file without being copied there.
        passed: set[int] = set()
        for end in ends.values():
            step = end
            while step is not None and step.nodes[0].part.row.uuid not in self.tree.assumed:
                step = step.parent
                if step is None or id(step) in passed:
                    break
                passed.add(id(step))
        leaves = [session for session in leaves if id(ends[session.place.file]) not in passed]
        return sorted(leaves, key=_activity, reverse=True)

    @cached_property
    def branches(self) -> list[Branch]:
        """The active branch first, then the others in order of where they branch off."""
        ends = [turn for turn in map(self.leaf_of, self.leaves) if turn is not None]
        return list(branches_of(self.tree, ends, self.leaves))

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
        """Whether only files of agents are there, and no rows of the session itself."""
        return not self.tree.nodes

    @cached_property
    def shown_agents(self) -> list[Agent]:
        """The agents for readers: none that only warmed up, and copies of the session only where it is gone."""
        has_session = not self.is_without_session
        return [agent for agent in self.agents if not agent.is_stub and not (agent.is_side_copy and has_session)]

    @cached_property
    def title(self) -> str:
        """The title from the user or the model, or else the first prompt."""
        here = {session.session_id for session in self.sessions if not session.is_elsewhere}
        recent = sorted(self.sessions, key=_activity, reverse=True)
        # The title of a session on this machine wins over that of a copy from another machine.
        recent.sort(key=lambda session: session.is_elsewhere and session.session_id in here)
        # The title of a fork does not name the session it was forked from, but it names a chat that continues in it.
        named = [session for session in recent if session is recent[0] or not session.is_fork]
        if recent and recent[0].is_fork and (title := recent[0].own_title):
            return title
        for name in TITLES:
            for session in named:
                if title := getattr(session, name):
                    return plain_title(str(title))
        agents = self.shown_agents if self.is_without_session else []
        agent_task = next((agent.description or agent.prompt for agent in agents), "")
        first = title_of_prompt(plain_title(self.first_prompt or agent_task), LONGEST_TEXT)
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
        heads = [turn for turn in heads if turn.head and not ABOUT_CONTEXT.match(turn.head.row.text)] or heads
        candidates = (turn for turn in heads if turn.has_answer or (turn.head and turn.head.row.kind is RowKind.PROMPT))
        first = next(candidates, heads[0] if heads else None)
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
        """Original time of the first row."""
        return min((when for transcript in self.transcripts if (when := transcript.first)), default=None)

    @cached_property
    def last_active(self) -> datetime | None:
        """Original time of the last row: not the time when a file was touched or copied."""
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
        return sum(self.kinds[kind] for kind in PROMPTS) + beside

    @cached_property
    def messages(self) -> int:
        """The number of prompts and answers; an answer of several rows is one message."""
        answers = {node.row.message_id or node.row.uuid for node in self._rows(RowKind.ANSWER)}
        return self.prompts + len(answers)

    @property
    def compactions(self) -> int:
        """Number of compactions in the chat."""
        return max(self.kinds[RowKind.COMPACTION], self.kinds[RowKind.COMPACT_SUMMARY])

    @property
    def copies(self) -> int:
        """Number of copies of rows in other files. A row that its file has twice, written again, is no copy."""
        return sum(len({copy.transcript for copy in node.copies}) - 1 for node in self.tree.all_nodes())

    @property
    def models(self) -> list[str]:
        """The models that answered, in order of their first answer."""
        return _merged(session.models for session in self.sessions)

    @property
    def versions(self) -> list[str]:
        """The versions of Claude Code that wrote the sessions."""
        return _merged(session.versions for session in self.sessions)

    @property
    def git_branches(self) -> list[str]:
        """The git branches that the sessions worked on."""
        return _merged(session.branches for session in self.sessions)

    @property
    def tags(self) -> list[str]:
        """Tags that the user gave the sessions."""
        return _merged(session.tags for session in self.sessions)

    @property
    def pr_links(self) -> list[PrLink]:
        """The pull requests that the sessions created."""
        return list({url: link for session in self.sessions for url, link in session.pr_links.items()}.values())

    @cached_property
    def files_touched(self) -> list[str]:
        """The files changed by the chat and its agents, in order of their first change."""
        calls = [*self._calls, *(call for agent in self.agents for call in agent.calls)]
        return list(dict.fromkeys(call.file for call in calls if call.file))

    @cached_property
    def todos(self) -> list[Todo]:
        """The to-do list, with its progress. A call that failed changes nothing."""
        failed = {call for node in self._rows(RowKind.TOOL_RESULT) for call in node.row.failed}
        return todos_of(call for call in self._calls if call.id not in failed)

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
        """Return the turn from which the client would resume a session; None if it would start over."""
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
        if is_taken_back and not last.turn.has_answer and last.turn.parent is marked.turn:
            # The note may stand behind the prompt that was typed after going back.
            is_taken_back = not any(way.has_answer for way in marked.turn.children)
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


def _contained(sessions: list[Transcript], tree: Tree) -> set[str]:
    """Return the files of sessions whose prompts and answers are all in a later session too."""
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
    # A session without messages is no leaf beside a session with messages.
    return contained | {file for file in ranks if sizes and not sizes[file]}


def _activity(transcript: Transcript) -> tuple[float, str]:
    return _time(transcript.last), transcript.place.file


def _by_time(nodes: Iterator[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (_time(node.row.when), node.position))


def _time(when: datetime | None) -> float:
    return when.timestamp() if when else 0.0


def _merged(parts: Iterator[dict[str, None]]) -> list[str]:
    return list(dict.fromkeys(name for part in parts for name in part))


SAID: Final = frozenset({RowKind.PROMPT, RowKind.ANSWER, RowKind.TOOL_RESULT, RowKind.COMMAND, RowKind.COMPACT_SUMMARY})
