"""Fixtures of all tests: no test sees the real home, and the real sessions are found in one place."""

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import certifi
import pytest
from hypothesis import settings

from backscroll.disk import FileLock
from backscroll.files.homes import Home
from backscroll.library.local import local_library
from backscroll.settings import Settings
from tests.support.durations import Durations
from tests.support.samples import TRY_ALL

# CI tries the same examples in each run; everywhere else new ones are tried.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("tests", deadline=None, derandomize=IN_CI, max_examples=100 if TRY_ALL else 25)
settings.load_profile("tests")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is in a shell's background, and programs that tests start and interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

MEMORY: Final = Path("/dev/shm")
ENOUGH: Final = 4_000_000_000
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH:
    # Tests write many small files, most of them through to the disk, and all of them are thrown away.
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

SLOW_FOLDERS: Final = {"journeys", "faults", "team", "demo"}
SLOW_FIXTURES: Final = {"corpus", "corpus_built", "migrated", "older_migrated", "older_postgres", "postgres", "s3"}
"""Real sessions, and servers that have to be started first."""
OLDER_FIXTURES: Final = {"older_migrated", "older_postgres"}
"""A PostgreSQL of the oldest version that a server may have: the same tests as for ours, run with `--all`."""
SLOW_FILES: Final = {
    "test_any_order.py",
    "test_automatic_sync.py",
    "test_budget.py",
    "test_chart_sums.py",
    "test_chat_changes.py",
    "test_connections.py",
    "test_damage.py",
    "test_early_history.py",
    "test_embedded_postgres.py",
    "test_export_memory.py",
    "test_faults.py",
    "test_find.py",
    "test_first_list.py",
    "test_follow.py",
    "test_follow_races.py",
    "test_forget_requests.py",
    "test_generate.py",
    "test_healing.py",
    "test_hostile.py",
    "test_hostile_output.py",
    "test_hostile_sql.py",
    "test_ingest_memory.py",
    "test_key_object.py",
    "test_lasting.py",
    "test_line_copies.py",
    "test_live.py",
    "test_machines.py",
    "test_network.py",
    "test_new_computer.py",
    "test_not_installed.py",
    "test_nothing_off_leaves.py",
    "test_odd_archives.py",
    "test_openapi.py",
    "test_pool.py",
    "test_protocol.py",
    "test_rebuild.py",
    "test_recall.py",
    "test_released_rows.py",
    "test_resume.py",
    "test_saved_prompts.py",
    "test_sealing.py",
    "test_server.py",
    "test_shrunken.py",
    "test_snapshot.py",
    "test_soak.py",
    "test_sql.py",
    "test_statusline.py",
    "test_sync.py",
    "test_sync_encrypted.py",
    "test_sync_forgets.py",
    "test_system_memory.py",
    "test_tailer_model.py",
    "test_team.py",
    "test_untouched.py",
    "test_usage_any_home.py",
    "test_watching.py",
    "test_wheel.py",
    "test_widths.py",
}
"""Sweeps over hostile texts, damaged bytes and orders of events, programs in processes of their own, passphrases."""


def pytest_xdist_auto_num_workers() -> int:
    """Two more than there are cores: tests often wait, for a server, a browser or another process."""
    return (os.cpu_count() or 1) + 2


def pytest_configure(config: pytest.Config) -> None:
    """Record how long each test takes."""
    if not hasattr(config, "workerinput"):
        chosen = config.option.keyword or config.option.markexpr or config.option.lf
        chosen = chosen or config.args_source is config.ArgsSource.ARGS
        file = config.rootpath / ".cache" / "test-durations.tsv"
        config.pluginmanager.register(Durations(file, is_whole_run=not chosen))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `scripts/test --quick` leaves out: browsers, servers, faults, real sessions and sweeps.

    What is marked `all` is left out unless everything is tried, or the test is named.
    """
    for item in items:
        needed = {*getattr(item, "fixturenames", ())}
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            needed |= {value for value in item.callspec.params.values() if isinstance(value, str)}
        if SLOW_FOLDERS & {*item.path.parts} or item.path.name in SLOW_FILES or SLOW_FIXTURES & needed:
            item.add_marker("slow")
        if OLDER_FIXTURES & needed:
            item.add_marker("all")
    if TRY_ALL or any("::" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("all")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("all")]


def pytest_collection_finish() -> None:
    """Let no collection of garbage look through the tests themselves again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _leave_nothing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """At the end, not after each test: what a test replaced in `os` would still be replaced meanwhile."""
    yield
    if not request.session.testsfailed:
        shutil.rmtree(tmp_path_factory.getbasetemp(), ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One authority is known instead of all: httpx reads them for each client, in 25 ms, even for plain HTTP."""
    end = "-----END CERTIFICATE-----"
    first = tmp_path_factory.mktemp("certificates") / "first.pem"
    first.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(end)[0] + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certifi, "where", lambda: str(first))
        yield


@pytest.fixture(scope="session")
def _new_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New paths for the homes of tests. `mktemp` for each of them would list thousands of folders every time."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def _private_home(_new_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Point everything that could lead to the user's own files somewhere empty."""
    home = next(_new_homes)
    home.mkdir()
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


@pytest.fixture(scope="session")
def corpus_built(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of the real sessions, indexed once for all workers: copy it, do not open it."""
    run, folder = os.environ.get("PYTEST_XDIST_TESTRUNUID"), tmp_path_factory.getbasetemp()
    folder = (folder.parent if run else folder) / "corpus-built"
    with FileLock(folder.with_suffix(".lock"), "another worker builds it", "", wait=600):
        if not folder.exists():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            own = Settings(homes=(corpus / "home",), library=fresh, file=fresh / "settings.toml")
            with local_library(own, [Home(corpus / "home")]) as library:
                library.update()
            fresh.rename(folder)
    return folder


@pytest.fixture
def corpus_copy(corpus_built: Path, tmp_path: Path) -> Path:
    """A library of the real sessions of one test's own."""
    return Path(shutil.copytree(corpus_built, tmp_path / "library"))
