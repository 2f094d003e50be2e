"""What a drawing means: the rows are checked against what real files hold."""

import json
from typing import Any
from uuid import UUID

import pytest

from tests.support.drawings import OUTSIDE_ROWS, Row, draw, jsonl, line, session_uuid

REWIND = """
# A prompt, taken back.
a <- - user: fix the parser

b <- a assistant: done
c <- a user: no, undo that
d <- c assistant: undone
"""

PARALLEL = """
a <- - user: look at both
b <- a thinking(m1): two files
c <- b call(m1) t1 Read {"file_path": "x.py"}
d <- c call(m1) t2 Bash {"command": "cat y.py"}
e <- d result t2: y
f <- c result t1: x
g <- f assistant(m2): seen
"""


def row(drawing: str, **defaults: str) -> Row:
    """Return the last row of a drawing."""
    return draw(drawing, **defaults)[-1]


def check_error(drawing: str, *said: str) -> None:
    with pytest.raises(ValueError) as caught:
        draw(drawing)
    for words in said:
        assert words in str(caught.value)


def test_a_row_has_the_whole_envelope() -> None:
    assert row("a <- - user: fix the parser") == {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/ada/shop",
        "sessionId": session_uuid("S1"),
        "version": "2.1.42",
        "gitBranch": "main",
        "slug": "brave-drawing-heron",
        "type": "user",
        "message": {"role": "user", "content": "fix the parser"},
        "uuid": "a",
        "timestamp": "2026-01-05T10:00:00.000Z",
    }


def test_ids_and_parents_are_written_as_drawn() -> None:
    links = [(drawn["uuid"], drawn["parentUuid"]) for drawn in draw(REWIND)]
    assert links == [("a", None), ("b", "a"), ("c", "a"), ("d", "c")]


def test_every_row_is_one_second_after_the_one_before() -> None:
    assert [drawn["timestamp"][14:] for drawn in draw(REWIND)] == [
        "00:00.000Z",
        "00:01.000Z",
        "00:02.000Z",
        "00:03.000Z",
    ]


def test_a_row_without_a_timestamp_takes_its_second_too() -> None:
    assert row("tag: x\nraw {}\na <- - user: hi")["timestamp"] == "2026-01-05T10:00:02.000Z"


def test_the_clock_can_be_set_anywhere() -> None:
    moved = row("a <- - user: hi\n@ time=2025-07-01T12:00+02:00\nb <- a assistant: hello")
    assert moved["timestamp"] == "2025-07-01T10:00:00.000Z"
    assert row("a <- - user: hi", time="2025-07-01")["timestamp"] == "2025-07-01T00:00:00.000Z"


def test_the_rows_of_one_message_share_its_id_and_each_holds_one_block() -> None:
    _, thinking, read, bash, *_ = draw(PARALLEL)
    assert [drawn["message"]["id"] for drawn in (thinking, read, bash)] == ["m1"] * 3
    assert [drawn["requestId"] for drawn in (thinking, read, bash)] == ["req_m1"] * 3
    assert [drawn["message"]["content"][0]["type"] for drawn in (thinking, read, bash)] == [
        "thinking",
        "tool_use",
        "tool_use",
    ]
    assert {len(drawn["message"]["content"]) for drawn in (thinking, read, bash)} == {1}


def test_a_reply_without_a_message_name_is_a_message_of_its_own() -> None:
    assert [drawn["message"]["id"] for drawn in draw(REWIND) if drawn["type"] == "assistant"] == ["msg_b", "msg_d"]


def test_only_the_last_row_of_a_message_says_why_it_stopped() -> None:
    reasons = [drawn["message"]["stop_reason"] for drawn in draw(PARALLEL) if drawn["type"] == "assistant"]
    assert reasons == [None, None, "tool_use", "end_turn"]


def test_a_stop_reason_that_is_drawn_stays() -> None:
    first, _ = draw("""
        b <- a assistant(m1): one {"message": {"stop_reason": "max_tokens"}}
        c <- b assistant(m1): two
    """)
    assert first["message"]["stop_reason"] == "max_tokens"


def test_a_call_and_its_result_pair_by_tool_id() -> None:
    calls = {block["id"]: block for drawn in draw(PARALLEL) for block in blocks(drawn) if block["type"] == "tool_use"}
    results = [block for drawn in draw(PARALLEL) for block in blocks(drawn) if block["type"] == "tool_result"]
    assert calls["t1"] == {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "x.py"}}
    assert [result["tool_use_id"] for result in results] == ["t2", "t1"]


def blocks(drawn: Row) -> list[Row]:
    content: str | list[Row] = drawn["message"]["content"]
    return [] if isinstance(content, str) else content


def test_a_result_names_the_row_that_called_and_bash_has_its_streams() -> None:
    drawn = next(drawn for drawn in draw(PARALLEL) if drawn["uuid"] == "e")
    assert drawn["sourceToolAssistantUUID"] == "d"
    assert drawn["toolUseResult"] == {"stdout": "y", "stderr": "", "interrupted": False, "isImage": False}
    assert drawn["message"]["content"][0]["is_error"] is False


def test_an_error_is_marked_and_its_structured_result_is_a_string() -> None:
    drawn = row("d <- c error t1: File does not exist")
    assert drawn["message"]["content"][0]["is_error"] is True
    assert drawn["toolUseResult"] == "Error: File does not exist"


def test_a_structured_result_that_is_drawn_replaces_the_usual_one() -> None:
    call = 'b <- a call t1 Bash {"command": "ls"} {"requestId": "r"}\n'
    assert draw(call)[0]["requestId"] == "r"
    assert row(call + 'c <- b result t1: x {"toolUseResult": {"stdout": "x"}}')["toolUseResult"] == {"stdout": "x"}
    assert row(call + 'c <- b result t1: x {"toolUseResult": [1]}')["toolUseResult"] == [1]


def test_meta_rows_and_compact_summaries_are_marked_prompts() -> None:
    assert row("a <- - meta: Caveat")["isMeta"] is True
    assert row("a <- - compact-summary: Before")["isCompactSummary"] is True
    assert row("a <- - compact-summary: Before")["message"]["content"] == "Before"


def test_a_compaction_has_no_parent_but_a_logical_one() -> None:
    drawn = row('s <- - compact(logical=b) manual {"compactMetadata": {"postTokens": 9}}')
    assert (drawn["parentUuid"], drawn["logicalParentUuid"]) == (None, "b")
    assert (drawn["type"], drawn["subtype"]) == ("system", "compact_boundary")
    assert drawn["compactMetadata"] == {"trigger": "manual", "preTokens": 150000, "postTokens": 9}
    assert "logicalParentUuid" not in row("s <- - compact")


def test_system_rows_take_text_and_fields() -> None:
    drawn = row('s <- b system turn_duration {"durationMs": 5}')
    assert (drawn["subtype"], drawn["durationMs"], "content" in drawn) == ("turn_duration", 5, False)
    assert row("s <- b system local_command: /model")["content"] == "/model"


def test_a_prompt_typed_mid_turn_is_an_attachment() -> None:
    queued = {"type": "queued_command", "prompt": "and the tests", "commandMode": "prompt"}
    assert row("q <- b attachment queued_command: and the tests")["attachment"] == queued
    assert row("q <- b attachment skill_listing: commit")["attachment"] == {
        "type": "skill_listing",
        "content": "commit",
    }


def test_progress_names_the_call_it_belongs_to() -> None:
    drawn = row("p <- c progress bash_progress t1: half")
    assert drawn["data"] == {"type": "bash_progress", "output": "half"}
    assert (drawn["parentToolUseID"], drawn["toolUseID"]) == ("t1", "progress-p")


S1 = session_uuid("S1")
NOW = "2026-01-05T10:00:00.000Z"


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        ("summary b: A title", {"summary": "A title", "leafUuid": "b"}),
        ("custom-title: T", {"customTitle": "T", "sessionId": S1}),
        ("ai-title: T", {"aiTitle": "T", "sessionId": S1}),
        ("tag: x", {"tag": "x", "sessionId": S1}),
        ("agent-name: x", {"agentName": "x", "sessionId": S1}),
        ("agent-color: red", {"agentColor": "red", "sessionId": S1}),
        ("agent-setting: x", {"agentSetting": "x", "sessionId": S1}),
        ("mode: plan", {"mode": "plan", "sessionId": S1}),
        ("permission-mode: default", {"permissionMode": "default", "sessionId": S1}),
        ("relocated: /home/ada/store", {"relocatedCwd": "/home/ada/store", "sessionId": S1}),
        ("last-prompt d", {"leafUuid": "d", "sessionId": S1}),
        ("last-prompt d: hi", {"leafUuid": "d", "lastPrompt": "hi", "sessionId": S1}),
        ('last-prompt - {"explicit": true}', {"leafUuid": None, "explicit": True, "sessionId": S1}),
        ("continued-in S2", {"continuedInSessionId": session_uuid("S2"), "sessionId": S1}),
        ("queue-operation enqueue: hi", {"operation": "enqueue", "content": "hi", "timestamp": NOW, "sessionId": S1}),
        ("queue-operation dequeue", {"operation": "dequeue", "timestamp": NOW, "sessionId": S1}),
        ("content-replacement t1: x", {"replacements": [{"toolUseId": "t1", "replacement": "x"}], "sessionId": S1}),
        ('cost-state {"totalCostUSD": 1.5}', {"totalCostUSD": 1.5, "sessionId": S1}),
        ("ended-by-model {}", {"sessionId": S1}),
        (
            "pr-link 12 https://github.com/ada/shop/pull/12",
            {
                "prNumber": 12,
                "prUrl": "https://github.com/ada/shop/pull/12",
                "prRepository": "ada/shop",
                "timestamp": NOW,
                "sessionId": S1,
            },
        ),
        (
            "file-history-snapshot m",
            {
                "messageId": "m",
                "snapshot": {"messageId": "m", "trackedFileBackups": {}, "timestamp": NOW},
                "isSnapshotUpdate": False,
            },
        ),
    ],
)
def test_a_row_outside_the_chain_has_these_fields(drawing: str, expected: Row) -> None:
    assert row(drawing) == {"type": drawing.split()[0].rstrip(":")} | expected


def test_every_row_type_of_the_table_can_be_drawn() -> None:
    for shape in OUTSIDE_ROWS.split("\n")[1:-1]:
        name, *words = shape.partition(":")[0].split()
        assert row(" ".join([name, *("1" for _ in words)]))["type"] == name


def test_a_raw_row_is_exactly_what_is_drawn() -> None:
    assert row('raw {"type": "hologram", "x": null}') == {"type": "hologram", "x": None}


def test_text_that_is_a_json_string_means_its_value() -> None:
    assert row(r'a <- - user: "two\nlines"')["message"]["content"] == "two\nlines"


def test_text_that_is_an_array_of_objects_is_content_blocks() -> None:
    image = {"type": "image", "source": {"type": "base64"}}
    assert row(f"a <- - user: [{json.dumps(image)}]")["message"]["content"] == [image]
    assert row(f"a <- - assistant: [{json.dumps(image)}]")["message"]["content"] == [image]
    assert row("a <- - user: [Request interrupted by user]")["message"]["content"] == "[Request interrupted by user]"


def test_text_may_hold_colons_and_braces() -> None:
    assert row("a <- - user: see https://x.y: {odd}")["message"]["content"] == "see https://x.y: {odd}"


def test_text_that_ends_with_an_object_is_closed_with_an_empty_one() -> None:
    assert row('a <- - user: what is {"a": 1} {}')["message"]["content"] == 'what is {"a": 1}'


def test_fields_are_merged_into_the_row_and_null_is_null() -> None:
    drawn = row('b <- a assistant: hi {"message": {"usage": {"output_tokens": 9}}, "cwd": null}')
    assert (drawn["message"]["usage"]["output_tokens"], drawn["message"]["usage"]["input_tokens"]) == (9, 10)
    assert drawn["cwd"] is None


def test_a_word_with_a_minus_leaves_a_field_out() -> None:
    drawn = row("b <- a assistant(m1) -timestamp -requestId -message.usage: hi")
    assert drawn.keys().isdisjoint({"timestamp", "requestId"})
    assert "usage" not in drawn["message"]


def test_defaults_hold_for_the_rows_below_them() -> None:
    first, second = draw("""
        a <- - user: hi
        @ session=S2 cwd="/home/ada/my shop" branch=fix model=<synthetic> {"entrypoint": "cli", "o": {}}
        b <- a assistant: hello {"o": {"k": 1}}
    """)
    assert (first["sessionId"], first["cwd"], "entrypoint" in first) == (S1, "/home/ada/shop", False)
    assert (second["sessionId"], second["cwd"]) == (session_uuid("S2"), "/home/ada/my shop")
    assert (second["gitBranch"], second["message"]["model"], second["entrypoint"]) == ("fix", "<synthetic>", "cli")


def test_fields_of_one_row_do_not_reach_the_next() -> None:
    assert row('@ {"o": {}}\na <- - user: x {"o": {"k": 1}}\nb <- a user: y')["o"] == {}
    assert "o" not in row('@ {"o": {}}\n@ {}\na <- - user: x')
    assert "o" in row('@ {"o": {}}\n@ branch=x\na <- - user: x')


def test_an_agent_s_rows_are_a_sidechain_until_the_agent_is_emptied() -> None:
    inside, outside = draw("@ agent=a1\nx <- - user: look\n@ agent=\na <- - user: hi")
    assert (inside["isSidechain"], inside["agentId"]) == (True, "a1")
    assert (outside["isSidechain"], "agentId" in outside) == (False, False)


def test_a_forked_row_names_the_row_it_copies() -> None:
    origin = {"sessionId": session_uuid("S0"), "messageUuid": "a"}
    assert row("@ forked=S0\na <- - user: hi")["forkedFrom"] == origin


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("1.0.17", {"gitBranch", "slug", "agentId", "sourceToolAssistantUUID", "cache_creation", "inference_geo"}),
        ("1.0.119", {"slug", "agentId", "sourceToolAssistantUUID", "inference_geo"}),
        ("2.0.28", {"slug", "sourceToolAssistantUUID", "inference_geo"}),
        ("2.0.71", {"sourceToolAssistantUUID", "inference_geo"}),
        ("2.1.4", {"inference_geo"}),
        ("2.1.325-dev.1", set()),
    ],
)
def test_a_version_leaves_out_what_it_did_not_write_yet(version: str, missing: set[str]) -> None:
    result, reply = draw("c <- b result t1: x\nb <- a assistant: hi", version=version, agent="a1")
    absent = {"gitBranch", "slug", "agentId", "sourceToolAssistantUUID"} - result.keys()
    assert absent | ({"cache_creation", "inference_geo"} - reply["message"]["usage"].keys()) == missing


def test_a_session_name_is_the_same_uuid_every_time_and_a_uuid_stays() -> None:
    assert session_uuid("S1") == session_uuid("S1") != session_uuid("S2")
    assert str(UUID(session_uuid("S1"))) == session_uuid("S1")
    assert session_uuid(session_uuid("S1")) == session_uuid("S1")


def test_lines_are_compact_utf8_and_each_ends_with_a_newline() -> None:
    assert jsonl(draw('raw {"a": "ü\u2028", "b": [1, 2]}\nraw {}')) == '{"a":"ü\u2028","b":[1,2]}\n{}\n'.encode()


def test_a_lone_surrogate_is_written_as_an_escape() -> None:
    assert line({"a": "\ud83e"}) == b'{"a":"\\ud83e"}'


def test_bytes_among_the_rows_are_written_as_they_are() -> None:
    assert jsonl([line({"a": 1}), {"b": 2}, b"\x00\xff{"]) == b'{"a":1}{"b":2}\n\x00\xff{'


def test_two_drawings_of_the_same_text_are_equal_bytes() -> None:
    assert jsonl(draw(PARALLEL)) == jsonl(draw(PARALLEL))


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("what is this", "no row outside the chain is called what"),
        ("???", "neither"),
        ("b <- a robot: hi", "no chain row is called robot"),
        ("raw", "no row outside the chain is called raw"),
        ("robot: hi", "no row outside the chain is called robot"),
        ("b <- a call t1 Read", "needs its {INPUT}"),
        ('b <- a call t1 {"file_path": "x"}', "call takes TOOL_ID TOOL_NAME, not t1"),
        ("b <- a result: x", "result takes TOOL_ID, not none"),
        ("b <- a user t1: x", "user takes no words, not t1"),
        ('b <- a user: x {"isMeta": tru}', "no JSON"),
        ("b <- a user -costUSD: x", "there is no costUSD to leave out"),
        ("b <- a user -message.content.x: x", "there is no message.content.x"),
        ("@ colour=red", "no default is called colour"),
        ("@ agent", "'agent' is not KEY=VALUE"),
        ("@ version=two", "'two' is no version"),
        ("@ time=noon", "noon"),
        ("pr-link twelve https://x.y", "twelve"),
        ('raw {"a": 1} {"b": 2}', "text needs a colon"),
    ],
)
def test_a_bad_line_is_named_and_quoted(bad: str, said: str) -> None:
    check_error(f"a <- - user: hi\n\n  {bad}", "line 3: ", said, bad)


def test_an_unknown_default_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        draw("", colour="red")


def test_rows_survive_being_written_and_read() -> None:
    rows: list[Any] = [json.loads(written) for written in jsonl(draw(PARALLEL)).splitlines()]
    assert rows == draw(PARALLEL)
