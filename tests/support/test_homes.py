"""The homes hold what they say, once they lie on disk."""

import json
import re
from pathlib import Path

import pytest

from tests.support.drawings import Row, session_uuid
from tests.support.homes import (
    CANARY,
    DAMAGE,
    EVERYTHING,
    FAMILIES,
    LONG_CWD,
    LONG_FOLDER,
    SECRETS,
    SHOP,
    Home,
    live_session,
    session_path,
    write_home,
)

TRANSCRIPT = re.compile(r"projects/[^/]+/(?:[0-9a-f-]{36}(?:/subagents/.*)?/)?(?:[0-9a-f-]{36}|agent-[^/]+)\.jsonl")


def rows_of(data: bytes) -> list[Row]:
    return [json.loads(written) for written in data.splitlines()]


def transcripts(home: Home) -> dict[str, list[Row]]:
    """Return the rows of each session and agent file that is not damaged."""
    names = [name for name in home if TRANSCRIPT.fullmatch(name) and name != session_path("damaged")]
    return {name: rows_of(home[name]) for name in names}


def named(home: Home, session: str) -> list[Row]:
    return rows_of(home[session_path(session)])


def test_a_home_lies_on_disk_as_it_is_given(tmp_path: Path) -> None:
    home = write_home(tmp_path / "home", EVERYTHING)
    # Read by name, not listed: some disks make one folder of the two Windows ones.
    assert {name: (home / name).read_bytes() for name in EVERYTHING} == EVERYTHING
    assert sum(path.is_file() for path in home.rglob("*")) == len(EVERYTHING)


def test_text_is_written_as_utf8_and_what_is_there_stays(tmp_path: Path) -> None:
    write_home(tmp_path, {"a/b.txt": "ü"})
    assert write_home(tmp_path, {"a/c.txt": b"c"}) == tmp_path
    assert (tmp_path / "a" / "b.txt").read_bytes() == "ü".encode()


def test_no_two_families_lay_the_same_file() -> None:
    assert len(EVERYTHING) == sum(map(len, FAMILIES.values()))


def test_no_two_families_share_a_row_or_a_message() -> None:
    owner: dict[str, str] = {}
    for family, home in FAMILIES.items():
        for rows in transcripts(home).values():
            for row in rows:
                for identity in (row.get("uuid"), row.get("message", {}).get("id")):
                    assert identity is None or owner.setdefault(identity, family) == family


def test_every_session_names_itself_in_its_last_row() -> None:
    for name, rows in transcripts(EVERYTHING).items():
        if rows and "agent-" not in name:
            assert rows[-1].get("sessionId", Path(name).stem) == Path(name).stem


@pytest.mark.parametrize("family", ["1.0 resume copies", "forks"])
def test_only_copying_families_repeat_rows_between_files(family: str) -> None:
    def repeats(home: Home) -> bool:
        uuids = [row["uuid"] for rows in transcripts(home).values() for row in rows if "uuid" in row]
        return len(uuids) > len(set(uuids))

    assert repeats(FAMILIES[family])
    assert not any(repeats(home) for name, home in FAMILIES.items() if name not in ("1.0 resume copies", "forks"))


def test_a_resume_of_1_0_copies_rows_with_its_own_session_and_moment() -> None:
    home = FAMILIES["1.0 resume copies"]
    begun, resumed = named(home, "old-begun"), named(home, "old-resumed")
    copies = resumed[: len(begun)]
    assert [row["uuid"] for row in copies] == [row["uuid"] for row in begun]
    assert {row["sessionId"] for row in resumed} == {session_uuid("old-resumed")}
    assert {row["timestamp"] for row in copies} == {"2025-07-02T08:00:00.000Z"}
    assert len({row["sessionId"] for row in named(home, "old-kept")}) == 2


def test_a_summary_of_1_0_names_a_leaf_of_another_file() -> None:
    home = FAMILIES["1.0 resume copies"]
    leaf = named(home, "old-titles")[0]["leafUuid"]
    assert leaf == named(home, "old-resumed")[-1]["uuid"]
    assert leaf not in [row.get("uuid") for row in named(home, "old-titles")]


def test_a_sidechain_of_1_0_is_inline_and_has_no_agent_id() -> None:
    inline = [row for row in named(FAMILIES["1.0 resume copies"], "old-begun") if row["isSidechain"]]
    assert [row["uuid"] for row in inline] == ["old-s1", "old-s2"]
    assert not any("agentId" in row for row in inline)


def test_a_separate_agent_is_named_by_the_result_of_its_call() -> None:
    home = FAMILIES["2.0.28 agents beside"]
    result = next(row for row in named(home, "beside") if "toolUseResult" in row)
    agent = rows_of(home[f"{SHOP}/agent-{result['toolUseResult']['agentId']}.jsonl"])
    assert {(row["isSidechain"], row["agentId"], row["sessionId"]) for row in agent} == {
        (True, "be11ce0", session_uuid("beside"))
    }


def test_the_sessions_index_lists_a_session_that_is_gone() -> None:
    entries = json.loads(EVERYTHING[f"{SHOP}/sessions-index.json"])["entries"]
    assert [session_path(entry["sessionId"]) in EVERYTHING for entry in entries] == [True, False]


def test_agents_in_a_session_folder_are_linked_by_their_sidecars_and_nest() -> None:
    home = FAMILIES["2.1.2 session folders"]
    agents = session_path("folder").removesuffix(".jsonl") + "/subagents"
    outer, inner = (json.loads(home[f"{agents}/agent-{name}.meta.json"]) for name in ("f01aaaa", "f01bbbb"))

    def calls(name: str) -> list[str]:
        blocks = [row["message"]["content"][0] for row in rows_of(home[name]) if row["type"] == "assistant"]
        return [block["id"] for block in blocks if block["type"] == "tool_use"]

    assert outer["toolUseId"] in calls(session_path("folder"))
    assert inner["toolUseId"] in calls(f"{agents}/agent-f01aaaa.jsonl")
    assert inner["parentAgentId"] == "f01aaaa"


def test_spilled_outputs_lie_where_their_results_say() -> None:
    home = FAMILIES["2.1.2 session folders"]
    told = set(re.findall(rb"saved to: /home/ada/\.claude/([^\\<]+)", home[session_path("folder")]))
    assert {name.decode() for name in told} == {name for name in home if "/tool-results/fo-" in name}


def test_a_result_hangs_on_the_row_that_called_it() -> None:
    rows = named(FAMILIES["2.1.2 session folders"], "folder")
    by_id = {row["uuid"]: row for row in rows}
    for row in rows:
        if "sourceToolAssistantUUID" in row:
            caller = by_id[row["parentUuid"]]["message"]["content"][0]
            assert caller["id"] == row["message"]["content"][0]["tool_use_id"]


def test_a_titled_session_has_its_title_in_rows_and_in_a_file() -> None:
    home = FAMILIES["2.1.250 titles"]
    beside = json.loads(home[session_path("titled").replace(".jsonl", "/custom-title.json")])
    titles = [row["customTitle"] for row in named(home, "titled") if row["type"] == "custom-title"]
    assert titles[-1] == beside["customTitle"] != titles[0]
    assert json.loads(home[session_path("titled").replace(".jsonl", "/archived.json")])["archived"] is True


def test_one_compaction_knows_its_row_before_and_one_does_not() -> None:
    rows = named(FAMILIES["compacted"], "compacted")
    known = {row["uuid"] for row in rows}
    assert [row["logicalParentUuid"] in known for row in rows if "logicalParentUuid" in row] == [True, False]


def test_a_fork_keeps_row_ids_and_a_branch_keeps_only_message_ids() -> None:
    home = FAMILIES["forks"]
    first, second, branched = (named(home, name)[:2] for name in ("fork-first", "fork-second", "branched"))
    assert [row["uuid"] for row in first] == [row["uuid"] for row in second]
    assert [row["forkedFrom"]["messageUuid"] for row in branched] == [row["uuid"] for row in first]
    assert branched[1]["message"]["id"] == first[1]["message"]["id"]


def test_two_working_directories_share_a_folder() -> None:
    home = FAMILIES["folder names"]
    shared = [row["cwd"] for name, rows in transcripts(home).items() if "-home-ada-b-c/" in name for row in rows]
    assert set(shared) == {"/home/ada/b-c", "/home/ada/b/c"}


def test_the_long_folder_is_200_characters_and_a_hash() -> None:
    assert LONG_FOLDER[:200] == LONG_CWD.replace("/", "-")[:200]
    assert re.fullmatch(r"-[0-9a-z]+", LONG_FOLDER[200:])


def test_every_secret_holds_the_canary_and_nothing_else_does() -> None:
    assert {name for name, data in EVERYTHING.items() if CANARY.encode() in data} == SECRETS
    assert {
        ".credentials.json",
        ".session_ingress_token",
        "sessions/1.key",
        "remote-settings.json",
        "policy-limits.json",
        "hfi-auth.json",
    } == SECRETS


def test_the_empty_session_has_no_bytes_and_its_neighbour_no_conversation() -> None:
    home = FAMILIES["empty"]
    assert home[session_path("empty")] == b""
    assert not any("uuid" in row for row in named(home, "only-a-title"))
    assert named(home, "rewound-to-nothing")[-1]["leafUuid"] is None


@pytest.mark.parametrize("damage", ["glued", "nul", "binary", "not JSON", "torn"])
def test_damage_is_no_json_line(damage: str) -> None:
    with pytest.raises(ValueError):
        rows_of(DAMAGE[damage])


@pytest.mark.parametrize("damage", ["surrogate", "duplicate keys", "wrong types", "unknown block", "unknown type"])
def test_odd_rows_are_json_all_the_same(damage: str) -> None:
    assert len(rows_of(DAMAGE[damage])) == 1


def test_each_damage_is_what_its_name_says() -> None:
    assert b"}{" in DAMAGE["glued"]
    assert DAMAGE["nul"].startswith(b"\x00")
    assert b"\\ud83e " in DAMAGE["surrogate"]
    assert DAMAGE["duplicate keys"].count(b'"type":') == 2
    assert not DAMAGE["torn"].endswith(b"\n")
    assert rows_of(DAMAGE["wrong types"])[0]["message"]["model"] == 7
    assert FAMILIES["damaged"][session_path("damaged")] == b"".join(DAMAGE.values())


def test_the_live_session_says_which_process_it_is() -> None:
    ((name, data),) = live_session("busy", 4242, "307923").items()
    status = json.loads(data)
    assert name == "sessions/4242.json"
    assert (status["pid"], status["procStart"], status["sessionId"]) == (4242, "307923", session_uuid("busy"))


def test_set_aside_files_are_not_named_like_sessions() -> None:
    sessions = [name for name in FAMILIES["set aside"] if re.search(r"/[0-9a-f-]{36}\.jsonl$", name)]
    assert sessions == [session_path("aside")]
