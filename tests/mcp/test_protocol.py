"""The SDK's own client, over stdio and HTTP and in both eras of the protocol, lists and calls everything there is."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import jsonschema
import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from pydantic import FileUrl

from backscroll import __version__
from backscroll.mcp.tools import TOOLS
from tests.library.support import Shelf
from tests.mcp.support import CALLS, SHOP, check_frames, check_result, over_http, over_stdio, serving, story
from tests.support.drawings import session_uuid
from tests.support.samples import TRY_ALL

PARSER, CALLING = session_uuid("parser"), session_uuid("calling")
ERAS = ("legacy", "auto")
MAX_LISTED_BYTES, MAX_INSTRUCTION_BYTES = 6000, 1000


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return story(tmp_path_factory.mktemp("story"))


@asynccontextmanager
async def client_of(shelf: Shelf, way: str, era: str) -> AsyncIterator[Client]:
    if way == "stdio":
        async with over_stdio(shelf, mode=era) as client:
            yield client
    else:
        with serving(shelf) as served:
            async with over_http(served, mode=era) as client:
                yield client


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("way", ["stdio", "http"])
def test_every_tool_resource_and_prompt_is_listed_and_answers(shelf: Shelf, way: str, era: str) -> None:
    async def talk() -> None:
        async with client_of(shelf, way, era) as client:
            await check_tools(client)
            await check_resources(client)
            await check_prompts(client)

    anyio.run(talk)


async def check_tools(client: Client) -> None:
    listed = (await client.list_tools()).tools
    assert {tool.name for tool in listed} == set(CALLS)
    for tool in listed:
        assert tool.description and tool.title
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is True
        for schema in (tool.input_schema, *TOOLS[tool.name].schemas()):
            assert schema["type"] == "object"
            jsonschema.Draft202012Validator.check_schema(schema)
        assert tool.input_schema["properties"].keys() == TOOLS[tool.name].schemas()[0]["properties"].keys()
        jsonschema.validate(CALLS[tool.name], tool.input_schema)
    for name, arguments in CALLS.items():
        plain = check_result(name, await client.call_tool(name, arguments))
        assert PARSER[:8] in str(plain) or name == "stats"
    refused = await client.call_tool("read", {"chat": "ffffffff"})
    assert refused.is_error
    (content,) = refused.content
    assert isinstance(content, types.TextContent)
    assert content.text == "no chat, session, message or agent id starts with ffffffff\nnext: find one with search"
    with pytest.raises(MCPError, match="unknown tool"):
        await client.call_tool("write", {})


async def check_resources(client: Client) -> None:
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "backscroll://chat/{id}",
        "backscroll://chat/{id}/message/{uuid}",
    ]
    listed = {resource.uri: resource for resource in (await client.list_resources()).resources}
    assert listed[f"backscroll://chat/{PARSER}"].title == "“The zebra parser”"
    for uri, said in (
        (f"backscroll://chat/{PARSER}", "why does the zebra parser fail?"),
        (f"backscroll://chat/{PARSER}/message/pa-8", "We decided to count"),
    ):
        (content,) = (await client.read_resource(uri)).contents
        assert isinstance(content, types.TextResourceContents)
        assert said in content.text
        check_frames(content.text)
    (content,) = (await client.read_resource("backscroll://help")).contents
    assert isinstance(content, types.TextResourceContents)
    assert "cost:>1.50" in content.text and "usage: " in content.text
    assert listed["backscroll://help"].mime_type == "text/plain"
    for uri in ("backscroll://chat/ffffffff", "backscroll://chat/../../etc/passwd", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            await client.read_resource(uri)


async def check_prompts(client: Client) -> None:
    prompts = (await client.list_prompts()).prompts
    assert [prompt.name for prompt in prompts] == ["recall", "retrospective", "handover"]
    for name, arguments in (
        ("recall", {"question": "what about zebras?"}),
        ("retrospective", {}),
        ("retrospective", {"project": "shop", "since": "7d"}),
        ("handover", {}),
        ("handover", {"chat": PARSER}),
    ):
        (message,) = (await client.get_prompt(name, arguments)).messages
        assert isinstance(message.content, types.TextContent)
        assert "not instructions" in message.content.text
        assert all(value in message.content.text for value in arguments.values())
    for name, arguments in (("recall", {}), ("nothing", {}), ("handover", {"wrong": "x"})):
        with pytest.raises(MCPError):
            await client.get_prompt(name, arguments)


def test_what_every_session_pays_for_is_small(shelf: Shelf) -> None:
    """The bytes of tools/list and of the instructions, as a client gets them: they are in each context, used or not."""

    async def talk() -> None:
        async with client_of(shelf, "http", "legacy") as client:
            listed = await client.list_tools()
            size = len(listed.model_dump_json(by_alias=True, exclude_none=True).encode())
            assert size <= MAX_LISTED_BYTES, size
            assert len((client.instructions or "").encode()) <= MAX_INSTRUCTION_BYTES

    anyio.run(talk)


def test_it_says_what_it_is(shelf: Shelf) -> None:
    async def talk() -> None:
        async with client_of(shelf, "http", "legacy") as client:
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("backscroll", __version__)
            assert client.instructions and "never instructions" in client.instructions
            capabilities = client.server_capabilities
            assert capabilities is not None and capabilities.tools and capabilities.resources and capabilities.prompts

    anyio.run(talk)


def test_the_client_that_started_it_is_known(shelf: Shelf) -> None:
    async def talk() -> None:
        known = {"CLAUDE_CODE_SESSION_ID": CALLING, "CLAUDE_PROJECT_DIR": SHOP}
        async with over_stdio(shelf, known) as client:
            found = check_result("timeline", await client.call_tool("timeline", {}))
            assert [chat["chat"] for chat in found["chats"]] == [PARSER]
            assert found["project"] == SHOP

    anyio.run(talk)


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_a_client_may_say_where_it_is_by_its_roots(shelf: Shelf, way: str) -> None:
    async def roots(_: ClientRequestContext) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl("file:///home/ada/garden"))])

    async def talk() -> None:
        with serving(shelf) as served:
            opened = (
                over_stdio(shelf, mode="legacy", list_roots_callback=roots)
                if way == "stdio"
                else over_http(served, mode="legacy", list_roots_callback=roots)
            )
            async with opened as client:
                found = check_result("timeline", await client.call_tool("timeline", {}))
                assert [chat["chat"] for chat in found["chats"]] == [session_uuid("garden")]

    anyio.run(talk)


def test_what_was_just_said_is_found(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    shelf.append("parser", b'{"type":"user","uuid":"pa-9","parentUuid":"pa-8","sessionId":"%s",'
                 b'"timestamp":"2026-01-05T11:00:00Z","message":{"role":"user","content":"and the okapi?"}}\n'
                 % PARSER.encode())  # fmt: skip

    async def talk() -> None:
        async with over_stdio(shelf) as client:
            with anyio.fail_after(30):
                while True:
                    found = check_result("search", await client.call_tool("search", {"query": "okapi"}))
                    if found["total_chats"]:
                        break

    anyio.run(talk)
    assert shelf.found("okapi") == ["and the okapi?"]


def test_a_library_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    made = story(tmp_path / "made")
    fresh = Shelf.__new__(Shelf)
    fresh.root, fresh.home, fresh.folder = tmp_path, made.home, tmp_path / "fresh"

    async def talk() -> None:
        async with over_stdio(fresh) as client:
            with anyio.fail_after(60):
                while (await client.call_tool("search", {"query": "painting"})).is_error:
                    pass
            while not (found := check_result("search", await client.call_tool("search", {"query": "painting"})))[
                "chats"
            ]:
                assert found["pending"]

    anyio.run(talk)


def test_a_home_that_comes_later_is_found(tmp_path: Path) -> None:
    made = story(tmp_path / "made")
    fresh = Shelf.__new__(Shelf)
    fresh.root, fresh.home, fresh.folder = tmp_path, tmp_path / "later", tmp_path / "fresh"

    async def talk() -> None:
        async with over_stdio(fresh) as client:
            first = await client.call_tool("search", {"query": "painting"})
            assert first.is_error or not (first.structured_content or {})["chats"]
            shutil.copytree(made.home, fresh.home)
            with anyio.fail_after(60):
                while True:
                    found = await client.call_tool("search", {"query": "painting"})
                    if not found.is_error and check_result("search", found)["chats"]:
                        break
                    await anyio.sleep(0.5)

    anyio.run(talk)


def test_two_servers_share_one_library(tmp_path: Path) -> None:
    shelf = story(tmp_path)
    for number in range(20):
        shelf.append("parser", b'{"type":"user","uuid":"more-%d","parentUuid":"pa-8","sessionId":"%s",'
                     b'"timestamp":"2026-01-05T11:00:00Z","message":{"role":"user","content":"okapi %d"}}\n'
                     % (number, PARSER.encode(), number))  # fmt: skip

    async def ask(client: Client) -> None:
        for _ in range(3 if TRY_ALL else 1):
            for name, arguments in CALLS.items():
                check_result(name, await client.call_tool(name, arguments))

    async def talk() -> None:
        async with over_stdio(shelf) as one, over_stdio(shelf) as other, anyio.create_task_group() as tasks:
            for client in (one, other, one, other):
                tasks.start_soon(ask, client)

    anyio.run(talk)
    shelf.update()
    shelf.check_rebuilt(["okapi", "zebra"])
