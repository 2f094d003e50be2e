"""Saved prompts, as clients get them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from backscroll.library.prompts.prompt import new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from tests.library.support import Shelf
from tests.mcp.support import over_http, over_stdio, serving, story


@asynccontextmanager
async def client_of(shelf: Shelf, way: str) -> AsyncIterator[Client]:
    if way == "stdio":
        async with over_stdio(shelf) as client:
            yield client
    else:
        with serving(shelf) as served:
            async with over_http(served) as client:
                yield client


@pytest.mark.parametrize("way", ["stdio", "http"])
def test_saved_prompts_are_listed_filled_and_counted(tmp_path: Path, way: str) -> None:
    shelf = story(tmp_path)
    prompts = PromptFile(shelf.folder)
    prompts.add(new_prompt("recall", "tell me of {{größe}}"))
    prompts.add(new_prompt("review", "line one {{branch}}\nline two", description="a look"))

    async def use(client: Client) -> None:
        listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert list(listed) == ["recall", "retrospective", "handover", "saved:recall", "review"]
        assert listed["review"].description == "a look"
        arguments = listed["review"].arguments or []
        assert [(one.name, one.required) for one in arguments] == [("branch", True)]
        (message,) = (await client.get_prompt("review", {"branch": "{{x}}\n2"})).messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == "line one {{x}}\n2\nline two"
        (message,) = (await client.get_prompt("saved:recall", {"größe": "7"})).messages
        assert isinstance(message.content, types.TextContent)
        assert message.content.text == "tell me of 7"
        for name, given in (
            ("review", {}),
            ("review", {"branch": "a", "typo": "b"}),
            ("saved:review", {"branch": "a"}),
        ):
            with pytest.raises(MCPError):
                await client.get_prompt(name, given)

    async def talk() -> None:
        async with client_of(shelf, way) as client:
            await use(client)

    anyio.run(talk)
    assert [(one.name, one.uses) for one in prompts.all()] == [("recall", 1), ("review", 1)]
    (shelf.folder / "prompts.json").write_text("{")

    async def talk_again() -> None:
        async with client_of(shelf, way) as client:
            assert len((await client.list_prompts()).prompts) == 3

    anyio.run(talk_again)
