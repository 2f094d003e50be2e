"""A session that is being written, row by row, as a client writes it."""

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import live_session, session_path

MODEL: Final = "claude-sonnet-4-5-20250929"


class JourneyWriter:
    """Appends to one session of a shelf; knows what a reader must see of it."""

    def __init__(self, shelf: Shelf, name: str, cwd: str = "/home/ada/shop") -> None:
        self.shelf, self.name, self.cwd = shelf, name, cwd
        self.chat = session_uuid(name)
        self.path = shelf.home / session_path(name)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.messages: list[str] = []
        self.rows = 0
        self._last: str | None = None
        self._waiting: list[dict[str, Any]] = []

    @classmethod
    def begun(cls, shelf: Shelf, name: str, turns: int) -> "JourneyWriter":
        """A session with a few turns in it, indexed."""
        writer = cls(shelf, name)
        for number in range(turns):
            writer.turn(f"question {number}")
        writer.flush()
        shelf.update()
        return writer

    def turn(self, text: str, tool: str = "make") -> str:
        """A question, an answer with a tool, its result, and a last answer: five rows, three messages."""
        asked = self.ask(text)
        self.call(tool)
        self.result(f"{tool}: made")
        self.answer(f"Done with {text}.")
        return asked

    def ask(self, text: str) -> str:
        """The user types a prompt."""
        return self._message({"type": "user", "message": {"role": "user", "content": text}})

    def call(self, command: str, name: str = "Bash", **given: str) -> str:
        """The model calls a tool."""
        call = f"toolu_{self.name}_{self.rows}"
        given = given or {"command": command}
        self._message(self._said({"type": "tool_use", "id": call, "name": name, "input": given}, stop="tool_use"))
        self._call = call
        return call

    def result(self, text: str, **more: object) -> None:
        """The result of the last call."""
        block = {"type": "tool_result", "tool_use_id": self._call, "content": text}
        given = {"stdout": text, "stderr": "", "interrupted": False} | more
        self._row({"type": "user", "message": {"role": "user", "content": [block]}, "toolUseResult": given})

    def answer(self, text: str) -> str:
        """The model says something."""
        return self._message(self._said({"type": "text", "text": text}, stop="end_turn"))

    def ask_in_blocks(self, texts: Iterable[str]) -> str:
        """The user types a prompt of several blocks."""
        blocks = [{"type": "text", "text": text} for text in texts]
        return self._message({"type": "user", "message": {"role": "user", "content": blocks}})

    def flush(self) -> None:
        """Write what was not written yet, in one go."""
        with self.path.open("ab") as file:
            file.write(jsonl(self._waiting))
        self._waiting.clear()

    def be_live(self, number: int | None = None, status: str = "busy") -> None:
        """Say, as a client does, that this session is open in a process that runs: in this one, or its parent."""
        pid = number or os.getpid()
        started = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19]
        for place, data in live_session(self.name, pid, started).items():
            told = json.loads(data) | {"status": status}
            self.shelf.write({place: json.dumps(told)})

    def agent(self, name: str, call: str, drawing: str) -> None:
        """What an agent that a call started says, more of it every time."""
        folder = Path(session_path(self.name).removesuffix(".jsonl")) / "subagents"
        meta = {"agentType": "Explore", "description": "look", "toolUseId": call, "spawnDepth": 1}
        rows = draw(drawing, session=self.name, agent=name, version="2.1.72", time=_now())
        place = self.shelf.home / folder / f"agent-{name}.jsonl"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
        with place.open("ab") as file:
            file.write(jsonl(rows))

    def _said(self, block: dict[str, Any], stop: str) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 5}
        name = f"msg_{self.name}_{self.rows}"
        message = {"id": name, "type": "message", "role": "assistant", "model": MODEL, "content": [block]}
        return {
            "type": "assistant",
            "requestId": f"req_{name}",
            "message": message | {"stop_reason": stop, "usage": usage},
        }

    def _message(self, row: dict[str, Any]) -> str:
        name = self._row(row)
        self.messages.append(name)
        return name

    def _row(self, row: dict[str, Any]) -> str:
        name = f"{self.name}-{self.rows}"
        base = {"parentUuid": self._last, "isSidechain": False, "userType": "external", "cwd": self.cwd}
        base |= {"sessionId": self.chat, "version": "2.1.72", "gitBranch": "main", "uuid": name, "timestamp": _now()}
        self._waiting.append(base | row)
        self._last, self.rows = name, self.rows + 1
        return name


_LAST = [datetime.now(UTC)]


def _now() -> str:
    """The time, a little later than it was when it was last asked for."""
    _LAST.append(max(datetime.now(UTC), _LAST.pop() + timedelta(milliseconds=1)))
    return _LAST[0].isoformat(timespec="milliseconds").replace("+00:00", "Z")
