import os
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.catalogue import BEGINNING, AddedBytes, Chunk, Header, NewFile, encode
from backscroll.archive.restore import restore
from backscroll.errors import BackscrollError
from tests.archive.support import MACHINE, KeptHome
from tests.support.homes import EVERYTHING, SHOP, session_path, write_home

AT = "2026-01-05T10:00:00Z"


def outcomes(kept: KeptHome, root: Path, *, fresh: bool = False) -> dict[str, str]:
    archive = kept.archive
    return {done.file.path: done.outcome for done in restore(archive, archive.files.values(), root, fresh=fresh)}


def test_everything_comes_back_byte_for_byte_with_its_times(kept: KeptHome, tmp_path: Path) -> None:
    write_home(kept.home, EVERYTHING)
    for number, path in enumerate(sorted(path for path in kept.home.rglob("*") if path.is_file())):
        os.utime(path, ns=(number, 1_600_000_000_123_456_789 + number))
    kept.capture()
    files = kept.archive.files.values()
    assert set(outcomes(kept, tmp_path).values()) == {"restored"}
    for file in files:
        back, source = tmp_path / file.path, kept.home / file.path
        assert back.read_bytes() == source.read_bytes()
        assert back.stat().st_mtime_ns == source.stat().st_mtime_ns
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == len(files), "something was left lying"


def test_a_gone_file_comes_back_into_its_home(kept: KeptHome) -> None:
    kept.write(a=b"one\n").capture()
    kept.session("a").unlink()
    kept.capture()
    assert outcomes(kept, kept.home) == {session_path("a"): "restored"}
    kept.capture()
    assert kept.versions("a") == [b"one\n"]
    kept.check_whole()


def test_fresh_files_count_as_changed_now(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n")
    os.utime(kept.session("a"), ns=(0, 0))
    kept.capture()
    outcomes(kept, tmp_path, fresh=True)
    assert (tmp_path / session_path("a")).stat().st_mtime > 1_600_000_000


@pytest.mark.parametrize(("first", "second"), [(b"2\n", b"two\n"), (b"two\n", b"2\n"), (b"one\n", b"two\n")])
def test_the_fullest_version_comes_back(kept: KeptHome, tmp_path: Path, first: bytes, second: bytes) -> None:
    kept.write(a=first).capture()
    kept.write(a=second).capture()
    outcomes(kept, tmp_path)
    assert (tmp_path / session_path("a")).read_bytes() == b"two\n"


def test_any_version_comes_back(kept: KeptHome, tmp_path: Path) -> None:
    versions = [b"one\n", b"2\n", b"and a third\n", b""]
    for data in versions:
        kept.write(a=data).capture()
    archive = kept.archive
    for number, data in enumerate(versions, start=1):
        (done,) = restore(archive, archive.files.values(), tmp_path / str(number), fresh=False, number=number)
        assert (done.version.number, done.target.read_bytes()) == (number, data)


@pytest.mark.parametrize("there", [b"one\nand newer lines\n", b"1ne\n", b"", b"on"])
def test_another_file_is_never_written_over(kept: KeptHome, tmp_path: Path, there: bytes) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    write_home(tmp_path, {session_path("a"): there})
    assert outcomes(kept, tmp_path) == {session_path("a"): "another file is there", session_path("b"): "restored"}
    assert (tmp_path / session_path("a")).read_bytes() == there


def test_existing_files_are_left_unchanged(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n").capture()
    outcomes(kept, tmp_path)
    before = (tmp_path / session_path("a")).stat()
    assert outcomes(kept, tmp_path, fresh=True) == {session_path("a"): "already there"}
    assert (tmp_path / session_path("a")).stat().st_mtime_ns == before.st_mtime_ns


def test_no_link_is_followed(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / SHOP).mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"one\n")
    (root / session_path("a")).symlink_to(elsewhere / "file")
    (root / session_path("b")).symlink_to(elsewhere / "nothing yet")
    assert set(outcomes(kept, root).values()) == {"another file is there"}
    assert [path.name for path in elsewhere.iterdir()] == ["file"]


def test_no_link_leads_out_of_the_folder(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n").capture()
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "projects").symlink_to(elsewhere)
    assert set(outcomes(kept, root).values()) == {"not a path of a home"}
    assert list(elsewhere.iterdir()) == []


def test_a_file_where_a_folder_should_be_costs_only_what_would_be_in_it(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n")
    (kept.home / "history.jsonl").write_bytes(b"two\n")
    kept.capture()
    (tmp_path / "projects").write_bytes(b"a file of the user\n")
    assert outcomes(kept, tmp_path) == {session_path("a"): "another file is there", "history.jsonl": "restored"}
    assert (tmp_path / "projects").read_bytes() == b"a file of the user\n"


FORGED = [
    "../evil",
    "projects/../../evil",
    "projects/x/../../../evil",
    "/etc/evil",
    "//etc/evil",
    "..",
    "",
    ".",
    "projects/\0evil",
    "a/" * 3000 + "evil",
    "e" * 5000,
]


@pytest.mark.parametrize("path", FORGED, ids=lambda path: path[:20])
def test_a_forged_path_leads_nowhere(kept: KeptHome, tmp_path: Path, path: str) -> None:
    kept.write(a=b"one\n").capture()
    archive = kept.archive
    chunk: Chunk = next(iter(archive.chunks.values()))
    lines = [
        Header(at=AT),
        *(
            entry
            for number, where in enumerate([path, "history.jsonl"], start=1)
            for entry in (
                NewFile(at=AT, file=number, machine=MACHINE, home="/h", path=where, type="session"),
                AddedBytes(at=AT, file=number, version=0, size=4, modified_ns=0, chunks=[chunk], bookmark=[]),
            )
        ),
    ]
    archive.catalogue.write_bytes(encode(lines, BEGINNING)[0])
    root = tmp_path / "outer" / "root"
    root.mkdir(parents=True)
    forged = Archive(kept.folder)
    found = list(restore(forged, forged.files.values(), root, fresh=False))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_relative_to(root)] == []
    assert not Path("/etc/evil").exists()
    assert found[-1].outcome == "restored", "the forged file cost the others"
    assert (root / "history.jsonl").read_bytes() == b"one\n"


def test_damage_leaves_no_partial_file_and_affects_no_other(kept: KeptHome, tmp_path: Path) -> None:
    kept.write(a=b"one\n" * 20, b=b"two\n" * 20).capture()
    chunk = kept.file("a").versions[0].chunks[0]
    pack = kept.archive.pack(chunk.pack)
    data = bytearray(pack.read_bytes())
    data[chunk.offset + chunk.length - 6] ^= 0xFF
    pack.write_bytes(data)
    archive = kept.archive
    files = sorted(archive.files.values(), key=lambda file: file.path != session_path("a"))
    try:
        done = list(restore(archive, files, tmp_path, fresh=False))
    except BackscrollError:
        done = []
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.name != Path(session_path("b")).name] == []
    assert [one.outcome for one in done if one.file.path == session_path("b")] == ["restored"]
