"""Every kind of message, as HTML."""

import json
from pathlib import Path
from typing import Any

import pytest

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import OtherText, messages_of, results_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.conversation.tree import walk
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import TRANSCRIPTS
from backscroll.records.decode import decode_all
from backscroll.records.record import Record
from backscroll.render.html.messages import message_html, messages_html
from backscroll.render.html.page_data import Fork, View
from tests.render.html.page_support import BAD, Addresses, Element, Nowhere, check, messages, page, shown
from tests.support.drawings import draw
from tests.support.samples import TRY_ALL, some

TALK = """
a <- - user: fix the parser
b <- a thinking(m1): where is it?
c <- b assistant(m1): "I **look** at it."
d <- c call(m1) t1 Read {"file_path": "x.py"}
e <- d result t1: nothing
f <- e call(m2) t2 Read {"file_path": "y.py"}
g <- f result t2: nothing
h <- g assistant(m3): done
"""
WRAPPINGS = [
    "*",
    "```*\n*\n```",
    "# *\n\n## *\n\n*",
    "<command-name>*</command-name><command-args>*</command-args>",
    "<bash-input>*</bash-input>",
    "<bash-stdout>*</bash-stdout><bash-stderr>*</bash-stderr>",
    "<local-command-stdout>*</local-command-stdout>",
    "<task-notification><summary>*</summary><status>*</status><result>*</result></task-notification>",
    '<teammate-message teammate_id="*">*</teammate-message>',
    "[Request interrupted*]",
    "Stop hook feedback: *",
]
"""How the client writes things into a text; the star stands for what came from elsewhere."""
MAX_READ = 40
"""How many messages of a real chat are read again; reading takes longer than writing."""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQAAAAA3bvkkAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


def articles(drawing: str, **options: Any) -> list[Element]:  # noqa: ANN401 - what `shown` takes
    return shown(drawing, **options).all("article")


def only(drawing: str, **options: Any) -> Element:  # noqa: ANN401
    return shown(drawing, **options).one("article")


def test_a_message_can_be_linked_to_and_says_what_it_is() -> None:
    prompt, first, *_ = articles(TALK)
    assert prompt.attributes["id"] == "m-a"
    assert prompt.attributes["data-kind"] == "prompt"
    assert prompt.attributes["data-time"] == "2026-01-05T10:00:00.000Z"
    assert prompt.one(".who").text == "You"
    assert prompt.one("time").attributes["datetime"] == "2026-01-05T10:00:00.000Z"
    assert first.attributes["id"] == "m-b"
    assert first.one(".who").text == "Claude"


def test_each_detail_level_begins_where_it_says() -> None:
    prompt, first, second, third = articles(TALK)
    assert [one.attributes["data-detail"] for one in (prompt, first, second, third)] == [
        "talk",
        "talk",
        "normal",
        "talk",
    ]
    assert first.one("details.thinking").attributes["data-detail"] == "normal"
    assert first.one(".text").attributes["data-detail"] == "talk"
    assert first.one("section.tool").attributes["data-detail"] == "normal"


def test_consecutive_answers_are_one_run() -> None:
    runs = ["continued" in one.classes for one in articles(TALK)]
    assert runs == [False, False, True, True]


def test_the_model_and_the_version_are_said_where_they_change() -> None:
    drawing = """
    a <- - user: one
    b <- a assistant: first
    @ model=claude-opus-4-6
    c <- b user: two
    d <- c assistant: second
    e <- d assistant: third
    @ version=2.1.50
    f <- e user: four
    g <- f assistant: last
    """
    found = shown(drawing)
    assert [one.text for one in found.all(".model")] == ["sonnet-4-5", "opus-4-6"]
    assert [one.text for one in found.all(".version")] == ["Claude Code 2.1.50"]


def test_tokens_and_cost_are_said_and_explained() -> None:
    usage = {
        "input_tokens": 3,
        "cache_read_input_tokens": 40_000,
        "cache_creation_input_tokens": 500,
        "output_tokens": 7,
    }
    drawing = f"a <- - assistant(m1): hi {json.dumps({'message': {'usage': usage}})}"
    spent = only(drawing, view={"costs": {"m1": 20_000_000}}).one(".spent")
    assert spent.text == "40.5k in · 7 out · $0.02"
    assert "3 input, 40,000 read from the cache, 500 written to the cache, 7 output" in (
        spent.attributes["title"] or ""
    )
    assert only(drawing, view={"costs": {"m1": None}}).one(".spent").text.endswith("unknown price")
    assert only(drawing).one(".spent").text == "40.5k in · 7 out"


def test_a_prompt_stays_as_it_was_typed() -> None:
    body = only('a <- - user: "* one\\n* two <b>\\n\\n```python\\nx = 1\\n```\\nthree"').one(".message-body")
    assert [one.text for one in body.all(".typed-text")] == ["* one\n* two <b>", "three"]
    assert body.one("pre.code").text == "x = 1"


def test_a_fence_that_is_never_closed_is_only_text() -> None:
    assert only('a <- - user: "one\\n```\\ntwo"').one(".typed-text").text == "one\n```\ntwo"


def test_a_long_prompt_is_folded_but_all_there() -> None:
    text = "\n".join(f"line {number}" for number in range(200))
    prompt = only(f"a <- - user: {json.dumps(text)}")
    assert prompt.one("summary").text == "160 more lines"
    assert [prompt.text.count(f"line {number}\n") + prompt.text.count("line 199") for number in (5, 150)] == [2, 2]
    assert only(f"a <- - user: {json.dumps(text)}", view={"whole": True}).all("summary") == []


def test_pasted_pictures_are_shown_where_they_lead_somewhere() -> None:
    drawing = f"a <- - user: {json.dumps([{'type': 'text', 'text': 'see'}, IMAGE, IMAGE])}"
    assert [one.attributes["src"] for one in only(drawing).all("img")] == ["/pictures/a/0", "/pictures/a/1"]
    exported = only(drawing, view={"links": Nowhere()})
    assert exported.all("img") == []
    assert "image/png, not shown here" in exported.text


def test_a_picture_elsewhere_is_never_fetched() -> None:
    away = {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}}
    assert only(f"a <- - user: {json.dumps([away])}").all("img") == []


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ('a <- - user: "<command-name>/review</command-name><command-args>12</command-args>"', "command", "/review 12"),
        ('a <- - user: "<bash-input>ls -l</bash-input>"', "shell", "ls -l"),
        ('a <- - user: "<bash-stdout>total 0</bash-stdout>"', "shell-output", "total 0"),
        ('a <- - user: "<local-command-stdout>set to opus</local-command-stdout>"', "command-output", "set to opus"),
        ('a <- - user: "[Request interrupted by user]"', "interruption", "Interrupted by the user"),
        ("a <- - attachment queued_command: and the tests", "queued", "and the tests"),
        ("a <- - compact-summary: what was said", "compact-summary", "Summary of the conversation so far"),
        ("a <- - meta: be careful", "meta", "be careful"),
        ('a <- - system turn_duration {"durationMs": 61000}', "note", "Turn duration: 1m"),
        ("a <- - system informational: something", "note", "something"),
        ("a <- - attachment nested_memory: remember", "attachment", "remember"),
        ("a <- - attachment hook_blocking_error: stop it", "hook", "stop it"),
        ('raw {"type": "strange", "uuid": "a", "parentUuid": null, "odd": [1]}', "unknown", "strange"),
    ],
)
def test_every_kind_is_shown_as_what_it_is(line: str, kind: str, words: str) -> None:
    found = only(line)
    assert found.attributes["data-kind"] == kind
    assert kind in found.classes
    assert words in found.text


def test_there_is_something_for_every_kind() -> None:
    message = messages(draw("a <- - user: hi"))[0]
    for kind in RowKind:
        message.kind = kind
        assert "hi" in page(message_html(message, View(Addresses()))).text or kind in (
            RowKind.INTERRUPTION,
            RowKind.ANSWER,
        )


def test_a_compaction_says_what_it_took_out() -> None:
    metadata = {
        "compactMetadata": {"trigger": "auto", "preTokens": 168483, "postTokens": 20000, "messagesSummarized": 9}
    }
    divider = only(f"a <- - compact(logical=x) auto {json.dumps(metadata)}")
    assert divider.one(".aside-line").text == "Compacted · automatic · 168,483 → 20,000 tokens · 9 messages summarised"
    assert divider.attributes["data-detail"] == "normal"


def test_an_error_of_the_api_is_one_line_with_the_rest_folded() -> None:
    fields = {"error": {"cause": {"code": "ECONNRESET"}}, "retryAttempt": 2, "maxRetries": 10, "retryInMs": 1000}
    error = only(f"a <- - system api_error {json.dumps(fields)}")
    assert error.one("summary").text == "API error · ECONNRESET · attempt 2 of 10 · retry after 1.0s"
    assert "ECONNRESET" in error.one(".aside-body").text


def test_retries_in_a_row_are_one_line_that_opens_to_each_of_them() -> None:
    rows, before = ["z <- - user: hello"], "z"
    for number, code in enumerate(["ECONNRESET", "ECONNRESET", "ETIMEDOUT"], 1):
        fields = {"error": {"cause": {"code": code}}, "retryAttempt": number, "maxRetries": 10, "retryInMs": 1000}
        rows.append(f"e{number} <- {before} system api_error {json.dumps(fields)}")
        before = f"e{number}"
    rows.append(f"f <- {before} assistant(m1): hello")
    found = shown("\n".join(rows))
    (errors,) = found.all(".api-error")
    assert errors.one("summary").text == "API error · 3 attempts · ECONNRESET · ETIMEDOUT"
    assert [item.text for item in errors.all("li")] == [
        "ECONNRESET · attempt 1 of 10 · retry after 1.0s · raw",
        "ECONNRESET · attempt 2 of 10 · retry after 1.0s · raw",
        "ETIMEDOUT · attempt 3 of 10 · retry after 1.0s · raw",
    ]
    assert [message.attributes["id"] for message in found.all("article")] == ["m-z", "m-e1", "m-f"]


def test_hooks_are_quiet_unless_they_hold_the_model_back() -> None:
    ran = {"hookCount": 1, "hookInfos": [{"command": "notify"}], "hookErrors": []}
    assert only(f"a <- - system stop_hook_summary {json.dumps(ran)}").attributes["data-detail"] == "everything"
    held = ran | {"preventedContinuation": True}
    assert only(f"a <- - system stop_hook_summary {json.dumps(held)}").attributes["data-detail"] == "normal"


def test_a_notification_says_its_summary_and_folds_the_rest() -> None:
    fields = "<task-id>b1</task-id><status>completed</status><summary>Tests ran</summary>"
    text = f"<task-notification>{fields}</task-notification>"
    found = only(f"a <- - user: {json.dumps(text)}")
    assert "Notification Tests ran · completed" in found.text
    assert "task-id" not in found.text


def test_thinking_that_was_not_written_down_is_only_shown_with_everything() -> None:
    found = only('a <- - thinking(m1): ""')
    assert found.attributes["data-detail"] == "everything"
    assert found.one("p.thinking").attributes["data-detail"] == "everything"


@pytest.mark.parametrize(
    ("reason", "said"), [("max_tokens", "maximum length"), ("refusal", "refused"), ("odd", "stopped: odd")]
)
def test_an_answer_that_did_not_end_by_itself_says_so(reason: str, said: str) -> None:
    found = only(f"a <- - assistant(m1): hi {json.dumps({'message': {'stop_reason': reason}})}")
    assert said in found.one("p.aside").text
    assert not only("a <- - assistant(m1): hi").all("p.aside")


def test_unknown_blocks_are_shown_as_they_are() -> None:
    found = only(f"a <- - assistant(m1): {json.dumps([{'type': 'hologram', 'beam': 'blue'}])}")
    assert found.one("summary").text == "Unknown block hologram"
    assert '"beam": "blue"' in found.one("pre.code").text


def test_every_row_can_be_seen_raw() -> None:
    first = articles(TALK)[1]
    links = [one.attributes["href"] for one in first.one(".message-tools").all("a") if "data-raw" in one.attributes]
    assert links == ["/rows/b", "/rows/c", "/rows/d"]
    assert [one.attributes["href"] for one in first.one(".tool-foot").all("a")][-2:] == ["/rows/d", "/rows/e"]


def test_after_a_rewind_the_branches_are_side_by_side() -> None:
    fork = Fork(1, [(1, "x", "like this"), (2, "a", "like that")])
    ways = only("a <- - user: like that", view={"forks": {"a": fork}}).one("nav.fork")
    assert ways.one("summary").text == "2 of 2"
    assert [one.attributes["href"] for one in ways.all("a")] == ["?branch=1#m-x", "?branch=1#m-x", "?branch=2#m-a"]


def test_one_message_is_the_same_alone_as_among_others() -> None:
    said = messages(draw(TALK))
    view = View(Addresses())
    one_by_one = [message_html(one, view, before) for one, before in zip(said, [None, *said], strict=False)]
    assert [page(one).text for one in one_by_one[:1]] == [page(messages_html(said[:1], view)).text]
    assert page(one_by_one[2]).one("article").classes == page(messages_html(said, view)).all("article")[2].classes


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_nothing_that_is_said_can_break_out(wrapping: str) -> None:
    text = json.dumps(wrapping.replace("*", BAD))
    for kind in ("user", "meta", "compact-summary", "assistant(m1)", "thinking(m1)"):
        check(draw(f"a <- - {kind}: {text}"), "article")
    for name in ("queued_command", "nested_memory", "hook_blocking_error", "odd"):
        check(draw(f"a <- - attachment {name}: {text}"), "article")
    for name in ("informational", "local_command", "api_error", "away_summary", "odd"):
        check(draw(f"a <- - system {name}: {text}"), "article")


def test_nothing_in_the_fields_around_it_can_break_out() -> None:
    bad = {"hookInfos": [{"command": BAD}], "hookErrors": [BAD], "stopReason": BAD, "error": {"message": BAD}}
    for name in ("stop_hook_summary", "api_error", BAD):
        (row,) = draw(f"a <- - system informational: hi {json.dumps(bad)}")
        check([row | {"subtype": name, "uuid": BAD, "version": BAD, "cwd": BAD}], "article")
    (row,) = draw("a <- - attachment odd: hi")
    check([row | {"attachment": {"type": BAD, "hookName": BAD, "content": BAD}}], "article")
    check([row | {"attachment": {"type": f"hook_{BAD}", "hookName": BAD, BAD: BAD}}], "article")
    check([{"type": BAD, "uuid": "a", "parentUuid": None, BAD: [BAD]}], "article")
    blocks = [{"type": BAD, BAD: BAD}, {"type": "image", "source": {"type": "url", "url": BAD, "media_type": BAD}}]
    blocks += [{"type": "document", "title": BAD, "source": {"media_type": BAD}}, {"type": "text", "text": BAD}]
    for kind in ("user", "assistant(m1)"):
        check(draw(f"a <- - {kind}: {json.dumps(blocks)}"), "article")


def test_a_way_that_reads_badly_is_only_text() -> None:
    fork = Fork(0, [(1, "a", BAD), (2, BAD, BAD)])
    ways = only("a <- - user: hi", view={"forks": {"a": fork}}).one("nav.fork")
    assert ways.all("img") == ways.all("script") == []


def test_every_real_chat_can_be_shown(corpus: Path) -> None:
    chats = ChatBuilder(keep=True)
    for file in discover(Home(corpus / "home")).files:
        if file.kind in TRANSCRIPTS:
            lines = file.path.read_bytes().split(b"\n")
            records = [item for line in lines for item in decode_all(line) if isinstance(item, Record)]
            chats.add(TranscriptPlace(str(file.path), file.place.session_id, file.place.agent_id), records)
    count = 0
    for chat in some(chats.chats()):
        view = View(Addresses(), agents={agent.call.id: [agent] for agent in chat.agents if agent.call})
        results = results_of(node.row for node in chat.tree.nodes.values())
        turns = [turn for branch in chat.branches for turn in branch.turns]
        said = [message for turn in turns for message in messages_of(turn, results)]
        for agent in chat.agents:
            own = results_of(agent.rows)
            said += [message for turn in walk(agent.tree.roots) for message in messages_of(turn, own)]
        markup = messages_html(said, view)
        assert markup.count("<article ") == len(said)
        found = page(messages_html(said[:MAX_READ], view)).all("article")
        assert [one.attributes["id"] for one in found] == [f"m-{message.key}" for message in said[:MAX_READ]]
        count += len(said)
    assert count > (5000 if TRY_ALL else 500)


def test_what_another_machine_has_in_the_place_of_a_message_stands_below_it_as_text() -> None:
    (message,) = messages(draw("a <- - user: ask about zirconium"))
    message.conflicts = (OtherText("desktop", "ask about <b>plutonium</b>"),)
    html = str(message_html(message, View(Addresses())))
    assert html.index("ask about zirconium") < html.index("desktop has another text here")
    assert "<b>plutonium" not in html
