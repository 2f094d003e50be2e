"""The turns of a branch from the start of the chat to its end."""

from collections.abc import Mapping

from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.tree import Turn


def path_of(chat: Chat, branch: Branch, places: Mapping[Turn, tuple[int, int]] | None = None) -> list[Turn]:
    """Return the turns of a branch, including those it shares with earlier branches.

    `places` is the result of `places_of`, if it is already known.
    """
    places = places_of(chat) if places is None else places
    parts, own, step = [branch.turns], set(branch.leaf.path()), branch
    while step.left_at is not None and step.left_at in places:
        number, at = places[step.left_at]
        if number >= step.number:
            break
        step = chat.branches[number - 1]
        # Keep rows next to the shared part, but not those on the other branch.
        shared = (turn for turn in step.turns[: at + 1] if turn in own or turn.head is None or turn.parent in own)
        parts.append(list(shared))
    return [turn for part in reversed(parts) for turn in part]


def whole_branch(chat: Chat, number: int) -> Branch:
    """Return a branch by its number, with the turns that it shares with earlier branches."""
    branch = chat.branches[number - 1]
    return branch._replace(turns=path_of(chat, branch))


def branch_of_session(chat: Chat, name: str) -> int:
    """Return the branch that a session continues, by the start of its id.

    The active branch is returned for the id of the chat, which is that of its oldest session, and for any other name.
    """
    begin = name.lower()
    if not begin or chat.id.lower().startswith(begin):
        return 1
    named = [session for session in chat.sessions if (session.session_id or "").lower().startswith(begin)]
    ends = [end for end in map(chat.leaf_of, named) if end is not None]
    return branch_with(ends[-1], places_of(chat)) or 1 if ends else 1


def branch_with(turn: Turn | None, places: Mapping[Turn, tuple[int, int]]) -> int | None:
    """Return the first branch that shows a turn, or its closest ancestor that any branch shows."""
    while turn is not None and turn not in places:
        turn = turn.parent
    return places[turn][0] if turn is not None else None


def places_of(chat: Chat) -> dict[Turn, tuple[int, int]]:
    """Return the branch that shows each turn, and the index of the turn there."""
    return {turn: (branch.number, at) for branch in chat.branches for at, turn in enumerate(branch.turns)}
