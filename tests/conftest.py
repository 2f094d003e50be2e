"""Fixtures of all tests: no test sees the real home, and the real sessions are found in one place."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# CI tries the same examples in each run, so more of them would find nothing new; everywhere else new ones are tried.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("tests", deadline=None, derandomize=IN_CI, max_examples=25 if IN_CI else 100)
settings.load_profile("tests")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a shell's background, and programs that tests start and interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW_FOLDERS = {"journeys", "faults"}
SLOW_FILES = {
    "test_hostile_output.py",
    "test_hostile.py",
    "test_protocol.py",
    "test_openapi.py",
    "test_lasting.py",
    "test_export_memory.py",
    "test_live.py",
}
"""Sweeps over hostile texts and damaged bytes, and servers in processes of their own."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark browsers, faults, real sessions, sweeps and servers as slow, whatever the test."""
    for item in items:
        if (
            SLOW_FOLDERS & set(item.path.parts)
            or item.path.name in SLOW_FILES
            or "corpus" in getattr(item, "fixturenames", ())
        ):
            item.add_marker("slow")


@pytest.fixture(autouse=True)
def _private_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point everything that could lead to the user's own files somewhere empty."""
    home = tmp_path_factory.mktemp("home")
    for name in ("CLAUDE_CONFIG_DIR", "BACKSCROLL_LIBRARY", "BACKSCROLL_SETTINGS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The collection of real sessions; see CONTRIBUTING.md."""
    beside = Path(__file__).parents[2] / "shared" / "corpus"
    path = Path(os.environ.get("BACKSCROLL_CORPUS", beside))
    if not path.is_dir():
        pytest.skip(f"no real sessions at {path}: set BACKSCROLL_CORPUS")
    return path
