"""The protocol's own inspector lists and calls what there is."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.library.support import Shelf
from tests.mcp.support import CALLS, TOKEN, serving, story

PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2")
"""It does not run with an older Node."""
PATIENCE = 120


@pytest.fixture(scope="module")
def inspector() -> list[str]:
    """The command. npx may have to fetch it, which takes a network and a while, so only where that is wanted."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("there is no npx here")
    if not os.environ.get("BACKSCROLL_INSPECTOR"):
        pytest.skip("set BACKSCROLL_INSPECTOR=1 to let npx fetch the MCP inspector")
    return [npx, "-y", *(part for package in PACKAGES for part in ("-p", package)), "mcp-inspector", "--cli"]


def run(command: list[str], *arguments: str) -> dict[str, Any]:
    cache = Path(tempfile.gettempdir()) / "backscroll-npm"  # so that it is fetched once, and no home is touched
    environment = {**os.environ, "npm_config_cache": str(cache), "npm_config_loglevel": "error"}
    done = subprocess.run([*command, *arguments], capture_output=True, timeout=PATIENCE, env=environment, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def server_of(shelf: Shelf) -> list[str]:
    return [sys.executable, "-m", "backscroll", "--home", str(shelf.home), "--library", str(shelf.folder), "mcp"]


def test_the_inspector_lists_and_calls_over_stdio(inspector: list[str], tmp_path: Path) -> None:
    command = [*inspector, *server_of(story(tmp_path))]
    tools = run(command, "--method", "tools/list", "--strict")["tools"]
    assert {tool["name"] for tool in tools} == set(CALLS)
    for name, arguments in CALLS.items():
        given = [part for key, value in arguments.items() for part in ("--tool-arg", f"{key}={value}")]
        answer = run(command, "--method", "tools/call", "--tool-name", name, *given)
        assert "not instructions" in answer["structuredContent"]["note"]
    assert len(run(command, "--method", "prompts/list")["prompts"]) == 3
    assert run(command, "--method", "resources/list")["resources"]


def test_the_inspector_lists_over_http(inspector: list[str], tmp_path: Path) -> None:
    with serving(story(tmp_path)) as served:
        command = [*inspector, served.url, "--transport", "http", "--header", f"Authorization: Bearer {TOKEN}"]
        assert {tool["name"] for tool in run(command, "--method", "tools/list")["tools"]} == set(CALLS)
