"""What stands around a passage in its conversation: the prompt before it, its end, what was tried next."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.store import FollowingStep, Hit


class PassageRef(NamedTuple):
    """A passage by its place."""

    source: str
    start: int
    length: int
    number: int
    role: str
    uuid: str | None

    def text(self, texts: Texts) -> str:
        """What it says."""
        return texts.text(self.source, self.start, self.length, self.number)


class Attempt(NamedTuple):
    """A step after an error, or the call that ended in it."""

    step: PassageRef
    tool: str | None
    target: str | None
    """The file that it reads or changes, where the tool is one of those that do."""
    call: str | None
    state: str | None
    """Of a result, how the call ended."""
    signature: str | None
    time: int | None


class Aftermath(NamedTuple):
    """What led to an error, and what was done after it."""

    call: Attempt | None
    following: list[Attempt]


class TurnContext(NamedTuple):
    """The turn of a passage."""

    prompt: PassageRef | None
    """What was typed, where the passage is not that itself."""
    conclusion: PassageRef | None
    """The last thing the turn answered, where the passage is not that itself."""


def around(library: Library, hits: Sequence[Hit]) -> dict[int, TurnContext]:
    """The turns of these passages, by passage."""
    sources = {hit.block: hit.source for hit in hits}
    found: dict[int, dict[str, PassageRef]] = {}
    for one in library.store.turn_passages(sources):
        step = PassageRef(sources[one.block], one.start, one.length, one.number, one.role, one.uuid)
        found.setdefault(one.block, {})[one.which] = step
    return {
        block: TurnContext(steps.get("prompt"), steps.get("conclusion"))
        for block, steps in ((block, found.get(block, {})) for block in sources)
    }


def courses(library: Library, hits: Sequence[Hit]) -> dict[int, Aftermath]:
    """How it went on after these results, by passage: calls, their results and answers until somebody typed again."""
    found = {}
    for hit in hits:  # one by one: each has a limit of its own
        steps = library.store.following_steps(hit.block, AHEAD, MOST_STEPS)
        calls = [_attempt(hit, step) for step in steps if step.is_before]
        following = [_attempt(hit, step) for step in steps if not step.is_before]
        found[hit.block] = Aftermath(calls[0] if calls else None, following)
    return found


def _attempt(hit: Hit, step: FollowingStep) -> Attempt:
    place = PassageRef(hit.source, step.start, step.length, step.number, step.role, step.uuid)
    return Attempt(place, step.tool, step.target, step.call, step.state, step.signature, step.time)


AHEAD: Final = 400
MOST_STEPS: Final = 120
