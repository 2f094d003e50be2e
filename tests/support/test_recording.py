"""The folder of a recording is empty at its start and gone at its end, whatever a client has left running in it."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import ROOT
from tests.support.processes import until

WRITES = 'while :; do mkdir -p "$1/library"; : >"$1/library/note"; done'

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads what Linux says of processes")


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: ANN401 - a script without a suffix
    loader = importlib.machinery.SourceFileLoader("record_transcripts", str(ROOT / "scripts" / "record-transcripts"))
    spec = importlib.util.spec_from_loader("record_transcripts", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "record_transcripts", module)  # where its data classes look for their types
    loader.exec_module(module)
    monkeypatch.setattr(module.tempfile, "gettempdir", lambda: str(tmp_path))
    return module


def test_what_a_client_left_running_is_ended_with_the_recording(recorder: Any) -> None:  # noqa: ANN401
    with recorder.empty_folder() as folder:
        environment = os.environ | {"HOME": str(folder / "home")}
        writer = subprocess.Popen(["/bin/sh", "-c", WRITES, "sh", str(folder)], env=environment)
        until((folder / "library" / "note").exists)
    try:
        assert writer.wait(60) < 0
    finally:
        writer.kill()
    assert not folder.exists()


def test_what_a_killed_recording_left_is_removed_and_one_that_runs_is_not_disturbed(
    recorder: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    (tmp_path / "backscroll-recording" / "library").mkdir(parents=True)
    with recorder.empty_folder() as folder:
        assert list(folder.iterdir()) == []
        with pytest.raises(recorder.RecordingFailedError, match="another recording"), recorder.empty_folder():
            pass
        assert folder.exists()
    assert not folder.exists()
