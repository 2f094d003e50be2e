"""What other devices ask to forget is hidden until the user has answered, wherever it is read; nothing is lost."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from backscroll.archive.archive import Archive
from backscroll.archive.forgetting import keys_named_after, keys_to_forget, path_key, session_key
from backscroll.errors import Busy
from backscroll.library import forget_requests
from backscroll.library.archives import archive_folder, open_writer
from backscroll.library.forget_requests import ForgetRequests
from backscroll.library.indexing import update as updating
from backscroll.library.library import Library
from backscroll.library.marks import change_marks, read_marks
from backscroll.library.syncing.asked_about import subjects_of
from backscroll.library.syncing.forgets import agree, asked_chats, forget_agreed, refuse
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, session_path

ASKED = """
@ session=S cwd=/home/ada/shop
s1 <- - user: the promptxyzzy is asked about
s2 <- s1 assistant(m1): the answerxyzzy
"""
FORK = """
@ session=F cwd=/home/ada/shop
s1 <- - user: the promptxyzzy is asked about
f2 <- s1 assistant(m2): the fork says plugh
f3 <- f2 user: and goes on with frobnitz
"""
OTHER = "o1 <- - user: the other zebra\n" + "".join(
    f"o{n} <- o{n - 1} assistant(n{n}): something about zebras, many times over, number {n}\n" for n in range(2, 60)
)
S = session_uuid("S")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    shelf = Shelf(tmp_path).write(session_file("S", ASKED)).write(session_file("O", OTHER))
    shelf.update()
    return shelf


def ask(shelf: Shelf, keys: Iterable[str], device: str = "desktop") -> int:
    return ForgetRequests(shelf.settings).add(device, device, "2026-01-02T03:04:05+00:00", keys)


def ids(shelf: Shelf) -> list[str]:
    return [chat.id for chat in asked_chats(shelf.settings)]


def everything(shelf: Shelf) -> bytes:
    """All bytes below the library, unpacked where they are packed."""
    found = [path.read_bytes() for path in shelf.folder.rglob("*") if path.is_file()]
    for data in list(found):
        for frame in re.finditer(re.escape(zstandard.FRAME_HEADER), data):
            with suppress(zstandard.ZstdError):
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(data[frame.start() :]))
    return b"".join(found)


def chats(shelf: Shelf) -> set[str]:
    with shelf.open() as library:
        library.refresh(with_text=True)
        return {chat.overview.id for chat in library.chats()}


def test_a_session_that_is_asked_about_is_hidden_and_comes_back_if_refused(shelf: Shelf) -> None:
    before = shelf.answers(["promptxyzzy", "zebra"])
    generation = shelf.generation
    ask(shelf, [session_key(S)])
    assert chats(shelf) == {session_uuid("O")}
    assert not shelf.found("promptxyzzy")
    assert shelf.found("zebra")
    assert shelf.generation == generation, "a small request rebuilds nothing"
    assert b"promptxyzzy" in everything(shelf)
    shelf.check_rebuilt(["promptxyzzy", "zebra"])
    (chat,) = asked_chats(shelf.settings)
    ((_, subject),) = subjects_of(shelf.settings, [chat])
    assert (subject.title, subject.project) == ("the promptxyzzy is asked about", "/home/ada/shop")
    refuse(shelf.settings, [chat])
    assert chats(shelf) == {S, session_uuid("O")}
    assert shelf.answers(["promptxyzzy", "zebra"]) == before


def test_what_is_named_after_a_session_is_asked_about_with_it(shelf: Shelf) -> None:
    shelf.write({f"jobs/{S[:8]}/state.json": "{}", f"teams/session-{S[:8]}/inboxes/lead.json": "[]"}).update()
    file = [(str(shelf.home), session_path("S"))]
    ask(shelf, keys_to_forget(file) | keys_named_after(file))
    (asked,) = asked_chats(shelf.settings)
    assert {file.path.split("/")[0] for file in asked.files} == {"projects", "jobs", "teams"}
    refuse(shelf.settings, [asked])
    assert ids(shelf) == []
    shelf.write({f"jobs/{S[:8]}/timeline.jsonl": "{}\n"}).update()
    assert ids(shelf) == []


def test_a_request_about_most_of_the_index_reads_the_rest_anew(shelf: Shelf) -> None:
    generation = shelf.generation
    ask(shelf, [session_key(session_uuid("O"))])
    assert chats(shelf) == {S}
    assert shelf.generation != generation


def test_no_byte_is_left_of_what_was_agreed_although_it_was_hidden_before(shelf: Shelf) -> None:
    change_marks(shelf.folder, lambda marks: marks.note([S], "my notexyzzy"))
    ask(shelf, [session_key(S)])
    assert chats(shelf) == {session_uuid("O")}
    agree(shelf.settings, asked_chats(shelf.settings))
    assert [chat.id for chat in forget_agreed(shelf.settings)] == [S]
    assert forget_agreed(shelf.settings) == []
    assert read_marks(shelf.folder).chats == {}
    assert chats(shelf) == {session_uuid("O")}
    assert b"xyzzy" not in everything(shelf)
    shelf.update()  # Claude Code still has it
    assert b"xyzzy" not in everything(shelf)
    assert asked_chats(shelf.settings) == []


def test_a_fork_of_what_is_hidden_is_shown_as_if_the_other_file_was_not_there(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("S", ASKED)).write(session_file("F", FORK))
    shelf.write(session_file("O", OTHER))
    shelf.update()
    ask(shelf, keys_to_forget([(str(shelf.home), session_path("S"))]))
    chats(shelf)
    assert not shelf.found("answerxyzzy")
    assert shelf.found("frobnitz")
    shelf.check_rebuilt(["answerxyzzy", "frobnitz", "zebra"])


def test_a_request_for_what_is_not_here_is_silent_until_it_comes(shelf: Shelf) -> None:
    late = session_uuid("L")
    ask(shelf, [session_key(late), path_key("/nowhere", "history.jsonl")])
    assert ids(shelf) == []
    before = chats(shelf)
    shelf.write(session_file("L", "l1 <- - user: a late one"))
    assert chats(shelf) == before
    assert ids(shelf) == [late]


def test_what_was_refused_is_not_asked_again_by_another_device_or_by_another_hash(shelf: Shelf) -> None:
    ask(shelf, [session_key(S)])
    refuse(shelf.settings, asked_chats(shelf.settings))
    ask(shelf, [session_key(S)], "tablet")
    ask(shelf, [path_key(str(shelf.home), session_path("S"))], "tablet")
    assert ids(shelf) == []
    assert S in chats(shelf)


def test_a_request_goes_on_after_a_write_that_was_cut_off(shelf: Shelf) -> None:
    ask(shelf, [session_key(S)])
    path = shelf.folder / "sync" / "forgets.jsonl"
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        ask(shelf, [session_key(S), session_key("x")])
        assert ids(shelf) == [S]
        assert len(ForgetRequests(shelf.settings).waiting) == 2


def test_a_device_that_asks_for_too_much_is_not_noted_without_end(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forget_requests, "MAX_KEYS", 3)
    assert ask(shelf, [session_key(str(number)) for number in range(5)]) == 2
    assert ask(shelf, [session_key(S)]) == 1
    assert ids(shelf) == []
    assert ask(shelf, [session_key(S)], "other") == 0
    assert ids(shelf) == [S]
    assert ask(shelf, ["not a hash", "\n"], "third") == 0


def test_an_agreement_waits_for_an_archive_that_is_in_use(shelf: Shelf) -> None:
    ask(shelf, [session_key(S)])
    agree(shelf.settings, asked_chats(shelf.settings))
    with open_writer(shelf.settings), pytest.raises(Busy):
        forget_agreed(shelf.settings)
    assert chats(shelf) == {session_uuid("O")}
    assert S in {file.place.session_id for file in Archive(archive_folder(shelf.settings)).files.values()}
    forget_agreed(shelf.settings)
    assert chats(shelf) == {session_uuid("O")}
    assert S not in {file.place.session_id for file in Archive(archive_folder(shelf.settings)).files.values()}


def test_what_is_hidden_stays_hidden_if_an_update_is_cut_off(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(shelf, [session_key(S)])

    def fail(*_: object, **__: object) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as context:
        context.setattr(updating, "_read", fail)
        shelf.write(session_file("N", "n1 <- - user: something new"))
        with shelf.open() as library, pytest.raises(OSError, match="cut off"):
            library.update()
    assert chats(shelf) == {session_uuid("O"), session_uuid("N")}
    agree(shelf.settings, asked_chats(shelf.settings))
    forget_agreed(shelf.settings)
    assert chats(shelf) == {session_uuid("O"), session_uuid("N")}
    assert b"xyzzy" not in everything(shelf)


def test_an_open_library_shows_what_is_hidden_no_more(shelf: Shelf) -> None:
    with shelf.open() as library:
        assert library.find(S)
        ask(shelf, [session_key(S)])
        refreshed(library)
        assert session_uuid("O") in {chat.overview.id for chat in library.chats()}
        assert S not in {chat.overview.id for chat in library.chats()}


def refreshed(library: Library) -> None:
    library.refresh(with_text=True)
    library.renew()
