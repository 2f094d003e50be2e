"""Fixtures of the archive tests: a home and its archive, and a record of opened files."""

import pytest

from backscroll.files import reading
from tests.archive.support import KeptHome
from tests.files.conftest import EAR


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has just written counts as written long ago."""
    monkeypatch.setattr(reading, "CLOCK_TICK_NS", -(10**18))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were opened since the test began."""
    paths: list[str] = []
    monkeypatch.setattr(EAR, "opened", paths)
    return paths


@pytest.fixture
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptHome:
    """An empty home with an archive that does not exist yet."""
    return KeptHome(tmp_path_factory.mktemp("kept"))
