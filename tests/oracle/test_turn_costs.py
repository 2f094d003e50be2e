"""What a turn cost is one amount in Spend, on the chat's page and in an exported page, and turns add up to their chat.

The home is written here in plain `json`, each answer with a cost of its own, so that sums are told apart.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

from tests.library.support import Shelf
from tests.support.command import run_command
from tests.web.served import ask, serving

SESSION: Final = "00000000-0000-4000-8000-000000000001"
MODEL: Final = "model-a"
ITEM: Final = re.compile(r'<li class="outline-([\w-]+)"><a href="[^"]*#m-([^"]+)".*?</a></li>', re.DOTALL)
MONEY: Final = re.compile(r"<span>(agents )?\$([\d.,]+)</span>")
Row = dict[str, Any]


class Writer:
    """Writes rows a minute apart."""

    def __init__(self) -> None:
        self.minute = 0

    def row(self, uuid: str, parent: str | None, kind: str, agent: str | None = None, **fields: Any) -> Row:  # noqa: ANN401
        self.minute += 1
        base: Row = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "cwd": "/srv/shop"}
        base |= {"timestamp": f"2026-02-01T09:{self.minute:02}:00.000Z", "version": "2.1.42", "userType": "external"}
        return {**base, "isSidechain": agent is not None, **({"agentId": agent} if agent else {}), **fields}

    def user(self, uuid: str, parent: str | None, content: Any, agent: str | None = None, **fields: Any) -> Row:  # noqa: ANN401
        return self.row(uuid, parent, "user", agent, message={"role": "user", "content": content}, **fields)

    def answer(self, uuid: str, parent: str, cost: int, *blocks: Row, agent: str | None = None) -> Row:
        """An answer that costs so many dollars."""
        usage = {"input_tokens": cost * 1000, "output_tokens": 0}
        message: Row = {"id": f"of-{uuid}", "role": "assistant", "model": MODEL, "usage": usage}
        message |= {"stop_reason": "end_turn", "content": list(blocks) or [{"type": "text", "text": "done"}]}
        return self.row(uuid, parent, "assistant", agent, message=message)


def starting(call: str, prompt: str) -> Row:
    given = {"prompt": prompt, "description": prompt, "subagent_type": "Explore"}
    return {"type": "tool_use", "id": call, "name": "Task", "input": given}


def result(call: str) -> list[Row]:
    return [{"type": "tool_result", "tool_use_id": call, "content": "seen"}]


def lay(home: Path) -> dict[str, tuple[int, int]]:
    """Write a chat; returns what each prompt cost in dollars, and what of it its agents cost."""
    write = Writer()
    main = [
        write.user("a1", None, "one"),
        write.answer("a2", "a1", 1, starting("t1", "look around")),
    ]
    # It goes on in the background while the next prompt is typed, and starts another one.
    agent = [
        write.user("x1", None, "look around", "aaaa111"),
        write.answer("x2", "x1", 10, starting("t2", "look deeper"), agent="aaaa111"),
    ]
    deeper = [write.user("y1", None, "look deeper", "bbbb222"), write.answer("y2", "y1", 20, agent="bbbb222")]
    main += [
        write.user("a3", "a2", result("t1"), toolUseResult={"agentId": "aaaa111"}),
        write.answer("a4", "a3", 2),
        write.user("b1", "a4", "two"),
        write.answer("b2", "b1", 3),
    ]
    agent += [
        write.user("x3", "x2", result("t2"), "aaaa111", toolUseResult={"agentId": "bbbb222"}),
        write.answer("x4", "x3", 30, agent="aaaa111"),
    ]
    queued = {"type": "queued_command", "prompt": "and be quick", "commandMode": "prompt"}
    compacted = {"trigger": "auto", "preTokens": 1000}
    main += [
        write.row("b3", "b2", "attachment", attachment=queued),
        write.answer("b4", "b3", 4),
        write.row("b5", None, "system", subtype="compact_boundary", logicalParentUuid="b4", content="Compacted",
                  compactMetadata=compacted),
        write.user("b6", "b5", "This session is being continued from a previous conversation.", isCompactSummary=True),
        write.answer("b7", "b6", 5),
        write.user("c1", "b7", "three"),
        write.answer("c2", "c1", 6),
        write.user("c3", "c2", "<command-name>/review</command-name><command-args></command-args>"),
        write.answer("c4", "c3", 7),
    ]  # fmt: skip
    project = home / "projects" / "-srv-shop"
    folder = project / SESSION / "subagents"
    folder.mkdir(parents=True)
    files = {project / f"{SESSION}.jsonl": main, folder / "agent-aaaa111.jsonl": agent,
             folder / "agent-bbbb222.jsonl": deeper}  # fmt: skip
    for path, rows in files.items():
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"a1": (63, 60), "b1": (12, 0), "c1": (6, 0), "c3": (7, 0)}


def shown(page: str) -> dict[str, tuple[float, float]]:
    """What the outline of a page says that each turn cost, and its agents."""
    found = {}
    for item in ITEM.finditer(page):
        told = {bool(of): float(amount.replace(",", "")) for of, amount in MONEY.findall(item[0])}
        if item[1] != "compaction" or told:
            found[item[2]] = (told.get(False, 0.0), told.get(True, 0.0))
    return found


def test_a_turn_costs_the_same_everywhere_and_turns_add_up_to_their_chat(tmp_path: Path) -> None:
    expected = lay(tmp_path / "home")
    (tmp_path / "settings.toml").write_text(f'[prices."{MODEL}"]\ninput = 1000\noutput = 1\n')
    environment = {
        "HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "CLAUDE_CONFIG_DIR": str(tmp_path / "home"), "TZ": "UTC",
        "BACKSCROLL_LIBRARY": str(tmp_path / "library"), "BACKSCROLL_SETTINGS": str(tmp_path / "settings.toml"),
    }  # fmt: skip

    def run(*arguments: str) -> Any:  # noqa: ANN401 - JSON
        done = run_command(*arguments, environment=environment)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    (chat,) = run("list", "--json")["chats"]
    assert chat["cost_microdollars"] == sum(cost for cost, _ in expected.values()) * 1_000_000
    rows = run("stats", "spend", "--since", "2020-01-01", "--by", "turn", "--json")["rows"]
    assert {row["message"]: row["cost_microdollars"] / 1_000_000 for row in rows} == {
        prompt: cost for prompt, (cost, _) in expected.items()
    }
    assert {row["message"]: row["agents_cost_microdollars"] / 1_000_000 for row in rows} == {
        prompt: agents for prompt, (_, agents) in expected.items()
    }
    run("export", SESSION, "--format", "html", "--out", str(tmp_path / "chat.html"))
    assert shown((tmp_path / "chat.html").read_text()) == expected
    with serving(Shelf(tmp_path)) as served:
        page = ask(served, f"/chats/{chat['id']}").body.decode()
    assert shown(page) == expected
