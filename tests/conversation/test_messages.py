"""Rows are put together into messages, and each call gets its result."""

import json

import pytest

from backscroll.conversation.kinds import RowKind
from backscroll.conversation.messages import CallState, Message
from backscroll.records.content import Image, Text, Thinking, ToolUse
from backscroll.records.decode import value_of
from backscroll.records.kinds import User
from tests.conversation.support import Drawing, messages_in, one_chat


def check(drawing: Drawing, *expected: str) -> list[Message]:
    """The messages in their order, each as `kind: what it says`; calls are written `Read(t1)`."""
    messages = messages_in(one_chat(drawing))
    assert [f"{message.kind}: {said(message)}" for message in messages] == list(expected)
    return messages


def said(message: Message) -> str:
    parts = [message.text] if message.text else []
    for block in message.blocks:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, Thinking):
            parts.append(f"({block.thinking})")
        elif isinstance(block, ToolUse):
            parts.append(f"{block.name}({block.id})")
        else:
            parts.append(type(block).__name__)
    return " ".join(parts)


def test_rows_with_one_message_id_are_one_message() -> None:
    (_, answer) = check(
        """
        a <- - user: fix the parser
        b <- a thinking(m1): where is it?
        c <- b assistant(m1): in shop.py
        d <- c call(m1) t1 Read {}
        """,
        "prompt: fix the parser",
        "answer: (where is it?) in shop.py Read(t1)",
    )
    assert answer.id == "m1"
    assert [row.uuid for row in answer.rows] == ["b", "c", "d"]


def test_rows_of_one_message_may_be_between_tool_results() -> None:
    check(
        """
        a <- - user: read both
        b <- a call(m1) t1 Read {}
        c <- b result t1: one
        d <- b call(m1) t2 Read {}
        e <- d result t2: two
        f <- e assistant(m2): read
        """,
        "prompt: read both",
        "answer: Read(t1) Read(t2)",
        "answer: read",
    )


def test_several_blocks_in_one_row_are_one_message() -> None:
    # as in 0.2
    blocks = '[{"type": "text", "text": "reading"}, {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]'
    messages = check(
        f"a <- - user: read it\nb <- a assistant(m1): {blocks}\nc <- b result t1: one",
        "prompt: read it",
        "answer: reading Read(t1)",
    )
    assert messages[1].calls["t1"].state is CallState.DONE


def test_an_answer_whose_content_is_a_string_can_be_read() -> None:
    check(
        'a <- - user: hello\nb <- a assistant(m1): hello {"message": {"content": "hello, Ada"}}',
        "prompt: hello",
        "answer: hello, Ada",
    )


def test_rows_without_a_message_id_are_messages_of_their_own() -> None:
    check(
        "a <- - user: hello\nb <- a assistant -message.id: one\nc <- b assistant -message.id: two",
        "prompt: hello",
        "answer: one",
        "answer: two",
    )


def test_a_prompt_has_its_pictures_as_blocks() -> None:
    image = '{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}'
    (prompt,) = check(f'a <- - user: [{{"type": "text", "text": "look"}}, {image}]', "prompt: look Image")
    assert isinstance(prompt.blocks[0], Image)


def test_progress_is_not_shown() -> None:
    check(
        "a <- - user: build\nb <- a call(m1) t1 Bash {}\np <- b progress bash_progress t1: line 1",
        "prompt: build",
        "answer: Bash(t1)",
    )


def test_text_typed_next_to_a_tool_result_is_shown_after_it() -> None:
    result = '{"type": "tool_result", "tool_use_id": "t1", "content": "built"}'
    messages = check(
        f"""
        a <- - user: build
        b <- a call(m1) t1 Bash {{}}
        c <- b user: [{result}, {{"type": "text", "text": "and test"}}]
        d <- c assistant(m2): both
        """,
        "prompt: build",
        "answer: Bash(t1)",
        "queued: and test",
        "answer: both",
    )
    assert messages[1].calls["t1"].state is CallState.DONE


def test_commands_hooks_and_notes_can_be_read() -> None:
    check(
        """
        a <- - user: <command-name>/cost</command-name><command-args></command-args>
        b <- a user: <local-command-stdout>$1</local-command-stdout>
        c <- b attachment hook_success: lint passed
        d <- c system informational: by the way
        e <- d attachment edited_text_file: "" {"attachment": {"snippet": "1 a"}}
        """,
        "command: /cost",
        "command-output: $1",
        "hook: lint passed",
        "note: by the way",
        "attachment: 1 a",
    )


def test_an_unknown_row_is_a_message() -> None:
    check('a <- - user: hello\nraw {"type": "hologram", "uuid": "h", "parentUuid": "a"}', "prompt: hello", "unknown: ")


def test_a_message_was_written_when_its_first_row_was() -> None:
    (_, answer) = messages_in(one_chat("a <- - user: hello\nb <- a thinking(m1): hm\nc <- b assistant(m1): hello"))
    assert answer.when == answer.rows[0].when
    assert answer.model == "claude-sonnet-4-5-20250929"


def test_an_answer_ended_as_its_last_row_says() -> None:
    (_, answer) = messages_in(one_chat("a <- - user: hello\nb <- a thinking(m1): hm\nc <- b assistant(m1): hello"))
    assert answer.stop_reason == "end_turn"


def test_an_answer_that_never_ended_says_so() -> None:
    drawing = 'a <- - user: hello\nb <- a assistant(m1): he {"message": {"stop_reason": null}}'
    assert messages_in(one_chat(drawing))[1].stop_reason is None


# Tokens.


def usage(**numbers: int) -> str:
    return json.dumps({"message": {"usage": numbers}})


def test_the_tokens_of_a_message_are_the_maximum_of_each_number() -> None:
    (_, answer) = messages_in(
        one_chat(
            f"""
            a <- - user: hello
            b <- a thinking(m1): hm {usage(input_tokens=4, output_tokens=1, cache_read_input_tokens=70)}
            c <- b assistant(m1): hello {usage(input_tokens=3, output_tokens=90, cache_creation_input_tokens=8)}
            """
        )
    )
    found = answer.usage
    assert found is not None
    numbers = (
        found.input_tokens,
        found.output_tokens,
        found.cache_read_input_tokens,
        found.cache_creation_input_tokens,
    )
    assert numbers == (4, 90, 70, 8)


def test_the_kinds_of_cache_writes_and_the_searches_of_a_message_are_kept() -> None:
    numbers = {"cache_creation": {"ephemeral_1h_input_tokens": 8}, "server_tool_use": {"web_search_requests": 2}}
    extra = json.dumps({"message": {"usage": numbers}})
    (_, answer) = messages_in(one_chat(f"a <- - user: hello\nb <- a assistant(m1): hello {extra}"))
    assert answer.usage is not None
    assert answer.usage.cache_creation is not None
    assert answer.usage.cache_creation.ephemeral_1h_input_tokens == 8
    assert answer.usage.server_tool_use is not None
    assert answer.usage.server_tool_use.web_search_requests == 2


def test_a_prompt_has_no_tokens() -> None:
    assert messages_in(one_chat("a <- - user: hello"))[0].usage is None


# Calls and their results.


def check_state(rows: str, expected: CallState, *, is_live: bool = False) -> None:
    """How the call t1 ended, with these rows after it."""
    messages = messages_in(one_chat(f"a <- - user: build\nb <- a call(m1) t1 Bash {{}}\n{rows}"), is_live=is_live)
    (call,) = (message.calls["t1"] for message in messages if message.calls)
    assert call.state is expected
    assert (call.id, call.name) == ("t1", "Bash")
    assert (call.result is None) is (expected in (CallState.RUNNING, CallState.MISSING) or "t1" not in rows)


def test_a_call_with_a_result_is_done() -> None:
    check_state("c <- b result t1: built", CallState.DONE)


def test_a_call_with_a_result_is_done_while_the_session_lives() -> None:
    check_state("c <- b result t1: built", CallState.DONE, is_live=True)


def test_a_call_that_failed_is_an_error() -> None:
    check_state("c <- b error t1: Exit code 2", CallState.ERROR)


@pytest.mark.parametrize(
    "words",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "The user doesn't want to take this action right now. STOP what you are doing.",
        "Permission to use Bash with command make has been denied.",
        "Claude requested permissions to use Bash, but you haven't granted it yet.",
    ],
)
def test_a_call_that_was_not_let_happen_is_denied(words: str) -> None:
    check_state(f"c <- b error t1: {words}", CallState.DENIED)


def test_a_call_whose_row_says_that_it_was_denied_is_denied() -> None:
    fields = '{"toolDenialKind": "user-rejected", "toolDenialBeforeRun": true}'
    check_state(f"c <- b error t1: no {fields}", CallState.DENIED)
    check_state('c <- b error t1: no {"toolDenialKind": "permission-rule"}', CallState.DENIED)


@pytest.mark.parametrize("kind", ["user-rejected", "interrupted", "cancelled"])
def test_a_call_that_had_begun_was_interrupted_not_denied(kind: str) -> None:
    told = "The user doesn't want to proceed with this tool use."
    check_state(f'c <- b error t1: {told} {{"toolDenialKind": "{kind}"}}', CallState.INTERRUPTED)


def test_a_call_whose_result_says_that_it_was_interrupted_is_interrupted() -> None:
    check_state("c <- b error t1: [Request interrupted by user for tool use]", CallState.INTERRUPTED)


def test_a_call_that_was_killed_and_interrupted_is_interrupted() -> None:
    # as 2.0.76 to 2.1.112 write it
    killed = json.dumps("Exit code 137\n[Request interrupted by user for tool use]\nline 1")
    check_state(f"c <- b error t1: {killed}", CallState.INTERRUPTED)


def test_an_error_that_speaks_of_an_interruption_is_an_error() -> None:
    check_state("c <- b error t1: grep found: [Request interrupted by user] in a transcript", CallState.ERROR)


def test_a_call_without_a_result_in_an_interrupted_turn_was_interrupted() -> None:
    check_state("c <- b user: [Request interrupted by user]", CallState.INTERRUPTED)


def test_a_call_without_a_result_is_missing() -> None:
    check_state("", CallState.MISSING)


def test_a_call_without_a_result_is_missing_though_the_conversation_went_on() -> None:
    check_state("c <- b user: and now?", CallState.MISSING)


def test_a_call_without_a_result_is_running_while_the_session_lives() -> None:
    check_state("", CallState.RUNNING, is_live=True)


def test_a_call_that_was_interrupted_is_not_running_while_the_session_lives() -> None:
    check_state("c <- b user: [Request interrupted by user]", CallState.INTERRUPTED, is_live=True)


def test_a_result_before_its_call_belongs_to_it() -> None:
    messages = messages_in(one_chat("a <- - user: build\nc <- b result t1: built\nb <- a call(m1) t1 Bash {}"))
    assert messages[1].calls["t1"].state is CallState.DONE


def test_a_result_in_a_later_turn_belongs_to_its_call() -> None:
    check_state("c <- b user: hurry\nd <- c result t1: built", CallState.DONE)


def test_a_result_in_another_branch_belongs_to_its_call() -> None:
    check_state("c <- - user: hurry\nd <- c result t1: built", CallState.DONE)


def test_results_go_by_the_id_of_their_call_and_not_by_their_order() -> None:
    messages = messages_in(
        one_chat(
            """
            a <- - user: read all
            b <- a call(m1) t1 Read {}
            c <- b call(m1) t2 Read {}
            d <- c call(m1) t3 Read {}
            e <- d result t3: three
            f <- c error t2: two
            g <- b result t1: one
            """
        )
    )
    found = {name: call.result.block.content for name, call in messages[1].calls.items() if call.result}
    assert found == {"t1": "one", "t2": "two", "t3": "three"}
    assert [call.state for call in messages[1].calls.values()] == [CallState.DONE, CallState.ERROR, CallState.DONE]


def test_several_results_in_one_row_belong_to_their_calls() -> None:
    results = json.dumps([{"type": "tool_result", "tool_use_id": name, "content": name} for name in ("t2", "t1")])
    messages = messages_in(
        one_chat(
            f"""
            a <- - user: read both
            b <- a call(m1) t1 Read {{}}
            c <- b call(m1) t2 Read {{}}
            d <- c user: {results}
            """
        )
    )
    found = {name: call.result.block.content for name, call in messages[1].calls.items() if call.result}
    assert found == {"t1": "t1", "t2": "t2"}


@pytest.mark.parametrize("told", ["Error: no", [{"type": "text", "text": "from a server"}], {"stdout": "built"}, None])
def test_the_details_of_a_tool_result_may_be_anything(told: object) -> None:
    result = f"result t1: built {json.dumps({'toolUseResult': told})}"
    drawing = f"a <- - user: build\nb <- a call(m1) t1 mcp__x {{}}\nc <- b {result}"
    call = messages_in(one_chat(drawing))[1].calls["t1"]
    assert call.state is CallState.DONE
    assert call.result is not None
    record = call.result.row.record
    assert isinstance(record, User)
    assert value_of(record.tool_use_result) == told


def test_a_result_of_blocks_belongs_to_its_call() -> None:
    check_state('c <- b result t1: [{"type": "text", "text": "built"}]', CallState.DONE)


def test_an_error_of_blocks_may_be_a_denial() -> None:
    words = "The user doesn't want to proceed with this tool use."
    check_state(f'c <- b error t1: [{{"type": "text", "text": "{words}"}}]', CallState.DENIED)


def test_a_search_of_the_api_itself_is_not_missing_its_result() -> None:
    blocks = """[{"type": "server_tool_use", "id": "t1", "name": "web_search", "input": {"query": "x"}}, \
        {"type": "web_search_tool_result", "tool_use_id": "t1", "content": []}]"""
    messages = messages_in(one_chat(f"a <- - user: search\nb <- a assistant(m1): {blocks}"))
    assert messages[1].calls["t1"].state is CallState.DONE


def test_an_error_of_the_api_is_shown_as_one() -> None:
    drawing = 'a <- - user: hello\nb <- a assistant: API Error: 400 {"isApiErrorMessage": true}'
    chat = one_chat(drawing)
    assert [message.kind for message in messages_in(chat)] == [RowKind.PROMPT, RowKind.API_ERROR]
    assert (chat.prompts, chat.messages) == (1, 1)


def test_an_answer_is_one_message_of_the_chat_however_many_rows_it_has() -> None:
    chat = one_chat(
        "a <- - user: hello\nb <- a thinking(m1): hm\nc <- b assistant(m1): hello\nd <- c assistant(m2): bye"
    )
    assert chat.messages == 3
