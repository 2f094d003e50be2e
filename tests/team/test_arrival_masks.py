"""Secrets are masked on arrival: in libraries, pages, search and exports. Objects stay as they were sent."""

import base64
import hashlib
import json
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.archive import packing
from backscroll.archive.archive import Archive
from backscroll.archive.rewriting import Writer
from backscroll.files.reading import Bookmark
from backscroll.settings import Settings
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.team.arrival import masks as arrival_masks
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.arrival.mask_library import mask_archive
from backscroll.team.arrival.masks import ArrivalMasks
from backscroll.team.database.connections import Database
from backscroll.team.operating.export_history import export_history
from backscroll.team.people.accounts import Person, people
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Browser, Served, serving

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = f"@ cwd=/home/dev/shop\na <- - user: use {TOKEN} for the zyxparser\nb <- a assistant(m1): it is used"
MORE = f"{SAID}\nc <- b user: and {TOKEN} again for the zyxquokka\nd <- c assistant(m2): done"
SECRET_LINE = json.dumps({"type": "user", "text": f"use {TOKEN}"}).encode() + b"\n"
LINES = [base64.b64encode(hashlib.sha512(b"%d" % n).digest()).decode()[:64] for n in range(12)]
PEM = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LINES, "-----END RSA PRIVATE KEY-----\n"])


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as found:
        yield found


@pytest.mark.parametrize("is_late", [False, True], ids=["from the start", "switched on later"])
def test_no_library_has_a_secret_and_the_proof_still_holds(served: Served, tmp_path: Path, is_late: bool) -> None:
    (ada,) = invited(served, "ada")
    machine = machine_of(served, ada, tmp_path / "machines")
    browser, admin = served.signed_in("ada"), served.signed_in("admin")
    if is_late:
        machine.push(a=SAID)
        until(lambda: _finds(browser, "zyxparser"))
        browser.submit(f"/chats/{session_uuid('a')}/audience", audience="org")
        assert TOKEN in browser.get(f"/chats/{session_uuid('a')}").text
    admin.submit("/project-rules/masking", on="1")
    machine.push(a=SAID)
    until(lambda: _finds(browser, "zyxparser") and _has_no_jobs(served.context.database))
    machine.push(a=MORE)
    until(lambda: _finds(browser, "zyxquokka") and _has_no_jobs(served.context.database))
    assert len(browser.get("/api/v1/chats").json()["chats"]) == 1

    page = browser.get(f"/chats/{session_uuid('a')}").text
    assert "redacted" in page
    for path in (f"/chats/{session_uuid('a')}", f"/chats/{session_uuid('a')}/export", "/chats", "/shared"):
        assert TOKEN not in browser.get(path).text, path
        assert TOKEN not in admin.get(path).text, path
    assert not _finds(browser, TOKEN)
    database = served.context.database
    export_history(database, Libraries(tmp_path / "server", database), _people(database), tmp_path / "x")
    written = b"".join(path.read_bytes() for path in (tmp_path / "x").rglob("*") if path.is_file())
    assert b"zyxquokka" in written
    assert TOKEN.encode() not in written

    sent = b"".join(
        bundle.content(entry)
        for one in served.context.objects.list()
        for bundle in read_bundles(served.context.objects.get(one.name))
        for entry in bundle.index.entries
    )
    assert TOKEN.encode() in sent
    assert machine.device.verify(machine.remote, deep=True).is_whole


def test_masking_is_for_one_organisation_and_can_be_switched_off(served: Served, tmp_path: Path) -> None:
    (ada,) = invited(served, "ada")
    machine = machine_of(served, ada, tmp_path / "machines")
    admin, browser = served.signed_in("admin"), served.signed_in("ada")
    admin.submit("/project-rules/masking", on="1")
    admin.submit("/project-rules/masking", on="")
    machine.push(a=SAID)
    until(lambda: _finds(browser, "zyxparser"))
    assert TOKEN in browser.get(f"/chats/{session_uuid('a')}").text


def _finds(browser: Browser, word: str) -> bool:
    return bool(browser.get("/api/v1/search", params={"q": f'"{word}"'}).json().get("chats"))


def _has_no_jobs(database: Database) -> bool:
    with database.transaction() as connection:
        return connection.execute("select count(*) from job").fetchone() == (0,)


def _people(database: Database) -> list[Person]:
    with database.transaction() as connection:
        return people(connection, 1)


def masked(path: str, data: bytes) -> bytes:
    found = ArrivalMasks().segment(path, data)
    assert len(found) == len(data)
    assert ArrivalMasks().segment(path, data) == found, "the same bytes give the same"
    return found


def test_a_record_stays_a_record_and_as_long() -> None:
    line = json.dumps({"type": "user", "message": {"content": f"café: {TOKEN}"}, "n": 1e-7}).encode() + b"\n"
    found = masked("a.jsonl", line + b'{"plain":1}\n')
    assert json.loads(found.splitlines()[0])["type"] == "user"
    assert found.endswith(b'\n{"plain":1}\n')
    assert TOKEN.encode() not in found


def test_a_key_over_several_lines_is_masked_in_a_text() -> None:
    found = masked("plans/a.md", f"see\n{PEM}end".encode())
    assert not any(line.encode() in found for line in LINES)


def test_a_short_secret_is_masked_as_well() -> None:
    assert b"s3cret9x" not in masked("a.jsonl", b'{"env":{"PASSWORD":"s3cret9x"}}\n')


@given(st.binary(max_size=300), st.sampled_from(["a.jsonl", "a.txt"]))
def test_any_bytes_keep_their_length(data: bytes, path: str) -> None:
    masked(path, data + f' "password": "{TOKEN}"'.encode() + data)


@given(
    st.lists(st.sampled_from([b"one\n", b"two", b"\n", b"\r\n", b"", SECRET_LINE, SECRET_LINE[:40]]), max_size=9),
    st.data(),
)
def test_a_file_in_pieces_is_masked_as_it_is_at_once(parts: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[start:end] for start, end in pairwise([0, *cuts, len(whole)])]
    for path in ("a.jsonl", "a.txt"):
        found = list(ArrivalMasks().pieces(path, pieces, len(whole)))
        assert b"".join(old for old, _ in found) == whole
        assert b"".join(new for _, new in found) == masked(path, whole)


def test_a_text_that_is_too_long_to_be_masked_is_withheld_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrival_masks, "LONGEST_LINE", 100)
    pieces = [TOKEN.encode()] * 5
    found = ArrivalMasks().pieces("a.txt", pieces, 200)
    assert b"".join(new for _, new in found) == masked("a.txt", b"".join(pieces))


def test_what_is_going_to_be_masked_is_noted_before(tmp_path: Path) -> None:
    """Or the index of a person would keep the secret, if the worker died in between."""
    settings = Settings((), library=tmp_path, file=tmp_path / "settings.toml")
    with Writer(tmp_path / "archive") as writer:
        file = writer.new_file("laptop", "/home/ada/.claude", "projects/-work/a.jsonl", "session")
        writer.add(file, [SECRET_LINE], lambda: Bookmark(0, 0, 0, 0, 0, 0, 0, 0, 0), new_version=True)

    def kept() -> bytes:
        archive = Archive(tmp_path / "archive")
        return b"".join(piece for one in archive.files.values() for piece in archive.content(one.versions[0]))

    noted: list[bytes] = []
    assert mask_archive(settings, lambda: noted.append(kept()))
    assert noted == [SECRET_LINE]
    assert TOKEN.encode() not in kept()
    assert not mask_archive(settings, lambda: noted.append(kept()))
    assert len(noted) == 1


def test_the_memory_of_masking_a_kept_file_is_not_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "CHUNK", 100_000)
    settings = Settings((), library=tmp_path, file=tmp_path / "settings.toml")
    line = json.dumps({"type": "user", "text": "a few words " * 400}).encode() + b"\n"
    lines = 12_000_000 // len(line)
    with Writer(tmp_path / "archive") as writer:
        file = writer.new_file("laptop", "/home/ada/.claude", "projects/-work/a.jsonl", "session")
        said = (SECRET_LINE if number == lines // 2 else line for number in range(lines))
        writer.add(file, said, lambda: Bookmark(0, 0, 0, 0, 0, 0, 0, 0, 0), new_version=True)
    size = file.versions[0].size
    mask_archive(settings, lambda: None)  # what is made once in a process is not counted
    with Writer(tmp_path / "archive") as writer:
        writer.add(file, [SECRET_LINE], lambda: Bookmark(0, 0, 0, 0, 0, 0, 0, 0, 0), new_version=False)
    tracemalloc.start()
    try:
        assert mask_archive(settings, lambda: None)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size // 4
    archive = Archive(tmp_path / "archive")
    (kept,) = archive.files.values()
    content = b"".join(archive.content(kept.versions[0]))
    assert len(content) == size + len(SECRET_LINE)
    assert TOKEN.encode() not in content
    assert content.count(line) == lines - 1
