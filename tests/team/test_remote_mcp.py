"""Agents ask the server over MCP with the key of their person: they see what that person may read, and nothing else."""

import json
from typing import Any

import anyio
import httpx
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from backscroll.mcp.tools import TOOLS
from backscroll.team.people.sessions import new_key
from backscroll.team.reading.shares import readers_of, shared_with
from tests.team.demo_served import CSV, DOCKER, FLAKY, DemoServed

QUOTING: dict[str, dict[str, object]] = {
    "recall": {"question": "why was the order test flaky", "max_tokens": 4000},
    "search": {"query": "Dockerfile container flaky", "max_tokens": 8000},
    "read": {"chat": FLAKY},
    "timeline": {"max_tokens": 8000},
}
"""The tools that quote what others share, each with what it quotes some of."""
OWN_ONLY: dict[str, dict[str, object]] = {
    "similar_errors": {"error": "ValueError: not a line of a statement"},
    "file_history": {"path": "book.py"},
    "stats": {"report": "chats", "limit": 200, "max_tokens": 8000},
    "query": {"sql": "select * from v_chats", "max_tokens": 8000},
}
"""The tools that quote what the person has, and nothing of others."""

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture(scope="module")
def keys(demo: DemoServed) -> dict[str, str]:
    with demo.served.context.database.transaction() as connection:
        return {name: new_key(connection, demo.person(name), "agent", ["mcp"]) for name in ("ada", "ben", "liz")}


def _post(demo: DemoServed, key: str, method: str, **params: object) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {**HEADERS, "authorization": f"Bearer {key}"} if key else HEADERS
    return httpx.post(f"{demo.served.url}/mcp", json=body, headers=headers, timeout=60, trust_env=False)


def _call(demo: DemoServed, key: str, tool: str, **arguments: object) -> dict[str, Any]:
    answer = _post(demo, key, "tools/call", name=tool, arguments=arguments)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


def test_an_agent_recalls_what_its_person_and_the_team_know(demo: DemoServed, keys: dict[str, str]) -> None:
    asked = {"question": "why was the order test flaky", "max_tokens": 4000}
    for name in ("ada", "ben", "liz"):
        found = _call(demo, keys[name], "recall", **asked)["structuredContent"]
        assert FLAKY in {(one["chat"] or "")[:8] for one in found["passages"]}, name
    chat = demo.chat("ada", FLAKY)
    assert "ben" in demo.browser("ada").get("/readers").text
    read = _call(demo, keys["ben"], "read", chat=chat)
    assert read["structuredContent"]["messages"]


def _shown_to_owners(demo: DemoServed, reader: str) -> dict[str, int]:
    """How often owners see that a person read which of their chats."""
    with demo.served.context.database.transaction() as connection:
        found = [one for owner in ("ada", "ben", "liz") for one in readers_of(connection, demo.person(owner))]
    return {one.chat: one.requests for one in found if one.reader == reader}


def _quoted(demo: DemoServed, reader: str, answer: object) -> set[str]:
    """The chats of others that an answer names."""
    with demo.served.context.database.transaction() as connection:
        shared = {one.chat for one in shared_with(connection, demo.person(reader))}
    return {chat for chat in shared if chat[:8] in json.dumps(answer)}


def _newly_shown(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {chat: number - before.get(chat, 0) for chat, number in after.items() if number != before.get(chat, 0)}


@pytest.mark.parametrize("tool", TOOLS)
def test_owners_see_it_when_a_tool_quotes_their_chats(demo: DemoServed, keys: dict[str, str], tool: str) -> None:
    before = _shown_to_owners(demo, "ben")
    answer = _call(demo, keys["ben"], tool, **(QUOTING | OWN_ONLY)[tool])
    assert not answer.get("isError"), answer
    quoted = _quoted(demo, "ben", answer)
    assert bool(quoted) == (tool in QUOTING)
    assert _newly_shown(before, _shown_to_owners(demo, "ben")) == dict.fromkeys(quoted, 1)


def test_owners_see_it_when_a_resource_quotes_their_chats(demo: DemoServed, keys: dict[str, str]) -> None:
    chat, ben = demo.chat("ada", FLAKY), keys["ben"]
    message = _call(demo, ben, "read", chat=chat)["structuredContent"]["messages"][0]["message"]
    whole = f"backscroll://chat/{chat}"
    for uri in (whole, f"backscroll://chat/{chat[:8]}", f"{whole}/message/{message}"):
        before = _shown_to_owners(demo, "ben")
        assert _post(demo, ben, "resources/read", uri=uri).json()["result"]["contents"][0]["text"]
        assert _newly_shown(before, _shown_to_owners(demo, "ben")) == {chat: 1}, uri
    before = _shown_to_owners(demo, "ben")
    assert _post(demo, ben, "resources/read", uri="backscroll://help").json()["result"]
    assert _shown_to_owners(demo, "ben") == before
    listed = _quoted(demo, "ben", _post(demo, ben, "resources/list").json()["result"])
    assert chat in listed
    assert _shown_to_owners(demo, "ben") == before, "titles alone are not read"


def test_an_own_chat_that_is_quoted_is_shown_to_nobody(demo: DemoServed, keys: dict[str, str]) -> None:
    before = _shown_to_owners(demo, "ada")
    assert _call(demo, keys["ada"], "read", chat=FLAKY)["structuredContent"]["messages"]
    assert _shown_to_owners(demo, "ada") == before


def test_an_agent_finds_where_an_error_of_its_person_occurred(demo: DemoServed, keys: dict[str, str]) -> None:
    answer = _call(demo, keys["ben"], "similar_errors", error="ValueError: not a line of a statement")
    assert answer["structuredContent"]["errors"]


def test_an_agent_finds_and_reads_nothing_that_is_private(demo: DemoServed, keys: dict[str, str]) -> None:
    chat = demo.chat("ben", CSV)  # shared with Shop, in which Liz is not
    assert _call(demo, keys["ada"], "read", chat=chat)["structuredContent"]["messages"]
    refused = _call(demo, keys["liz"], "read", chat=chat)
    missing = _call(demo, keys["liz"], "read", chat="00000000-0000-4000-8000-000000000000")
    assert refused["isError"]
    assert missing["isError"]
    told = [one["content"][0]["text"].partition("\\n")[0] for one in (refused, missing)]
    assert told[0].replace(chat, "ID") == told[1].replace("00000000-0000-4000-8000-000000000000", "ID")
    found = _call(demo, keys["liz"], "recall", question="CSV export for the bookkeeper", max_tokens=8000)
    assert CSV not in {(one["chat"] or "")[:8] for one in found["structuredContent"]["passages"]}
    searched = _call(
        demo, keys["liz"], "search", query="bookkeeper CSV", limit=50, detail="messages", max_tokens=50_000
    )
    assert CSV not in {one["chat"][:8] for one in searched["structuredContent"]["chats"]}
    for one in _call(demo, keys["liz"], "timeline")["structuredContent"]["chats"]:
        assert one["chat"][:8] not in (CSV, "847a8ca6")


def test_a_search_quotes_shared_texts_whole(demo: DemoServed, keys: dict[str, str]) -> None:
    found = _call(demo, keys["ben"], "search", query="Dockerfile container", detail="messages", max_tokens=8000)
    chats = {one["chat"][:8]: one for one in found["structuredContent"]["chats"]}
    assert any(passage.get("text") for passage in chats[DOCKER]["passages"])


def test_a_share_that_was_revoked_is_forgotten_at_once(demo: DemoServed, keys: dict[str, str]) -> None:
    liz, chat = demo.browser("liz"), demo.chat("liz", DOCKER)
    assert "structuredContent" in _call(demo, keys["ben"], "read", chat=chat)
    number = liz.get(f"/chats/{chat}/audience").text.partition("/shares/")[2].partition("/")[0]
    liz.submit(f"/shares/{number}/revoke")
    assert _call(demo, keys["ben"], "read", chat=chat)["isError"]
    liz.submit(f"/chats/{chat}/audience", audience="org")


def test_only_a_key_with_the_scope_opens_it(demo: DemoServed, keys: dict[str, str]) -> None:
    with demo.served.context.database.transaction() as connection:
        reading = new_key(connection, demo.person("ada"), "script", ["read"])
    for key in ("", "bsk_guessed", reading):
        assert _post(demo, key, "tools/list").status_code == 401
    browser = demo.browser("ada")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {**HEADERS, "origin": demo.served.url, "sec-fetch-site": "same-origin"}
    assert browser.post("/mcp", json=body, headers=headers).status_code == 401, "a cookie is not a key"
    browser.cookies.clear()
    browser.headers["authorization"] = f"Bearer {keys['ada']}"
    browser.follow_redirects = False
    assert browser.get("/api/v1/chats").status_code == 401, "a key for agents reads nothing else"
    assert _post(demo, keys["ada"], "tools/list").json()["result"]["tools"]


def test_a_revoked_key_stops_working(demo: DemoServed) -> None:
    ben = demo.browser("ben")
    page = ben.submit("/account/keys", name="laptop", scope="mcp").text
    key = page.partition("bsk_")[2][:43]
    assert "claude mcp add --transport http" in page
    assert _post(demo, f"bsk_{key}", "tools/list").status_code == 200
    with demo.served.context.database.transaction() as connection:
        (number,) = connection.execute("select max(id) from api_key").fetchone() or (0,)
    ben.submit(f"/account/keys/{number}/revoke")
    assert _post(demo, f"bsk_{key}", "tools/list").status_code == 401


def test_a_real_client_connects(demo: DemoServed, keys: dict[str, str]) -> None:
    async def run() -> list[str]:
        headers = {"authorization": f"Bearer {keys['ada']}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(f"{demo.served.url}/mcp", http_client=http)) as client,
        ):
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "recall" in anyio.run(run)


def test_the_server_says_so_and_when_to_come_back(demo: DemoServed) -> None:
    with demo.served.context.database.transaction() as connection:
        key = new_key(connection, demo.person("liz"), "busy", ["read"])
    statuses = []
    with httpx.Client(headers={"authorization": f"Bearer {key}"}, trust_env=False, timeout=60) as client:
        for _ in range(200):
            answer = client.get(f"{demo.served.url}/api/v1/nothing")
            statuses.append(answer.status_code)
            if answer.status_code == 429:
                break
    assert statuses[-1] == 429
    assert int(answer.headers["retry-after"]) >= 1
