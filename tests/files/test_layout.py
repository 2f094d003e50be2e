import pytest

from backscroll.files.layout import TRANSCRIPTS, FileKind, LeftOut, Place, place_of

S = "0a1b2c3d-0000-4000-8000-00000000000f"


def check(path: str, expected: Place | LeftOut) -> None:
    assert place_of(path.split("/")) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"projects/p/{S}.jsonl", Place(FileKind.SESSION, "p", S)),
        ("projects/p/agent-a1.jsonl", Place(FileKind.AGENT, "p", None, "a1")),
        ("projects/p/agent-acompact-9f.jsonl", Place(FileKind.AGENT, "p", None, "acompact-9f")),
        (f"projects/p/{S}/subagents/agent-a1.jsonl", Place(FileKind.AGENT, "p", S, "a1")),
        (f"projects/p/{S}/subagents/agent-a1.meta.json", Place(FileKind.AGENT_META, "p", S, "a1")),
        (f"projects/p/{S}/subagents/workflows/w/agent-a1.jsonl", Place(FileKind.AGENT, "p", S, "a1")),
        (f"projects/p/{S}/subagents/workflows/w/journal.jsonl", Place(FileKind.WORKFLOW_JOURNAL, "p", S)),
        (f"projects/p/{S}/tool-results/t1.txt", Place(FileKind.TOOL_RESULT, "p", S)),
        (f"projects/p/{S}/tool-results/hook-1-2", Place(FileKind.TOOL_RESULT, "p", S)),
        (f"projects/p/{S}/custom-title.json", Place(FileKind.SIDECAR, "p", S)),
        (f"projects/p/{S}/world.jsonl", Place(FileKind.SIDECAR, "p", S)),
        ("projects/p/memory/MEMORY.md", Place(FileKind.MEMORY, "p")),
        ("projects/p/memory/deep/er.md", Place(FileKind.MEMORY, "p")),
        ("projects/p/sessions-index.json", Place(FileKind.SESSIONS_INDEX, "p")),
        ("projects/p/.session-aliases", Place(FileKind.SESSION_ALIASES, "p")),
        ("history.jsonl", Place(FileKind.HISTORY)),
        ("stats-cache.json", Place(FileKind.STATISTICS)),
        (f"file-history/{S}/9f3c@v1", Place(FileKind.FILE_HISTORY, session_id=S)),
        (f"image-cache/{S}/1.png", Place(FileKind.IMAGE, session_id=S)),
        (f"todos/{S}-agent-a1.json", Place(FileKind.TODO, session_id=S, agent_id="a1")),
        ("sessions/42.json", Place(FileKind.LIVE_SESSION)),
        ("tasks/list/1.json", Place(FileKind.TASK)),
        (f"tasks/{S}/1.json", Place(FileKind.TASK, session_id=S)),
        ("teams/t/config.json", Place(FileKind.TEAM)),
        ("teams/session-0A1b2c3d/inboxes/lead.json", Place(FileKind.TEAM, session_start="0a1b2c3d")),
        ("teams/session-0a1b2c3/config.json", Place(FileKind.TEAM)),
        ("jobs/0a1b2c3d/state.json", Place(FileKind.JOB, session_start="0a1b2c3d")),
        ("jobs/0a1b2c3d/timeline.jsonl", Place(FileKind.JOB, session_start="0a1b2c3d")),
        ("jobs/mine/state.json", Place(FileKind.JOB)),
        ("jobs/pins.json", Place(FileKind.JOB)),
        (f"projects/p/{S}/workflows/w.json", Place(FileKind.SIDECAR, "p", S)),
        (f"projects/p/{S}/tasks/b1.output", Place(FileKind.TASK_OUTPUT, "p", S)),
        ("plans/p.md", Place(FileKind.PLAN)),
        ("paste-cache/9f.txt", Place(FileKind.PASTE)),
    ],
)
def test_a_file_is_what_its_place_says(path: str, expected: Place) -> None:
    check(path, expected)


@pytest.mark.parametrize(
    "path",
    [
        "projects/stray.jsonl",
        "projects/p/notes.jsonl",
        f"projects/p/{S}.json",
        f"projects/p/{S}.jsonl.bak",
        f"projects/p/x{S}.jsonl",
        f"projects/p/{S}\n.jsonl",
        "projects/p/agent-.jsonl",
        "projects/p/no-session/subagents/agent-a1.jsonl",
        "sessions/42.lock",
        "jobs/0a1b2c3d/exit-cause",
        "jobs/0a1b2c3d/tmp/state.json",
        "sessions/deep/42.json",
        "settings.json",
        ".claude.json",
        "shell-snapshots/1.sh",
    ],
)
def test_an_unknown_file_is_left_out(path: str) -> None:
    check(path, LeftOut.OTHER)


@pytest.mark.parametrize(
    "path",
    [
        ".credentials.json",
        ".credentials.json.bak",
        ".session_ingress_token",
        "sessions/42.key",
        "sessions/42.KEY",
        "remote-settings.json",
        "policy-limits.json",
        "hfi-auth.json",
        "projects/p/memory/server.pem",
        f"projects/p/{S}/tool-results/.credentials.json",
    ],
)
def test_a_secret_file_is_left_out_in_any_folder(path: str) -> None:
    check(path, LeftOut.SECRET)


@pytest.mark.parametrize(
    "name",
    [f"{S}.jsonl.superseded-1767607200000", f"{S}.orphaned-1767607200000-9f3c.jsonl", f"{S}.jsonl.compact.tmp.9f3c"],
)
def test_what_was_set_aside_is_no_session(name: str) -> None:
    check(f"projects/p/{name}", LeftOut.SET_ASIDE)


def test_ids_in_capitals_are_the_same_ids() -> None:
    check(f"projects/p/{S.upper()}.jsonl", Place(FileKind.SESSION, "p", S))


def test_only_sessions_and_agents_hold_records() -> None:
    assert {FileKind.SESSION, FileKind.AGENT} == TRANSCRIPTS
