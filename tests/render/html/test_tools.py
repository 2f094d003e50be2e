"""Every tool, as HTML."""

import json
from typing import Any

import pytest

from backscroll.conversation.agents import Agent
from backscroll.render.html.element import trusted
from backscroll.render.html.icons import DRAWINGS
from backscroll.render.html.messages import call_html
from backscroll.render.html.page_data import View
from backscroll.render.html.tools import ICONS, VIEWS
from tests.render.html.page_support import BAD, Addresses, Element, Nowhere, check, messages, page, shown, tool
from tests.support.cases import for_each
from tests.support.drawings import draw

Json = Any
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
PATCH = [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-old", "+new"]}]


def called(
    name: str, given: Json, result: Json = "ok", told: Json = None, kind: str = "result", **options: Json
) -> Element:
    """A call of a tool with its result, as it is shown."""
    return tool(drawing(name, given, result, told, kind), **options)


def drawing(name: str, given: Json, result: Json = "ok", told: Json = None, kind: str = "result") -> str:
    fields = json.dumps({"toolUseResult": told}) if told is not None else "{}"
    return f"""
    a <- - call(m1) t1 {name} {json.dumps(given)}
    b <- a {kind} t1: {json.dumps(result)} {fields}
    """


def is_open(section: Element) -> bool:
    return "open" in next(child for child in section.children if isinstance(child, Element)).attributes


def summary(section: Element) -> str:
    """The line of a call, without how long it took: a drawn call takes a second."""
    line = section.all("summary")[0]
    took = "".join(one.text for one in line.all(".tool-time"))
    return " ".join(line.text.removesuffix(took).split())


def test_a_call_says_what_it_is_and_can_be_linked_to() -> None:
    section = called("Read", {"file_path": "/home/ada/shop/src/x.py"}, "     1→a")
    assert section.attributes["id"] == "t-t1"
    assert section.attributes["data-tool"] == "Read"
    assert section.classes == {"tool", "done"}
    assert section.one(".tool-about").text == "src/x.py"
    assert section.one(".tool-about").attributes["title"] == "/home/ada/shop/src/x.py"


@pytest.mark.parametrize(
    ("rows", "state", "word"),
    [
        ("b <- a error t1: no", "error", "failed"),
        ("b <- a error t1: The user doesn't want to proceed with this tool use. Stop.", "denied", "denied"),
        ("b <- a user: [Request interrupted by user]", "interrupted", "interrupted"),
        ("", "missing", "no result"),
    ],
)
def test_how_a_call_ended_is_said_in_words(rows: str, state: str, word: str) -> None:
    section = tool(f'a <- - call(m1) t1 Read {{"file_path": "x"}}\n{rows}')
    assert state in section.classes
    assert section.one(".tool-state").text == word


def test_a_running_call_says_since_when() -> None:
    section = tool('a <- - call(m1) t1 Bash {"command": "sleep 9"}', is_live=True)
    assert section.one(".tool-state").text == "running"
    assert section.attributes["data-since"] == "2026-01-05T10:00:00.000Z"


def test_how_long_it_took_is_said() -> None:
    text = drawing("Bash", {"command": "make"}, "ok").replace(
        "    b <-", "    @ time=2026-01-05T10:01:30.000Z\n    b <-"
    )
    assert tool(text).one(".tool-time").text == "1m 30s"


def test_an_edit_is_a_diff_and_open_while_it_is_small() -> None:
    section = called(
        "Edit",
        {"file_path": "x.py", "old_string": "old", "new_string": "new"},
        "ok",
        {"filePath": "x.py", "structuredPatch": PATCH},
    )
    assert section.one(".tool-facts").text == "+1 −1"
    assert is_open(section)
    assert "new" in section.one(".diff").text
    long = [{"oldStart": 1, "lines": [f"+line {number}" for number in range(100)]}]
    assert not is_open(called("Edit", {"file_path": "x.py"}, "ok", {"structuredPatch": long}))


def test_an_edit_that_failed_shows_what_was_wanted_and_why_not() -> None:
    section = called(
        "Edit", {"file_path": "x.py", "old_string": "old", "new_string": "new"}, "String not found", kind="error"
    )
    assert is_open(section)
    assert "old" in section.one(".diff").text
    assert section.one(".tool-error").text == "String not found"


def test_several_edits_are_all_shown() -> None:
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d", "replace_all": True}]
    section = called("MultiEdit", {"file_path": "x.py", "edits": edits}, "ok")
    assert len(section.all(".diff")) == 2
    assert "all occurrences" in section.text


def test_a_new_file_is_code() -> None:
    section = called(
        "Write", {"file_path": "x.py", "content": "a = 1\nb = 2\n"}, "ok", {"type": "create", "structuredPatch": []}
    )
    assert section.one(".tool-facts").text == "new file, 2 lines"
    assert section.one("pre.code").text.splitlines() == ["a = 1", "b = 2"]


def test_a_cell_of_a_notebook_is_code_or_prose() -> None:
    given = {"notebook_path": "n.ipynb", "cell_id": "c3", "new_source": "x = 1"}
    assert called("NotebookEdit", given).one("pre.code").text == "x = 1"
    assert called("NotebookEdit", given | {"cell_type": "markdown", "new_source": "# Title"}).one("h3").text == "Title"


@pytest.mark.parametrize("numbered", ["    12→a\n    13→b", "    12\ta\n    13\tb"])
def test_what_was_read_has_its_line_numbers_but_not_those_of_the_client(numbered: str) -> None:
    section = called("Read", {"file_path": "x.py"}, f"{numbered}\n\n<system-reminder>\nbe good\n</system-reminder>\n")
    assert section.one("pre.code").text.split("\n") == ["a", "b"]
    assert section.all("span.line")[0].attributes["data-line"] == "12"
    assert section.one(".tool-facts").text == "lines 12–13"
    assert "be good" not in section.text


def test_a_picture_that_was_read_is_shown() -> None:
    section = called("Read", {"file_path": "x.png"}, [IMAGE])
    assert section.one("img").attributes["src"] == "/pictures/b/0"


def test_a_command_is_shown_with_what_it_wrote_errors_apart() -> None:
    told = {"stdout": "\x1b[31mred\x1b[0m", "stderr": "warned", "interrupted": False, "isImage": False}
    section = called("Bash", {"command": "make all", "description": "Build it"}, "red", told)
    assert summary(section) == "Bash Build it make all"
    assert section.one(".command").text == "make all"
    assert [one.text for one in section.all("pre.terminal")] == ["red", "warned"]
    assert section.one(".standard-error").text == "warned"
    assert not is_open(section)


def test_a_command_that_failed_is_open_and_says_its_exit_code() -> None:
    section = called("Bash", {"command": "make"}, "Exit code 2\nno rule", kind="error")
    assert is_open(section)
    assert section.one(".tool-facts").text == "exit code 2"
    assert section.one("pre.terminal").text == "no rule"


def test_a_command_that_was_not_run_because_another_failed_stays_folded() -> None:
    assert not is_open(called("Bash", {"command": "make"}, "Sibling tool call errored", kind="error"))


def test_of_a_line_that_was_written_over_only_the_last_state_is_shown() -> None:
    section = called("Bash", {"command": "x"}, "", {"stdout": "1%\r50%\r100%\ndone", "stderr": ""})
    assert section.one("pre.terminal").text == "100%\ndone"


def test_what_runs_in_the_background_says_its_name() -> None:
    assert "background as b1" in summary(
        called("Bash", {"command": "x"}, "", {"stdout": "", "stderr": "", "backgroundTaskId": "b1"})
    )
    task = {"task_id": "b1", "status": "failed", "description": "Rebase", "output": "out", "exitCode": 1}
    section = called("TaskOutput", {"task_id": "b1"}, "…", {"retrieval_status": "success", "task": task})
    assert summary(section) == "TaskOutput Rebase b1 failed, exit code 1"
    assert section.one("pre.terminal").text == "out"


def test_matches_are_grouped_by_file() -> None:
    found = "/home/ada/shop/a.py:3:def x():\n/home/ada/shop/a.py-4-    pass\n--\nb.py:9:x()"
    section = called("Grep", {"pattern": "x"}, found, {"mode": "content", "content": found, "numLines": 3})
    assert [one.text for one in section.all(".match-file")] == ["a.py", "b.py"]
    assert [one.text for one in section.all(".line-number")] == ["3", "4", "9"]
    assert "def x():" in section.text


def test_names_with_numbers_in_them_are_not_taken_for_lines() -> None:
    found = "2026-01-22-notes.md:5:text\n2026-01-22-notes.md-6-more x:12:y\n--\nC:\\a\\b.go:3:z"
    section = called("Grep", {"pattern": "x"}, found, {"mode": "content", "content": found})
    assert [one.text for one in section.all(".match-file")] == ["2026-01-22-notes.md", "C:\\a\\b.go"]
    assert [one.text for one in section.all(".line-number")] == ["5", "6", "3"]
    one_file = called("Grep", {"pattern": "x", "path": "/a/b.py"}, "12:def x\n13-a.b-4-c")
    assert [one.text for one in one_file.all(".line-number")] == ["12", "13"]
    assert one_file.one(".match-file").text == "/a/b.py"


def test_files_that_were_found_are_a_list() -> None:
    files = ["/home/ada/shop/a.py", "/home/ada/shop/b/c.py"]
    for name in ("Glob", "Grep"):
        section = called(name, {"pattern": "*.py"}, "\n".join(files), {"filenames": files, "numFiles": 2})
        assert [one.text for one in section.all("li")] == ["a.py", "b/c.py"]
        assert section.one(".tool-facts").text == "2 files"


def test_a_list_shows_what_changed_in_it() -> None:
    old = [{"content": "one", "status": "pending"}, {"content": "gone", "status": "pending"}]
    new = [
        {"content": "one", "status": "completed"},
        {"content": "two", "status": "in_progress", "activeForm": "Doing two"},
    ]
    section = called("TodoWrite", {"todos": new}, "ok", {"oldTodos": old, "newTodos": new})
    assert summary(section) == "TodoWrite Doing two 1 of 2 done"
    assert [one.text for one in section.all(".change")] == ["done now", "new", "removed from the list"]
    assert [one.classes for one in section.all("li")] == [{"completed"}, {"in_progress"}, {"deleted"}]


def test_tasks_are_a_list_too() -> None:
    made = called(
        "TaskCreate", {"subject": "Fix it", "description": "all"}, "ok", {"task": {"id": "1", "subject": "Fix it"}}
    )
    assert summary(made) == "TaskCreate Fix it #1"
    done = called(
        "TaskUpdate",
        {"taskId": "1", "status": "completed"},
        "ok",
        {"statusChange": {"from": "pending", "to": "completed"}},
    )
    assert summary(done) == "TaskUpdate #1 to do → done"


def test_an_agent_has_its_task_its_answer_and_a_link() -> None:
    given = {"description": "Look", "prompt": "Look *here*", "subagent_type": "Explore"}
    answer = [{"type": "text", "text": "Found **it**"}, {"type": "text", "text": "agentId: a1 (for resuming)"}]
    told = {"agentId": "a1", "totalToolUseCount": 2, "totalTokens": 60782, "totalDurationMs": 66172}
    section = called("Task", given, answer, told, view={"agents": {"t1": [Agent("a1", [])]}})
    assert summary(section) == "Task Look Explore · 2 calls · 60.8k tokens"
    assert "Found it" in section.text
    assert "for resuming" not in section.text
    assert section.one("details.agent-talk").attributes["data-src"] == "/agents/a1/messages"
    assert section.one("a.agent-page").attributes["href"] == "/agents/a1"
    assert not called("Task", given, answer, told).all(".agent-talk")  # its file is gone
    here = called("Task", given, answer, told, view={"inline": {"a1": trusted("<p>inside</p>")}, "links": Nowhere()})
    assert here.one(".agent-messages").text == "inside"
    assert "data-src" not in here.one("details.agent-talk").attributes


def test_a_search_lists_the_pages_that_it_found() -> None:
    pages = [{"title": "Docs", "url": "https://example.com/docs"}, {"title": "Bad", "url": "javascript:alert(1)"}]
    told = {"query": "q", "results": [{"tool_use_id": "s", "content": pages}, "So it is."], "durationSeconds": 2.0}
    section = called("WebSearch", {"query": "q"}, "text", told)
    assert [one.text.split()[0] for one in section.all("li")] == ["Docs", "Bad"]
    assert [one.attributes["href"] for one in section.one("ol").all("a")] == ["https://example.com/docs"]
    assert "So it is." in section.text
    older = called(
        "WebSearch", {"query": "q"}, f"Web search results for query: q\n\nLinks: {json.dumps(pages)}\n\nSo it is."
    )
    assert len(older.all("li")) == 2


def test_a_search_by_the_api_itself_is_shown_with_its_result() -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {
            "type": "web_search_tool_result",
            "tool_use_id": "s1",
            "content": [{"title": "Docs", "url": "https://x.org", "encrypted_content": "zz"}],
        },
    ]
    article = shown(f"a <- - assistant(m1): {json.dumps(blocks)}").one("article")
    assert "Docs" in article.one("section.tool").text
    assert "zz" not in article.text
    assert article.all(".odd") == []


def test_a_page_that_was_fetched() -> None:
    told = {"bytes": 2048, "code": 200, "codeText": "OK", "result": "It says *so*", "url": "https://x.org"}
    section = called("WebFetch", {"url": "https://x.org", "prompt": "what?"}, "…", told)
    assert summary(section) == "WebFetch https://x.org 200, 2.0 kB"
    assert "It says so" in section.text


def test_questions_mark_what_was_chosen() -> None:
    options = [{"label": "Yes", "description": "do it"}, {"label": "No", "description": "leave it"}]
    given = {"questions": [{"question": "Push?", "header": "Push", "options": options, "multiSelect": False}]}
    section = called("AskUserQuestion", given, "…", given | {"answers": {"Push?": "No"}})
    assert section.one("li.chosen").one(".option").text == "No"
    own = called("AskUserQuestion", given, "…", given | {"answers": {"Push?": "Later, please"}})
    assert own.one("li.chosen").one(".option").text == "Later, please"
    assert "in your own words" in own.text


def test_a_plan_is_prose_and_open() -> None:
    section = called("ExitPlanMode", {"plan": "# Plan\n\nDo it."}, "ok")
    assert section.one("h3").text == "Plan"
    assert is_open(section)
    assert section.one(".tool-facts").text == "accepted"


def test_what_the_user_said_instead_is_seen_at_every_level() -> None:
    said = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "To tell you how to proceed, the user said:\nuse the other file"
    )
    article = shown(drawing("Write", {"file_path": "x", "content": "y"}, said, kind="error")).one("article")
    words = article.one("div.said")
    assert words.one(".typed-text").text == "use the other file"
    assert words.attributes["data-detail"] == "talk"
    assert article.attributes["data-detail"] == "talk"


def test_unknown_tools_show_their_input_and_result() -> None:
    given = {"title": "Bug", "labels": ["a", "b"], "deep": {"x": 1}, "urgent": True}
    section = called("mcp__linear-server__create_issue", given, [{"type": "text", "text": '{"id":7}'}, IMAGE])
    assert summary(section) == "create_issue linear-server Bug"
    assert [one.text for one in section.all("dt")] == ["title", "labels", "deep", "urgent"]
    assert section.all("dd")[1].text == "a, b"
    assert '"id": 7' in section.text
    assert section.one("img").attributes["src"] == "/pictures/b/0"


def test_a_long_output_is_cut_and_leads_to_all_of_it() -> None:
    text = "\n".join(f"line {number}" for number in range(300))
    given = ("Bash", {"command": "x"}, text, {"stdout": text, "stderr": ""})
    section = called(*given)
    more = section.one("a.more")
    assert more.text == "Show all 300 lines"
    assert more.attributes["href"] == more.attributes["data-fill"] == "/whole/t1"
    assert "line 39" in section.text
    assert "line 40" not in section.text
    assert "line 299" in called(*given, view={"whole": True}).text
    assert "300 lines; the rest is not shown" in called(*given, view={"links": Nowhere()}).text


def test_a_call_by_itself_is_whole_and_unfolded() -> None:
    text = "\n".join(f"line {number}" for number in range(300))
    (message,) = messages(draw(drawing("Bash", {"command": "x"}, text)))
    section = page(call_html(message.calls["t1"], message, View(Addresses(), whole=True))).one("section.tool")
    assert is_open(section)
    assert "line 299" in section.text


TOOLS = [*VIEWS, "mcp__a__b", "Unheard"]
WORDS = {
    "file_path": "x", "notebook_path": "x", "path": "x", "pattern": "x", "command": "x", "description": "x", "url": "x",
    "query": "x", "prompt": "x", "old_string": "x", "new_string": "x", "new_source": "x", "content": "x", "plan": "x",
    "subject": "x", "taskId": "x", "task_id": "x", "skill": "x", "args": "x", "subagent_type": "x", "cell_id": "x",
    "todos": [{"content": "x", "status": "x", "activeForm": "x"}],
    "questions": [{"question": "x", "header": "x", "options": [{"label": "x", "description": "x"}]}],
}  # fmt: skip
TOLD = {
    "filePath": "x", "stdout": "x", "stderr": "x", "content": "x", "filenames": ["x"], "structuredPatch": PATCH,
    "file": {"content": "x", "filePath": "x"}, "agentId": "x", "status": "x", "task": {"id": "x", "output": "x"},
    "oldTodos": [{"content": "y", "status": "x"}], "newTodos": [{"content": "x", "status": "x"}], "answers": {"x": "x"},
    "results": [{"content": [{"title": "x", "url": "x"}]}, "x"], "result": "x", "backgroundTaskId": "x", "message": "x",
    "statusChange": {"from": "x", "to": "x"}, "returnCodeInterpretation": "x", "tasks": [{"id": "x", "subject": "x"}],
}  # fmt: skip


def spoiled(value: Json, bad: Json) -> Json:
    if isinstance(value, dict):
        return {key: spoiled(item, bad) for key, item in value.items()}
    if isinstance(value, list):
        return [spoiled(item, bad) for item in value]
    return bad


@pytest.mark.parametrize("name", TOOLS)
@pytest.mark.parametrize("kind", ["result", "error"])
def test_nothing_in_a_call_can_break_out(name: str, kind: str) -> None:
    rows = draw(drawing(name, spoiled(WORDS, BAD), BAD, spoiled(TOLD, BAD), kind))
    rows[0]["message"]["model"] = rows[0]["version"] = rows[0]["cwd"] = BAD
    rows[0]["message"]["content"][0]["id"] = rows[1]["message"]["content"][0]["tool_use_id"] = BAD
    check(rows, "section.tool")


ODD: tuple[Json, ...] = (None, 7, -1, 1e308, True, [], {}, [[]], [None], {"a": None}, "", "x" * 20_000, "\n" * 500)


@pytest.mark.parametrize("name", TOOLS)
def test_a_call_is_shown_for_any_field_value(name: str) -> None:
    def check_call(bad: Json) -> None:
        for given, told in (
            (spoiled(WORDS, bad), spoiled(TOLD, bad)),
            (dict.fromkeys(WORDS, bad), dict.fromkeys(TOLD, bad)),
            (bad, bad),
        ):
            rows = draw(drawing(name, {}, "x", {}))
            rows[0]["message"]["content"][0]["input"] = given
            rows[1]["toolUseResult"] = told
            check(rows, "section.tool")

    for_each(ODD, check_call)


def test_every_tool_with_a_view_has_a_drawing() -> None:
    assert set(VIEWS) <= set(ICONS)
    assert set(ICONS.values()) <= set(DRAWINGS)
