"""Every real session is restored unchanged."""

from pathlib import Path

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.restore import restore
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.files.discovery import discover
from backscroll.files.homes import Home


def test_every_real_session_is_restored_byte_for_byte(corpus: Path, tmp_path: Path) -> None:
    home = Home((corpus / "home").resolve())
    with Writer(tmp_path / "archive") as writer:
        capture(writer, home, "machine")
    archive = Archive(tmp_path / "archive")
    done = list(restore(archive, archive.files.values(), tmp_path / "back", fresh=False))
    assert {item.outcome for item in done} == {"restored"}
    sources = [file.path for file in discover(home).files]
    assert len(done) == len(sources) > 100
    for source in sources:
        back = tmp_path / "back" / source.relative_to(home.path)
        assert back.read_bytes() == source.read_bytes()
        assert back.stat().st_mtime_ns == source.stat().st_mtime_ns
    assert verify(archive).damages == []
