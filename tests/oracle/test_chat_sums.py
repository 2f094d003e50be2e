"""After any history, the tokens and the cost of each chat are those of a recount, in every place that shows them.

The histories are written and counted here in plain `json`: answers that several sessions repeat, sessions that are
resumed, cut short, deleted and brought back, and prices that change. Of the product, only its commands are used.
"""

import json
import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from tests.support.command import run_command
from tests.support.samples import TRY_ALL

Row = dict[str, Any]
BEGAN: Final = datetime.fromisoformat("2026-02-01T09:00:00+00:00")
MODELS: Final = ("model-a", "model-b", "unpriced", "<synthetic>")
FIELDS: Final = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_creation_input_tokens": "cache_write_5m",
    "cache_read_input_tokens": "cache_read",
}
"""What an answer used, and which price it has."""


@dataclass
class History:
    """A home that changes, and a library of it."""

    root: Path
    random: random.Random
    sessions: dict[str, list[Row]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    prices: dict[str, dict[str, int]] = field(default_factory=dict)
    longer: dict[str, list[list[Row]]] = field(default_factory=lambda: defaultdict(list))
    made: int = 0

    def step(self) -> str:
        """Change something."""
        steps = (self.begin, self.answer, self.answer, self.resume, self.repeat, self.repeat, self.cut, self.delete)
        step = (
            self.random.choice((*steps, self.total, self.bring_back, self.set_prices)) if self.sessions else self.begin
        )
        step()
        return step.__name__

    def begin(self) -> None:
        name = str(UUID(int=self.random.getrandbits(128), version=4))
        self.sessions[name] = []
        self._append(name, self._row("user", {"role": "user", "content": f"do the thing {self.made}"}))
        self._append(name, self._answer())
        self._write(name)

    def answer(self) -> None:
        name = self._any()
        self._append(name, self._answer())
        self._write(name)

    def resume(self) -> None:
        """Begin a session with a copy of another, as `--fork-session` does."""
        rows = self.sessions[self._any()]
        name = str(UUID(int=self.random.getrandbits(128), version=4))
        self.sessions[name] = [row | {"sessionId": name} for row in rows if "uuid" in row]
        self._append(name, self._row("user", {"role": "user", "content": f"go on {self.made}"}))
        self._append(name, self._answer())
        self._write(name)

    def repeat(self) -> None:
        """Write an answer that some session has into another, earlier or later, with more or less of its usage."""
        rows = [row for rows in self.sessions.values() for row in rows if row["type"] == "assistant"]
        message = self.random.choice(rows or [self._answer()])["message"]
        usage = {name: max(0, count + self.random.randint(-2, 2) * 1000) for name, count in message["usage"].items()}
        name = self._any()
        self._append(name, self._row("assistant", message | {"usage": usage}, moved=self.random.randint(-90, 90)))
        self._write(name)

    def total(self) -> None:
        """Write the client's own total, which has more than the answers of the session."""
        name = self._any()
        models = self.random.sample(MODELS[:3], 2)
        names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        usage = {model: {one: self.random.randint(0, 40) * 1000 for one in names} for model in models}
        row = {"type": "cost-state", "startTime": BEGAN.timestamp() * 1000, "modelUsage": usage, "sessionId": name}
        self.sessions[name].append(row)
        self._write(name)

    def cut(self) -> None:
        """Leave out the last rows of a session. The library has them still, until the file is longer than it was."""
        name = self._any()
        self.updated()
        rows = self.sessions[name]
        self.longer[name].append(rows)
        self.sessions[name] = rows[: self.random.randint(1, len(rows))]
        self._write(name)

    def shown_rows(self) -> list[tuple[str, Row]]:
        """The rows that a library shows, each with its session: of a file that was cut, its longer versions too."""
        found = []
        for name, rows in self.sessions.items():
            longest = rows
            found += [(name, row) for row in rows]
            for version in reversed(self.longer[name]):
                if len(_bytes_of(version)) > len(_bytes_of(longest)):
                    longest = version
                    found += [(name, row) for row in version]
        return found

    def delete(self) -> None:
        """Remove a file; the archive has it still, if an update has seen it."""
        name = self._any()
        self.updated()
        self.path(name).unlink()
        self.deleted.add(name)

    def bring_back(self) -> None:
        for name in sorted(self.deleted)[:1]:
            self._write(name)

    def set_prices(self) -> None:
        self.prices = {
            model: {price: self.random.randint(1, 60) for price in FIELDS.values()} | {"cache_write_1h": 1}
            for model in self.random.sample(MODELS[:2], self.random.randint(1, 2))
        }
        lines = [
            line
            for model, rates in self.prices.items()
            for line in (f'[prices."{model}"]', *(f"{name} = {rate}" for name, rate in rates.items()))
        ]
        (self.root / "settings.toml").write_text("\n".join(lines) + "\n")

    def path(self, name: str) -> Path:
        return self.root / "home" / "projects" / "-srv-shop" / f"{name}.jsonl"

    def updated(self) -> None:
        assert self.run("update").returncode == 0

    def asked(self, *arguments: str) -> Any:  # noqa: ANN401 - what a command prints as JSON
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def run(self, *arguments: str) -> Any:  # noqa: ANN401
        environment = {
            "HOME": str(self.root), "PATH": "/usr/bin:/bin", "BACKSCROLL_SETTINGS": str(self.root / "settings.toml"),
            "BACKSCROLL_LIBRARY": str(self.root / "library"), "CLAUDE_CONFIG_DIR": str(self.root / "home"),
        }  # fmt: skip
        return run_command(*arguments, environment=environment)

    def _any(self) -> str:
        present = sorted(self.sessions.keys() - self.deleted)
        if not present:
            self.begin()
            return self._any()
        return self.random.choice(present)

    def _write(self, name: str) -> None:
        self.deleted.discard(name)
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_bytes_of(self.sessions[name]))

    def _append(self, name: str, row: Row) -> None:
        rows = self.sessions[name]
        before = [other["uuid"] for other in rows if "uuid" in other]
        rows.append(row | {"sessionId": name, "parentUuid": before[-1] if before else None})

    def _answer(self) -> Row:
        usage = {name: self.random.randint(0, 9) * 1000 for name in FIELDS}
        content = [{"type": "text", "text": "done"}]
        message = {"id": f"msg_{self.made}", "role": "assistant", "content": content, "stop_reason": "end_turn"}
        return self._row("assistant", message | {"model": self.random.choice(MODELS), "usage": usage})

    def _row(self, kind: str, message: Row, moved: int = 0) -> Row:
        self.made += 1
        moment = BEGAN + timedelta(minutes=self.made + moved, milliseconds=self.made)  # no two are the same
        uuid = str(UUID(int=self.random.getrandbits(128), version=4))
        row = {"type": kind, "uuid": uuid, "timestamp": moment.isoformat().replace("+00:00", "Z"), "message": message}
        return row | {"cwd": "/srv/shop", "version": "2.1.42", "isSidechain": False, "userType": "external"}


def _bytes_of(rows: list[Row]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@dataclass
class Sums:
    """What a chat used: its tokens, and its cost in microdollars, if anything in it has a price."""

    tokens: int = 0
    cost: int | None = None

    def add(self, usage: dict[str, int], rates: dict[str, int] | None) -> None:
        self.tokens += sum(usage.values())
        if rates is not None:  # a price is dollars per million tokens, which is microdollars per token
            self.cost = (self.cost or 0) + sum(count * rates[FIELDS[name]] for name, count in usage.items())


def recount(history: History, chat_of: dict[str, str]) -> dict[str, Sums]:
    """Each answer once: of each field the most that any row says, in the chat of its first row."""
    rows: dict[str, list[tuple[str, str, Row]]] = defaultdict(list)
    for session, row in history.shown_rows():
        if row["type"] == "assistant":
            rows[row["message"]["id"]].append((row["timestamp"], session, row["message"]))
    sums = {chat: Sums() for chat in chat_of.values()}
    for copies in rows.values():
        _, session, message = min(copies, key=lambda copy: copy[:2])
        if message["model"] != "<synthetic>":
            usage = {name: max(copy["usage"][name] for *_, copy in copies) for name in FIELDS}
            sums[chat_of[session]].add(usage, history.prices.get(message["model"]))
    return sums


def shown(chats: list[Row]) -> dict[str, Sums]:
    return {chat["id"]: Sums(chat["tokens"], chat["cost_microdollars"]) for chat in chats}


@pytest.mark.parametrize("seed", range(40 if TRY_ALL else 3))
def test_the_sums_of_chats_are_those_of_a_recount(seed: int, tmp_path: Path) -> None:
    history = History(tmp_path, random.Random(seed))
    (tmp_path / "settings.toml").write_text("")
    done = []
    for _ in range(40 if TRY_ALL else 12):
        done += [history.step() for _ in range(history.random.randint(1, 3))]
        chats = history.asked("list", "--limit", "1000")["chats"]
        chat_of = {session: chat["id"] for chat in chats for session in chat["sessions"]}
        expected = recount(history, chat_of)
        assert shown(chats) == expected, done
        assert unrecorded_of(chats) == unrecorded_statistics(history), done
        assert statistics(history) == {chat: sums for chat, sums in expected.items() if sums.tokens}, done
    columns = "id, tokens, cost_microdollars"
    rows = history.asked("sql", f"select {columns} from v_chats")["rows"]
    assert {name: Sums(tokens, cost) for name, tokens, cost in map(values, rows)} == expected


def unrecorded_of(chats: list[Row]) -> tuple[int, int]:
    """Tokens and microdollars of requests without a record, as chats have them."""
    costs = [chat["unrecorded_cost_microdollars"] or 0 for chat in chats]
    return sum(chat["unrecorded_tokens"] for chat in chats), sum(costs)


def unrecorded_statistics(history: History) -> tuple[int, int]:
    """The same as a report has them, whose models add up to it."""
    told = history.asked("stats", "usage")["unrecorded"]
    if told is None:
        return 0, 0
    for name in ("input_tokens", "output_tokens", "cost_microdollars"):
        assert told[name] == sum(model[name] or 0 for model in told["models"]) or told[name] is None
    tokens = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(told[name] for name in tokens), told["cost_microdollars"] or 0


def values(row: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return tuple(row.values()) if isinstance(row, dict) else tuple(row)


def statistics(history: History) -> dict[str, Sums]:
    """What `stats usage` has of each chat; its total is theirs."""
    told = history.asked("stats", "usage", "--by", "chat", "--limit", "1000")
    found = {row["chat"]: Sums(sum(row[name] for name in FIELDS), row["cost_microdollars"]) for row in told["rows"]}
    total = told["total"]
    assert sum(sums.tokens for sums in found.values()) == sum(total[name] for name in FIELDS)
    assert sum(sums.cost or 0 for sums in found.values()) == (total["cost_microdollars"] or 0)
    return {chat: sums for chat, sums in found.items() if sums.tokens}
