"""Computers with a user, a home and a library, and everything that shows the user's chats, one as the other.

What must be shown comes from the session files themselves, read as plain JSON by code of its own.
"""

import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import backscroll
from backscroll import system
from tests.support.command import run_command
from tests.support.homes import write_home

Prompts = dict[str, list[str]]
"""What was asked in each session, by its id."""


class Computer:
    """A computer with one user, who calls nothing but commands, from a home directory of the user's own."""

    def __init__(self, root: Path, name: str, user: str = "ada", *, hardware: str | None = None) -> None:
        self.root, self.name = root / name, name
        self.hardware = hardware or f"hardware of {name}"
        self.user_folder = self.root / "home" / user
        self.user_folder.mkdir(parents=True)
        self.variables: dict[str, str] = {}
        """Further variables of its environment."""

    @property
    def home(self) -> Path:
        return self.user_folder / ".claude"

    @property
    def library(self) -> Path:
        return self.user_folder / ".local" / "share" / "backscroll"

    @property
    def machine(self) -> str:
        """The id by which its library knows it."""
        return str(json.loads((self.library / "machine.json").read_bytes())["id"])

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "TMPDIR") if name in os.environ}
        return {**kept, "HOME": str(self.user_folder), "LANG": "C.UTF-8", "TZ": "UTC", **self.variables}

    def write(self, files: Mapping[str, bytes]) -> "Computer":
        write_home(self.home, files)
        return self

    def run(self, *arguments: object, code: int | None = 0) -> CompletedProcess[str]:
        """A command on this computer; it must end with this code."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(system, "hardware_id", lambda: self.hardware)
            patch.setattr("platform.node", lambda: self.name)
            done = run_command(*arguments, environment=self.environment())
        assert code is None or done.returncode == code, done
        return done

    def json(self, *arguments: object) -> Any:  # noqa: ANN401
        return json.loads(self.run(*arguments, "--json").stdout)

    def rename_user(self, user: str) -> None:
        """The user gets another name, and so another home directory."""
        self.user_folder = self.user_folder.rename(self.user_folder.with_name(user))

    def put_away(self) -> None:
        """Nothing can reach its disk any more."""
        self.root.rename(self.root.with_name(f"{self.name} is lost"))

    # What its user sees

    def listed(self, *options: object) -> set[str]:
        """The chats that `list` shows."""
        done = self.run("list", "--limit", 1000, "--json", *options, code=None)
        return {chat["id"] for chat in json.loads(done.stdout or '{"chats": []}')["chats"]}

    def check_shows(self, prompts: Prompts, *, servers: bool = False) -> None:
        """Every command, the Python API, and with `servers` MCP and HTTP show exactly these sessions and prompts."""
        assert self.listed() == set(prompts)
        assert self.run("archive", "verify").returncode == 0
        activity = self.json("stats")["activity"]
        counts = (len(prompts), sum(map(len, prompts.values())))
        assert (activity["chats"], activity["prompts"]) == counts
        with pytest.MonkeyPatch.context() as patch:
            for name in [*os.environ]:
                patch.delenv(name)
            for name, value in self.environment().items():
                patch.setenv(name, value)
            patch.setattr(system, "hardware_id", lambda: self.hardware)
            with backscroll.open() as library:
                assert {chat.id for chat in library.chats()} == set(prompts)
        for session, texts in prompts.items():
            shown = self.json("show", session)
            assert [one["text"] for one in shown["messages"] if one["kind"] == "prompt"] == texts
            for text in texts:
                assert [chat["id"] for chat in self.json("search", f'"{text}"')["chats"]] == [session]
                recalled = self.json("recall", text)["passages"]
                assert session in {passage["chat"] for passage in recalled}
        if servers:
            self.check_served(prompts)

    def check_served(self, prompts: Prompts) -> None:
        """The servers for agents and for browsers show these sessions and prompts."""
        texts = [(session, text) for session, of_session in prompts.items() for text in of_session]
        answers = self.ask_mcp([("search", {"query": f'"{text}"', "detail": "ids"}) for _, text in texts])
        for (session, _), answer in zip(texts, answers, strict=True):
            assert [chat["chat"] for chat in answer["chats"]] == [session]
        with self.viewer() as url:
            assert {chat["id"] for chat in _get(url, "chats", limit=100)["chats"]} == set(prompts)
            for session, text in texts:
                assert [chat["id"] for chat in _get(url, "search", q=f'"{text}"')["chats"]] == [session]
                shown = _get(url, f"chats/{session}/messages")["messages"]
                assert text in [one["text"] for one in shown if one["kind"] == "prompt"]

    def ask_mcp(self, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """What the MCP server answers over its standard input and output."""
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        with self._start("mcp") as process:
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None

            def ask(number: int, method: str, parameters: dict[str, Any]) -> Any:  # noqa: ANN401
                request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
                stdin.write(json.dumps(request).encode() + b"\n")
                stdin.flush()
                while (answer := json.loads(stdout.readline())).get("id") != number:
                    pass
                return answer["result"]

            ask(0, "initialize", hello)
            stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
            answers = [
                ask(number, "tools/call", {"name": name, "arguments": arguments})["structuredContent"]
                for number, (name, arguments) in enumerate(calls, 1)
            ]
            stdin.close()
            process.wait()
        return answers

    @contextmanager
    def choosing(self, home: Path) -> Iterator[None]:
        """The user has told Claude Code to use this home."""
        self.variables["CLAUDE_CONFIG_DIR"] = str(home)
        yield
        del self.variables["CLAUDE_CONFIG_DIR"]

    @contextmanager
    def viewer(self) -> Iterator[str]:
        """The address of the HTTP API while the viewer runs."""
        with self._start("open", "--no-browser", "--json") as process:
            assert process.stdout is not None
            told = json.loads("".join(iter_json(process.stdout)))
            try:
                yield f"{told['url'].rstrip('/')}/api/v1/"
            finally:
                process.terminate()
                process.wait()

    def _start(self, *arguments: str) -> "subprocess.Popen[bytes]":
        settings = self.user_folder / ".config" / "backscroll" / "settings.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        if not settings.exists():
            settings.write_text('[web]\nrequire_key = "never"\n')
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "backscroll", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment(), cwd=self.user_folder,
        )  # fmt: skip


def iter_json(stream: Iterable[bytes]) -> Iterator[str]:
    """The lines of the first JSON object in a stream."""
    for line in stream:
        yield line.decode()
        if line.rstrip() == b"}":
            return


def _get(url: str, path: str, **parameters: object) -> Any:  # noqa: ANN401
    with urllib.request.urlopen(f"{url}{path}?{urllib.parse.urlencode(parameters)}", timeout=60) as answer:
        return json.load(answer)


def prompts_in(*homes: Path) -> Prompts:
    """The prompts of each session in these homes, from the files themselves. A copied prompt counts once."""
    found: dict[str, dict[str, str]] = {}
    for home in homes:
        for path in sorted((home / "projects").glob("*/*.jsonl")):
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            asked = {
                row["uuid"]: row["message"]["content"]
                for row in rows
                if row["type"] == "user" and isinstance(row["message"]["content"], str)
            }
            found.setdefault(path.stem, {}).update(asked)
    return {session: [*asked.values()] for session, asked in found.items()}
