"""A library with a few chats, and clients as users have them: the SDK's own, over stdio and HTTP."""

import os
import sys
import threading
import unicodedata
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import jsonschema
import msgspec
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from backscroll.library.memory.asking_session import UNKNOWN_SESSION, AskingSession
from backscroll.library.memory.budget import tokens_of
from backscroll.mcp.answers import plain_of, text_of
from backscroll.mcp.arguments import read_arguments
from backscroll.mcp.call_context import CallContext
from backscroll.mcp.pool import RefreshedPool
from backscroll.mcp.quoting import LETTERS, Frame
from backscroll.mcp.tools import TOOLS
from backscroll.mcp.transports import StartedMcpServer, serve_http
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.served import free_port

SHOP: Final = "/home/ada/shop"
OTHER: Final = "projects/-home-ada-garden"
TOKEN: Final = "a-token-of-this-test"
PARSER: Final = """
    @ session=parser cwd=/home/ada/shop time=2026-01-05T10:00
    pa-1 <- - user: why does the zebra parser fail?
    pa-2 <- pa-1 call(pm-1) toolu_p1 Bash {"command": "pytest tests/test_zebra.py"}
    pa-3 <- pa-2 error toolu_p1: "Exit code 1\\nZebraError: stripes are missing in line 12"
    pa-4 <- pa-3 call(pm-2) toolu_p2 Edit {"file_path": "/home/ada/shop/zebra.py", "old_string": "a", "new_string": "b"}
    pa-5 <- pa-4 result toolu_p2: edited {"toolUseResult": {"filePath": "/home/ada/shop/zebra.py", "oldString": "a", \
        "newString": "b", "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, \
        "lines": ["-a", "+b"]}]}}
    pa-6 <- pa-5 call(pm-3) toolu_p3 Bash {"command": "pytest tests/test_zebra.py"}
    pa-7 <- pa-6 result toolu_p3: "1 passed"
    pa-8 <- pa-7 assistant(pm-4): We decided to count the stripes of a zebra before painting; the parser works now.
    custom-title: The zebra parser
"""
CALLING: Final = """
    @ session=calling cwd=/home/ada/shop time=2026-01-07T10:00
    ca-1 <- - user: what did we decide about the zebra stripes?
    ca-2 <- ca-1 call(cm-1) toolu_c1 Bash {"command": "pytest tests/test_zebra.py"}
    ca-3 <- ca-2 error toolu_c1: "Exit code 1\\nZebraError: stripes are missing in line 40"
    ca-4 <- ca-3 call(cm-2) toolu_c2 Edit {"file_path": "/home/ada/shop/zebra.py", "old_string": "c", "new_string": "d"}
    ca-5 <- ca-4 result toolu_c2: edited
"""
GARDEN: Final = """
    @ session=garden cwd=/home/ada/garden time=2026-01-06T10:00
    ga-1 <- - user: where should the zebra grass go?
    ga-2 <- ga-1 assistant(gm-1): The zebra grass goes behind the pond, where it has sun and room.
    custom-title: Grass
"""


def story(root: Path) -> Shelf:
    """Three chats: one about a parser that was mended, one in another project, and that of the caller."""
    shelf = Shelf(root)
    shelf.write(
        {
            session_path("parser"): jsonl(draw(PARSER)),
            session_path("calling"): jsonl(draw(CALLING)),
            session_path("garden", OTHER): jsonl(draw(GARDEN)),
        }
    )
    shelf.update()
    return shelf


ASHOP: Final = AskingSession(frozenset({session_uuid("calling")}), SHOP)
"""Who sits in the shop."""

CALLS: Final[Mapping[str, dict[str, Any]]] = {
    "recall": {"question": "what did we decide about zebra stripes?"},
    "search": {"query": "zebra"},
    "read": {"chat": session_uuid("parser")},
    "timeline": {"project": "*"},
    "similar_errors": {"error": "ZebraError: stripes are missing in line 99"},
    "file_history": {"path": "zebra.py"},
    "stats": {"report": "errors"},
    "query": {"sql": "select id, title, messages from v_chats order by id"},
}
"""A call of every tool that has an answer in the story."""


def answer(shelf: Shelf, tool: str, caller: AskingSession = UNKNOWN_SESSION, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a tool answers, as plain data, checked as every answer is."""
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    try:
        with pool.library() as library:
            wanted = read_arguments(TOOLS[tool].arguments, arguments)
            frame = Frame()
            plain = plain_of(TOOLS[tool].run(CallContext(pool, library, caller, frame), wanted))
    finally:
        pool.close()
    check(tool, plain, text_of(plain), wanted.max_tokens)
    return plain


def check(tool: str, plain: dict[str, Any], text: str, max_tokens: int) -> None:
    """An answer keeps to its schema and its budget, and its frames hold."""
    jsonschema.validate(plain, TOOLS[tool].schemas()[1], cls=jsonschema.Draft202012Validator)
    encoded = msgspec.json.encode(plain).decode()
    assert tokens_of(encoded) <= max_tokens, (tool, tokens_of(encoded))
    assert tokens_of(text) <= max_tokens, (tool, tokens_of(text))
    assert bool(plain.get("cut")) == bool(plain.get("rest")), plain
    for one in (text, *strings_of(plain)):
        check_frames(one)


def check_frames(text: str) -> None:
    """Whatever opens is closed with the same key, nothing is nested, and nothing invisible is left."""
    opened: str | None = None
    at = 0
    while at < len(text):
        if text[at] == "⟦":
            assert opened is None, text
            opened = text[at + 1 : at + 7]
            assert opened == "key an" or all(letter in LETTERS for letter in opened), text
        elif text[at] == "⟧":
            assert opened is not None, text
            assert text[at - 6 : at] == opened, text
            opened = None
        else:
            assert text[at] in "\n\t" or unicodedata.category(text[at]) not in HIDDEN or text[at] in SEEN, repr(
                text[at]
            )
        at += 1
    assert opened is None, text


HIDDEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
SEEN: Final = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd" + "".join(
    map(chr, range(0x13430, 0x13440))
)
"""Marks that Unicode calls formats, and that are visible: signs before numbers, how hieroglyphs stand."""


def strings_of(value: Any) -> Iterator[str]:  # noqa: ANN401 - whatever an answer holds
    """Every text in an answer."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)


def check_result(tool: str, result: CallToolResult, max_tokens: int = 2000) -> dict[str, Any]:
    """What came over the wire is such an answer, in both forms."""
    assert not result.is_error, result.content
    plain: dict[str, Any] | None = result.structured_content
    assert plain is not None
    (content,) = result.content
    assert content.type == "text"
    assert content.text == text_of(plain)
    check(tool, plain, content.text, max_tokens)
    return plain


@asynccontextmanager
async def over_stdio(
    shelf: Shelf,
    environment: Mapping[str, str] | None = None,
    **options: Any,  # noqa: ANN401
) -> AsyncIterator[Client]:
    """The SDK's client with a server that it started."""
    command = ["-m", "backscroll", "--home", str(shelf.home), "--library", str(shelf.folder), "mcp"]
    known = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    server = StdioServerParameters(
        command=sys.executable, args=command, env={**known, **(environment or {})}, cwd=str(shelf.root)
    )
    async with Client(server, **options) as client:
        yield client


@contextmanager
def serving(shelf: Shelf, **options: Any) -> Iterator[StartedMcpServer]:  # noqa: ANN401
    """A server over HTTP in a thread, on a port that is free."""
    pool = RefreshedPool(shelf.settings, shelf.open().homes)
    ready = threading.Event()
    found: list[StartedMcpServer] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            serve_http(pool, **{"port": free_port(), "token": TOKEN, "on_ready": ready_with, **options})
        except BaseException as error:
            failed.append(error)
        finally:
            ready.set()

    def ready_with(served: StartedMcpServer) -> None:
        found.append(served)
        ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(30)
    try:
        if failed:
            raise failed[0]
        yield found[0]
    finally:
        if found:
            found[0].stop()
        thread.join(30)
        pool.close()
        assert not thread.is_alive()


@asynccontextmanager
async def over_http(served: StartedMcpServer, token: str = TOKEN, **options: Any) -> AsyncIterator[Client]:  # noqa: ANN401
    """The SDK's client with a server that runs."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(served.url, http_client=http), **options) as client,
    ):
        yield client
