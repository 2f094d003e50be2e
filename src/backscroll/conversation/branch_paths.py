"""The turns of a branch from the start of the chat to its end."""

from collections.abc import Mapping

from backscroll.conversation.chat import Branch, Chat
from backscroll.conversation.tree import Turn


def path_of(chat: Chat, branch: Branch, places: Mapping[Turn, tuple[int, int]] | None = None) -> list[Turn]:
    """The turns of a branch, including those it shares with earlier branches.

    `places` is the result of `places_of`, if it is already known.
    """
    places = places_of(chat) if places is None else places
    parts, own, step = [branch.turns], set(branch.leaf.path()), branch
    while step.left_at is not None and step.left_at in places:
        number, at = places[step.left_at]
        if number >= step.number:
            break
        step = chat.branches[number - 1]
        # Rows next to the shared part stay; those on the other branch do not.
        shared = (turn for turn in step.turns[: at + 1] if turn in own or turn.head is None or turn.parent in own)
        parts.append(list(shared))
    return [turn for part in reversed(parts) for turn in part]


def places_of(chat: Chat) -> dict[Turn, tuple[int, int]]:
    """For each turn, the branch that shows it, and its index there."""
    return {turn: (branch.number, at) for branch in chat.branches for at, turn in enumerate(branch.turns)}
