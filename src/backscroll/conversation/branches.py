"""The branches of a chat: only turns that the user took back make a branch of their own."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.transcripts import Transcript
from backscroll.conversation.tree import Tree, Turn, walk


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
        """Last turn of the branch."""
        return self.turns[-1]

    @property
    def compactions(self) -> int:
        """Number of compactions on the branch."""
        return sum(node.row.kind is RowKind.COMPACTION for turn in self.turns for node in turn.nodes)


def branches_of(tree: Tree, ends: Iterable[Turn], leaves: Iterable[Transcript]) -> Iterator[Branch]:
    """Yield the branches of a tree: first those that end at the leaves, then the others by where they branch off."""
    real = _real_turns(tree)
    ends = [_last_real(turn, real) for turn in ends]
    forgotten = [turn for turn in real if not any(child in real for child in turn.children)]
    everything = dict.fromkeys([*ends, *sorted(forgotten, key=_turn_time)])
    if not everything:  # nothing but commands, and then taken back
        everything = dict.fromkeys(turn for turn in walk(tree.roots) if not turn.children)
    sessions = {session.place.file: (at, session.session_id) for at, session in enumerate(leaves)}
    taken: dict[Turn, _Path] = {}
    taken_parts: dict[Turn | None, set[int]] = {}
    paths: list[_Path] = []
    for end in everything:
        path: list[Turn] = []
        step: Turn | None = end
        while step is not None and step not in taken:  # all ancestors of a taken turn are taken
            path.append(step)
            step = step.parent
        if not path and taken:
            continue
        own = dict.fromkeys(reversed(path))
        beside = [turn for parent in own for turn in parent.children if turn not in real and turn not in own]
        if not taken:
            beside += [turn for turn in tree.roots if turn not in real and turn not in own]
        extra = list(walk(beside))
        if taken and not _is_branch(path[-1], taken_parts):
            branch = taken[path[-1].parent] if path[-1].parent else paths[0]
            branch.beside += [*own, *extra]
        else:
            branch = _Path(end, list(own), extra, path[-1].parent if path else None)
            paths.append(branch)
        for turn in (*own, *extra):
            taken[turn] = branch
            taken_parts.setdefault(turn.parent, set()).add(id(turn.nodes[0].part))
    for number, branch in enumerate(paths, 1):
        turns = _in_place(branch.own, branch.beside)
        yield Branch(number, turns, branch.left_at, _sessions_at(branch.end, sessions))


@dataclass
class _Path:
    """A branch in the making."""

    end: Turn
    own: list[Turn]
    beside: list[Turn]
    """The turns that it shows after their parents, though they do not lead to its end."""
    left_at: Turn | None


def _is_branch(turn: Turn, taken_parts: Mapping[Turn | None, set[int]]) -> bool:
    """Whether a turn is an alternative to a taken one, or the user went back before it.

    A turn that follows another only by its position in the file replaces nothing, and nothing replaces it.
    """
    parts = taken_parts.get(turn.parent)
    return not parts or id(turn.nodes[0].part) in parts


def ways_from(turn: Turn, tree: Tree) -> list[Turn]:
    """Return a turn and its alternatives, without turns that only follow its parent in a file."""
    siblings = turn.parent.children if turn.parent else tree.roots
    return [other for other in siblings if other.nodes[0].part is turn.nodes[0].part]


def is_rewind(ways: Iterable[Turn]) -> bool:
    """Whether the user went back inside a session; else each way is a session of its own, such as a fork."""
    files = Counter(file for way in ways for file in {copy.transcript for copy in way.nodes[0].copies})
    return any(count > 1 for count in files.values())


def _real_turns(tree: Tree) -> dict[Turn, None]:
    """Return the turns with a prompt or an answer, and their ancestors."""
    real: dict[Turn, None] = {}
    for turn in walk(tree.roots):
        if turn.has_answer or (turn.head is not None and turn.head.row.kind is RowKind.PROMPT):
            step: Turn | None = turn
            while step is not None and step not in real:
                real[step] = None
                step = step.parent
    return real


def _last_real(turn: Turn, real: dict[Turn, None]) -> Turn:
    """Return the turn, or its closest real ancestor: a branch does not end with a mere command."""
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


def _sessions_at(turn: Turn, leaves: dict[str, tuple[int, str | None]]) -> list[str]:
    """Return the sessions that contain a turn, in the order of `leaves`, which has them by file."""
    files = {copy.transcript for node in turn.nodes for copy in node.copies}
    return [name for _, name in sorted(leaves[file] for file in files if file in leaves) if name]


def _turn_time(turn: Turn) -> tuple[float, str]:
    return min((node.row.when.timestamp() if node.row.when else 0.0 for node in turn.nodes), default=0.0), turn.key
