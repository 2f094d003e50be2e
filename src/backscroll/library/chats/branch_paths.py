"""The turns of a branch from the beginning of the chat to its end."""

from collections.abc import Mapping

from backscroll.conversation import Branch, Chat, Turn


def path_of(chat: Chat, branch: Branch, places: Mapping[Turn, tuple[int, int]] | None = None) -> list[Turn]:
    """The turns of a branch, with those that it shares with the branches before it.

    `places` are those of `places_of`, for whoever has them already.
    """
    places = places_of(chat) if places is None else places
    parts, own, step = [branch.turns], set(branch.leaf.path()), branch
    while step.left_at is not None and step.left_at in places:
        number, at = places[step.left_at]
        if number >= step.number:
            break
        step = chat.branches[number - 1]
        # What hangs beside the shared part stays; what hangs on the other way does not.
        shared = (turn for turn in step.turns[: at + 1] if turn in own or turn.head is None or turn.parent in own)
        parts.append(list(shared))
    return [turn for part in reversed(parts) for turn in part]


def places_of(chat: Chat) -> dict[Turn, tuple[int, int]]:
    """Of each turn, the branch that it is told with, and which of the turns of that branch it is."""
    return {turn: (branch.number, at) for branch in chat.branches for at, turn in enumerate(branch.turns)}
