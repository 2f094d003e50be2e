import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from tests.support.messages_api import Failure, MessagesApi, Pause, Reply, Script, Text, Thinking, ToolUse

SCRIPT: Script = {
    "look around": [
        Reply(Thinking("where?"), "I look.", ToolUse("Read|View", {"path": "a", "limit": 1}), ToolUse("Bash", {})),
        Reply("Nothing here."),
    ],
    "wait": [Reply("One moment", Pause(60), ".")],
    "break": [Failure(529, "overloaded_error", "Overloaded")],
}
TOOLS = [{"name": "View", "input_schema": {"properties": {"path": {"type": "string"}}}}, {"name": "Bash"}]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def post(api: MessagesApi, body: dict[str, Any], path: str = "/v1/messages?beta=true") -> tuple[int, str]:
    connection = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=10)
    try:
        connection.request("POST", path, json.dumps({"model": "claude-test", "tools": TOOLS, **body}))
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def stream(api: MessagesApi, *messages: dict[str, Any], **options: object) -> list[dict[str, Any]]:
    """The events of a streamed reply, each checked to be named as its data says."""
    status, body = post(api, {"stream": True, "messages": messages, **options})
    assert status == 200
    events = []
    for chunk in body.removesuffix("\n\n").split("\n\n"):
        name, data = chunk.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    return events


def rebuilt(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The content blocks, put together again from their deltas as a client does."""
    blocks: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "content_block_start":
            assert event["index"] == len(blocks)
            blocks.append({**event["content_block"], "written": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            field = next(iter(delta.keys() - {"type"}))
            blocks[event["index"]]["written"] += delta[field] if field != "signature" else ""
    return blocks


def test_a_streamed_reply_carries_every_block_in_order() -> None:
    with MessagesApi(SCRIPT) as api:
        events = stream(api, user("please look around"), thinking={"type": "enabled"})
    assert [events[0]["type"], *(event["type"] for event in events[-2:])] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]
    blocks = rebuilt(events)
    assert [(block["type"], block["written"]) for block in blocks] == [
        ("thinking", "where?"),
        ("text", "I look."),
        ("tool_use", '{"path": "a"}'),  # not "limit": the tool that was offered does not know it
        ("tool_use", "{}"),
    ]
    assert [block["name"] for block in blocks[2:]] == ["View", "Bash"]
    assert events[-2]["delta"]["stop_reason"] == "tool_use"


def test_the_true_usage_comes_last_and_what_was_sent_before_is_read_from_the_cache() -> None:
    with MessagesApi(SCRIPT) as api:
        first = stream(api, user("look around"))
        second = stream(api, user("look around"), {"role": "assistant", "content": "I look."}, user("go on"))
    opening, closing = first[0]["message"]["usage"], first[-2]["usage"]
    assert opening["output_tokens"] < closing["output_tokens"]
    assert opening["cache_read_input_tokens"] == 0
    assert second[-2]["usage"]["cache_read_input_tokens"] == closing["cache_creation_input_tokens"] + 4


def test_the_step_is_counted_from_the_last_prompt_of_the_script() -> None:
    answer = {"role": "assistant", "content": "I look."}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": "wait"}]}
    with MessagesApi(SCRIPT) as api:
        events = stream(api, user("wait"), {"role": "assistant", "content": "…"}, user("look around"), answer, result)
    assert rebuilt(events)[0]["written"] == "Nothing here."


def test_a_request_without_streaming_gets_the_whole_message() -> None:
    with MessagesApi(SCRIPT) as api:
        status, body = post(api, {"messages": [user("look around")]})
    message = json.loads(body)
    assert status == 200
    # No thinking: it was not asked for.
    assert [block["type"] for block in message["content"]] == ["text", "tool_use", "tool_use"]
    assert message["stop_reason"] == "tool_use"


def test_what_the_script_does_not_know_is_answered_and_kept() -> None:
    with MessagesApi(SCRIPT, otherwise=Reply(Text("What?"))) as api:
        assert rebuilt(stream(api, user("hello")))[0]["written"] == "What?"
        assert [request.messages for request in api.unscripted] == [[user("hello")]]
        assert api.wait_for_request("hello", seconds=0.1)
        assert not api.wait_for_request("goodbye", seconds=0.1)


def test_errors_have_the_shape_of_the_api() -> None:
    with MessagesApi(SCRIPT) as api:
        answers = [
            post(api, {"messages": [user("break")]}),
            post(api, {}, path="/v1/nowhere"),
            post(api, {"messages": "none"}),
        ]
        counted = post(api, {"messages": [user("hello")]}, path="/v1/messages/count_tokens?beta=true")
    kinds = [(status, json.loads(body)["error"]["type"]) for status, body in answers]
    assert kinds == [(529, "overloaded_error"), (404, "not_found_error"), (400, "invalid_request_error")]
    assert counted[0] == 200
    assert json.loads(counted[1])["input_tokens"] > 0


def test_leaving_ends_a_reply_that_is_held_back() -> None:
    with MessagesApi(SCRIPT) as api:
        connection = http.client.HTTPConnection(urlsplit(api.url).netloc, timeout=10)
        connection.request("POST", "/v1/messages", json.dumps({"stream": True, "messages": [user("wait")]}))
        response = connection.getresponse()
        assert response.readline() == b"event: message_start\n"
    # Without the 60 seconds: the `with` is over, and the stream has ended.
    assert response.read().endswith(b"\n\n")
    connection.close()
