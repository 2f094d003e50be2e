"""The findings of a loop: how many runs ended in which way, and how to repeat each wrong one."""

import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

EQUAL: Final = "equal"
"""It ended well, and every answer is right."""
ERROR: Final = "plain error"
"""It said what is wrong; once the fault is gone, every answer is right, or still says so."""
MENDED: Final = "mended"
"""An answer was refused, and after an update all are right."""
AS_WRITTEN: Final = "as written"
"""A file that people may edit says something else, and so does the answer."""
NOT_MET: Final = "not met"
"""The fault did not happen: the command did not come that far, or ended before."""
WRONG: Final = "WRONG"
"""A wrong answer, a loss, a traceback, a crash, or no end."""
TELL_SECONDS: Final = 30.0


@dataclass
class Summary:
    """All runs of a loop."""

    loop: str
    outcomes: Counter[str] = field(default_factory=Counter)
    by_case: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, group: str, outcome: str, case: str, problem: str | None = None) -> None:
        """One more run."""
        self.outcomes[outcome] += 1
        self.by_case.setdefault(group, Counter())[outcome] += 1
        if problem is not None:
            self.failures.append(f"{case}: {problem}")
            print(f"WRONG {case}: {problem}", flush=True)

    def take(self, other: "Summary") -> None:
        """Add the runs of another."""
        self.outcomes.update(other.outcomes)
        for group, outcomes in other.by_case.items():
            self.by_case.setdefault(group, Counter()).update(outcomes)
        self.failures += other.failures
        for name, value in other.facts.items():
            self.facts[name] = max(value, self.facts[name]) if name in self.facts else value

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return {
            "loop": self.loop, "runs": self.outcomes.total(), "outcomes": dict(self.outcomes),
            "by_case": {group: dict(outcomes) for group, outcomes in sorted(self.by_case.items())},
            "failures": self.failures, "facts": self.facts, "seconds": round(self.seconds, 1),
        }  # fmt: skip

    def write(self) -> None:
        """For people."""
        rate = 1000 * self.seconds / max(1, self.outcomes.total())
        print(f"\n{self.loop}: {self.outcomes.total():,} runs in {self.seconds:.0f} s ({rate:.0f} ms each)")
        for group, outcomes in sorted(self.by_case.items()):
            told = ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.most_common())
            print(f"  {group:<24} {told}")
        for name, value in self.facts.items():
            print(f"  {name}: {value}")
        told = ", ".join(f"{count:,} {outcome}" for outcome, count in self.outcomes.most_common())
        print(f"  in all: {told or 'nothing'}")


Work = Callable[[Sequence[int], Summary], None]
"""Does the runs with these numbers."""


def share_out(loop: str, numbers: Sequence[int], jobs: int, work: Work, folder: Path) -> Summary:
    """Let several processes do the work, and add up what they found."""
    started = time.monotonic()
    summary = Summary(loop)
    sys.stdout.flush()
    children = []
    for job in range(jobs):
        pid = os.fork()
        if pid == 0:
            _work(loop, numbers[job::jobs], work, folder / f"summary-{job}")
        children.append(pid)
    for job, pid in enumerate(children):
        _, status = os.waitpid(pid, 0)
        target = folder / f"summary-{job}"
        if status:
            told = target.read_text() if target.exists() else f"exit code {os.waitstatus_to_exitcode(status)}"
            summary.failures.append(f"a process of the loop itself failed: {told}")
        else:
            summary.take(_from_json(json.loads(target.read_bytes())))
    summary.seconds = time.monotonic() - started
    return summary


def telling(numbers: Sequence[int], summary: Summary) -> Iterable[int]:
    """The numbers, with a word now and then of how far it has come."""
    told = time.monotonic()
    for done, number in enumerate(numbers):
        if time.monotonic() - told > TELL_SECONDS:
            told = time.monotonic()
            print(f"… {done:,} of {len(numbers):,}: {dict(summary.outcomes)}", flush=True)
        yield number


def _work(loop: str, numbers: Sequence[int], work: Work, target: Path) -> None:
    code = 1
    try:
        summary = Summary(loop)
        work(numbers, summary)
        target.write_text(json.dumps(summary.as_json()))
        code = 0
    except BaseException:
        target.write_text(traceback.format_exc())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _from_json(values: dict[str, Any]) -> Summary:
    by_case = {group: Counter(outcomes) for group, outcomes in values["by_case"].items()}
    return Summary(values["loop"], Counter(values["outcomes"]), by_case, values["failures"], values["facts"])
