"""Whatever happens to the files of a home, and whenever it is read: the index is the one that a rebuild would make."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.archive.forgetting import forget_key
from backscroll.archive.rewriting import Writer
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.files import reading
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder, find_archive
from backscroll.library.indexing import ingest as ingest_module
from backscroll.library.indexing import tasks as tasks_module
from backscroll.library.indexing.ingest import Ingest
from backscroll.library.indexing.plan import plan
from backscroll.library.indexing.update import Updated
from backscroll.library.keeping.forget import forget
from backscroll.library.keeping.keep import keep
from backscroll.library.keeping.kept_versions import find_kept
from backscroll.library.local import local_library
from tests.conversation.test_incremental import Author
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, SHOP, session_file, session_path
from tests.support.samples import TRY_ALL

QUERIES: Final = (
    "one", "done", "rather this", '"rather this"', "漢字", "grün -one", "find is:agent", "done is:abandoned",
    "role:title one", "role:output ok", "tool:edit", "wait", "spilled", "lost OR ok", "T", "after:2026-01-05T10:00:05",
)  # fmt: skip


class Mischief:
    """A home to which things happen. Every choice is Hypothesis's."""

    def __init__(self, shelf: Shelf, data: st.DataObject) -> None:
        self.shelf = shelf
        self._data = data
        self._whole: dict[Path, bytes] = {}
        """What will stand in each file once all of it is written."""
        for place, rows in data.draw(worlds()).items():
            text = jsonl(rows).replace(b'"two"', '"zwei 漢字 grün"'.encode())
            self._whole[self._path_of(place)] = text
        self._known = sorted(self._whole)

    def _path_of(self, place: TranscriptPlace) -> Path:
        folder = self.shelf.home / f"projects/-{place.file[0]}-{place.file[1]}"
        if place.agent_id is None:
            return folder / f"{place.session_id}.jsonl"
        is_beside = place.session_id is None
        return (folder if is_beside else folder / f"{place.session_id}/subagents") / f"agent-{place.agent_id}.jsonl"

    def choose(self, *options: Path) -> Path:
        return self._data.draw(st.sampled_from(options))

    def number(self, most: int) -> int:
        return self._data.draw(st.integers(0, most))

    @property
    def live(self) -> list[Path]:
        return [path for path in self._known if path.exists()]

    def any_file(self) -> Path:
        return self.choose(*self._known)

    # What happens.

    def grow(self) -> None:
        """By any number of bytes: half a line, half a character."""
        path = self.any_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        have = path.stat().st_size if path.exists() else 0
        rest = self._whole[path][have:]
        with path.open("ab") as file:
            file.write(rest[: self.number(len(rest))] if self.number(1) else rest)

    def cut(self) -> None:
        for path in self.live[:1]:
            os.truncate(path, self.number(path.stat().st_size))

    def rewrite(self) -> None:
        path = self.any_file()
        lines = self._whole[path].splitlines(keepends=True)
        kept = lines[self.number(len(lines)) :] + lines[:1]
        self._whole[path] = b"".join(kept)
        if path.exists():
            beside = path.with_suffix(".new")
            beside.write_bytes(self._whole[path])
            beside.replace(path)

    def copy_over(self) -> None:
        """Another session's rows in a file of this name."""
        path = self.any_file()
        self._whole[path] = self._whole[self.any_file()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self._whole[path])

    def empty(self) -> None:
        for path in self.live[:2]:
            path.write_bytes(b"")

    def delete(self) -> None:
        for path in self.live[-1:]:
            path.unlink()

    def delete_sidecars(self) -> None:
        for path in self.shelf.home.rglob("*.json"):
            path.unlink()

    def move(self) -> None:
        if not self.live:
            return
        path = self.choose(*self.live)
        target = self.shelf.home / "projects" / f"-moved-{self.number(1)}" / path.name
        if path.parent.name == "subagents" or target == path:
            return
        target.parent.mkdir(exist_ok=True)
        self._whole[target] = self._whole.pop(path)
        path.replace(target)
        self._known = sorted(self._whole)

    def forget(self) -> None:
        """What is gone from the home, from the archive too."""
        folder = archive_folder(self.shelf.settings)
        if not folder.exists():
            return
        with Writer(folder) as writer:
            gone = [file for file in writer.files.values() if not file.source.exists()][:1]
            writer.forget(gone, [forget_key(self.shelf.machine.id, str(self.shelf.home), file.path) for file in gone])

    def name(self) -> None:
        """A title beside a transcript, or what an agent is, whether that is there yet or not."""
        path = self.any_file()
        if path.name.startswith("agent-"):
            beside = path.with_suffix(".meta.json")
            text = {"agentType": "Explore", "toolUseId": f"t{self.number(8)}"}
        else:
            beside = path.with_suffix("") / "custom-title.json"
            text = {"customTitle": f"Name {self.number(3)}"}
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(text))

    def spill(self) -> None:
        path = self.any_file()
        target = path.with_suffix("") / "tool-results" / f"s{self.number(8)}.txt"
        if not path.name.startswith("agent-"):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(f"spilled\nout {self.number(3)}\n")

    def damage(self) -> None:
        odd = (b"{torn\n", b"\0\0\0\n", b"[1]\n", b"\xff\xfe\n", b"\n", jsonl(draw(SURROGATES)), jsonl(draw(LATE)) * 2)
        for path in self.live[:1]:
            with path.open("ab") as file:
                file.write(odd[self.number(len(odd) - 1)])
            self._whole[path] = path.read_bytes() + self._whole[path][path.stat().st_size :]

    def keep(self) -> None:
        """The archive alone is brought up to date."""
        with self.shelf.open() as library:
            keep(library.settings, library.homes)

    def update(self) -> None:
        self.shelf.update()


SURROGATES: Final = """
sur <- - user: "a lone \\ud83e surrogate, one"
custom-title: "T \\ud83e"
summary u1: "S \\udc00 one"
"""
LATE: Final = "late <- u1 assistant(late): done later"
EVENTS: Final[Sequence[Callable[[Mischief], None]]] = (
    Mischief.grow, Mischief.grow, Mischief.grow, Mischief.grow, Mischief.cut, Mischief.empty, Mischief.rewrite,
    Mischief.copy_over, Mischief.delete, Mischief.delete_sidecars, Mischief.move, Mischief.forget, Mischief.name,
    Mischief.spill, Mischief.damage, Mischief.keep, Mischief.update, Mischief.update, Mischief.update,
)  # fmt: skip


@st.composite
def worlds(draw_: st.DrawFn) -> dict[TranscriptPlace, list[dict[str, object]]]:
    return Author(draw_).write_world()


@pytest.mark.slow
@settings(
    max_examples=500 if TRY_ALL else 12,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(data=st.data())
def test_after_any_events_the_index_equals_one_built_at_once(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    mischief = Mischief(shelf, data)
    for event in data.draw(st.lists(st.sampled_from(EVENTS), min_size=3, max_size=14)):
        event(mischief)
    shelf.update()
    shelf.check_rebuilt(QUERIES)


# What an update costs, counted.


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test has just written counts as written long ago."""
    monkeypatch.setattr(reading, "CLOCK_TICK_NS", -(10**18))


def counted(updated: Updated) -> tuple[int, int, int, int]:
    work = updated.work
    return work.files, work.lines, work.size, updated.passages


@pytest.mark.usefixtures("settled")
def test_a_second_update_reads_nothing(shelf: Shelf) -> None:
    shelf.write(EVERYTHING)
    assert shelf.update().work.files > 20
    again = shelf.update()
    assert counted(again) == (0, 0, 0, 0)
    assert again.is_nothing
    with shelf.open() as library:
        assert library.refresh(with_text=True) is None


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("turns", [1, 800])
@pytest.mark.parametrize("others", [0, 60])
def test_one_appended_line_is_all_that_is_read(shelf: Shelf, turns: int, others: int) -> None:
    shelf.write(session_file("S1", "\n".join(f"a{n} <- a{n - 1} user: one {n}" for n in range(turns))))
    for number in range(others):
        shelf.write(session_file(f"O{number}", f"o{number} <- - user: one", time="2026-01-04T10:00"))
    shelf.update()
    one_more = jsonl(draw(f"new <- a{turns - 1} assistant: and the last"))
    shelf.append("S1", one_more)
    assert counted(shelf.update()) == (1, 1, len(one_more), 1)
    assert shelf.found("last") == ["and the last"]


@pytest.mark.usefixtures("settled")
def test_a_line_is_read_once_it_is_whole(shelf: Shelf) -> None:
    line = jsonl(draw("b <- a assistant: grün"))
    cut = line.index("ü".encode()) + 1
    shelf.write(session_file("S1", "a <- - user: hello")).update()
    shelf.append("S1", line[:cut])
    assert counted(shelf.update())[1:] == (0, 0, 0)
    shelf.append("S1", line[cut:])
    assert counted(shelf.update()) == (1, 1, len(line), 1)
    assert shelf.found("grün") == ["grün"]


# What is not there any more is not found any more.

HELLO: Final = session_file("S1", "a <- - user: hello there\nb <- a assistant: a zebra\ncustom-title: The first")


def rewrite(shelf: Shelf, files: dict[str, bytes]) -> None:
    """Other content, and blank lines: of a file that does not shrink only what stands in it counts."""
    for name, data in files.items():
        shelf.write({name: data + b"\n" * (shelf.home / name).stat().st_size})


def test_what_was_rewritten_is_not_found_any_more(shelf: Shelf) -> None:
    """Where the file did not shrink; else what was kept of it stays in reach."""
    shelf.write(HELLO).update()
    shelf.write(
        session_file("S1", "a <- - user: hello there\nb <- a assistant: a horse\ncustom-title: The first")
    ).update()
    assert (shelf.total("zebra"), shelf.total("horse")) == (0, 1)


def test_a_title_that_was_given_up_is_not_found_any_more(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    shelf.append("S1", jsonl(draw("custom-title: Another")))
    shelf.update()
    assert (shelf.found("role:title first"), shelf.found("role:title another")) == ([], ["Another"])


def test_a_session_that_moved_is_found_once_with_its_title(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    moved = shelf.home / session_path("S1", "projects/-home-ada-store")
    moved.parent.mkdir()
    (shelf.home / session_path("S1")).replace(moved)
    shelf.update()
    assert shelf.found("role:title first") == ["The first"]
    assert shelf.total("zebra") == 1
    shelf.check_rebuilt(["zebra", "first"])


def test_a_title_is_of_the_time_of_its_chat_whenever_it_was_read(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    shelf.append("S1", jsonl(draw("c <- b user: much later", time="2026-03-05T10:00")))
    shelf.update()
    shelf.check_rebuilt(["first after:2026-02-01", "first before:2026-02-01", "first"])


def test_a_session_that_is_deleted_stays_as_archived(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    (shelf.home / session_path("S1")).unlink()
    assert shelf.update().archived == 1
    assert shelf.found("zebra") == ["a zebra"]
    assert shelf.rows("select archived from v_chats") == [(1,)]
    shelf.write(HELLO).update()
    assert shelf.rows("select archived from v_chats") == [(0,)]


def test_forgotten_chats_are_no_longer_found(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    with shelf.open() as library:
        assert library.archive
        forget(library.settings, find_kept(library, library.archive, session_uuid("S1")))
    shelf.update()
    assert shelf.total("zebra") == shelf.total("first") == 0
    assert shelf.rows("select * from v_chats") == []
    # Not one byte of it, also if nothing but the archive was told to forget it: as when `archive forget` is cut off.
    left = [path.name for path in shelf.folder.rglob("*") if path.is_file() and b"zebra" in path.read_bytes()]
    assert left == []


def test_what_was_kept_and_deleted_between_two_updates_is_read_from_the_archive(shelf: Shelf) -> None:
    shelf.write(HELLO).update()
    data = HELLO[session_path("S1")]
    shelf.write({session_path("S1"): data.replace(b"zebra", b"horse")})
    with shelf.open() as library:
        keep(library.settings, library.homes)
    (shelf.home / session_path("S1")).unlink()
    shelf.update()
    assert (shelf.total("zebra"), shelf.total("horse")) == (0, 1)


# Order does not matter.


@pytest.mark.parametrize("first", ["transcript", "sidecar"])
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_title_file_counts_whichever_comes_first(shelf: Shelf, first: str, is_deleted: bool) -> None:
    beside = {session_path("S1").removesuffix(".jsonl") + "/custom-title.json": '{"customTitle": "Beside it"}'}
    transcript = session_file("S1", "a <- - user: hello")
    shelf.write(transcript if first == "transcript" else beside).update()
    if is_deleted and first == "transcript":
        (shelf.home / session_path("S1")).unlink()
        shelf.update()
    shelf.write(beside if first == "transcript" else transcript).update()
    assert shelf.rows("select title from v_chats") == [("Beside it",)]
    assert shelf.found("role:title beside") == ["Beside it"]


@pytest.mark.usefixtures("settled")
def test_a_title_file_counts_if_only_the_archive_has_it(shelf: Shelf) -> None:
    beside = session_path("S1").removesuffix(".jsonl") + "/custom-title.json"
    shelf.write(session_file("S1", "a <- - user: hello")).update()
    shelf.write({beside: '{"customTitle": "Beside it"}'})
    with shelf.open() as library:
        keep(library.settings, library.homes)
    (shelf.home / beside).unlink()
    shelf.update()
    assert shelf.rows("select title from v_chats") == [("Beside it",)]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_transcript_is_read_once_though_much_is_new_of_it(shelf: Shelf, is_deleted: bool) -> None:
    """The transcript grew, and what stands beside it was seen by the archive only."""
    beside = session_path("S1").removesuffix(".jsonl") + "/custom-title.json"
    shelf.write(session_file("S1", "a <- - user: hello") | {beside: b'{"customTitle": "One"}'}).update()
    shelf.append("S1", jsonl(draw("b <- a assistant: a zebra")))
    shelf.write({beside: b'{"customTitle": "Another"}'})
    with shelf.open() as library:
        keep(library.settings, library.homes)
    (shelf.home / beside).unlink()
    if is_deleted:
        (shelf.home / session_path("S1")).unlink()
    for _ in range(2):
        shelf.update()
        assert shelf.total("zebra") == 1
        assert shelf.rows("select title from v_chats") == [("Another",)]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("is_seen", [False, True])
def test_the_title_file_of_a_forgotten_transcript_no_longer_counts(shelf: Shelf, is_seen: bool) -> None:
    beside = session_path("S1").removesuffix(".jsonl") + "/custom-title.json"
    shelf.write(session_file("S1", "a <- - user: hello") | {beside: b'{"customTitle": "A secret"}'}).update()
    (shelf.home / beside).unlink()
    if is_seen:
        shelf.update()
        assert shelf.rows("select title from v_chats") == [("A secret",)]
    with Writer(archive_folder(shelf.settings)) as writer:
        files = [file for file in writer.files.values() if file.path == beside]
        writer.forget(files, [forget_key(shelf.machine.id, str(shelf.home), beside)])
    shelf.update()
    assert shelf.rows("select title from v_chats") == [("hello",)]
    assert shelf.total("secret") == 0


@pytest.mark.parametrize("first", ["session", "agent"])
def test_an_agent_whose_rows_come_late_belongs_to_its_session(shelf: Shelf, first: str) -> None:
    """Up to 2.1.1 only the rows say whose agent it is."""
    agent = {f"{SHOP}/agent-a1b2c3d.jsonl": b""}
    session = session_file("S1", "a <- - user: hello")
    shelf.write(session if first == "session" else agent).update()
    shelf.write(agent if first == "session" else session).update()
    shelf.write({f"{SHOP}/agent-a1b2c3d.jsonl": jsonl(draw("x <- - user: look around", agent="a1b2c3d"))}).update()
    assert shelf.rows("select session, agent from v_sessions where agent is not null") == [
        (session_uuid("S1"), "a1b2c3d")
    ]
    assert shelf.rows("select agents from v_chats") == [(1,)]


def test_a_resumed_session_joins_its_chat_and_leaves_it_again(shelf: Shelf) -> None:
    begun = "a <- - user: hello\nb <- a assistant: done"
    shelf.write(session_file("S1", begun)).update()
    shelf.write(session_file("S2", "summary z: the same line\n" + begun + "\nc <- b user: go on")).update()
    assert shelf.rows("select id, branches from v_chats") == [(session_uuid("S1"), 1)]
    rewrite(shelf, session_file("S2", "summary z: the same line\nd <- - user: rather this"))
    shelf.update()
    assert sorted(shelf.rows("select id from v_chats")) == sorted([(session_uuid("S1"),), (session_uuid("S2"),)])
    shelf.check_rebuilt(["hello", "done", "go", "rather"])


def test_a_title_may_come_from_any_other_file_and_go_with_it(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello\nb <- a assistant: done")).update()
    shelf.write(session_file("S2", "c <- - user: else\nsummary b: A greeting")).update()
    titles = "select title from v_chats order by title"
    assert shelf.rows(titles) == [("A greeting",), ("else",)]
    rewrite(shelf, session_file("S2", "c <- - user: else"))
    shelf.update()
    assert shelf.rows(titles) == [("else",), ("hello",)]
    shelf.check_rebuilt(["greeting", "hello"])


@pytest.mark.parametrize("where", ["in another file", "in the same file"])
def test_a_title_may_be_given_before_its_row_is_there(shelf: Shelf, where: str) -> None:
    if where == "in another file":
        shelf.write(session_file("S2", "summary b: A greeting\nc <- - user: else")).update()
        shelf.write(session_file("S1", "a <- - user: hello")).update()
    else:
        shelf.write(session_file("S1", "summary b: A greeting\na <- - user: hello")).update()
    shelf.append("S1", jsonl(draw("b <- a assistant: done")))
    shelf.update()
    assert ("A greeting",) in shelf.rows("select title from v_chats")
    shelf.check_rebuilt(["greeting", "hello"])


def test_a_title_that_goes_as_its_row_comes_does_not_count(shelf: Shelf) -> None:
    shelf.write(session_file("S2", "c <- - user: else\nsummary b: A greeting"))
    shelf.write(session_file("S1", "a <- - user: hello")).update()
    rewrite(shelf, session_file("S2", "c <- - user: else"))
    shelf.append("S1", jsonl(draw("b <- a assistant: done")))
    shelf.update()
    assert shelf.rows("select title from v_chats order by title") == [("else",), ("hello",)]


def test_a_broken_line_after_one_without_newline_has_the_right_number(shelf: Shelf) -> None:
    shelf.write({session_path("S1"): jsonl(draw("a <- - user: hello"))[:-1]}).update()
    shelf.append("S1", b"\n{torn\n")
    shelf.update()
    assert shelf.rows("select line from v_problems") == [(2,)]


def test_a_prompt_from_the_queue_counts_until_it_is_written_after_all(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello\nqueue-operation enqueue: and this\nb <- a assistant: done"))
    shelf.update()
    shelf.append("S1", jsonl(draw("queue-operation remove: and this", time="2026-01-05T10:01")))
    shelf.update()
    prompts = "select prompts from v_chats"
    assert shelf.rows(prompts) == [(2,)]
    shelf.append("S1", jsonl(draw("c <- b user: and this", time="2026-01-05T10:02")))
    shelf.update()
    assert shelf.rows(prompts) == [(2,)]
    shelf.check_rebuilt(['"and this"'])


# Odd files.


def test_a_broken_line_is_reported_with_its_number_in_the_file(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello\nb <- a assistant: done")).update()
    shelf.append("S1", b"{torn\n")
    shelf.update()
    shelf.append("S1", jsonl(draw("c <- b user: on")) + b"[1]\n")
    shelf.update()
    assert shelf.rows("select line from v_problems order by line") == [(3,), (5,)]


def test_a_folder_whose_name_is_no_text_is_read_like_any_other(shelf: Shelf) -> None:
    folder = Path(os.fsdecode(os.fsencode(shelf.home) + b"/projects/-home-\xff"))
    folder.mkdir()
    (folder / f"{session_uuid('S1')}.jsonl").write_bytes(HELLO[session_path("S1")])
    shelf.write(session_file("S2", "z <- - user: hello\ny <- z assistant: another zebra"))
    assert shelf.update().unreadable == []
    assert sorted(shelf.found("zebra")) == ["a zebra", "another zebra"]
    (folder / f"{session_uuid('S1')}.jsonl").unlink()
    shelf.update()
    assert sorted(shelf.found("zebra")) == ["a zebra", "another zebra"]


def test_lone_surrogates_in_texts_and_titles_stop_nothing(shelf: Shelf) -> None:
    odd = '"broken \\ud83e word"'
    shelf.write(session_file("S1", f"a <- - user: {odd}\nb <- a call(m1) t1 Edit {{}}\ncustom-title: {odd}"))
    shelf.write(
        session_file("S2", f"c <- - user: hello\nsummary c: {odd}\npr-link 1 https://x.org/a/b/pull/1")
    ).update()
    assert len(shelf.found("broken")) >= 3
    shelf.check_rebuilt(["broken", "word"])


def test_spilled_json_is_found_by_its_words(shelf: Shelf) -> None:
    """What stands behind an escaped newline is a word of its own, however long the line is."""
    words = [f"word{number}" for number in range(60_000)]
    blocks = json.dumps([{"type": "text", "text": "grüße\n" + "\n".join(words) + "\tlast"}])
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write(session_file("S1", 'a <- - user: go\nb <- a call(m1) t1 mcp__x__list {}\nc <- b result t1: "saved"'))
    shelf.write({f"{folder}/tool-results/t1.json": blocks}).update()
    with shelf.open() as library:
        missing = [word for word in ("grüße", "last", *words[::1999]) if library.search(word).total != 1]
    assert missing == []


def test_characters_that_are_written_as_two_escapes_are_one(shelf: Shelf) -> None:
    blocks = json.dumps([{"type": "text", "text": "the smile 😀 and 𝒳 \ud800 here"}])
    assert "\\ud83d\\ude00" in blocks
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write(session_file("S1", 'a <- - user: go\nb <- a call(m1) t1 mcp__x__list {}\nc <- b result t1: "saved"'))
    shelf.write({f"{folder}/tool-results/t1.json": blocks}).update()
    with shelf.open() as library:
        (chat,) = library.search("smile").chats
    assert "the smile 😀 and 𝒳 \ufffd here" in chat.passages[0].snippet.text


def test_a_long_spilled_line_is_cut_inside_no_word(shelf: Shelf) -> None:
    words = [f"wörd{number}" for number in range(80_000)]
    folder = session_path("S1").removesuffix(".jsonl")
    shelf.write(session_file("S1", 'a <- - user: go\nb <- a call(m1) t1 Bash {"command": "ls"}'))
    shelf.write({f"{folder}/tool-results/t1.txt": " ".join(words)}).update()
    pieces = [row[0] for row in shelf.rows("select length from v_messages where path like '%t1.txt' order by start")]
    assert len(pieces) > 2
    text = " ".join(words).encode()
    ends = [sum(pieces[: number + 1]) for number in range(len(pieces) - 1)]
    cut = [text[end - 20 : end + 20].decode(errors="replace").split(" ") for end in ends]
    with shelf.open() as library:
        missing = [word for around in cut for word in around[1:-1] if library.search(word).total != 1]
    assert missing == []


# Several at work, one after the other, and one for a long time.


def test_two_who_take_turns_read_nothing_twice(shelf: Shelf) -> None:
    shelf.write(session_file("S1", "a <- - user: hello one"))
    one, other = shelf.open(), shelf.open()
    for number, library in enumerate((one, other, one, other, one)):
        shelf.append("S1", jsonl(draw(f"n{number} <- a assistant: zebra {number}")))
        library.update()
    assert shelf.total("zebra") == 5
    one.close()
    other.close()


def test_an_ingest_that_lives_on_notices_that_a_file_is_only_kept_any_more(shelf: Shelf) -> None:
    """As while following a home: the chat is the same, and yet another answer is right."""
    shelf.write(HELLO)
    with shelf.open() as library:
        library.update()
        store = library.store.start_writing()
        ingest = Ingest(store)
        shelf.append("S1", jsonl(draw("c <- b user: go on")))
        for change in ("go on", "gone"):
            if change == "gone":
                (shelf.home / session_path("S1")).unlink()
            keep(library.settings, library.homes)
            work = plan(
                store.indexed_files(), [discover(library.homes[0])], find_archive(library.settings), library.machine
            )
            assert not work.is_empty
            ingest.run(work.tasks, work.removed, work.archived)
    assert shelf.rows("select archived from v_chats") == [(1,)]


def test_what_a_list_shows_may_come_later_and_is_not_lost_if_it_never_does(shelf: Shelf) -> None:
    shelf.write({session_path("S1"): jsonl(draw("a <- - user: hello"))}).update()
    with shelf.open() as library:
        store = library.store.start_writing()
        ingest = Ingest(store)
        for number, (before, name) in enumerate((("a", "b"), ("b", "c"), ("c", "d"))):
            with (shelf.home / session_path("S1")).open("ab") as file:
                file.write(jsonl(draw(f"{name} <- {before} user: again {name}")))
            work = plan(store.indexed_files(), [discover(library.homes[0])], None, library.machine)
            ingest.run(work.tasks, later=number > 0)
        # The first round wrote the chat; the others left it for later, and that never came.
        assert [chat.overview.prompts for chat in library.chats()] == [2]
        assert store.noted("overdue")
    with shelf.open() as library:
        library.refresh(with_text=False)
        assert [chat.overview.prompts for chat in library.chats()] == [4]
        assert not library.store.noted("overdue")


def test_letting_go_of_chats_between_batches_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small files: only some are held at a time, and a file may belong to a chat that was let go of."""
    monkeypatch.setattr(tasks_module, "BATCH_FILES", 1)
    monkeypatch.setattr(ingest_module, "MAX_FILES", 1)
    held = []
    forget_chats = Ingest._forget

    def note(ingest: Ingest) -> None:
        held.append(len(getattr(ingest, "_numbers", ())))
        forget_chats(ingest)

    monkeypatch.setattr(Ingest, "_forget", note)
    files: dict[str, bytes | str] = {}
    for number in range(6):
        rows = f"a <- - user: one\nb <- a assistant: done\nc{number} <- b user: rather this"
        files |= session_file(f"S{number}", rows)
    shelf = Shelf(tmp_path).write(files)
    shelf.update()

    assert len(held) >= 6  # from the second file on, after each
    monkeypatch.undo()
    assert shelf.answers(QUERIES) == shelf.rebuilt().answers(QUERIES)


def test_a_result_whose_call_is_gone_is_found_by_its_tool_no_longer(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    called = 'a <- - user: go\nb <- a call(m1) t1 Bash {"command": "ls"}'
    shelf.write(session_file("S1", called) | session_file("S2", "x <- - user: on\ny <- x result t1: zebra"))
    with local_library(shelf.settings, [Home(shelf.home)], keeps=False) as library:
        library.update()
        assert library.search("tool:bash zebra").total == 1
        (shelf.home / session_path("S1")).write_bytes(jsonl(draw("a <- - user: go", session="S1")))
        library.update()
        assert library.search("zebra").total == 1
        assert library.search("tool:bash zebra").total == 0
