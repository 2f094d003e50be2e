"""The context of a passage: its prompt, the end of its turn, the steps after it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.store.reader import Hit
from backscroll.store.report_rows import FollowingStep


class PassageRef(NamedTuple):
    """A passage by its position."""

    source: str
    start: int
    length: int
    number: int
    role: str
    uuid: str | None

    def text(self, texts: Texts) -> str:
        """Return the text of the passage."""
        return texts.text(self.source, self.start, self.length, self.number)


class Attempt(NamedTuple):
    """A step after an error, or the call that ended in it."""

    step: PassageRef
    row: FollowingStep


class Aftermath(NamedTuple):
    """The call that ended in an error, and the steps after it."""

    call: Attempt | None
    following: list[Attempt]


class TurnContext(NamedTuple):
    """The turn of a passage."""

    prompt: PassageRef | None
    """The prompt, unless the passage is the prompt itself."""
    conclusion: PassageRef | None
    """The last answer of the turn, unless the passage is that answer."""


def around(library: Library, hits: Sequence[Hit]) -> dict[int, TurnContext]:
    """Return the turns of these passages, by passage."""
    sources = {hit.block: hit.source for hit in hits}
    by_block: dict[int, dict[str, PassageRef]] = {}
    for item in library.reader.turn_passages(sources):
        step = PassageRef(sources[item.block], item.start, item.length, item.number, item.role, item.uuid)
        by_block.setdefault(item.block, {})[item.which] = step
    return {
        block: TurnContext(steps.get("prompt"), steps.get("conclusion"))
        for block, steps in ((block, by_block.get(block, {})) for block in sources)
    }


def courses(library: Library, hits: Sequence[Hit]) -> dict[int, Aftermath]:
    """Return the steps after these results, by passage: calls, results and answers up to the next prompt."""
    by_block = {}
    for hit in hits:  # one by one: each has its own limit
        steps = library.reader.following_steps(hit.block, AHEAD, MAX_STEPS)
        calls = [_attempt(hit, step) for step in steps if step.is_before]
        following = [_attempt(hit, step) for step in steps if not step.is_before]
        by_block[hit.block] = Aftermath(calls[0] if calls else None, following)
    return by_block


def _attempt(hit: Hit, step: FollowingStep) -> Attempt:
    place = PassageRef(hit.source, step.start, step.length, step.number, step.role, step.uuid)
    return Attempt(place, step)


AHEAD: Final = 400
MAX_STEPS: Final = 120
