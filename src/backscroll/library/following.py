"""What stands around a passage in its conversation: the prompt before it, its end, what was tried next."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from backscroll.conversation.kinds import TURNS
from backscroll.library.library import Library
from backscroll.library.texts import Texts
from backscroll.store import Hit


class Step(NamedTuple):
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


class Tried(NamedTuple):
    """A step after an error, or the call that ended in it."""

    step: Step
    tool: str | None
    target: str | None
    """The file that it reads or changes, where the tool is one of those that do."""
    call: str | None
    state: str | None
    """Of a result, how the call ended."""
    signature: str | None
    time: int | None


class Course(NamedTuple):
    """What led to an error, and what was done after it."""

    call: Tried | None
    following: list[Tried]


class Around(NamedTuple):
    """The turn of a passage."""

    prompt: Step | None
    """What was typed, where the passage is not that itself."""
    conclusion: Step | None
    """The last thing the turn answered, where the passage is not that itself."""


def around(library: Library, hits: Sequence[Hit]) -> dict[int, Around]:
    """The turns of these passages, by passage."""
    numbers = ", ".join(str(int(hit.block)) for hit in hits)
    if not numbers:
        return {}
    paths = {hit.block: hit.path for hit in hits}
    rows = library.sql(AROUND.format(blocks=numbers), limit=3 * len(hits)).rows
    found: dict[int, dict[str, Step]] = {}
    for block, which, start, length, number, role, uuid in rows:
        if start is not None:
            found.setdefault(block, {})[which] = Step(paths[block], start, length, number, role, uuid)
    return {
        block: Around(steps.get("prompt"), steps.get("conclusion"))
        for block, steps in ((block, found.get(block, {})) for block in paths)
    }


def courses(library: Library, hits: Sequence[Hit]) -> dict[int, Course]:
    """How it went on after these results, by passage: calls, their results and answers until somebody typed again."""
    found = {}
    for hit in hits:  # one by one: each has a limit of its own
        rows = library.sql(COURSE.format(block=int(hit.block), ahead=AHEAD), limit=MOST_STEPS).rows
        steps = [
            Tried(Step(hit.path, start, length, number, role, uuid), tool, target, call, state, detail, time)
            for start, length, number, role, uuid, tool, target, call, state, detail, time, _ in rows
        ]
        before = [step for step, row in zip(steps, rows, strict=True) if row[-1]]
        after = [step for step, row in zip(steps, rows, strict=True) if not row[-1]]
        found[hit.block] = Course(before[0] if before else None, after)
    return found


AHEAD: Final = 400
MOST_STEPS: Final = 120
END: Final = 1 << 62
KINDS: Final = ", ".join(f"'{kind}'" for kind in sorted(TURNS))
# Records of a file are numbered in their order, so both are a walk along an index, from the passage on.
AROUND: Final = f"""
with hits as (
  select h.id as block, h.record, a.file, a.number, a.sidechain from blocks h join records a on a.id = h.record
  where h.id in ({{blocks}})
), ends as materialized (
  select hits.*,
    (select r.number from records r where r.file = hits.file and r.number <= hits.number
      and r.sidechain = hits.sidechain and r.kind in ({KINDS}) order by r.number desc limit 1) as first,
    (select r.number from records r where r.file = hits.file and r.number > hits.number
      and r.sidechain = hits.sidechain and r.kind in ({KINDS}) order by r.number limit 1) as next
  from hits
), steps as (
  select e.block, 'prompt' as which, (select b.id from records r join blocks b on b.record = r.id
    where r.file = e.file and r.number = e.first and b.role = 'prompt' order by b.number limit 1) as id
  from ends e where e.first < e.number
  union all
  select e.block, 'conclusion', (select b.id from records r join blocks b on b.record = r.id and b.role = 'answer'
    where r.file = e.file and r.number > e.number and r.number < coalesce(e.next, {END})
      and r.sidechain = e.sidechain and r.kind = 'answer'
    order by r.number desc, b.number desc limit 1)
  from ends e
)
select s.block, s.which, r.start, r.length, b.number, b.role, coalesce(r.original, r.uuid)
from steps s join blocks b on b.id = s.id join records r on r.id = b.record
"""  # noqa: S608 - no values in it but numbers

COURSE: Final = f"""
with hit as materialized (
  select h.id, h.call, a.file, a.number, a.sidechain,
    (select r.number from records r where r.file = a.file and r.number > a.number
      and r.sidechain = a.sidechain and r.kind in ({KINDS}) order by r.number limit 1) as next
  from blocks h join records a on a.id = h.record where h.id = {{block}}
)
select r.start, r.length, b.number, b.role, coalesce(r.original, r.uuid), b.tool, b.file, b.call, b.state, b.detail,
  r.time, r.number <= hit.number
from hit
join records r on r.file = hit.file and r.number > hit.number - {{ahead}} and r.number < hit.number + {{ahead}}
  and r.sidechain = hit.sidechain and r.number < coalesce(hit.next, {END})
join blocks b on b.record = r.id
where (r.number > hit.number and b.role in ('input', 'output', 'answer'))
  or (r.number <= hit.number and b.role = 'input' and b.call = hit.call)
order by r.number, b.number
"""  # noqa: S608 - no values in it but numbers
