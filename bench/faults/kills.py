"""A command is killed at any moment: is all right after the next update?"""

import signal
import time
from collections.abc import Sequence
from random import Random
from typing import Final

from bench.faults.report import EQUAL, MENDED, WRONG, Summary, telling
from bench.faults.world import SCENARIOS, World

LATE: Final = 1.1
"""Until when a kill may come, in parts of the time that the command takes undisturbed."""


def durations(world: World, names: Sequence[str]) -> dict[str, float]:
    """How long each command takes."""
    found = {}
    for name in names:
        scenario = SCENARIOS[name]
        world.prepare(scenario.begins_with)
        began = time.monotonic()
        child = world.start(world.arguments(scenario))
        ended = world.follow(child) if scenario.follows else child.wait()
        if problem := ended.problem((0, 130)):
            raise RuntimeError(f"{name} without a fault: {problem}")
        found[name] = time.monotonic() - began
    return found


def run_kill(world: World, name: str, seconds: float) -> tuple[str, str | None]:
    """Kill one command after so long; how it ended, and what is wrong."""
    scenario = SCENARIOS[name]
    world.prepare(scenario.begins_with)
    before = world.state_of_home()
    child = world.start(world.arguments(scenario))
    ends = time.monotonic() + seconds
    if scenario.follows:
        child.wait_until(child.is_watching, seconds)
        world.go_on_living()
    time.sleep(max(0.0, ends - time.monotonic()))
    child.signal(signal.SIGKILL)
    ended = child.wait()
    if ended.code >= 0 and (problem := ended.problem((0,))):
        return WRONG, problem
    if world.state_of_home() != before:
        return WRONG, "the home was changed"
    problem, _ = world.check(scenario)
    if problem:
        return WRONG, problem
    return (MENDED if ended.code < 0 else EQUAL), None


def run(
    world: World, names: Sequence[str], times: dict[str, float], seed: int, numbers: Sequence[int], summary: Summary
) -> None:
    """Kill as often as there are numbers. Which moment a number means is the same again, as far as clocks are."""
    for number in telling(numbers, summary):
        rng = Random(f"kill {seed} {number}")
        name = names[number % len(names)]
        part = rng.random() * LATE
        outcome, problem = run_kill(world, name, part * times[name])
        summary.add(name, outcome, f"{name}, killed at {part:.3f} of its time (--seed {seed} --only {number})", problem)
