"""How long each test takes: recorded in a file, and the longest are printed at the end."""

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

LONGEST: Final = 10
LONG_SECONDS: Final = 5.0
"""What takes longer is marked `slow` or `all`."""


class Durations:
    """A plugin of the process that prints the results."""

    def __init__(self, file: Path, *, is_whole_run: bool) -> None:
        self._file = file
        self._is_whole_run = is_whole_run
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._unmarked: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a phase of a test: its set-up, itself, or its clean-up."""
        self._seconds[report.nodeid] += report.duration
        if not {"slow", "all"} & report.keywords.keys():
            self._unmarked.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the file; print the longest, and what takes long without a mark.

        A run of some tests leaves the times of all others in the file.
        """
        longest = sorted(self._seconds.items(), key=lambda one: -one[1])
        known = {} if self._is_whole_run else self._known()
        noted = sorted((known | self._seconds).items(), key=lambda one: -one[1])
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_text("".join(f"{seconds:.2f}\t{test}\n" for test, seconds in noted), encoding="utf-8")
        if len(longest) <= LONGEST:
            return
        terminalreporter.section(f"the {LONGEST} longest, with their fixtures; all in {self._file.name}")
        for test, seconds in longest[:LONGEST]:
            terminalreporter.line(f"{seconds:5.1f} s  {test}")
        for test, seconds in longest:
            if seconds > LONG_SECONDS and test in self._unmarked:
                terminalreporter.line(f"{seconds:5.1f} s, and marked neither slow nor all: {test}")

    def _known(self) -> dict[str, float]:
        """The times of earlier runs."""
        if not self._file.exists():
            return {}
        lines = (line.partition("\t") for line in self._file.read_text(encoding="utf-8").splitlines())
        return {test: float(seconds) for seconds, _, test in lines}
