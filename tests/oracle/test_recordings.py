"""Each noun in each door, over what six versions of the real client wrote, real sessions, and generated homes.

Every tool call is found, shown, counted, in the file that it changed, exported, and in the API; every typed prompt is
on the active branch, or stands beside what replaced it; answers and their tokens, agents and the costs of turns are
those of a recount in plain `json`. `recordings` and the fixtures are what the client wrote while it played
`scripts/record-transcripts`; texts of its vendor are cut.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.library.support import Shelf
from tests.mcp.support import answer as ask_agent
from tests.oracle.recount import agents, inputs_of, rows_of
from tests.oracle.test_nouns import EVER, Home, one_of_each, shown
from tests.support.homes import FAMILIES, write_home
from tests.web.served import ask, serving

RECORDINGS: Final = Path(__file__).parent / "recordings"
FIXTURES: Final = Path(__file__).parents[1] / "fixtures" / "transcripts"
VERSIONS: Final = ("2.1.327", "2.1.200", "2.1.100", "2.0.76", "1.0.128", "1.0.35")
LARGEST: Final = 300_000
EDITS: Final = frozenset({"Edit", "MultiEdit", "Write"})
ROUNDING: Final = 1
"""Microdollars by which the cost of each turn may be rounded."""
WORD: Final = re.compile(r"(?<![\w/.-])[a-z]{4,}(?![\w/.-])")
NOT_SAID: Final = "SNAPSHOTWORD"
Json = dict[str, Any]


def played(version: str, folder: Path) -> Path:
    """A home with everything that was recorded of a version."""
    home = folder / "home"
    for scenario in sorted([*RECORDINGS.glob(f"{version}/*"), *FIXTURES.glob(f"{version}/*")]):
        shutil.copytree(scenario / "projects", home / "projects", dirs_exist_ok=True)
    return home


class Doors(Home):
    """The doors of a home, each asked once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.whole = {
            chat["id"]: self.printed("show", chat["id"], "--agents", "--branch", "all") for chat in self.chats()
        }

    def messages(self) -> Iterator[tuple[str, Json]]:
        """Every message of every chat and agent, with the id of its chat."""
        for chat, told in self.whole.items():
            yield from ((chat, said) for said in told["messages"])
            yield from ((chat, said) for agent in told["agents"] for said in agent["messages"])

    def rows(self, statement: str) -> list[list[Any]]:
        found: list[list[Any]] = self.printed("sql", statement, "--limit", "1000000")["rows"]
        return found


def check_calls(home: Doors, step: int) -> None:
    """Each call is shown once, counted once, found by its words and exported. `step` tries one search in so many."""
    expected = inputs_of(home.home)
    assert Counter(call["id"] for _, said in home.messages() for call in said.get("calls", [])) == Counter(
        expected.keys()
    )
    assert Counter(row[0] for row in home.rows("select call from v_tool_calls")) == Counter(expected.keys())
    assert home.report("tools")["total"]["calls"] == len(expected)
    words = {call: dict.fromkeys(WORD.findall(" ".join(texts_in(given)))) for call, (_, given) in expected.items()}
    for call in [call for call in sorted(expected) if words[call]][::step]:
        query = " ".join(f"+{word}" for word in list(words[call])[:6])
        found = home.printed("search", f"role:input tool:={expected[call][0]} {query}", "-n", "1000")["hits"]
        assert found, (call, query)
    printed = home.run(
        "export", "--query", "-project:nowhere", "--format", "jsonl", "--no-redact", "--out", str(home.root / "out")
    )
    text = "\n".join(path.read_text(errors="replace") for path in (home.root / "out").rglob("*.jsonl"))
    assert [call for call in expected if call not in text] == [], printed


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts_in(part)


def check_files(home: Doors) -> None:
    """Each edit that was made is a version of its file, and blamed on its turn."""
    edits: dict[str, set[str]] = {}
    made = {row[0] for row in home.rows("select call from v_tool_calls where state = 'done'")}
    shown_by = {call["id"]: said for _, said in home.messages() for call in said.get("calls", [])}
    for call, (tool, given) in inputs_of(home.home).items():
        if tool in EDITS and call in made:
            edits.setdefault(given["file_path"], set()).update(shown_by[call]["uuids"])
    for path, uuids in list(edits.items())[:5]:
        blamed = {uuid for turn in home.printed("blame", path)["turns"] for uuid in turn["messages"]}
        assert blamed <= uuids, path
        assert blamed, path
        listed = {one["message"] for one in home.printed("file", path, "--list")["versions"]}
        assert listed & uuids, path


def check_prompts(home: Doors) -> None:
    """Each prompt is on the active branch of its chat, or one that it left has another prompt in its place."""
    typed = {uuid for uuid in home.counts.prompts if " " not in uuid}
    placed = {
        uuid: (chat, said["branch"]) for chat, said in home.messages() for uuid in said["uuids"] if "branch" in said
    }
    missing = typed - placed.keys()
    copies = {row[0] for row in home.rows("select uuid from v_messages")}
    assert missing <= copies, "each is there, if as a copy of one that is shown"
    left = {(chat, number) for chat, number in placed.values() if number > 1}
    for chat, number in left:
        (branch,) = (one for one in home.whole[chat]["branches"] if one["number"] == number)
        first = next(said for said in home.whole[chat]["messages"] if said["branch"] == number)
        assert branch["left_at"] is not None or first["kind"] == "prompt", (chat, number)


def check_answers(home: Doors) -> None:
    """Each answer counts once, with the most that any of its rows says."""
    tokens: dict[str, int] = {}
    for path in sorted(home.home.glob("projects/**/*.jsonl")):
        for row in rows_of(path):
            for said in (row, (row.get("data") or {}).get("message") or {}):
                found = said.get("message")
                message: Json = found if isinstance(found, dict) else {}
                usage = message.get("usage")
                if isinstance(usage, dict) and said.get("type") == "assistant" and message["model"] != "<synthetic>":
                    name = message.get("id") or said["uuid"]
                    tokens[name] = max(tokens.get(name, 0), usage.get("output_tokens") or 0)
    assert home.report("usage")["total"]["output_tokens"] == sum(tokens.values())
    assert home.sql("select sum(output_tokens) from v_usage") == sum(tokens.values())


def check_agents(home: Doors) -> None:
    """Each agent with answers is in its chat and its tree, with the call that started it where a row names that."""
    shown_agents = {agent["id"]: (chat, agent) for chat, told in home.whole.items() for agent in told["agents"]}
    trees = {
        chat: json.dumps(home.printed("tree", chat, "--all")) for chat in {chat for chat, _ in shown_agents.values()}
    }
    calls = inputs_of(home.home)
    hidden = {name for _, name in agents(home.home)} - shown_agents.keys()
    tasks = {
        name: texts_in(rows_of(path)[0]["message"]["content"])
        for name in hidden
        for path in home.home.glob(f"projects/**/agent-{name}.jsonl")
    }
    assert {name: list(texts) for name, texts in tasks.items()} == {name: ["Warmup"] for name in hidden}
    for (_, name), told in agents(home.home).items():
        if name in hidden:
            continue
        chat, agent = shown_agents[name]
        assert name in trees[chat]
        if told.parent_call in calls:
            assert agent["call"] == told.parent_call
        if agent["call"]:
            assert calls[agent["call"]][0] in ("Task", "Agent", "Workflow")


def check_turns(home: Doors) -> None:
    """Turns and what precedes the first prompt add up to their chat."""
    spent: Counter[str] = Counter()
    parts: Counter[str] = Counter()
    for row in home.report("spend", *EVER, "--by", "turn", "-n", "100000")["rows"]:
        spent[row["chat"]] += row["cost_microdollars"] or 0
        parts[row["chat"]] += 1
    for chat in home.chats():
        assert abs(spent[chat["id"]] - (chat["cost_microdollars"] or 0)) <= ROUNDING * (parts[chat["id"]] + 1)


def check_counts(home: Doors) -> dict[str, int]:
    """Prompts, answers, calls and chats are one number in the command line, the API, for agents and on pages."""
    found = one_of_each(shown(home))
    assert found["prompts"] == len(home.counts.prompts)
    assert found["answers"] == len(home.counts.answers)
    assert found["calls"] == len(home.counts.calls) == len(inputs_of(home.home))
    shelf = Shelf(home.root)
    by_tool = {
        report: " ".join(map(str, ask_agent(shelf, "stats", report=report, limit=1000)["counted"]))
        for report in ("prompts", "tools", "chats")
    }
    assert f"{found['prompts']:,} prompt" in by_tool["prompts"]
    assert f"{found['calls']:,} call" in by_tool["tools"]
    assert f"{found['chats with an answer']:,} chat" in by_tool["chats"]
    (row,) = ask_agent(shelf, "query", sql="select sum(prompts), count(*) from v_chats")["rows"]
    assert row == [found["prompts"], found["chats"]]
    with serving(shelf) as served:
        api = {name: ask(served, f"/api/v1/stats/{name}").json for name in ("overview", "tools", "prompts", "usage")}
        assert api["overview"]["activity"]["prompts"] == api["prompts"]["total"]["prompts"] == found["prompts"]
        assert api["overview"]["activity"]["chats"] == ask(served, "/api/v1/chats").json["total"] == found["chats"]
        assert api["overview"]["calls"] == api["tools"]["total"]["calls"] == found["calls"]
        assert api["overview"]["usage"]["messages"] == api["usage"]["counted"] == found["answers"]
        page = re.sub("<[^>]*>", " ", ask(served, "/stats/overview").body.decode())
        for noun in ("prompts", "chats", "calls", "answers"):
            assert re.search(rf"\b{found[noun]:,}\b", page), noun
        called = Counter(
            call["id"]
            for chat, told in home.whole.items()
            for place in (*(f"?branch={one['number']}" for one in told["branches"]),
                          *(f"?agent={agent['id']}" for agent in told["agents"]))
            for said in ask(served, f"/api/v1/chats/{chat}/messages{place}&limit=500").json["messages"]
            for call in said.get("calls", [])
        )  # fmt: skip
        assert called.keys() == inputs_of(home.home).keys()
    return found


def check_every_door(home: Doors, step: int = 1) -> None:
    check_calls(home, step)
    check_files(home)
    check_prompts(home)
    check_answers(home)
    check_agents(home)
    check_turns(home)
    check_counts(home)
    assert home.printed("search", NOT_SAID)["hits"] == []


@pytest.mark.parametrize(
    "version", [pytest.param(name, marks=[pytest.mark.all] if name != VERSIONS[0] else []) for name in VERSIONS]
)
@pytest.mark.slow
def test_what_a_version_wrote_is_in_every_door(version: str, tmp_path: Path) -> None:
    home = Doors(played(version, tmp_path), tmp_path)
    assert len(home.chats()) > 5
    check_every_door(home)
    assert home.printed("inspect", str(home.home))["unknown"] == []


@pytest.mark.all
def test_real_sessions_are_in_every_door(corpus: Path, tmp_path: Path) -> None:
    """The smaller ones; `test_nouns` and `test_agents` count all of them."""
    for path in sorted((corpus / "home" / "projects").rglob("*.jsonl")):
        if path.stat().st_size < LARGEST:
            copy = tmp_path / "home" / path.relative_to(corpus / "home")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    check_every_door(Doors(tmp_path / "home", tmp_path), step=20)


@pytest.mark.all
@pytest.mark.parametrize("family", ["1.0 resume copies", "2.0.28 agents beside", "2.1.2 session folders", "forks"])
def test_generated_homes_are_in_every_door(family: str, tmp_path: Path) -> None:
    check_every_door(Doors(write_home(tmp_path / "home", FAMILIES[family]), tmp_path))
