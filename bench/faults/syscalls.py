"""Let every system call of a command fail, once or always: does it succeed or say why, and is all well afterwards?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from bench.faults.report import EQUAL, ERROR, NOT_MET, WRONG, Summary, telling
from bench.faults.tracing import FAILING, Trace, inject, points
from bench.faults.world import SCENARIOS, World

ERRORS: Final = ("EIO", "ENOSPC", "EMFILE", "ENOMEM", "EACCES")
PASSING: Final = {"read": ("EINTR", "EAGAIN"), "pread64": ("EINTR", "EAGAIN"), "write": ("EINTR",)}
"""Errors after which a call is made again; one that had them for ever would never end."""


@dataclass(frozen=True)
class FaultCase:
    """One fault."""

    scenario: str
    call: str
    number: int
    error: str
    forever: bool

    def __str__(self) -> str:
        return f"{self.scenario}:{self.call}:{self.number}:{self.error}:{'forever' if self.forever else 'once'}"


def case_of(text: str) -> FaultCase:
    """A case as it is written."""
    scenario, call, number, error, when = text.split(":")
    return FaultCase(scenario, call, int(number), error, when == "forever")


def all_cases(world: World, names: Iterable[str]) -> list[FaultCase]:
    """Every fault that can be made, from what each command does without any."""
    found = []
    for name in names:
        scenario = SCENARIOS[name]
        world.prepare(scenario.begins_with)
        child = world.start(world.arguments(scenario), waits=True)
        trace = Trace(child, world.root / "trace", "-s", "0", "-e", f"trace={','.join(FAILING)}")
        ended = world.follow(child) if scenario.follows else child.wait()
        if problem := ended.problem((0, 130)):
            raise RuntimeError(f"{name} without a fault: {problem}")
        for call, number in points(trace.calls(), world.root):
            found += [FaultCase(name, call, number, error, forever) for error in ERRORS for forever in (False, True)]
            found += [FaultCase(name, call, number, error, False) for error in PASSING.get(call, ())]
    return found


def sample(cases: Sequence[FaultCase], number: int, seed: int) -> FaultCase:
    """The n-th case of a seed: every call of every command is as likely, however often it is made."""
    rng = Random(f"{seed} {number}")
    kinds = sorted({(case.scenario, case.call) for case in cases})
    kind = rng.choice(kinds)
    return rng.choice([case for case in cases if (case.scenario, case.call) == kind])


def run_case(world: World, case: FaultCase) -> tuple[str, str | None]:
    """Make one fault; how it ended, and what is wrong."""
    scenario = SCENARIOS[case.scenario]
    world.prepare(scenario.begins_with)
    before = world.state_of_home()
    child = world.start(world.arguments(scenario), waits=True)
    trace = inject(child, world.root / "trace", case.call, case.number, case.error, forever=case.forever)
    ended = world.follow(child, is_disturbed=True) if scenario.follows else child.wait()
    hit = [call for call in trace.calls() if call.was_injected]
    if not any(str(world.root) in call.text for call in hit):
        return NOT_MET, None
    # Where nothing can be written, nothing can be said.
    is_mute = any(call.name == "write" and call.text.startswith(("(1<", "(2<")) for call in hit)
    allowed = (0, 1, 2, 3, 4, 130) if scenario.follows else (0, 1, 2, 3, 4)
    if problem := ended.problem(allowed, is_mute=is_mute):
        return WRONG, problem
    if world.state_of_home() != before:
        return WRONG, "the home was changed"
    problem, _ = world.check(scenario)
    if problem:
        return WRONG, f"it ended with {ended.code} ({ended.said}), then {problem}"
    return (EQUAL if ended.code in (0, 130) else ERROR), None


def run(world: World, cases: Sequence[FaultCase], numbers: Sequence[int], summary: Summary) -> None:
    """Make the faults with these numbers."""
    for number in telling(numbers, summary):
        case = cases[number]
        outcome, problem = run_case(world, case)
        summary.add(case.scenario, outcome, str(case), problem)
