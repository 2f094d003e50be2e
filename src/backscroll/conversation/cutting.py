"""Split turns where a prompt goes back into their middle."""

from typing import Final

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.turns import Node, Turn, children_in

MAX_ROWS_EXAMINED: Final = 1000
"""Most rows examined to decide whether an added row changes earlier turns."""


def answered_past(node: Node, turn: Turn) -> bool:
    """Whether the turn has answers after this node: then a prompt attached to the node takes them back.

    If the search takes too long, return True: the tree is then rebuilt, which decides it for all nodes at once.
    """
    for count, other in enumerate(reversed(turn.nodes)):
        if other is node:
            return False
        if count > MAX_ROWS_EXAMINED:
            return True
        if other.row.kind is RowKind.ANSWER:
            return len(turn.nodes) > MAX_ROWS_EXAMINED or _continues(node, children_in(turn))
    return False


def _continues(node: Node, children: dict[int, list[Node]]) -> bool:
    """Whether there is an answer of another message after this node."""
    waiting = list(children.get(id(node), ()))
    while waiting:
        step = waiting.pop()
        if step.row.kind is RowKind.ANSWER and not _is_same_message(step, node):
            return True
        waiting.extend(children.get(id(step), ()))
    return False


def cut_turns(root: Turn) -> None:
    """Split every turn where a prompt goes back into its middle, starting with the first turn."""
    waiting = [root]
    while waiting:
        turn = waiting.pop()
        is_cut = any(child.after is not turn.nodes[-1] for child in turn.children)
        waiting.extend(_cut_turn(turn) if is_cut else turn.children)


class _Piece:
    """A part of a turn that is split: the first answers after a node that a prompt goes back to, or the rest."""

    def __init__(self, at: int) -> None:
        self.at = at
        """Number of the node after which the piece is split off."""
        self.tops: list[Node] = []
        self.nodes: list[Node] = []


def _cut_turn(turn: Turn) -> list[Turn]:
    """Split a turn, in one pass, after every node that a prompt goes back to; return its child turns."""
    forks = {id(child.after) for child in turn.children}
    nodes = turn.in_order()
    number = {id(node): at for at, node in enumerate(nodes)}
    kept = _Piece(-1)
    pieces: dict[int, _Piece] = {}
    # For each node: its piece, the first fork above it there, and the first fork above it of another message. A fork
    # does not cut off nodes of its own message, but the other fork may.
    known: dict[int, tuple[_Piece, Node | None, Node | None]] = {}
    for node in nodes:
        piece, first, second = known.get(id(node.parent), (kept, None, None))
        if node.row.kind is RowKind.ANSWER and first is not None:
            behind = second if _is_same_message(node, first) else first
            if behind is not None:
                piece = pieces.setdefault(id(behind), _Piece(number[id(behind)]))
                piece.tops.append(node)
                first = second = None
        piece.nodes.append(node)
        if id(node) in forks:
            if first is None:
                first = node
            elif second is None and not _is_same_message(node, first):
                second = node
        known[id(node)] = (piece, first, second)
    if not pieces:
        return turn.children
    children, turn.children = turn.children, []
    cut_off: list[Turn] = []
    for piece in sorted(pieces.values(), key=lambda piece: piece.at):
        top = min(piece.tops, key=lambda node: node.position)
        cut_off.append(Turn(top.row.uuid, None, top.parent))
        for node in piece.nodes:
            cut_off[-1].take(node)
    turn.nodes = [node for node in turn.nodes if node.turn is turn]
    turn.has_answer = any(node.row.kind is RowKind.ANSWER for node in turn.nodes)
    below: dict[Turn | None, list[Turn]] = {}
    for child in children:
        child.parent = child.after.turn if child.after else None
        below.setdefault(child.parent, []).append(child)
    for part in (turn, *cut_off):
        part.children[:0] = below.get(part, ())
    return children


def _is_same_message(node: Node, other: Node) -> bool:
    return node.row.message_id is not None and node.row.message_id == other.row.message_id
