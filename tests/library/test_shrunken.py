"""A file that shrank hides nothing: what was kept of it is listed, found, read and counted, each row once."""

from pathlib import Path
from typing import Final

import pytest

from backscroll.archive.capture import capture_changed
from backscroll.archive.rewriting import Writer
from backscroll.files.discovery import look
from backscroll.files.homes import Home
from backscroll.files.watching import ChangedFile
from backscroll.library.archives import archive_folder, open_archive
from backscroll.library.indexing.costs import cost_with
from backscroll.library.indexing.follow import PresentFiles
from backscroll.library.indexing.follow import _take as take_changes
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.prices import load_prices
from backscroll.library.indexing.sources import Sources
from backscroll.library.indexing.words import index_texts
from backscroll.library.keeping.forget import forget
from backscroll.library.keeping.kept_versions import find_kept
from backscroll.library.local import local_library
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_file, session_path

TEXT: Final = (
    "a <- - user: hello there\nb <- a assistant(m1): a zebra\nc <- b user: and now\nd <- c assistant(m2): a horse"
)
SESSION: Final = session_file("S1", TEXT)
NAME: Final = session_path("S1")
SPILLED: Final = NAME.removesuffix(".jsonl") + "/tool-results/t1.txt"
NAMELESS: Final = (
    b'{"type":"user","timestamp":"2026-01-05T10:00:00.000Z","sessionId":"%s",'
    b'"message":{"role":"user","content":"%s"}}\n'
)
QUERIES: Final = ("hello", "zebra", "horse", "lion", "spilled", "nameless")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def answers_counted(shelf: Shelf) -> list[tuple[object, ...]]:
    return shelf.rows("select message, output_tokens from v_usage order by message")


def shown(shelf: Shelf) -> list[str]:
    with shelf.open() as library:
        opened = library.open(session_uuid("S1"))
        branch = opened.chat.branches[0]
        return [message.key for message in opened.messages(branch)]


@pytest.mark.parametrize("left", [None, b""], ids=["deleted", "emptied"])
def test_a_library_that_is_open_reads_what_was_kept_since(shelf: Shelf, left: bytes | None) -> None:
    lines = SESSION[NAME].splitlines(keepends=True)
    shelf.write({NAME: b"".join(lines[:2])}).update()
    with shelf.open() as library:
        assert library.open(session_uuid("S1")).chat is not None
        assert library.archive is not None, "the catalogue is read, as it is now"
        shelf.write({NAME: b"".join(lines)}).update()
        file = shelf.home / NAME
        if left is None:
            file.unlink()
        else:
            file.write_bytes(left)
        library.renew()
        stored = library.find(session_uuid("S1"))
        opened = library.open(stored)
        assert [message.key for message in opened.messages(opened.chat.branches[0])] == ["a", "b", "c", "d"]
        assert library.missing_from(stored) == []


def test_an_emptied_session_is_listed_found_read_and_counted(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    counted, messages = answers_counted(shelf), shown(shelf)
    shelf.write({NAME: b""}).update()
    assert shelf.rows("select id, title, prompts from v_chats") == [(session_uuid("S1"), "hello there", 2)]
    assert (shelf.found("zebra"), shelf.total("horse")) == (["a zebra"], 1)
    assert shown(shelf) == messages
    assert answers_counted(shelf) == counted
    shelf.check_rebuilt(QUERIES)


def test_a_session_that_was_emptied_since_it_was_indexed_is_read_from_the_archive(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    messages = shown(shelf)
    shelf.write({NAME: b""})
    assert shown(shelf) == messages


def test_files_of_a_chat_that_are_lost_are_named(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    with shelf.open() as library:
        assert library.missing_from(library.find(session_uuid("S1"))) == []
    for file in archive_folder(shelf.settings).rglob("*"):
        if file.is_file():
            file.unlink()
    with shelf.open() as library:
        missing = library.missing_from(library.find(session_uuid("S1")))
    assert missing == [Path(f"{shelf.home / NAME}@v1")]


def test_a_version_whose_line_in_the_catalogue_is_damaged_is_named(shelf: Shelf) -> None:
    """Then the version after it has its number, and must not be taken for it."""
    shelf.write(SESSION).update()
    shelf.write({NAME: SESSION[NAME].splitlines(keepends=True)[0]}).update()
    catalogue = archive_folder(shelf.settings) / "catalogue.jsonl"
    data = bytearray(catalogue.read_bytes())
    data[data.index(b'"kind":"bytes"') + 2] ^= 1
    catalogue.write_bytes(data)
    with shelf.open() as library:
        missing = library.missing_from(library.find(session_uuid("S1")))
    assert missing == [Path(f"{shelf.home / NAME}@v1")]


def test_show_says_that_an_emptied_session_is_read_from_the_archive(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    with shelf.open() as library:
        opened = library.open(session_uuid("S1"))
        assert [key.origin for key in opened.from_archive] == [str(shelf.home / NAME)]
        assert library.chats()[0].overview.sessions == [session_uuid("S1")]


def test_a_truncated_session_shows_its_new_rows_and_the_kept_ones(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    whole = (shelf.home / NAME).read_bytes()
    cut = whole[: whole.index(b"\n") + 1] + jsonl(draw("n <- a assistant(m3): a lion", session="S1"))
    assert len(cut) < len(whole)
    shelf.write({NAME: cut}).update()
    assert [shelf.total(word) for word in ("zebra", "horse", "lion")] == [1, 1, 1]
    assert [row[0] for row in answers_counted(shelf)] == ["m1", "m2", "m3"]
    assert len(shelf.rows("select * from v_chats")) == 1
    shelf.check_rebuilt(QUERIES)


def test_a_row_without_a_uuid_is_one_row_in_every_version(shelf: Shelf) -> None:
    session = session_uuid("S1").encode()
    lines = [NAMELESS % (session, b"nameless %d" % number) for number in range(4)]
    shelf.write({NAME: b"".join(lines)}).update()
    shelf.write({NAME: lines[2]}).update()
    assert shelf.rows("select prompts from v_chats") == [(4,)]
    assert shelf.rows("select count(distinct uuid) from v_messages") == [(4,)]
    shelf.check_rebuilt(QUERIES)


def test_a_version_steps_back_once_the_file_is_larger_again_and_when_it_is_deleted_it_returns(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    shelf.write({NAME: SESSION[NAME] + jsonl(draw("e <- d user: a lion", session="S1"))}).update()
    assert shelf.rows("select count(*) from v_sessions") == [(1,)]
    (shelf.home / NAME).unlink()
    shelf.update()
    assert shelf.total("lion") == 1
    shelf.check_rebuilt(QUERIES)


def test_an_emptied_session_that_is_then_deleted_stays(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    (shelf.home / NAME).unlink()
    shelf.update()
    assert shelf.found("zebra") == ["a zebra"]
    assert shelf.rows("select archived from v_chats") == [(1,)]
    shelf.check_rebuilt(QUERIES)


def test_a_session_that_shrank_and_is_not_kept_again_yet_hides_nothing(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""})
    with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
        library.update()
    assert shelf.found("zebra") == ["a zebra"]
    shelf.update()
    shelf.check_rebuilt(QUERIES)


def test_an_emptied_tool_result_and_an_emptied_agent_hide_nothing(shelf: Shelf) -> None:
    agent = NAME.removesuffix(".jsonl") + "/subagents/agent-a1.jsonl"
    told = jsonl(draw("x <- - user: look\ny <- x assistant(m9): a lion", agent="a1", session="S1"))
    shelf.write(SESSION | {SPILLED: "spilled words\n" * 20, agent: told}).update()
    before = shelf.rows("select agents from v_chats")
    shelf.write({SPILLED: b"", agent: b""}).update()
    assert (shelf.total("spilled"), shelf.total("lion is:agent")) == (1, 1)
    assert shelf.rows("select agents from v_chats") == before
    assert [row[0] for row in answers_counted(shelf)] == ["m1", "m2", "m9"]
    shelf.check_rebuilt(QUERIES)


def test_a_title_file_of_an_emptied_session_counts_at_any_time(shelf: Shelf) -> None:
    beside = NAME.removesuffix(".jsonl") + "/custom-title.json"
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    shelf.write({beside: '{"customTitle": "Beside it"}'}).update()
    assert shelf.rows("select title from v_chats") == [("Beside it",)]
    shelf.check_rebuilt(QUERIES)


def test_what_was_kept_of_a_session_that_shrank_moves_with_it(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    (shelf.home / NAME).write_bytes(SESSION[NAME].splitlines(keepends=True)[0])
    shelf.update()
    moved = shelf.home / "projects" / "-elsewhere" / Path(NAME).name
    moved.parent.mkdir()
    (shelf.home / NAME).rename(moved)
    shelf.update()
    assert shelf.total("zebra") == 1
    shelf.check_rebuilt(QUERIES)


def test_an_emptied_session_can_be_forgotten(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    shelf.write({NAME: b""}).update()
    (shelf.home / NAME).unlink()
    shelf.update()
    with shelf.open() as library:
        forget(library.settings, find_kept(library, open_archive(library.settings), session_uuid("S1")))
    shelf.update()
    assert shelf.rows("select * from v_chats") == []
    assert shelf.total("zebra") == 0


def test_a_session_that_is_emptied_while_it_is_followed_hides_nothing(shelf: Shelf) -> None:
    shelf.write(SESSION).update()
    home = shelf.live_home
    sizes = []
    with shelf.open() as library, Writer(archive_folder(library.settings)) as writer:
        prices = load_prices(library.settings)
        store = library.store.start_writing()
        store.use_prices(cost_with(prices), prices.fingerprint)
        ingest, present = Ingest(store), PresentFiles([home])
        for data in (b"", jsonl(draw("n <- - user: a lion", session="S1")), SESSION[NAME] * 2):
            shelf.write({NAME: data})
            file = look(home, shelf.home / NAME)
            assert file is not None
            batch = [ChangedFile(file, gone=False)]
            present.take(batch)
            capture_changed(writer, home, home.machine, batch)
            take_changes(ingest, library, present, batch, writer)
            index_texts(store, Sources([home], writer))
            ingest.finish()
            sizes.append(len(store.indexed_files()))
    assert sizes == [2, 2, 3], "the last one begins differently: it hides nothing of what was there before"
    assert shelf.total("lion") == 1
    shelf.check_rebuilt(QUERIES)
