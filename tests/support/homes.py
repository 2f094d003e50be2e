"""Whole Claude Code homes for tests: what each family of versions leaves on disk, drawn small.

A home is a mapping of path in the home to bytes; `write_home` lays it on disk. `FAMILIES` has one home for each layout
and trouble, `EVERYTHING` is all of them in one. Row, message, tool, agent and session ids are never shared by two
families, and inside a family only where a real client would copy rows. No product code; nothing is read back.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import MappingProxyType
from typing import Final

from tests.support.drawings import Row, draw, jsonl, line, session_uuid
from tests.support.early import empty_database

Home = Mapping[str, bytes]

# In every file that must never be opened: where this text turns up, one was.
CANARY: Final = "canary-3f9d-this-file-must-never-be-read"

# Folder names are written out, not computed: these homes also test the product's own rule for them.
SHOP: Final = "projects/-home-ada-shop"
LONG_CWD: Final = "/home/ada/" + "/".join(["a-very-long-folder-name"] * 9)
LONG_FOLDER: Final = "-home-ada" + "-a-very-long-folder-name" * 7 + "-a-very-long-folder-nam-sxhrd2"


def write_home(root: Path, files: Mapping[str, bytes | str]) -> Path:
    """Lay the files under `root`, making folders as needed, and return `root`; what is there already stays."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def session_path(name: str, project: str = SHOP) -> str:
    """Return where the main transcript of a drawn session lies; without its `.jsonl` it is the session's folder."""
    return f"{project}/{session_uuid(name)}.jsonl"


def agent_path(session: str, agent: str, project: str = SHOP) -> str:
    """Where the transcript of a sub-agent lies."""
    return f"{session_path(session, project).removesuffix('.jsonl')}/subagents/agent-{agent}.jsonl"


def session_file(name: str, drawing: str, **defaults: str) -> dict[str, bytes]:
    """Return the one-file home of a drawn session of the shop."""
    return {session_path(name): jsonl(draw(drawing, session=name, **defaults))}


def live_session(name: str, pid: int, process_start: str) -> dict[str, bytes]:
    """Return the file that says a session runs now: true only for the pid and start time of a real process.

    On Linux `process_start` is field 22 of `/proc/<pid>/stat`.
    """
    status = {"pid": pid, "sessionId": session_uuid(name), "cwd": "/home/ada/shop", "startedAt": 1767607200000}
    status |= {"procStart": process_start, "version": "2.1.325", "kind": "interactive", "entrypoint": "cli"}
    status |= {"name": "shop-c3", "status": "busy", "updatedAt": 1767607260000}
    return {f"sessions/{pid}.json": _json(status)}


def _folder(name: str) -> str:
    return session_path(name).removesuffix(".jsonl")


def _json(value: Row | list[Row]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _copied(rows: list[Row], session: str, moment: str) -> list[Row]:
    """Copy rows as a 1.0 resume did: every copy carries the new session and the moment of the resume."""
    return [row | {"sessionId": session_uuid(session), "timestamp": moment} for row in rows]


def _old() -> dict[str, bytes]:
    """1.0: a resume copies the history into a new file, summaries name leaves of other files, sidechains are inline."""
    begun = draw(
        """
        @ version=1.0.60 session=old-begun time=2025-07-01T09:00
        old-a <- - user: add a cart
        old-b <- old-a call(old-m1) old-t1 Task \
            {"description": "look", "prompt": "find the shop code", "subagent_type": "Explore"}
        @ agent=inline
        old-s1 <- - user: find the shop code
        old-s2 <- old-s1 assistant(old-m2): it is in shop.py
        @ agent=
        old-c <- old-b result old-t1: [{"type": "text", "text": "it is in shop.py"}]
        old-d <- old-c assistant(old-m3): the cart is in
        """
    )
    resumed_at = "2025-07-02T08:00:00.000Z"
    resumed = draw(
        """
        @ version=1.0.62 session=old-resumed time=2025-07-02T08:00:01
        old-e <- old-d user: now the checkout
        old-f <- old-e assistant(old-m4): the checkout is in
        """
    )
    # Resumed while the other client was still open: the copied rows keep their ids.
    kept = draw(
        """
        @ version=1.0.62 session=old-kept time=2025-07-03T08:00
        old-g <- old-d user: or better a wish list
        old-h <- old-g assistant(old-m5): the wish list is in
        """
    )
    titles = draw(
        """
        summary old-f: A cart and a checkout
        summary nowhere: A conversation that is gone
        @ version=1.0.62 session=old-titles time=2025-07-04T08:00
        old-i <- - user: hello
        old-j <- old-i assistant(old-m6): hello
        """
    )
    return {
        session_path("old-begun"): jsonl(begun),
        session_path("old-resumed"): jsonl([*_copied(begun, "old-resumed", resumed_at), *resumed]),
        session_path("old-kept"): jsonl([*begun, *kept]),
        session_path("old-titles"): jsonl(titles),
    }


def _agents_beside() -> dict[str, bytes]:
    """2.0.28 to 2.1.1: agents lie beside the session, linked by toolUseResult.agentId; sessions-index.json exists."""
    name = "beside"
    main = """
        @ version=2.0.76 time=2025-12-01T09:00
        be-a <- - user: review the parser
        be-b <- be-a call(be-m1) be-t1 Task \
            {"description": "review", "prompt": "review parser.py", "subagent_type": "reviewer"}
        be-c <- be-b result be-t1: [{"type": "text", "text": "looks good"}] \
            {"toolUseResult": {"status": "completed", "prompt": "review parser.py", "agentId": "be11ce0", \
            "content": [{"type": "text", "text": "looks good"}], "totalTokens": 15, \
            "usage": {"input_tokens": 10, "output_tokens": 5}}}
        be-d <- be-c assistant(be-m2): it looks good
        file-history-snapshot be-a
        """
    agent = """
        @ version=2.0.76 agent=be11ce0 time=2025-12-01T09:00:02
        be-x1 <- - user: review parser.py
        be-x2 <- be-x1 assistant(be-m3): looks good
        """
    warmup = """
        @ version=2.0.76 agent=be3a4b1 time=2025-12-01T08:59
        be-w1 <- - user: Warmup
        be-w2 <- be-w1 assistant(be-m4): I am ready
        """
    entry: Row = {"sessionId": session_uuid(name), "fullPath": f"/home/ada/.claude/{session_path(name)}"}
    entry |= {"firstPrompt": "review the parser", "summary": "A parser review", "messageCount": 4, "isSidechain": False}
    gone = {
        "sessionId": session_uuid("long-gone"),
        "firstPrompt": "what was this?",
        "summary": "Gone",
        "messageCount": 2,
    }
    return {
        **session_file(name, main),
        f"{SHOP}/agent-be11ce0.jsonl": jsonl(draw(agent, session=name)),
        f"{SHOP}/agent-be3a4b1.jsonl": jsonl(draw(warmup, session=name)),
        f"{SHOP}/sessions-index.json": _json(
            {"version": 1, "entries": [entry, gone], "originalPath": "/home/ada/shop"}
        ),
    }


def _subagents() -> dict[str, bytes]:
    """2.1.2 and on: a folder for each session, with agents (one inside another), workflows and spilled outputs."""
    name, folder = "folder", _folder("folder")
    spilled = f"/home/ada/.claude/{folder}/tool-results"
    long_text = "".join(f"line {number}\n" for number in range(6000))
    preview = f"<persisted-output>\nOutput too large (64KB). Full output saved to: {spilled}/fo-t2.txt\n\n"
    preview += f"Preview (first 2KB):\n{long_text[:2000]}\n...\n</persisted-output>"
    blocks = [{"type": "text", "text": long_text}, {"type": "text", "text": "the end"}]
    main = Template("""
        @ version=2.1.72 time=2026-02-01T09:00
        fo-a <- - user: build it, in parallel
        fo-b <- fo-a thinking(fo-m1): three things at once
        fo-c <- fo-b call(fo-m1) fo-t1 Task \
            {"description": "look", "prompt": "look around", "subagent_type": "Explore"}
        fo-d <- fo-c call(fo-m1) fo-t2 Bash {"command": "make"}
        fo-e <- fo-d call(fo-m1) fo-t3 mcp__tracker__list {}
        fo-p <- fo-d progress bash_progress fo-t2: line 1
        fo-f <- fo-d result fo-t2: $preview \
            {"toolUseResult": {"stdout": "line 0", "stderr": "", "persistedOutputPath": "$spilled/fo-t2.txt"}}
        fo-g <- fo-c result fo-t1: [{"type": "text", "text": "seen"}] {"toolUseResult": {"agentId": "f01aaaa"}}
        fo-h <- fo-e result fo-t3: <persisted-output>Full output saved to: $spilled/fo-t3.json</persisted-output>
        fo-i <- fo-h assistant(fo-m2): built
        fo-j <- fo-i system stop_hook_summary {"hookCount": 1, "hookInfos": [{"command": "lint"}], "hookErrors": []}
        fo-k <- fo-j system turn_duration {"durationMs": 9000}
        """).substitute(preview=json.dumps(preview), spilled=spilled)
    outer = """
        @ version=2.1.72 agent=f01aaaa time=2026-02-01T09:00:03
        fo-x1 <- - user: look around
        fo-x2 <- fo-x1 call(fo-m3) fo-t4 Task \
            {"description": "deeper", "prompt": "look deeper", "subagent_type": "Explore"}
        fo-x3 <- fo-x2 result fo-t4: [{"type": "text", "text": "seen deeper"}] {"toolUseResult": {"agentId": "f01bbbb"}}
        fo-x4 <- fo-x3 assistant(fo-m4): seen
        """
    inner = """
        @ version=2.1.72 agent=f01bbbb time=2026-02-01T09:00:05
        fo-y1 <- - user: look deeper
        fo-y2 <- fo-y1 assistant(fo-m5): seen deeper
        """
    worker = """
        @ version=2.1.72 agent=f01cccc time=2026-02-01T09:00:07
        fo-z1 <- - user: one step of the plan
        fo-z2 <- fo-z1 assistant(fo-m6): step done
        """
    outer_meta = {"agentType": "Explore", "description": "look", "toolUseId": "fo-t1", "spawnDepth": 1}
    inner_meta = {"agentType": "Explore", "description": "deeper", "toolUseId": "fo-t4", "spawnDepth": 2}
    worker_meta = {"agentType": "workflow-subagent", "description": "step", "spawnDepth": 1}
    journal: list[Row] = [
        {"type": "started", "key": "v2:5f0c", "agentId": "f01cccc"},
        {"type": "result", "key": "v2:5f0c", "agentId": "f01cccc", "result": {"ok": True}},
    ]
    run = f"{folder}/subagents/workflows/wf_5f0c0ffe-001"
    return {
        **session_file(name, main),
        f"{folder}/subagents/agent-f01aaaa.jsonl": jsonl(draw(outer, session=name)),
        f"{folder}/subagents/agent-f01aaaa.meta.json": _json(outer_meta),
        f"{folder}/subagents/agent-f01bbbb.jsonl": jsonl(draw(inner, session=name)),
        f"{folder}/subagents/agent-f01bbbb.meta.json": _json(inner_meta | {"parentAgentId": "f01aaaa"}),
        f"{run}/agent-f01cccc.jsonl": jsonl(draw(worker, session=name)),
        f"{run}/agent-f01cccc.meta.json": _json(worker_meta),
        f"{run}/journal.jsonl": jsonl(journal),
        f"{folder}/tool-results/fo-t2.txt": long_text.encode(),
        f"{folder}/tool-results/fo-t3.json": _json(blocks),
        f"{folder}/tool-results/hook-5f0c-1": b"what the hook said\n",
    }


def _titles() -> dict[str, bytes]:
    """2.1.250 and on: title and archive mark lie beside the rows, and most kinds of rows outside the chain appear."""
    name = "titled"
    main = """
        @ version=2.1.325 time=2026-03-01T09:00
        mode: default
        permission-mode: acceptEdits
        ti-a <- - user: ship the release {"origin": {"kind": "human"}, "promptId": "ti-p1"}
        ti-f <- ti-a attachment skill_listing: commit, review
        queue-operation enqueue: and write the notes
        ti-b <- ti-f thinking(ti-m1):
        ti-c <- ti-b assistant(ti-m1): shipping
        queue-operation remove: and write the notes
        ti-q <- ti-c attachment queued_command: and write the notes
        ti-d <- ti-q assistant(ti-m2): shipped, with notes
        ti-e <- ti-d user: no, undo that
        ti-g <- ti-e assistant(ti-m3): undone
        last-prompt ti-d: ship the release {"explicit": true, "rewound": true}
        ai-title: Ship a release
        custom-title: The first release
        custom-title: The second release
        agent-name: releaser
        tag: release
        pr-link 12 https://github.com/ada/shop/pull/12
        cost-state {"totalCostUSD": 0.25, "modelUsage": {"claude-sonnet-4-5-20250929": {"costUSD": 0.25}}}
        ended-by-model {}
        """
    return {
        **session_file(name, main),
        f"{_folder(name)}/custom-title.json": _json({"customTitle": "The second release"}),
        f"{_folder(name)}/archived.json": _json({"archived": True, "at": "2026-03-02T09:00:00.000Z"}),
    }


def _compacted() -> dict[str, bytes]:
    """A session that was compacted twice: one boundary names its row before, the other a row that is in no file."""
    main = """
        @ time=2026-01-20T09:00
        co-a <- - user: read everything
        co-b <- co-a assistant(co-m1): read
        co-s1 <- - compact(logical=co-b) manual {"compactMetadata": {"messagesSummarized": 2}}
        co-t1 <- co-s1 compact-summary: This session is being continued from a previous conversation.
        co-c <- co-t1 user: go on
        co-d <- co-c assistant(co-m2): went on
        co-s2 <- - compact(logical=co-lost)
        co-t2 <- co-s2 compact-summary: This session is being continued again.
        co-e <- co-t2 assistant(co-m3): where were we?
        """
    return session_file("compacted", main)


def _forks() -> dict[str, bytes]:
    """Copies of rows that newer clients make: --fork-session, /branch, /clear, and a move to another folder."""
    shared = """
        @ time=2026-02-10T09:00
        fk-a <- - user: sketch the logo
        fk-b <- fk-a assistant(fk-m1): sketched
        """
    forked = "@ time=2026-02-10T09:05\nfk-c <- fk-b user: in blue\nfk-d <- fk-c assistant(fk-m2): in blue now"
    branched = """
        @ time=2026-02-10T09:00 forked=fork-first
        fk-e <- - user: sketch the logo {"forkedFrom": {"messageUuid": "fk-a"}}
        fk-f <- fk-e assistant(fk-m1): sketched {"forkedFrom": {"messageUuid": "fk-b"}}
        @ forked= time=2026-02-10T09:10
        fk-g <- fk-f user: in red
        fk-h <- fk-g assistant(fk-m3): in red now
        """
    derived = line(
        {"type": "derived-from", "sessions": [session_uuid("fork-first")], "sessionId": session_uuid("cleared")}
    )
    cleared = "@ time=2026-02-10T09:20\nfk-i <- - user: something else\nfk-j <- fk-i assistant(fk-m4): gladly"
    moved = """
        @ time=2026-02-10T09:30
        fk-k <- - user: we move
        relocated: /home/ada/store
        @ cwd=/home/ada/store
        fk-l <- fk-k assistant(fk-m5): moved
        """
    return {
        session_path("fork-first"): jsonl(draw(shared + "continued-in cleared", session="fork-first")),
        session_path("fork-second"): jsonl(draw(shared + forked, session="fork-second")),
        **session_file("branched", branched),
        session_path("cleared"): derived + b"\n" + jsonl(draw(cleared, session="cleared")),
        session_path("moved", "projects/-home-ada-store"): jsonl(draw(moved, session="moved")),
    }


def _folder_names() -> dict[str, bytes]:
    """Folder names that say little: one for two cwds, two for one on Windows, non-ASCII, dots, over 200 characters."""

    def session(name: str, folder: str, cwd: str) -> dict[str, bytes]:
        rows = draw(f"{name}-a <- - user: where am I?\n{name}-b <- {name}-a assistant: here", session=name, cwd=cwd)
        return {session_path(name, f"projects/{folder}"): jsonl(rows)}

    return {
        **session("dash", "-home-ada-b-c", "/home/ada/b-c"),
        **session("slash", "-home-ada-b-c", "/home/ada/b/c"),
        **session("umlaut", "-home-ada-Gr--e---", "/home/ada/Größe 🦊"),
        **session("dotted", "-home-ada-my-shop-v2", "/home/ada/my_shop.v2"),
        **session("long", LONG_FOLDER, LONG_CWD),
        **session("windows", "C--Users-ada-shop", r"C:\Users\ada\shop"),
        **session("windows-lower", "c--Users-ada-shop", r"c:\Users\ada\shop"),
        "projects/-home-ada-b-c/.session-aliases": b"/home/ada/.claude/projects/-home-ada-Gr--e---\n",
    }


def _sidecars() -> dict[str, bytes]:
    """A session's internal files and the project's memory: none of them holds rows of a conversation."""
    folder = _folder("sidecars")
    main = "si-a <- - user: remember this\nsi-b <- si-a assistant(si-m1): remembered"
    return {
        **session_file("sidecars", main),
        f"{folder}/resume-head.jsonl": b'{"type":"resume-head","leaf":"si-b"}\n',
        f"{folder}/world.jsonl": b'{"type":"world","tick":1}\n',
        f"{folder}/precompact.json": b'{"preTokens":150000}',
        f"{folder}/sent-prefix.json": b'{"prefix":[]}',
        f"{folder}/terminal.cast": b'{"version":2,"width":80,"height":24}\n',
        f"{folder}/mcp-tasks/task-1.json": b'{"taskId":"task-1","status":"done"}',
        f"{SHOP}/memory/MEMORY.md": b"# Memory\n- The shop is written in Python\n",
        f"{SHOP}/memory/style.md": b"Full words.\n",
    }


def _set_aside() -> dict[str, bytes]:
    """Files next to a session that are not sessions, although each holds rows."""
    main = "as-a <- - user: tidy up\nas-b <- as-a assistant(as-m1): tidied"
    rows = jsonl(draw(main, session="aside"))
    stem = _folder("aside")
    return {
        f"{stem}.jsonl": rows,
        f"{stem}.jsonl.superseded-1767607200000": rows,
        f"{stem}.orphaned-1767607200000-9f3c.jsonl": rows,
        f"{stem}.jsonl.compact.tmp.9f3c": rows[: len(rows) // 2],
        f"{SHOP}/notes.jsonl": b'{"note":"a name that is no UUID"}\n',
    }


def _home_files() -> dict[str, bytes]:
    """What lies beside `projects/`: prompt history, tasks, backups, caches, the live session, and legacy files.

    The session runs in the background: it has a job, a team, and a workflow.
    """
    name = "busy"
    identity = session_uuid(name)
    main = """
        bu-a <- - user: edit the parser [Image #1]
        bu-b <- bu-a call(bu-m1) bu-t1 Edit \
            {"file_path": "/home/ada/shop/parser.py", "old_string": "a", "new_string": "b"}
        file-history-snapshot bu-a {"isSnapshotUpdate": true, "snapshot": {"trackedFileBackups": {"parser.py": \
            {"backupFileName": "d3d2d6f1b224b14d@v1", "version": 1, "backupTime": "2026-01-05T10:00:02.000Z"}}}}
        bu-c <- bu-b result bu-t1: The file was updated
        """
    prompts: list[Row] = [
        {"display": "hi", "pastedContents": {}, "timestamp": 1759000000000, "project": "/home/ada/shop"},
        {"display": "edit the parser [Image #1]", "pastedContents": {}, "timestamp": 1767607200000},
        {
            "display": "[Pasted text #1 +2 lines]",
            "pastedContents": {"1": {"id": 1, "type": "text", "contentHash": "9f3c"}},
        },
    ]
    prompts[1] |= {"project": "/home/ada/shop", "sessionId": identity}
    prompts[2] |= {"timestamp": 1767607201000, "project": "/home/ada/shop", "sessionId": identity}
    task = {"id": "1", "subject": "Edit", "description": "the parser", "status": "in_progress", "blocks": ["2"]}
    team = {"name": "shop-team", "leadAgentId": "lead@shop-team", "members": [{"name": "lead", "agentType": "lead"}]}
    job = {"state": "working", "name": "shop", "sessionId": identity, "cwd": "/home/ada/shop"}
    mail = [{"from": "tester", "text": "the tests pass", "timestamp": "2026-01-05T10:00:03.000Z", "read": False}]
    last = {"lastSessionId": identity, "lastCost": 0.25, "lastDuration": 9000, "lastModelUsage": {}}
    return {
        **session_file(name, main),
        # This pid cannot be: Linux ends at 4194304. A test of a session that does live uses `live_session`.
        **live_session(name, 99999999, "1"),
        "history.jsonl": jsonl(prompts),
        "paste-cache/9f3c.txt": b"pasted line one\npasted line two\n",
        f"image-cache/{identity}/1.png": b"\x89PNG\r\n\x1a\n",
        f"file-history/{identity}/d3d2d6f1b224b14d@v1": b"a = 1\n",
        f"tasks/{identity}/1.json": _json(task | {"blockedBy": [], "owner": "lead"}),
        f"tasks/{identity}/2.json": _json(task | {"id": "2", "status": "pending", "blocks": [], "blockedBy": ["1"]}),
        f"todos/{identity}-agent-{identity}.json": _json([{"content": "edit", "status": "pending", "id": "1"}]),
        "teams/shop-team/config.json": _json(team),
        f"teams/session-{identity[:8]}/inboxes/lead.json": _json(mail),
        f"jobs/{identity[:8]}/state.json": _json(job),
        f"jobs/{identity[:8]}/timeline.jsonl": jsonl([{"at": "2026-01-05T10:00:01.000Z", "state": "working"}]),
        f"jobs/{identity[:8]}/tmp/notes.json": b'{"note":"what the session works with, not about it"}',
        "jobs/pins.json": b"[]",
        f"{_folder(name)}/workflows/wf_5f0c0ffe-002.json": b'{"status":"completed"}',
        f"{_folder(name)}/workflows/scripts/wf_5f0c0ffe-002.js": b"export const meta = {}\n",
        "plans/brave-drawing-heron.md": b"# Plan\n1. Edit the parser\n",
        "stats-cache.json": _json({"version": 1, "lastComputedDate": "2026-01-05", "dailyActivity": []}),
        f"usage-data/session-meta/{identity}.json": b"{}",
        "shell-snapshots/snapshot-bash-1767607200000-9f3c.sh": b"export PATH=/usr/bin\n",
        "settings.json": b'{"cleanupPeriodDays":30}',
        ".claude.json": _json({"projects": {"/home/ada/shop": last}}),
        "__store.db": empty_database(),
        "statsig/statsig.stable_id.1": b'"9f3c"',
        "config.json": b"{}",
    }


def _secrets() -> dict[str, bytes]:
    """The files that must never be opened, each with the canary in the shape that it has."""
    return {
        ".credentials.json": _json({"claudeAiOauth": {"accessToken": CANARY, "refreshToken": CANARY}}),
        ".session_ingress_token": CANARY.encode(),
        "sessions/1.key": CANARY.encode(),
        "remote-settings.json": _json({"env": {"TOKEN": CANARY}}),
        "policy-limits.json": _json({"restrictions": {"note": CANARY}}),
        "hfi-auth.json": _json({"token": CANARY}),
    }


def _empty() -> dict[str, bytes]:
    """Sessions without a conversation: no bytes, only rows outside the chain, and one rewound to before its start."""
    rewound = """
        em-a <- - user: never mind
        em-b <- em-a assistant(em-m1): all right
        last-prompt - {"explicit": true}
        """
    return {
        session_path("empty"): b"",
        **session_file("only-a-title", "custom-title: Nothing happened here\nmode: default"),
        **session_file("rewound-to-nothing", rewound),
    }


def _damaged() -> dict[str, bytes]:
    """One session with every kind of damage a reader meets, in the order of `DAMAGE`; its sound rows make one path."""
    return {session_path("damaged"): b"".join(DAMAGE.values())}


def _damage() -> dict[str, bytes]:
    rows = draw(
        """
        @ session=damaged time=2026-02-20T09:00
        da-a <- - user: sound
        da-b <- da-a assistant(da-m1): first of two on a line
        da-c <- da-b user: second of two on a line
        da-d <- da-c assistant(da-m2): behind NULs
        da-e <- da-d user: "a lone \\ud83e surrogate"
        da-f <- da-e assistant(da-m3): here are %BYTES% that are not UTF-8
        da-g <- da-f user: keys twice
        da-h <- da-g assistant(da-m4): numbers for strings {"message": {"model": 7}, "cwd": 12, "gitBranch": null}
        da-i <- da-h assistant(da-m5): \
            [{"type": "text", "text": "see"}, {"type": "hologram", "shape": "cube"}, {"type": 3}]
        raw {"type": "hologram-state", "sessionId": "x", "cells": [1, 2], "uuid": "da-j", "parentUuid": "da-i"}
        da-k <- da-i user -message: no message
        da-l <- da-i user: the last sound row
        da-m <- da-l assistant(da-m6): torn off
        """
    )
    sound, glued, second, nul, surrogate, binary, twice, numbers, blocks, unknown, bare, last, torn = map(line, rows)
    return {
        "sound": sound + b"\n",
        "glued": glued + second + b"\n",
        "nul": b"\x00" * 64 + nul + b"\n",
        "surrogate": surrogate + b"\n",
        "binary": binary.replace(b"%BYTES%", b"\xff\xfe\x80") + b"\n",
        "duplicate keys": twice.replace(b'"type":"user"', b'"type":"system","type":"user"') + b"\n",
        "wrong types": numbers + b"\n",
        "unknown block": blocks + b"\n",
        "unknown type": unknown + b"\n",
        "no message": bare + b"\n",
        "not an object": b'[1,2,3]\n"text"\nnull\n42\n\n',
        "not JSON": b'{"type":"user","message":[REDACTED]}\n',
        "last": last + b"\n",
        "torn": torn[: len(torn) // 2],
    }


# The bytes of the damaged session by what is wrong with them, in file order.
DAMAGE: Final[Home] = MappingProxyType(_damage())

FAMILIES: Final[Mapping[str, Home]] = MappingProxyType(
    {
        "1.0 resume copies": _old(),
        "2.0.28 agents beside": _agents_beside(),
        "2.1.2 session folders": _subagents(),
        "2.1.250 titles": _titles(),
        "compacted": _compacted(),
        "forks": _forks(),
        "folder names": _folder_names(),
        "sidecars": _sidecars(),
        "set aside": _set_aside(),
        "home files": _home_files(),
        "secrets": _secrets(),
        "empty": _empty(),
        "damaged": _damaged(),
    }
)

EVERYTHING: Final[Home] = MappingProxyType({path: data for home in FAMILIES.values() for path, data in home.items()})

SECRETS: Final = frozenset(FAMILIES["secrets"])
