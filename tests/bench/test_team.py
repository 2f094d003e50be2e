"""A tiny run of bench/team.py: everything that is sent is found once, and nothing fails."""

import tempfile
from pathlib import Path

import pytest
from bench.team import Options, run, show


@pytest.mark.all
def test_devices_and_readers_on_a_real_server(capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(minutes=0.05, devices=4, people=3, readers=2, rate=8000, pace=1, pause=0.2, burst=5000,
                      passages=120, sharing=2)  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="backscroll-test-", dir="/tmp") as folder:  # PostgreSQL may be another user
        report = run(options, Path(folder))
    assert not report.errors
    assert not report.wrong
    assert report.passages_in_all >= options.passages + report.records
    assert report.found["count"] + report.found_in_burst["count"] == report.pushes > options.devices
    assert report.rows_per_record > 1
    assert report.answers["search"]["count"]
    show(report)
    assert "append → searchable" in capsys.readouterr().out
