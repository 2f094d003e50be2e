"""The power is cut wherever something is made lasting: is all right after the next update?"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from bench.faults.disk import Recorder, Recording, Step, digest, snapshot, write_files
from bench.faults.report import MENDED, WRONG, Summary, telling
from bench.faults.tracing import CHANGING, Trace
from bench.faults.world import SCENARIOS, World

SUBSETS: Final = 3
"""How many chance selections of what was not flushed are tried at each point, besides all and nothing of it."""

ATTEMPTS: Final = 3
"""To record a command."""


@dataclass(frozen=True)
class Cut:
    """One cut of the power."""

    scenario: str
    steps: int
    survives: str
    """`nothing` or `all` of what was not flushed, or the seed of a selection."""

    def __str__(self) -> str:
        return f"{self.scenario}:{self.steps}:{self.survives}"


def record(world: World, name: str) -> Recording:
    """What a command does to the disk.

    A log does not say which of two calls came first that two threads made at the same time. Where that matters the
    recording gives other files than there are, and another one is made.
    """
    for _ in range(ATTEMPTS):
        recording, wrong = _record_once(world, name)
        if not wrong:
            return recording
    raise RuntimeError(f"{name}: the recording does not give what is on the disk: {wrong[:3]}")


def _record_once(world: World, name: str) -> tuple[Recording, list[str]]:
    scenario = SCENARIOS[name]
    world.prepare(scenario.begins_with)
    recorder = Recorder(world.root / "run")
    child = world.start(world.arguments(scenario), waits=True)
    calls = ",".join((*CHANGING, "lseek", "read"))
    trace = Trace(child, world.root / "trace", "-xx", "-s", "100000000", "-e", f"trace={calls}")
    ended = world.follow(child) if scenario.follows else child.wait()
    if problem := ended.problem((0, 130)):
        raise RuntimeError(f"{name} without a fault: {problem}")
    recording = recorder.take(trace.calls())
    made = recording.state(len(recording.steps), lambda _: True)
    real = snapshot(world.root / "run")
    paths = made.keys() | real.keys()
    return recording, sorted(path for path in paths if made.get(path) != real.get(path) and _counts(path))


def _counts(path: str) -> bool:
    return not path.endswith("-shm")


def all_cuts(recordings: dict[str, Recording], seed: int) -> list[Cut]:
    """Every point, with nothing, all, and some of what was not flushed."""
    return [
        Cut(name, steps, survives)
        for name, recording in recordings.items()
        for steps in recording.points()
        for survives in ("nothing", "all", *(f"{seed}.{number}" for number in range(SUBSETS)))
    ]


def _chooser(survives: str) -> Callable[[Step], bool]:
    if survives in ("nothing", "all"):
        return lambda _: survives == "all"
    rng = Random(survives)
    share = rng.choice((0.2, 0.5, 0.8))
    return lambda _: rng.random() < share


def run_cut(world: World, recording: Recording, cut: Cut, seen: set[str]) -> str | None:
    """Put the disk in place as the cut leaves it, and see; what is wrong. Disks that were seen are not tried again."""
    files = recording.state(cut.steps, _chooser(cut.survives))
    if (found := digest(files)) in seen:
        return None
    seen.add(found)
    scenario = SCENARIOS[cut.scenario]
    world.prepare("nothing")
    write_files(files, world.root / "run")
    if scenario.follows:
        world.go_on_living()
    if cut.steps == len(recording.steps) and (problem := world.acknowledged_problem(scenario)):
        return f"it had ended well, and {problem}"
    problem, _ = world.check(scenario)
    return problem


def run(
    world: World, recordings: dict[str, Recording], cuts: Sequence[Cut], numbers: Iterable[int], summary: Summary
) -> None:
    """Cut the power at these points."""
    seen: set[str] = set()
    for name, recording in recordings.items():
        summary.facts[f"{name}: points"] = len(recording.points())
        summary.facts[f"{name}: flushes"] = recording.syncs
    for number in telling(list(numbers), summary):
        cut = cuts[number]
        known = len(seen)
        problem = run_cut(world, recordings[cut.scenario], cut, seen)
        if len(seen) > known:
            summary.add(cut.scenario, WRONG if problem else MENDED, str(cut), problem)
