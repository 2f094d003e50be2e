"""What a program gets from `import backscroll`: real homes, a real library."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest

import backscroll
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_path, write_home

FIRST = """
@ session=S1 cwd=/home/ada/shop branch=main
a <- - user: fix the parser
b <- a call(m1) t1 Read {"file_path": "x.py"}
c <- b result t1: contents
d <- c assistant(m2): done
e <- a user: no, undo that
f <- e assistant(m3): undone
custom-title: The parser
"""
SECOND = """
@ session=S2 cwd=/home/ada/blog branch=draft model=claude-opus-4-1-20250805 time=2026-02-01T10:00:00.000Z
x <- - user: write a post
y <- x assistant: written
"""
HOSTILE = """
@ session=S3
h <- - user: "<script>alert(1)</script> & <img src=x onerror=alert(2)> \\u001b]0;gone\\u0007 \\ud800 &lt;b&gt;"
i <- h assistant: "\\"><svg onload=alert(3)> script"
custom-title: "<script>alert(4)</script>\\u202e'\\"><b>title"
"""


def files_of(*drawings: str) -> dict[str, bytes]:
    """The files of a home with these sessions, named S1, S2 and so on."""
    return {session_path(f"S{number}"): jsonl(draw(drawing)) for number, drawing in enumerate(drawings, start=1)}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", files_of(FIRST, SECOND))


@pytest.fixture
def lib(home: Path, tmp_path: Path) -> Iterator[backscroll.Library]:
    with backscroll.open(tmp_path / "library", [home]) as opened:
        yield opened


# Opening


def test_importing_it_imports_nothing_heavy() -> None:
    code = "import sys, backscroll; print([m for m in sys.modules if 'backscroll.' in m or m in ('apsw', 'msgspec')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr


def test_every_public_name_is_there_and_no_other() -> None:
    assert [name for name in backscroll.__all__ if not hasattr(backscroll, name)] == []
    assert set(backscroll.__all__) <= set(dir(backscroll))
    assert not hasattr(backscroll, "close")


def test_without_arguments_it_is_the_users_own() -> None:
    write_home(Path.home() / ".claude", files_of(FIRST))
    with backscroll.open() as lib:
        assert [chat.title for chat in lib.chats()] == ["The parser"]


def test_the_settings_of_the_user_count(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'homes = ["{home}"]\nlibrary = "{tmp_path / "mine"}"\n', encoding="utf-8")
    monkeypatch.setenv("BACKSCROLL_SETTINGS", str(settings))
    with backscroll.open() as lib:
        assert len(lib.chats()) == 2
    assert (tmp_path / "mine" / "index").is_dir()


def test_paths_may_be_texts(home: Path, tmp_path: Path) -> None:
    for homes in (str(home), [str(home)], home):
        with backscroll.open(str(tmp_path / "library"), homes) as lib:
            assert len(lib.chats()) == 2


def test_what_was_kept_is_still_there_when_the_home_lost_it(home: Path, tmp_path: Path) -> None:
    backscroll.open(tmp_path / "library", home).close()
    (home / session_path("S1")).unlink()
    with backscroll.open(tmp_path / "library", home) as lib:
        chat = lib.chat(session_uuid("S1"))
        assert chat.is_archived
        assert [message.text for message in chat.messages()] == ["fix the parser", "no, undo that", "undone"]
        assert lib.search("role:output contents")[0].text() == "contents"
        with pytest.raises(backscroll.NothingFound, match="only in the archive"):
            _ = chat.resume_command


def test_without_update_it_is_read_as_it_is(home: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    with backscroll.open(library, home, update=False) as lib:
        with pytest.raises(backscroll.NothingFound, match="no index yet"):
            lib.chats()
        assert not library.exists()
    backscroll.open(library, home).close()
    write_home(home, {session_path("S3"): jsonl(draw("z <- - user: something new", session="S3"))})
    with backscroll.open(library, home, update=False) as lib:
        assert len(lib.chats()) == 2
        assert lib.search("something new").total == 0
        lib.update()
        assert lib.chats()[0].title == "write a post"
        assert lib.search("something new").total_chats == 1


def test_chats_outlive_an_update(lib: backscroll.Library, home: Path) -> None:
    chat, passage = lib.chat(session_uuid("S1")), lib.search("contents")[0]
    with (home / session_path("S1")).open("ab") as file:
        file.write(jsonl(draw("g <- f user: thanks", session="S1")))
    lib.update()
    assert [message.text for message in chat.messages()] == ["fix the parser", "no, undo that", "undone", "thanks"]
    assert passage.text() == "contents"
    assert (chat.message_count, lib.chat(chat.id).message_count) == (5, 6)


def test_a_closed_library_answers_no_more(lib: backscroll.Library) -> None:
    chat, passage = lib.chats()[0], lib.search("parser")[0]
    lib.close()
    lib.close()
    assert "closed" in repr(lib)
    asks: list[Callable[[], object]] = [
        lib.chats,
        lib.update,
        passage.text,
        chat.messages,
        chat.to_markdown,
        lambda: lib.search("parser"),
        lambda: lib.sql("select 1"),
        lambda: chat.branches,
        lambda: chat.resume_command,
    ]
    for ask in asks:
        with pytest.raises(backscroll.UsageError, match="closed"):
            ask()
    assert chat.title == "write a post"


def test_errors_say_what_to_do_next(lib: backscroll.Library, tmp_path: Path) -> None:
    with pytest.raises(backscroll.NothingFound) as missing:
        backscroll.open(tmp_path / "library", tmp_path / "nowhere")
    assert missing.value.hint
    with pytest.raises(backscroll.NothingFound):
        lib.chat("ffff")
    asks: list[Callable[[], object]] = [
        lambda: lib.chat(""),
        lambda: lib.search(" "),
        lambda: lib.search("parser", limit=-1),
        lambda: lib.search("parser", sort="best"),
        lambda: lib.chats(limit=-1),
        lambda: lib.chats(sort="best"),
        lambda: lib.search("nofield:x (").total,
        lambda: lib.sql("delete from chats"),
        lambda: lib.chat(session_uuid("S1")).messages(branch=3),
        lambda: lib.chat(session_uuid("S1")).to_markdown(branch=0),
    ]
    for ask in asks:
        with pytest.raises(backscroll.UsageError) as error:
            ask()
        assert error.value.hint


def test_a_library_that_cannot_be_written_is_an_error_with_a_way_out(home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(backscroll.BackscrollError, match="cannot write") as error:
        backscroll.open(tmp_path / "file", home)
    assert "update=False" in error.value.hint


# Chats


def test_a_chat_has_what_a_list_shows(lib: backscroll.Library) -> None:
    chat = lib.chat(session_uuid("S1")[:8])
    assert (chat.id, chat.title, chat.project) == (session_uuid("S1"), "The parser", "/home/ada/shop")
    assert chat.started == datetime(2026, 1, 5, 10, tzinfo=UTC)
    assert (chat.message_count, chat.prompt_count, chat.branch_count, chat.agent_count) == (5, 2, 2, 0)
    assert chat.sessions == chat.leaves == (session_uuid("S1"),)
    assert chat.models == ("claude-sonnet-4-5-20250929",)
    assert chat.resume_command == ["claude", "--resume", session_uuid("S1")]
    with pytest.raises(FrozenInstanceError):
        chat.title = "another"  # type: ignore[misc]


def test_chats_can_be_asked_for_by_fields_and_limited(lib: backscroll.Library) -> None:
    assert [chat.title for chat in lib.chats("project:blog")] == ["write a post"]
    assert [chat.title for chat in lib.chats(limit=1)] == ["write a post"]
    assert [chat.title for chat in lib.chats(sort="oldest")] == ["The parser", "write a post"]
    assert list(lib.chats(limit=0)) == []
    assert not lib.chats("project:nowhere")


def test_messages_are_typed_and_have_their_calls(lib: backscroll.Library) -> None:
    chat = lib.chat(session_uuid("S1"))
    prompt, *messages = chat.messages(branch=2)
    assert prompt.text == "fix the parser"
    assert [message.text for message in messages] == ["", "done"]
    answer = messages[0]
    assert answer.kind == "answer"
    assert answer.when == datetime(2026, 1, 5, 10, 0, 1, tzinfo=UTC)
    assert answer.usage is not None
    assert answer.usage.output_tokens >= 0
    call = answer.calls[0]
    assert (call.name, call.input, call.state, call.result) == ("Read", {"file_path": "x.py"}, "done", "contents")
    assert [message.branch for message in chat.messages(branch=None)] == [1, 1, 1, 2, 2]


def test_branches_and_agents_can_be_read(tmp_path: Path) -> None:
    home = write_home(tmp_path / "claude", EVERYTHING)
    with backscroll.open(tmp_path / "library", home) as lib:
        chats = lib.chats()
        assert [len(chat.branches) for chat in chats] == [chat.branch_count for chat in chats]
        own = [[agent for agent in chat.agents if not agent.is_stub and not agent.is_side_copy] for chat in chats]
        assert [len(agents) for agents in own] == [chat.agent_count for chat in chats]
        agents = [agent for chat in chats for agent in chat.agents]
        assert len(agents) > 3
        assert all(message.agent == agent.id for agent in agents for message in agent.messages())
        assert any(message.text for agent in agents for message in agent.messages())


def test_markdown_is_what_the_command_shows(home: Path, lib: backscroll.Library, tmp_path: Path) -> None:
    for options in ({}, {"tools": "full", "thinking": True, "agents": True, "branch": None}):
        command = [sys.executable, "-m", "backscroll", "show", session_uuid("S1"), "--home", str(home)]
        command += ["--library", str(tmp_path / "library")]
        command += ["--tools", "full", "--thinking", "--agents", "--branch", "all"] if options else []
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert lib.chat(session_uuid("S1")).to_markdown(**options) == done.stdout  # type: ignore[arg-type]


# Searching


def test_results_are_passages_and_their_chats(lib: backscroll.Library) -> None:
    results = lib.search("parser OR post", hits=1)
    assert results.total_chats == len(results.chats) == 2
    assert results.total >= len(results) == 2
    assert (results.pending, results.is_complete) == (0, True)
    passages: list[backscroll.Passage] = list(results)
    assert [passage.chat.id for passage in passages] == [result.chat.id for result in results.chats]
    for result in results.chats:
        assert result.found >= len(result.passages) == 1
        assert result.passages[0] in passages
    assert [len(lib.search("parser OR post", limit=1, offset=offset).chats) for offset in (0, 1, 2)] == [1, 1, 0]


def test_a_passage_has_its_position(lib: backscroll.Library) -> None:
    passage = lib.search("contents")[0]
    assert (passage.kind, passage.tool, passage.message, passage.is_abandoned) == ("output", "Read", "c", True)
    assert passage.time == datetime(2026, 1, 5, 10, 0, 2, tzinfo=UTC)
    assert [passage.snippet[start:end] for start, end in passage.highlights] == ["contents"]
    assert passage.text() == "contents"
    assert passage.session == session_uuid("S1")


def test_all_of_a_long_passage_can_be_read(home: Path, tmp_path: Path) -> None:
    text = "before " * 400 + "needle" + " after" * 400
    write_home(home, {session_path("S3"): jsonl(draw(f"n <- - user: {text}", session="S3"))})
    with backscroll.open(tmp_path / "library", home) as lib:
        passage = next(passage for passage in lib.search("needle") if passage.kind == "prompt")
        assert "needle" in passage.snippet
        assert len(passage.snippet) < 400
        assert passage.text() == text


# Rows


def test_sql_gives_rows_and_says_when_it_is_cut(lib: backscroll.Library) -> None:
    rows = lib.sql("select title, messages from v_chats order by messages")
    assert rows.columns == ("title", "messages")
    assert list(rows) == [("write a post", 2), ("The parser", 5)]
    assert rows.to_dicts()[0] == {"title": "write a post", "messages": 2}
    assert not rows.is_cut
    assert lib.sql("select title from v_chats", limit=1).is_cut


def test_a_slice_is_such_a_sequence_too(lib: backscroll.Library) -> None:
    chats = lib.chats()
    assert isinstance(chats[:1], backscroll.Chats)
    assert list(chats[:1]) == [chats[0]]
    assert chats[0] in chats
    assert chats[::-1] != chats
    assert chats[:] == lib.chats()
    assert repr(chats) == "<Chat × 2>"


def test_dictionaries_have_the_attributes(lib: backscroll.Library) -> None:
    chat = lib.chats()[0]
    (first, _) = lib.chats().to_dicts()
    assert first == chat.to_dict()
    assert (first["id"], first["started"], first["models"]) == (chat.id, chat.started, list(chat.models))
    found = lib.search("contents").to_dicts()[0]
    assert (found["chat"], found["title"], found["highlights"]) == (session_uuid("S1"), "The parser", [[0, 8]])
    assert lib.search("contents").chats.to_dicts()[0]["found"] == 1
    calls = next(message for message in lib.chat("a").messages(2) if message.calls).to_dict()["calls"]
    assert calls[0]["name"] == "Read"


@pytest.mark.parametrize("name", ["arrow", "pandas"])
def test_data_frames_have_every_column_also_without_rows(lib: backscroll.Library, name: str) -> None:
    module = {"arrow": "pyarrow", "pandas": "pandas"}[name]
    sequences: list[backscroll.Chats | backscroll.Results | backscroll.Table] = [
        lib.chats(),
        lib.chats("project:nowhere"),
        lib.search("parser"),
        lib.search("aardvark"),
        lib.sql("select 1 as one, 'x' as one, null as two"),
    ]
    for sequence in sequences:
        if find_spec(module) is None:
            with pytest.raises(backscroll.BackscrollError, match=f"needs {module}") as error:
                getattr(sequence, f"to_{name}")()
            assert error.value.hint == f"pip install 'backscroll[{name}]'"
        else:
            frame = getattr(sequence, f"to_{name}")()
            names = frame.column_names if name == "arrow" else frame.columns
            assert tuple(names) == sequence.columns
            assert len(frame) == len(sequence)


def test_a_notebook_shows_nothing_that_is_not_escaped(tmp_path: Path) -> None:
    home = write_home(tmp_path / "claude", files_of(FIRST, SECOND, HOSTILE))
    with backscroll.open(tmp_path / "library", home) as lib:
        hostile = lib.chat(session_uuid("S3"))
        results = lib.search("script OR alert OR title", hits=10)
        assert len(results) > 2
        statement = "select '<script>' as \"<script>x</script>\", x'3c3e' as bytes, null as missing"
        shown = [
            part._repr_html_()
            for part in (lib.chats(), results, results.chats, hostile.branches, hostile.agents, lib.sql(statement))
        ]
    for html in shown:
        plain = html.replace("<mark>", "").replace("</mark>", "")
        for tag in ("table", "thead", "tbody", "tr", "p"):
            plain = plain.replace(f"<{tag}>", "").replace(f"</{tag}>", "")
        for tag in ("td", "th"):
            plain = plain.replace(f'<{tag} style="text-align: left; vertical-align: top">', "").replace(f"</{tag}>", "")
        assert not set("<>\"'\x1b\x07\u202e\ud800") & set(plain), plain
        html.encode()
    assert "&lt;script&gt;alert(4)&lt;/script&gt;" in shown[0]
    assert "<mark>script</mark>" in shown[1]


def test_a_notebook_shows_the_first_rows_and_how_many_more(lib: backscroll.Library) -> None:
    rows = lib.sql("with recursive n(x) as (select 1 union all select x + 1 from n where x < 1025) select x from n")
    html = rows._repr_html_()
    assert html.count("<tr>") == 21
    assert "1,005 more" in html
    assert "more" not in lib.chats()._repr_html_()
