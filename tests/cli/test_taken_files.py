"""The archive commands, on a machine that took files from another one."""

from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import AddedBytes
from backscroll.archive.rewriting import Writer
from backscroll.archive.writer import now
from tests.cli.test_sync import BLOG, SHOP, Machine


@pytest.fixture
def desktop(tmp_path: Path) -> Machine:
    """A machine that took a session from a laptop."""
    laptop, desktop = Machine(tmp_path, "laptop", SHOP, "S1"), Machine(tmp_path, "desktop", BLOG, "S2")
    for machine in (laptop, desktop):
        ran = machine.run("sync", "add", "nas", tmp_path / "nas", "--create", "--yes")
        assert ran.returncode == 0, ran.stderr
    return desktop


def make_old(desktop: Machine) -> None:
    """Have what was taken as an early version wrote it, and marked as its `archive verify` did."""
    with Writer(desktop.library / "archive") as writer:
        for file in [file for file in writer.files.values() if Path(file.home) != desktop.home]:
            latest = file.latest
            assert latest is not None
            size, time = latest.size, latest.modified_ns
            bookmark = [size, 0, 0, size, time, 0, 0, 0, 0]
            writer.add_chunks(
                AddedBytes(
                    at=now(), file=file.number, version=latest.number - 1, size=size, modified_ns=time, chunks=[],
                    bookmark=bookmark,
                )
            )  # fmt: skip
            writer.suspect(file)


def test_verify_is_right_about_what_came_from_another_machine(desktop: Machine) -> None:
    assert desktop.json("archive", "verify")["damages"] == []
    make_old(desktop)
    found = desktop.json("archive", "verify")
    assert (found["damages"], len(found["whole_again"])) == ([], 1)
    assert desktop.json("archive", "verify", "--quick")["damages"] == []
    assert not any(file.is_suspect for file in Archive(desktop.library / "archive").files.values())


def test_repair_takes_back_a_mark_and_makes_none(tmp_path: Path, desktop: Machine) -> None:
    assert desktop.run("archive", "backup", tmp_path / "backup").returncode == 0
    make_old(desktop)
    ran = desktop.run("archive", "repair", "--from", tmp_path / "backup")
    assert ran.returncode == 0, ran.stderr
    assert "1 file marked as damaged before: whole, mark removed" in ran.stdout
    assert desktop.json("archive", "repair")["unmarked"] == 0
    assert "everything is intact" in desktop.run("archive", "verify", "--quick").stdout
