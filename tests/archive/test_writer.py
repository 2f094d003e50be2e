import contextlib
import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.catalogue import BEGINNING, Header, encode
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError, Busy
from backscroll.files.homes import Home
from tests.archive.support import MACHINE, KeptHome, contents

HOLD = """
import sys
from pathlib import Path
from backscroll.archive.rewriting import Writer
with Writer(Path(sys.argv[1])):
    print("open", flush=True)
    sys.stdin.read()
"""

SECRET = b"correct horse battery staple"


def test_a_second_writer_fails_at_once(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    with Writer(kept.folder):
        started = time.monotonic()
        with pytest.raises(Busy) as failure:
            Writer(kept.folder)
        assert time.monotonic() - started < 1
        assert failure.value.hint
    kept.capture()


def test_a_second_process_fails_at_once_and_readers_are_not_blocked(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(kept.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(Busy):
            Writer(kept.folder)
        assert kept.versions("a") == [b"one\n"]
        assert kept.verify().damages == []
        holder.communicate(b"")
    kept.capture()


def test_a_killed_writer_leaves_no_lock(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(kept.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        holder.kill()
        holder.communicate()
    kept.capture()


def test_a_reader_sees_nothing_half_done(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.append("a", b"two\n")
    with Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), MACHINE)
        assert kept.versions("a") == [b"one\n"]
        writer.commit()
        assert kept.versions("a") == [b"one\ntwo\n"]


def test_what_failed_is_not_committed(kept: KeptHome) -> None:
    kept.write(a=b"one\n")
    with pytest.raises(KeyError), Writer(kept.folder) as writer:
        capture(writer, Home(kept.home), MACHINE)
        raise KeyError
    assert kept.archive.files == {}
    kept.capture()
    kept.check_whole()


def test_forgetting_removes_the_bytes(kept: KeptHome) -> None:
    kept.write(a=b"one\n" * 50, b=SECRET * 50, c=b"three\n" * 50).capture()
    kept.append("b", b"more of it, " + SECRET)
    kept.append("c", b"more\n")
    kept.capture()
    kept.write(b=b"rewritten " + SECRET).capture()
    assert SECRET in kept.everything()
    name = kept.session("b").name.encode()
    kept.forget("b")
    assert SECRET not in kept.everything()
    assert name not in kept.everything()
    kept.session("b").unlink()
    kept.check_whole()
    kept.append("a", b"and on\n")
    kept.capture()
    kept.check_whole()


def test_forgetting_keeps_what_others_share(kept: KeptHome) -> None:
    kept.write(a=b"shared\n" * 50, b=b"shared\n" * 50, c=SECRET).capture()
    kept.forget("b", "c")
    assert kept.versions("a") == [b"shared\n" * 50]
    assert SECRET not in kept.everything()
    assert kept.verify().damages == []


def test_forgetting_keeps_versions_times_and_what_is_gone(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.write(a=b"2\n", b=b"gone\n", c=SECRET).capture()
    kept.session("b").unlink()
    kept.capture()
    before = kept.archive
    kept.forget("c")
    after = kept.archive
    for name in "ab":
        old, new = kept.file(name, before), kept.file(name, after)
        assert contents(after, new) == ([b"one\n", b"2\n"] if name == "a" else [b"gone\n"])
        assert (new.number, new.bookmark, new.gone_since) == (old.number, old.bookmark, old.gone_since)
        assert [(v.since, v.size, v.modified_ns) for v in new.versions] == [
            (v.since, v.size, v.modified_ns) for v in old.versions
        ]
    assert after.captured == before.captured
    assert kept.capture().size == 0


def test_forgetting_everything_leaves_nothing(kept: KeptHome) -> None:
    kept.write(a=SECRET, b=SECRET + b"!").capture()
    kept.forget("a", "b")
    assert SECRET not in kept.everything()
    assert kept.archive.files == {}
    kept.capture()
    assert kept.archive.files == {}
    kept.write(c=b"new\n").capture()
    assert kept.versions("c") == [b"new\n"]


def test_forgetting_twice_is_no_error(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=SECRET).capture()
    kept.forget("b")
    kept.forget("b")
    assert kept.versions("a") == [b"one\n"]


def test_forgetting_also_removes_what_a_cut_off_capture_left(kept: KeptHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of the file may lie in a pack that the catalogue does not speak of."""
    monkeypatch.setattr("backscroll.archive.pack_writing.PACK_SIZE", 10)
    kept.write(a=b"one\n", b=SECRET)
    kept.capture()
    with (kept.folder / "packs" / "000001.pack").open("ab") as pack:  # as a killed writer leaves it
        pack.write(SECRET)
    assert SECRET in kept.everything()
    kept.capture()
    kept.forget("b")
    assert SECRET not in kept.everything()
    kept.session("b").unlink()
    kept.check_whole()


def test_forgetting_does_not_cover_up_damage(kept: KeptHome) -> None:
    """A file whose line is damaged must not be thrown out of the packs, unless one is told."""
    kept.write(a=b"one\n", b=SECRET).capture()
    kept.session("a").unlink()
    data = kept.archive.catalogue.read_bytes()
    line = data.index(b'"kind":"file"')
    kept.archive.catalogue.write_bytes(data[:line] + b'"kind":"fIle"' + data[line + 13 :])
    with contextlib.suppress(BackscrollError):
        kept.forget("b")
    assert kept.verify().damages or kept.versions("a") == [b"one\n"]  # mended from the copy of the line


def test_a_reader_from_before_a_forgetting_still_reads_what_stays(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=SECRET).capture()
    reader = Archive(kept.folder)
    kept.forget("b")
    assert contents(reader, kept.file("a", reader)) == [b"one\n"]
    assert verify(reader).damages == []


def test_a_writer_that_continues_after_a_full_disk_writes_nothing_wrong(
    kept: KeptHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon holds its writer; what was half written must not shift what comes after it."""
    kept.write(a=os.urandom(5000), b=os.urandom(5000))
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if len(data) > 2500:
            write(descriptor, data[:1000])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    with Writer(kept.folder) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            with pytest.raises(OSError, match="No space"):
                capture(writer, Home(kept.home), MACHINE)
                writer.commit()
        capture(writer, Home(kept.home), MACHINE)
    kept.capture()
    kept.check_whole()


def test_an_archive_of_a_later_format_is_refused(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.archive.catalogue.write_bytes(encode([Header(at="2030-01-01T00:00:00Z", format=99)], BEGINNING)[0])
    with pytest.raises(BackscrollError):
        kept.capture()


def test_a_lock_that_cannot_be_had_for_another_reason_is_not_called_busy(
    kept: KeptHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match="No locks"):
        Writer(kept.folder)


def test_descriptors_are_given_back(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        kept.capture()
        with Writer(kept.folder), pytest.raises(Busy):
            Writer(kept.folder)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
