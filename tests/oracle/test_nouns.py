"""Prompts, answers, calls and chats are the same number in every list, report, view and overview, and a recount's."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.oracle.nouns import Counts, recount
from tests.support.command import run_command

SESSION: Final = "00000000-0000-4000-8000-00000000000{}"
NOTHING_FOUND: Final = 3
EVER: Final = ("--since", "2000-01-01")


@dataclass
class Home:
    """A home with its library, what its commands print, and a recount of it."""

    home: Path
    root: Path

    def __post_init__(self) -> None:
        self.counts: Counts = recount(self.home)
        self._printed: dict[tuple[str, ...], Any] = {}

    def printed(self, *arguments: str) -> Any:  # noqa: ANN401 - JSON
        if arguments not in self._printed:
            self._printed[arguments] = json.loads(self.run(*arguments, "--json"))
        return self._printed[arguments]

    def run(self, *arguments: str) -> str:
        environment = {
            "HOME": str(self.root), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(self.home), "TZ": "UTC",
            "BACKSCROLL_LIBRARY": str(self.root / "library"), "BACKSCROLL_SETTINGS": str(self.root / "none.toml"),
        }  # fmt: skip
        done = run_command(*arguments, environment=environment)
        assert done.returncode in (0, NOTHING_FOUND), done.stderr
        return done.stdout

    def sql(self, statement: str) -> int:
        (row,) = self.printed("sql", statement)["rows"]
        return int(row[0])

    def chats(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.printed("list", "-n", "100000")["chats"]
        return found

    def report(self, *arguments: str) -> Any:  # noqa: ANN401
        return self.printed("stats", *arguments)

    def by_chat(self, *arguments: str) -> list[Any]:
        rows = self.report(*arguments, "--by", "chat", "-n", "100000")["rows"]
        return [row for row in rows if row["chat"] != "-"]


PROMPTS: Final[dict[str, Callable[[Home], int]]] = {
    "list": lambda home: sum(chat["prompts"] for chat in home.chats()),
    "v_chats": lambda home: home.sql("select sum(prompts) from v_chats"),
    "overview": lambda home: home.report()["activity"]["prompts"],
    "overview of a period": lambda home: home.report(*EVER)["activity"]["prompts"],
    "stats prompts": lambda home: home.report("prompts")["total"]["prompts"],
    "stats prompts by chat": lambda home: sum(row["prompts"] for row in home.by_chat("prompts")),
    "stats activity": lambda home: home.report("activity")["prompts"],
    "stats topics": lambda home: home.report("topics")["all_prompts"],
    "stats spend": lambda home: home.report("spend", *EVER)["total"]["prompts"],
}
ANSWERS: Final[dict[str, Callable[[Home], int]]] = {
    "v_usage": lambda home: home.sql("select count(*) from v_usage where model <> '<synthetic>'"),
    "stats usage": lambda home: home.report("usage")["counted"],
    "stats usage by model": lambda home: sum(row["messages"] for row in home.report("usage", "--by", "model")["rows"]),
    "stats cache": lambda home: home.report("cache")["total"]["answers"],
    "stats spend": lambda home: home.report("spend", *EVER)["total"]["messages"],
    "overview": lambda home: home.report()["usage"]["messages"],
}
CALLS: Final[dict[str, Callable[[Home], int]]] = {
    "v_tool_calls": lambda home: home.sql("select count(*) from v_tool_calls"),
    "stats tools": lambda home: home.report("tools")["total"]["calls"],
    "rows of stats tools": lambda home: sum(row["calls"] for row in home.report("tools", "-n", "100000")["rows"]),
    "stats sequences": lambda home: home.report("sequences")["counted"],
    "overview": lambda home: home.report()["calls"],
}
TURNS: Final[dict[str, Callable[[Home], int]]] = {
    "overview": lambda home: home.report()["activity"]["turns"],
    "overview of a period": lambda home: home.report(*EVER)["activity"]["turns"],
    "stats time": lambda home: home.report("time")["total"]["turns"],
    "stats spend by turn": lambda home: len(
        [row for row in home.report("spend", *EVER, "--by", "turn", "-n", "100000")["rows"] if row["prompt"]]
    ),
}
CHATS: Final[dict[str, Callable[[Home], int]]] = {
    "list": lambda home: len(home.chats()),
    "v_chats": lambda home: home.sql("select count(*) from v_chats"),
    "overview": lambda home: home.report()["activity"]["chats"],
    "overview of a period": lambda home: home.report(*EVER)["activity"]["chats"],
}
WITH_AN_ANSWER: Final[dict[str, Callable[[Home], int]]] = {
    "stats usage by chat": lambda home: len(home.by_chat("usage")),
    "stats chats": lambda home: home.report("chats")["total"]["chats"],
    "rows of stats chats": lambda home: sum(row["chats"] for row in home.report("chats")["rows"]),
    "v_usage": lambda home: home.sql(
        "select count(distinct chat_id) from v_usage"
        " where model <> '<synthetic>' and chat_id in (select id from v_chats)"
    ),
}
NOUNS: Final = {
    "prompts": PROMPTS, "turns": TURNS, "answers": ANSWERS, "calls": CALLS, "chats": CHATS,
    "chats with an answer": WITH_AN_ANSWER,
}  # fmt: skip


def shown(home: Home) -> dict[str, dict[str, int]]:
    """Each noun as each door shows it."""
    return {noun: {door: count(home) for door, count in doors.items()} for noun, doors in NOUNS.items()}


def one_of_each(shown: dict[str, dict[str, int]]) -> dict[str, int]:
    """The one number of each noun; all numbers of the doors, if they disagree."""
    assert {noun: doors for noun, doors in shown.items() if len({*doors.values()}) > 1} == {}
    return {noun: next(iter(doors.values())) for noun, doors in shown.items()}


def lay(folder: Path) -> Path:
    """A home with everything that is a prompt, and much that is none."""
    minute = 0

    def row(session: int, uuid: str, parent: str | None, kind: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        nonlocal minute
        minute += 1
        base = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION.format(session)}
        base |= {"timestamp": f"2026-02-01T09:{minute:02}:00.000Z", "cwd": "/srv/shop", "version": "2.1.42"}
        return {**base, "isSidechain": False, "userType": "external", **fields}

    def user(session: int, uuid: str, parent: str | None, content: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        return row(session, uuid, parent, "user", message={"role": "user", "content": content}, **fields)

    def answer(session: int, uuid: str, parent: str, name: str, *blocks: Any, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        content = list(blocks) or [{"type": "text", "text": f"done {name}"}]
        message: dict[str, Any] = {
            "id": name,
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": content,
        }
        message |= {"usage": usage, "stop_reason": "end_turn"}
        return row(session, uuid, parent, "assistant", message=message, **fields)

    def call(name: str, tool: str, **given: str) -> dict[str, Any]:
        return {"type": "tool_use", "id": name, "name": tool, "input": given}

    def result(name: str, text: str, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"type": "tool_result", "tool_use_id": name, "content": text, **fields}

    one = [
        user(1, "a1", None, "fix the parser"),
        answer(1, "a2", "a1", "m1", call("t1", "Bash", command="make")),
        user(1, "a3", "a2", [result("t1", "no rule", is_error=True)]),
        row(1, "a4", "a3", "attachment", attachment={"type": "queued_command", "prompt": "and be quick",
                                                    "commandMode": "prompt"}),
        answer(1, "a5", "a4", "m2", call("t2", "Task", prompt="look around", description="look",
                                         subagent_type="Explore")),
        user(1, "a6", "a5", [result("t2", "seen")], toolUseResult={"agentId": "a1b2c3d"}),
        answer(1, "a7", "a6", "m3", call("t3", "Edit", file_path="/srv/shop/a.py", old_string="a", new_string="b")),
        user(1, "a8", "a7", [result("t3", "refused", is_error=True), {"type": "text", "text": "not that file"}]),
        answer(1, "a9", "a8", "m4"),
        user(1, "b1", "a9", "<command-name>/review</command-name><command-args>a.py</command-args>"),
        user(1, "b2", "b1", "Review the file a.py.", isMeta=True),
        answer(1, "b3", "b2", "m5"),
        user(1, "b4", "b3", "<bash-input>ls</bash-input>"),
        user(1, "b5", "b4", "<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>"),
        user(1, "b6", "b5", "<task-notification><summary>done</summary></task-notification>"),
        user(1, "b7", "b6", "[Request interrupted by user]"),
        user(1, "b8", "b7", "This session is being continued from a previous conversation.", isCompactSummary=True),
        row(1, "b9", "b8", "assistant", isApiErrorMessage=True, message={
            "id": "made-up", "role": "assistant", "model": "<synthetic>", "usage": {"input_tokens": 0},
            "content": [{"type": "text", "text": "API Error: 529 Overloaded"}]}),
    ]  # fmt: skip
    made_up = answer(1, "b11", "b10", "made-up-2")
    made_up["message"]["model"] = "<synthetic>"
    one += [user(1, "b10", "b9", "<command-name>/exit</command-name><command-args></command-args>"), made_up]
    rewound = [user(1, "c1", "a9", "no, undo that"), answer(1, "c2", "c1", "m6")]
    resumed = [{**copied, "sessionId": SESSION.format(2)} for copied in (*one, *rewound)]
    resumed += [user(2, "d1", "c2", "go on"), answer(2, "d2", "d1", "m7")]
    asked = [user(3, "e1", None, "is anyone there?")]
    command = [user(4, "f1", None, "<command-name>/clear</command-name><command-args></command-args>")]
    silent = [user(5, "g1", None, "<local-command-stdout>nothing</local-command-stdout>")]
    agent = [
        user(1, "x1", None, "look around", isSidechain=True, agentId="a1b2c3d"),
        answer(1, "x2", "x1", "m8", call("t4", "Read", file_path="/srv/shop/a.py"), isSidechain=True,
               agentId="a1b2c3d"),
        user(1, "x3", "x2", [result("t4", "a")], isSidechain=True, agentId="a1b2c3d"),
        answer(1, "x4", "x3", "m9", isSidechain=True, agentId="a1b2c3d"),
    ]  # fmt: skip
    project = folder / "projects" / "-srv-shop"
    sessions = enumerate(([*one, *rewound], resumed, asked, command, silent), start=1)
    files = {f"{SESSION.format(number)}.jsonl": rows for number, rows in sessions}
    files[f"{SESSION.format(1)}/subagents/agent-a1b2c3d.jsonl"] = agent
    for name, rows in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def test_each_noun_is_one_number_everywhere(tmp_path: Path) -> None:
    home = Home(lay(tmp_path / "home"), tmp_path)
    counts = home.counts
    # Typed: text, queued, beside a refusal, /review, !ls, /exit, the two that continue, and two without an answer.
    assert (len(counts.prompts), len(counts.answers), len(counts.calls)) == (10, 9, 4)
    # Of these the queued one and the one beside a refusal begin no turn, and four have no answer of a model.
    assert one_of_each(shown(home)) == {
        "prompts": 10, "turns": 4, "answers": 9, "calls": 4, "chats": 3, "chats with an answer": 1,
    }  # fmt: skip


@pytest.mark.slow
def test_each_noun_of_real_sessions_is_one_number_everywhere(corpus: Path, corpus_copy: Path) -> None:
    home = Home(corpus / "home", corpus_copy.parent)
    found = one_of_each(shown(home))
    counts = home.counts
    counted = (len(counts.prompts), len(counts.answers), len(counts.calls))
    assert (found["prompts"], found["answers"], found["calls"]) == counted
    listed = {session for chat in home.chats() for session in chat["sessions"]}
    assert counts.sessions <= listed
