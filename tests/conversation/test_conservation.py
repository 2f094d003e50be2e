"""Nothing is lost and nothing is there twice: real sessions, counted from their plain JSON by code of our own."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import messages_of, results_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.conversation.tree import Turn
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import TRANSCRIPTS
from backscroll.records.decode import decode_all
from backscroll.records.kinds import Assistant, User
from backscroll.records.record import Record
from backscroll.records.sidecars import agent_meta
from tests.support.cases import for_each

FIXTURES = Path(__file__).parents[1] / "fixtures" / "transcripts"
HOMES = sorted(path for path in FIXTURES.glob("*/*") if path.is_dir() and not (path / "__store.db").exists())
"""All but those from before session files, which tests/library/test_early_history.py is about."""


class Written(NamedTuple):
    """What stands in the files, told by nothing but `json`."""

    said: Counter[tuple[str, str]]
    """The uuid of every user and assistant row, with its file."""
    results: Counter[str]
    """Every result of a tool, by its call."""
    sessions: set[str]


def written_in(home: Path) -> Written:
    said: Counter[tuple[str, str]] = Counter()
    results: Counter[str] = Counter()
    sessions = set()
    for path in sorted((home / "projects").rglob("*.jsonl")):
        for row in objects_in(path):
            for repeated in repeated_in(row):
                said[str(path), repeated["uuid"]] += 1
            if row.get("type") in ("user", "assistant"):
                said[str(path), row["uuid"]] += 1
                results.update(results_in(row))
                if not path.name.startswith("agent-") and not row.get("isSidechain"):
                    sessions.add(path.stem)
    return Written(said, results, sessions)


def objects_in(path: Path) -> Iterator[dict[str, Any]]:
    """Every object that plain json can read; some lines hold two, some are broken."""
    decoder = json.JSONDecoder()
    for line in path.read_bytes().split(b"\n"):
        text = line.decode("utf-8", "replace").strip("\0 \r\t")
        at = 0
        while at < len(text):
            try:
                value, at = decoder.raw_decode(text, at)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value


def repeated_in(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The row of an agent that a progress row repeats."""
    data = row.get("data") if row.get("type") == "progress" else None
    said = data.get("message") if isinstance(data, dict) and data.get("type") == "agent_progress" else None
    return [said] if isinstance(said, dict) and said.get("type") in ("user", "assistant") else []


def results_in(row: dict[str, Any]) -> list[str]:
    content = (row.get("message") or {}).get("content")
    blocks = content if isinstance(content, list) else []
    return [block["tool_use_id"] for block in blocks if block.get("type") == "tool_result" and block.get("tool_use_id")]


@cache
def chats_in(home: Path) -> list[Chat]:
    """The chats of a home, read with all they need to be shown."""
    chats = ChatBuilder(keep=True)
    for file in discover(Home(home)).files:
        if file.kind in TRANSCRIPTS:
            lines = file.path.read_bytes().split(b"\n")
            records = [item for line in lines for item in decode_all(line) if isinstance(item, Record)]
            sidecar = file.path.with_suffix(".meta.json")
            meta = agent_meta(sidecar.read_bytes()) if sidecar.exists() else None
            chats.add(TranscriptPlace(str(file.path), file.place.session_id, file.place.agent_id), records, meta)
    return chats.chats()


def check_every_row_is_in_one_chat(home: Path) -> None:
    found: Counter[tuple[str, str]] = Counter()
    for chat in chats_in(home):
        rows = [copy for node in chat.tree.nodes.values() for copy in node.copies]
        rows += [row for file in chat.transcripts for row in file.sidechains]
        rows += [row for agent in chat.agents if agent.transcript for row in agent.transcript.rows]
        found.update((row.transcript, row.uuid) for row in rows if isinstance(row.record, (User, Assistant)))
    written = written_in(home).said
    assert len(written) > 0
    assert written - found == Counter()
    # What plain json cannot read we may still have salvaged; nothing else may be more.
    assert {file for file, _ in found - written} <= {str(path) for path in broken_files(home)}


@cache
def broken_files(home: Path) -> frozenset[Path]:
    broken = set()
    for path in (home / "projects").rglob("*.jsonl"):
        for line in path.read_bytes().split(b"\n"):
            try:
                json.loads(line or b"{}")
            except ValueError:
                broken.add(path)
    return frozenset(broken)


def check_every_sidechain_is_an_agents(home: Path) -> None:
    for chat in chats_in(home):
        copied = {row.uuid for file in chat.transcripts if file.place.agent_id for row in file.rows}
        written = {row.uuid for file in chat.transcripts for row in file.sidechains}
        shown = [row.uuid for agent in chat.agents for row in agent.rows]
        assert sorted(uuid for uuid in shown if uuid in written - copied) == sorted(written - copied)
        assert written <= set(shown)


def check_every_result_is_beside_its_call(home: Path) -> None:
    """Each result can be reached from a turn; one whose call is written anywhere in the chat stands beside it."""
    reached: set[str] = set()
    for chat in chats_in(home):
        own = results_of(node.row for node in chat.tree.nodes.values())
        turns = [turn for branch in chat.branches for turn in branch.turns]
        assert {call for turn in turns for node in turn.nodes for call in node.row.results} == own.keys()
        agents = [turn for agent in chat.agents for root in agent.tree.roots for turn in below(root)]
        own |= results_of(row for agent in chat.agents for row in agent.rows)
        paired = {
            call_id
            for turn in (*turns, *agents)
            for message in messages_of(turn, own)
            for call_id, call in message.calls.items()
            if call.result
        }
        calls = {call.id for node in chat.tree.nodes.values() for call in node.row.calls}
        calls |= {call.id for agent in chat.agents for call in agent.calls}
        assert paired == own.keys() & calls
        reached |= own.keys()
    assert written_in(home).results.keys() <= reached


def below(turn: Turn) -> Iterator[Turn]:
    yield turn
    for child in turn.children:
        yield from below(child)


def check_every_row_is_in_one_branch(home: Path) -> None:
    for chat in chats_in(home):
        shown = Counter(id(node) for branch in chat.branches for turn in branch.turns for node in turn.in_order())
        assert set(shown.values()) <= {1}
        assert [node.row.uuid for node in chat.tree.nodes.values() if id(node) not in shown] == []


def check_every_session_has_an_end(home: Path) -> None:
    """Where something was said, there is a turn to go on from."""
    ends = {
        session.session_id: chat.leaf_of(session)
        for chat in chats_in(home)
        for session in chat.sessions
        if session.rows
    }
    assert {session for session in written_in(home).sessions if ends.get(session.lower()) is None} == set()


def check_parents_come_first(home: Path) -> None:
    for chat in chats_in(home):
        for end in [branch.leaf for branch in chat.branches]:
            seen: set[int] = set()
            for turn in end.path():
                for node in turn.in_order():
                    assert node.parent is None or id(node.parent) in seen
                    seen.add(id(node))


CHECKS = pytest.mark.parametrize(
    "check",
    [
        check_every_row_is_in_one_chat,
        check_every_sidechain_is_an_agents,
        check_every_result_is_beside_its_call,
        check_every_row_is_in_one_branch,
        check_every_session_has_an_end,
        check_parents_come_first,
    ],
    ids=lambda check: check.__name__.removeprefix("check_"),
)


@CHECKS
def test_in_what_real_versions_wrote(check: Callable[[Path], None]) -> None:
    for_each(HOMES, check)


@CHECKS
def test_in_real_sessions(corpus: Path, check: Callable[[Path], None]) -> None:
    check(corpus / "home")
