"""An archive that was read before reads only the lines that were added, and equals one that is read anew."""

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll.archive.archive import Archive
from backscroll.archive.rewriting import Writer
from backscroll.library.archives import SharedArchives
from tests.archive.support import KeptHome

NAMES = ("a", "b", "c")


def state(archive: Archive) -> dict[str, Any]:
    """Everything that an archive says."""
    return {
        "files": {number: asdict(file, dict_factory=without_sums) for number, file in archive.files.items()},
        "sources": {key: file.number for key, file in archive.sources.items()},
        "shown": {file.number: [one.number for one in file.shown_versions] for file in archive.sources.values()},
        "chunks": dict(archive.chunks),
        "others": (archive.first_pack, archive.has_header, archive.forgotten, archive.machines, archive.captured),
        "end": (archive.last_sum, archive.verified, archive.lost_end, archive.bad_lines, archive.is_complete),
    }


def without_sums(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a file or version, but for what was added up in it so far."""
    return {name: value for name, value in fields if not name.startswith("_")}


class Reader:
    """Reads an archive whenever it has changed, as a viewer does."""

    def __init__(self, kept: KeptHome) -> None:
        self._kept = kept
        self._shared = SharedArchives()

    def check(self) -> Archive:
        """Compare what it sees with a fresh reading."""
        seen = self._shared.open(self._kept.folder)
        assert state(seen) == state(self._kept.archive)
        for file in seen.files.values():
            assert seen.sources.get(file.key) in (None, *seen.files.values())
            for version in file.versions:
                assert sum(map(len, seen.content(version))) == version.size
        return seen


steps = st.lists(
    st.tuples(st.sampled_from(["append", "rewrite", "delete", "move", "forget", "suspect"]), st.sampled_from(NAMES)),
    max_size=8,
)


@given(steps, st.booleans())
@settings(deadline=None)
def test_a_grown_archive_equals_one_that_is_read_anew(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, str]], captures_at_once: bool
) -> None:
    kept = KeptHome(tmp_path_factory.mktemp("grown")).write(a=b"one\n", b=b"two\n", c=b"three\n")
    kept.capture()
    reader = Reader(kept)
    for number, (change, name) in enumerate(changes):
        before = reader.check()
        was = state(before)
        apply(kept, change, name, number)
        if captures_at_once or number % 2:
            kept.capture()
        reader.check()
        assert state(before) == was  # those who still use it see what they saw


def apply(kept: KeptHome, change: str, name: str, number: int) -> None:
    """Change a session, or what is kept of it."""
    path = kept.session(name)
    if change == "append":
        kept.append(name, b"more %d\n" % number)
    elif change == "rewrite":
        kept.write(**{name: b"anew %d\n" % number})
    elif change == "delete":
        path.unlink(missing_ok=True)
    elif change == "move" and path.exists():
        path.rename(kept.session(f"{name}{number}"))
    elif change == "forget":
        kept.forget(name)
    elif change == "suspect":
        with Writer(kept.folder) as writer:
            for file in list(writer.files.values())[:1]:
                writer.suspect(file)


def test_what_did_not_change_is_held_once(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    shared = SharedArchives()
    before = shared.open(kept.folder)
    kept.append("a", b"more\n")
    kept.capture()
    now = shared.open(kept.folder)
    assert kept.file("b", now) is kept.file("b", before)
    assert kept.file("a", now) is not kept.file("a", before)
    assert kept.file("a", now).versions[0].chunks[0] is kept.file("a", before).versions[0].chunks[0]


def test_only_the_new_lines_are_read(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    before = kept.archive
    kept.append("a", b"more\n")
    kept.capture()
    data = before.catalogue.read_bytes()
    before.catalogue.write_bytes(b"x" + data[1:])  # would be noticed, if it were read
    grown = before.grown()
    assert grown is not None
    assert b"".join(grown.content(kept.file("a", grown).versions[-1])) == b"one\nmore\n"


def test_a_catalogue_that_was_replaced_cut_or_damaged_is_read_from_its_beginning(kept: KeptHome) -> None:
    kept.write(a=b"one\n", b=b"two\n").capture()
    before = kept.archive
    assert before.grown() is None  # nothing was added
    kept.forget("b")
    assert before.grown() is None
    shared = SharedArchives()
    shared.open(kept.folder)
    data = kept.archive.catalogue.read_bytes()
    kept.archive.catalogue.write_bytes(data[:-40])
    assert shared.open(kept.folder).lost_end
    kept.archive.catalogue.write_bytes(data)
    kept.append("a", b"more\n")
    whole = shared.open(kept.folder)
    kept.capture()
    grown = kept.archive.catalogue.read_bytes()
    kept.archive.catalogue.write_bytes(grown.replace(b'"kind":"bytes"', b'"kind":"bites"')[: len(grown)])
    assert shared.open(kept.folder).bad_lines
    assert not whole.bad_lines
