"""Fixtures of the file tests: a folder for files that Hypothesis rewrites, and a record of opened files."""

import sys
from pathlib import Path
from typing import Final

import pytest

from backscroll.files import reading


class Ear:
    """Hears every path that this process opens while it listens."""

    def __init__(self) -> None:
        self.opened: list[str] | None = None

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and self.opened is not None:
            self.opened.append(str(arguments[0]))


EAR: Final = Ear()
sys.addaudithook(EAR.hear)  # once: a hook cannot be taken away again


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has just written counts as written long ago; `test_reading` has a test of its own for that."""
    monkeypatch.setattr(reading, "CLOCK_TICK_NS", -(10**18))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were opened since the test began."""
    paths: list[str] = []
    monkeypatch.setattr(EAR, "opened", paths)
    return paths


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that outlives one example."""
    return tmp_path_factory.mktemp("scratch")
