"""The context of a passage: its prompt, the end of its turn, what was tried next."""

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
        """Its text."""
        return texts.text(self.source, self.start, self.length, self.number)


class Attempt(NamedTuple):
    """A step after an error, or the call that ended in it."""

    step: PassageRef
    row: FollowingStep


class Aftermath(NamedTuple):
    """What led to an error, and what was done after it."""

    call: Attempt | None
    following: list[Attempt]


class TurnContext(NamedTuple):
    """The turn of a passage."""

    prompt: PassageRef | None
    """The prompt, unless the passage is the prompt itself."""
    conclusion: PassageRef | None
    """The last answer of the turn, unless the passage is that answer."""


def around(library: Library, hits: Sequence[Hit]) -> dict[int, TurnContext]:
    """The turns of these passages, by passage."""
    sources = {hit.block: hit.source for hit in hits}
    found: dict[int, dict[str, PassageRef]] = {}
    for one in library.reader.turn_passages(sources):
        step = PassageRef(sources[one.block], one.start, one.length, one.number, one.role, one.uuid)
        found.setdefault(one.block, {})[one.which] = step
    return {
        block: TurnContext(steps.get("prompt"), steps.get("conclusion"))
        for block, steps in ((block, found.get(block, {})) for block in sources)
    }


def courses(library: Library, hits: Sequence[Hit]) -> dict[int, Aftermath]:
    """What followed these results, by passage: calls, results and answers up to the next prompt."""
    found = {}
    for hit in hits:  # one by one: each has its own limit
        steps = library.reader.following_steps(hit.block, AHEAD, MAX_STEPS)
        calls = [_attempt(hit, step) for step in steps if step.is_before]
        following = [_attempt(hit, step) for step in steps if not step.is_before]
        found[hit.block] = Aftermath(calls[0] if calls else None, following)
    return found


def _attempt(hit: Hit, step: FollowingStep) -> Attempt:
    place = PassageRef(hit.source, step.start, step.length, step.number, step.role, step.uuid)
    return Attempt(place, step)


AHEAD: Final = 400
MAX_STEPS: Final = 120
