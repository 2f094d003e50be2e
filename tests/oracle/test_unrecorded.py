"""Requests without a record, over sessions of real clients: the client's totals less the answers in the rows.

Counted here in plain `json`. The fake API that the clients talked to says how many requests each session made besides
its answers, so that the expected numbers of the newest recordings can be written down.
"""

import json
import shutil
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.library.support import Shelf
from tests.mcp.support import answer
from tests.oracle.recount import Row, rows_of
from tests.support.command import run_command
from tests.web.served import ask as open_page
from tests.web.served import serving

RECORDINGS: Final = Path(__file__).parent / "recordings"
TRANSCRIPTS: Final = Path(__file__).parents[1] / "fixtures" / "transcripts" / "2.1.325"
HOMES: Final = [path.parent for root in (RECORDINGS, TRANSCRIPTS) for path in sorted(root.glob("**/projects"))]
IN_ROWS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
IN_TOTALS: Final = ("inputTokens", "outputTokens", "cacheCreationInputTokens", "cacheReadInputTokens")
COMPACTION: Final = (3000, 700, 100, 1000)
"""What the API said that a compaction used."""
MADE: Final = {
    "compacted": 1,
    "forked_and_compacted": 4,  # two of the parent, one of its fork, one of the fork's branch
    "forked": 0,
    "killed": 0,  # the client wrote no total of the process that compacted
    "long_context": 0,  # the client calls the model `…[1m]`
    "dated_model": 0,  # the API calls it by its date
}
Counts = tuple[int, ...]


class Answer(NamedTuple):
    time: float
    counts: Counts


def milliseconds(row: Row) -> float:
    return datetime.fromisoformat(row["timestamp"].replace("Z", "+00:00")).timestamp() * 1000


def answers_of(home: Path) -> dict[str, dict[str, Answer]]:
    """By session and message, its agents' included: of each number the most, at the earliest time."""
    found: dict[str, dict[str, Answer]] = defaultdict(dict)
    most: dict[str, Answer] = {}
    for path in sorted(home.glob("projects/**/*.jsonl")):
        folders = path.relative_to(home / "projects").parts
        for row in rows_of(path):
            message = row.get("message") or {}
            if row.get("type") == "assistant" and message.get("model") != "<synthetic>" and message.get("usage"):
                counts = tuple(message["usage"].get(name) or 0 for name in IN_ROWS)
                before = most.get(message["id"], Answer(milliseconds(row), counts))
                most[message["id"]] = Answer(
                    min(before.time, milliseconds(row)), tuple(map(max, before.counts, counts))
                )
                found[path.stem if len(folders) == 2 else folders[1]][message["id"]] = most[message["id"]]
    return {session: {name: most[name] for name in each} for session, each in found.items()}


def missing(home: Path) -> Counts:
    """The last total of each counter in each session, less its answers since the counter began.

    A fork's total goes on from its parent's: of the parent's, the last that stands on a row which the fork has too.
    """
    answers = answers_of(home)
    totals: dict[float, list[tuple[str, str | None, float, float, Counts]]] = defaultdict(list)
    rows: dict[str, list[Row]] = {path.stem: rows_of(path) for path in sorted(home.glob("projects/*/*.jsonl"))}
    for session, each in rows.items():
        for at, row in enumerate(each):
            if row.get("type") == "cost-state":
                before = [other for other in each[:at] if other.get("uuid") and other.get("timestamp")]
                seen = milliseconds(before[-1])
                after = [milliseconds(other) for other in each[at:] if other.get("uuid") and other.get("timestamp")]
                until = next((time for time in after if time > seen), float("inf"))
                used = [tuple(model[name] for name in IN_TOTALS) for model in row["modelUsage"].values()]
                totals[row["startTime"]].append(
                    (session, before[-1]["uuid"], seen, until, tuple(map(sum, zip(*used, strict=True))) or (0,) * 4)
                )
    sums = (0,) * 4
    for began, each_total in totals.items():
        for session in dict.fromkeys(total[0] for total in each_total):
            own = [total for total in each_total if total[0] == session]
            has = {row.get("uuid") for row in rows[session]}
            brought = [t for t in each_total if t[0] != session and t[1] in has and t[2] < own[0][2]]
            base = max(brought, key=lambda total: total[2], default=None)
            since = base[2] + 0.001 if base else began
            counted = [one.counts for one in answers.get(session, {}).values() if since <= one.time < own[-1][3]]
            used_up = [base[4] if base else (0,) * 4, *counted]
            left = (total - sum(used) for total, used in zip(own[-1][4], zip(*used_up, strict=True), strict=True))
            sums = tuple(a + max(0, b) for a, b in zip(sums, left, strict=True))
    return sums


def ask(home: Path, *arguments: object) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run_command(*arguments, "--json", "--home", home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def shown(answer: Any) -> Counts:  # noqa: ANN401
    return tuple((answer["unrecorded"] or {}).get(name, 0) for name in IN_ROWS)


@pytest.mark.parametrize("home", HOMES, ids=lambda home: f"{home.parent.name}-{home.name}")
def test_what_is_shown_is_what_the_totals_have_and_the_rows_have_not(home: Path) -> None:
    expected = missing(home)
    if home.parent.name == "2.1.328" and home.name in MADE:
        assert expected == tuple(MADE[home.name] * count for count in COMPACTION)
    usage = ask(home, "stats", "usage")
    assert shown(usage) == expected
    assert sum(chat["unrecorded_tokens"] for chat in ask(home, "list", "--limit", "100")["chats"]) == sum(expected)


def test_every_door_says_it_and_no_sum_of_answers_has_it(tmp_path: Path) -> None:
    home = RECORDINGS / "2.1.328" / "forked_and_compacted"
    copy = shutil.copytree(home, tmp_path / "copy")
    expected = tuple(4 * count for count in COMPACTION)
    both = ("--home", copy)  # the same sessions in two homes are the same requests
    for extra in ((), both):
        usage = ask(home, "stats", "usage", *extra)
        assert shown(usage) == expected
        # $0.028088 is what the client says of an answer and a compaction, $0.001268 of an answer.
        assert usage["unrecorded"]["cost_microdollars"] == 4 * (28_088 - 1_268)
        assert usage["total"]["cost_microdollars"] == 6 * 1_268
        assert usage["unrecorded"]["with_answers_microdollars"] == 4 * (28_088 - 1_268) + 6 * 1_268
        assert shown(ask(home, "stats", "spend", "--since", "2020-01-01", *extra)) == expected
        assert shown(ask(home, "stats", *extra)) == expected
        (chat,) = ask(home, "list", *extra)["chats"]
        assert (chat["tokens"], chat["cost_microdollars"]) == (6 * 1132, 6 * 1_268)
        assert (chat["unrecorded_tokens"], chat["unrecorded_cost_microdollars"]) == (4 * 4800, 4 * 26_820)


def test_pages_files_and_agents_say_it(tmp_path: Path) -> None:
    home = shutil.copytree(RECORDINGS / "2.1.328" / "forked_and_compacted", tmp_path / "home")
    shelf = Shelf(tmp_path)
    shelf.update()
    plain = run_command("stats", "--home", home).stdout
    assert "$0.0076 for 6 answers" in plain
    assert "$0.11 more for requests without a record, 19.2k tokens" in plain
    about = "(compactions, titles, searches inside tools): 19,200 tokens, $0.11, beside these sums; $0.11 with them"
    assert f"requests without a record {about}" in run_command("stats", "usage", "--home", home).stderr
    exported = tmp_path / "chat.html"
    run_command("export", "1db9368f", "--format", "html", "--out", exported, "--home", home)
    assert "+ $0.11 without a record" in exported.read_text()
    with serving(shelf) as served:
        (chat,) = open_page(served, "/api/v1/chats").json["chats"]
        assert chat["unrecorded_cost_microdollars"] == 4 * 26_820
        assert open_page(served, "/api/v1/stats/usage").json["unrecorded"]["input_tokens"] == 12_000
        assert "+ $0.11 without a record" in open_page(served, f"/chats/{chat['id']}").body.decode()
        assert f"Requests without a record {about}" in open_page(served, "/spend?period=all").body.decode()
        for address in ("/stats/usage?since=all", "/stats/overview?since=all"):
            assert "$0.11 more for requests without a record" in open_page(served, address).body.decode()
    counted = " ".join(answer(shelf, "stats", report="usage")["counted"])
    assert "requests without a record" in counted
    assert "requests without a record" in " ".join(answer(shelf, "stats", report="spend", since="2020")["counted"])
