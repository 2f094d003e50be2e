"""What stands around a passage in its conversation: the prompt before it, its end, what was tried next."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.library.indexing.texts import Texts
from backscroll.library.library import Library
from backscroll.store import Hit


class PassageRef(NamedTuple):
    """A passage by its place."""

    path: str
    start: int
    length: int
    number: int
    role: str
    uuid: str | None

    def text(self, texts: Texts) -> str:
        """What it says."""
        return texts.text(self.path, self.start, self.length, self.number)


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
    paths = {hit.block: hit.path for hit in hits}
    found: dict[int, dict[str, PassageRef]] = {}
    for block, which, start, length, number, role, uuid in library.store.turns(paths):
        if start is not None:
            found.setdefault(block, {})[which] = PassageRef(paths[block], start, length, number, role, uuid)
    return {
        block: TurnContext(steps.get("prompt"), steps.get("conclusion"))
        for block, steps in ((block, found.get(block, {})) for block in paths)
    }


def courses(library: Library, hits: Sequence[Hit]) -> dict[int, Aftermath]:
    """How it went on after these results, by passage: calls, their results and answers until somebody typed again."""
    found = {}
    for hit in hits:  # one by one: each has a limit of its own
        rows = library.store.course(hit.block, AHEAD, MOST_STEPS)
        steps = [
            Attempt(PassageRef(hit.path, start, length, number, role, uuid), tool, target, call, state, detail, time)
            for start, length, number, role, uuid, tool, target, call, state, detail, time, _ in rows
        ]
        before = [step for step, row in zip(steps, rows, strict=True) if row[-1]]
        after = [step for step, row in zip(steps, rows, strict=True) if not row[-1]]
        found[hit.block] = Aftermath(before[0] if before else None, after)
    return found


AHEAD: Final = 400
MOST_STEPS: Final = 120
