"""Every record type of the format has its class, and its fields come out typed."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from backscroll.records.content import Image, Text, Thinking, ToolResult, ToolUse
from backscroll.records.decode import Problem, decode_line, fields_of, value_of
from backscroll.records.drift import Drift, drift
from backscroll.records.kinds import Attachment, System, UnknownRecord, User, type_of
from backscroll.records.outside import FileHistorySnapshot, PrLink
from backscroll.records.record import Record
from tests.support.drawings import draw, line

EVERY_TYPE = """
user assistant system attachment progress summary custom-title ai-title tag last-prompt file-history-snapshot
file-history-delta queue-operation agent-name agent-color agent-setting mode permission-mode pr-link worktree-state
content-replacement attribution-snapshot fork-context-ref relocated cost-state continued-in derived-from ended-by-model
bridge-session api-request
""".split()

NEVER_SEEN = """
artifact-autoreact-ledger artifact-comment-monitor data-flow-incomplete data-flow-records dev-mods frame-link
history-suppression isolation-latch memory-mode observer-ref repl-mode resume-head-vouch session-owner
""".split()
"""What Claude Code 2.1.327 has names for, and was not seen to write."""


def decode(drawing: str) -> Any:  # noqa: ANN401 - tests look at any kind of record
    (row,) = draw(drawing)
    record = decode_line(line(row))
    assert not isinstance(record, Problem)
    return record


@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_type_of_the_format_is_known(name: str) -> None:
    record = decode_line(json.dumps({"type": name, "sessionId": "s", "timestamp": "2026-01-05T10:00:00.000Z"}).encode())
    assert isinstance(record, Record)
    assert not isinstance(record, UnknownRecord)
    assert type_of(record) == name
    assert record.raw.startswith(b"{")


def test_a_row_of_the_chain_has_its_envelope() -> None:
    record = decode('a <- p user: hi {"gitBranch": "main", "logicalParentUuid": "l"}')
    assert (record.uuid, record.parent_uuid, record.logical_parent_uuid) == ("a", "p", "l")
    assert (record.git_branch, record.is_sidechain) == ("main", False)
    assert record.timestamp == datetime(2026, 1, 5, 10, 0, tzinfo=UTC)
    assert record.message.content == "hi"


def test_an_answer_has_its_message_and_usage() -> None:
    usage = '{"message": {"usage": {"input_tokens": 3, "cache_creation": {"ephemeral_1h_input_tokens": 5}}}}'
    record = decode(f"b <- a assistant(m1): done {usage}")
    assert record.message.id == "m1"
    assert record.message.content == [Text(text="done")]
    assert record.message.usage.input_tokens == 3
    assert record.message.usage.cache_creation.ephemeral_1h_input_tokens == 5


def test_tools_are_called_and_answer_by_id() -> None:
    (call,) = decode('c <- b call(m1) t1 Read {"file_path": "x.py"}').message.content
    assert isinstance(call, ToolUse)
    assert (call.id, call.name, value_of(call.input)) == ("t1", "Read", {"file_path": "x.py"})
    (result,) = decode("d <- c error t1: File does not exist").message.content
    assert isinstance(result, ToolResult)
    assert (result.tool_use_id, result.content, result.is_error) == ("t1", "File does not exist", True)


def test_thinking_and_images_are_blocks_of_their_own() -> None:
    (thought,) = decode("b <- a thinking(m1): hmm").message.content
    assert thought == Thinking(thinking="hmm")
    image = '[{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]'
    (picture,) = decode(f"a <- - user: {image}").message.content
    assert isinstance(picture, Image)
    assert picture.source is not None
    assert (picture.source.media_type, value_of(picture.source.data)) == ("image/png", "aGk=")


def test_a_compaction_says_why_and_what_stays() -> None:
    record = decode(
        's <- - compact(logical=b) auto {"compactMetadata": {"preTokens": 155000, '
        '"preservedSegment": {"headUuid": "x", "tailUuid": "y"}}}'
    )
    assert isinstance(record, System)
    assert (record.subtype, record.logical_parent_uuid) == ("compact_boundary", "b")
    assert record.compact_metadata is not None
    assert (record.compact_metadata.trigger, record.compact_metadata.pre_tokens) == ("auto", 155000)
    assert record.compact_metadata.preserved_segment is not None
    assert record.compact_metadata.preserved_segment.tail_uuid == "y"


def test_a_prompt_typed_mid_turn_is_in_its_attachment() -> None:
    record = decode("q <- b attachment queued_command: and the tests too")
    assert isinstance(record, Attachment)
    assert record.attachment is not None
    assert (record.attachment.type, record.attachment.prompt) == ("queued_command", "and the tests too")
    assert fields_of(record)["attachment"]["type"] == "queued_command"


def test_rows_outside_the_chain_carry_what_they_say() -> None:
    assert decode("summary b: A title").leaf_uuid == "b"
    assert decode("custom-title: T").custom_title == "T"
    assert decode("ai-title: T").ai_title == "T"
    assert decode("tag: later").tag_name == "later"
    assert decode("last-prompt d").leaf_uuid == "d"
    assert decode("relocated: /b").relocated_cwd == "/b"
    link = decode("pr-link 12 https://example.org/pull/12")
    assert isinstance(link, PrLink)
    assert (link.pr_number, link.pr_url) == (12, "https://example.org/pull/12")


def test_a_snapshot_names_the_copies_of_files() -> None:
    row = {
        "type": "file-history-snapshot",
        "messageId": "m",
        "snapshot": {"messageId": "m", "trackedFileBackups": {"a.py": {"backupFileName": "f@v1", "version": 1}}},
    }
    record = decode_line(json.dumps(row).encode())
    assert isinstance(record, FileHistorySnapshot)
    assert record.snapshot is not None
    assert record.snapshot.tracked_file_backups["a.py"].backup_file_name == "f@v1"


@pytest.mark.parametrize("missing", ["uuid", "timestamp", "sessionId", "message", "parentUuid"])
def test_a_row_without_a_field_is_still_a_record(missing: str) -> None:
    (row,) = draw(f"a <- - user -{missing}: hi")
    assert missing not in row
    assert isinstance(decode_line(line(row)), User)


@pytest.mark.parametrize(
    "when", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-05T10:00:00", "", "0000-00-00T00:00:00Z"]
)
def test_a_time_that_is_none_costs_the_time(when: str) -> None:
    record = decode_line(json.dumps({"type": "user", "uuid": "a", "timestamp": when}).encode())
    assert isinstance(record, User)
    assert (record.timestamp, record.uuid) == (None, "a")


def drift_of(row: dict[str, Any]) -> set[Drift]:
    record = decode_line(json.dumps(row).encode())
    assert isinstance(record, Record)
    return set(drift(record))


def test_known_fields_are_not_drift() -> None:
    rows = draw("a <- - user: hi\nb <- a call(m) t1 Bash {}\nc <- b result t1: ok\ns <- c system turn_duration\ntag: x")
    for row in rows:
        assert drift_of(row) == set()


@pytest.mark.parametrize("name", NEVER_SEEN)
def test_types_that_the_client_has_a_name_for_are_no_drift_and_are_kept_as_they_are(name: str) -> None:
    row = {"type": name, "uuid": "u", "parentUuid": "p", "anything": 1}
    assert drift_of(row) == set()
    record = decode_line(json.dumps(row).encode())
    assert isinstance(record, UnknownRecord)
    assert (type_of(record), record.fields) == (name, row)


@pytest.mark.parametrize(
    "row",
    [
        {"type": "user", "summarizeMetadata": {"messagesSummarized": 2, "direction": "up_to"}, "toolEndsTurn": True},
        {"type": "user", "toolDenialKind": "interrupted", "toolDenialBeforeRun": True, "refusedMessageId": "m"},
        {"type": "user", "origin": {"kind": "coordinator"}, "queueTranscriptOnly": True},
        {"type": "assistant", "requestSessionId": "s"},
        {"type": "fork-context-ref", "agentId": "a", "parentLastUuid": "u", "contextLength": 3},
        {"type": "system", "subtype": "api_error", "error": {"formatted": "529 Overloaded", "isNetworkDown": False}},
        {"type": "queue-operation", "operation": "remove", "reason": "absorbed_mid_turn", "commandUuid": "u"},
        {"type": "file-history-snapshot", "snapshot": {"hasUntrackedChanges": False}},
    ],
)
def test_fields_of_the_newest_client_are_no_drift(row: dict[str, Any]) -> None:
    assert drift_of(row) == set()


def test_drift_names_what_is_unknown_and_where() -> None:
    assert drift_of({"type": "brand-new"}) == {Drift("record type", "brand-new")}
    assert drift_of({"type": "user", "mood": 1}) == {Drift("field", "user.mood")}
    content = [{"type": "sparkle"}, {"type": "text", "text": "x", "font": "serif"}]
    assert drift_of({"type": "user", "message": {"content": content, "tone": 1}}) == {
        Drift("block type", "user.message.content:sparkle"),
        Drift("field", "user.message.content:text.font"),
        Drift("field", "user.message.tone"),
    }
    assert drift_of({"type": "user", "cwd": 5}) == {Drift("wrong type", "user.cwd")}
    assert drift_of({"type": "assistant", "message": {"usage": {"input_tokens": "many", "mood": 1}}}) == {
        Drift("wrong type", "assistant.message.usage.input_tokens"),
        Drift("field", "assistant.message.usage.mood"),
    }


def test_a_field_without_a_value_is_not_of_the_wrong_type() -> None:
    assert drift_of({"type": "user", "isSidechain": None, "cwd": 5}) == {Drift("wrong type", "user.cwd")}


def test_the_inside_of_attachments_and_requests_is_free() -> None:
    assert drift_of({"type": "attachment", "attachment": {"type": "anything", "goes": 1}}) == set()
    assert drift_of({"type": "api-request-x", "anything": 1}) == set()
