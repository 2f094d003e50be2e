"""What leaves: secrets are masked, the same way each time; metrics have no text; the policy decides by project."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.redaction import redactor
from backscroll.redaction.redactor import redact
from backscroll.sync.bundles import read_bundles
from backscroll.sync.outgoing import WITHHELD, Outgoing
from backscroll.sync.policy import Policy, PolicyRule, Project, SyncMode, normal_remote
from backscroll.sync.remotes import Folder
from tests.redaction.planted_set import planted_set
from tests.sync.support import SESSION, Device

KEY = b"the key of a device"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_no_planted_secret_is_on_the_wire(tmp_path: Path) -> None:
    remote = Folder(tmp_path / "remote")
    laptop = Device(tmp_path, "laptop", mode=SyncMode.REDACTED)
    cases = planted_set()
    records = [{"type": "user", "uuid": str(number), "text": case.text} for number, case in enumerate(cases)]
    laptop.write(SESSION.format(1), b"".join(json.dumps(record).encode() + b"\n" for record in records))
    laptop.keep()
    laptop.push(remote)
    wire = b"".join(
        bundle.content(entry)
        for one in remote.list()
        for bundle in read_bundles(remote.get(one.name))
        for entry in bundle.index.entries
    )
    texts = [json.loads(line)["text"] for line in wire.splitlines()]
    leaks = [case.title for case, text in zip(cases, texts, strict=True) if case.leaks(text)]
    assert leaks == [case.title for case in cases if case.leaks(redact(case.text)[0])]  # none that exports would mask
    assert len(cases) - len(leaks) >= 0.95 * len(cases)


def test_one_look_for_all_patterns_of_a_rule_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [json.dumps({"text": case.text, "more": [case.text[:40]]}).encode() for case in planted_set()]
    looked = [Outgoing(KEY).line(SyncMode.REDACTED, line, is_json=True) for line in lines]
    monkeypatch.setattr(redactor, "any_pattern", lambda _: "")  # which matches everywhere
    assert [Outgoing(KEY).line(SyncMode.REDACTED, line, is_json=True) for line in lines] == looked


def test_masks_are_the_same_each_time_and_differ_by_device() -> None:
    line = b'{"text":"AKIAIOSFODNN7EXAMPLE and AKIAIOSFODNN7EXAMPLF and AKIAIOSFODNN7EXAMPLE"}\n'
    first, again = (Outgoing(KEY).line(SyncMode.REDACTED, line, is_json=True) for _ in range(2))
    assert first == again
    assert first is not None
    words = json.loads(first)["text"].split(" and ")
    assert words[0] == words[2] != words[1]
    assert Outgoing(b"another key").line(SyncMode.REDACTED, line, is_json=True) != first


def test_masking_what_is_masked_changes_nothing() -> None:
    line = b'{"text":"password = hunter2hunter2 and AKIAIOSFODNN7EXAMPLE"}\n'
    masked = Outgoing(KEY).line(SyncMode.REDACTED, line, is_json=True)
    assert masked is not None
    assert Outgoing(KEY).line(SyncMode.REDACTED, masked, is_json=True) == masked


def test_a_line_without_secrets_leaves_byte_for_byte() -> None:
    line = b'{ "text" : "caf\\u00e9",  "n": 1e400 }\n'
    assert Outgoing(KEY).line(SyncMode.REDACTED, line, is_json=True) == line


def test_a_line_that_cannot_be_inspected_is_withheld() -> None:
    outgoing = Outgoing(KEY)
    left = outgoing.line(SyncMode.REDACTED, b"\xff\xfe AKIAIOSFODNN7EXAMPLE\n", is_json=True)
    assert left is not None
    assert json.loads(left)["type"] == WITHHELD
    assert b"AKIA" not in left
    assert outgoing.withheld == 1


@given(JSON)
def test_metrics_have_no_text_but_names_of_tools_and_models(value: object) -> None:
    record = {
        "type": "assistant", "uuid": "u", "cwd": "/secret/place", "toolUseResult": value, "text": "zanzibar",
        "message": {
            "id": "m", "model": "claude-x", "usage": {"output_tokens": 3},
            "content": [{"type": "text", "text": "zanzibar"}, {"type": "tool_use", "name": "Bash", "id": "t",
                         "input": {"command": "zanzibar"}}],
        },
    }  # fmt: skip
    left = Outgoing(KEY).line(SyncMode.METRICS, json.dumps(record).encode() + b"\n", is_json=True)
    assert left is not None
    assert b"zanzibar" not in left
    assert b"/secret" not in left
    kept = json.loads(left)
    assert kept["message"]["usage"] == {"output_tokens": 3}
    assert kept["message"]["content"][1] == {"type": "tool_use", "name": "Bash", "id": "t"}
    assert set(kept) == {"type", "uuid", "message", "cwd"}


def test_metrics_have_the_usage_of_agents_whose_answers_are_only_in_progress_rows() -> None:
    answer = {
        "type": "assistant", "uuid": "n", "requestId": "r", "timestamp": "2026-01-02T03:04:05Z", "text": "zanzibar",
        "message": {
            "id": "m", "model": "claude-x", "usage": {"output_tokens": 5},
            "content": [{"type": "text", "text": "zanzibar"},
                        {"type": "tool_use", "id": "t", "name": "Glob", "input": "zanzibar"}],
        },
    }  # fmt: skip
    data = {"type": "agent_progress", "prompt": "zanzibar", "agentId": "a", "message": answer}
    row = {"type": "progress", "uuid": "u", "parentToolUseID": "p", "slug": "zanzibar", "data": data}
    outgoing = Outgoing(KEY)
    left = outgoing.line(SyncMode.METRICS, json.dumps(row).encode() + b"\n", is_json=True)
    assert left is not None
    assert b"zanzibar" not in left
    kept = json.loads(left)["data"]["message"]
    assert kept["message"]["usage"] == {"output_tokens": 5}
    assert kept["message"]["content"][1] == {"type": "tool_use", "id": "t", "name": "Glob"}
    for other in ({**data, "type": "bash_progress"}, {**data, "message": "zanzibar"}, "zanzibar", None):
        line = json.dumps({**row, "data": other}).encode() + b"\n"
        assert outgoing.line(SyncMode.METRICS, line, is_json=True) is None


def test_metrics_have_the_totals_of_the_client() -> None:
    used = {"inputTokens": 3, "costUSD": 0.5, "webSearchRequests": "zanzibar", "note": "zanzibar"}
    row = {"type": "cost-state", "sessionId": "s", "startTime": 1, "note": "zanzibar", "modelUsage": {"claude-x": used}}
    outgoing = Outgoing(KEY)
    left = outgoing.line(SyncMode.METRICS, json.dumps(row).encode() + b"\n", is_json=True)
    assert left is not None
    assert json.loads(left) == {
        "type": "cost-state", "sessionId": "s", "startTime": 1,
        "modelUsage": {"claude-x": {"inputTokens": 3, "costUSD": 0.5}},
    }  # fmt: skip
    for odd in (None, "zanzibar", {"claude-x": "zanzibar"}):
        left = outgoing.line(SyncMode.METRICS, json.dumps({**row, "modelUsage": odd}).encode(), is_json=True)
        assert left is not None
        assert json.loads(left)["modelUsage"] == {}


def test_metrics_leave_out_what_is_not_counted_and_hide_the_path(tmp_path: Path) -> None:
    remote = Folder(tmp_path / "remote")
    laptop = Device(tmp_path, "laptop", mode=SyncMode.METRICS)
    laptop.write(SESSION.format(1), b'{"type":"user","message":{"content":"hello"}}\n{"type":"ai-title","title":"x"}\n')
    laptop.write("todos/1.json", b"[]")
    laptop.keep()
    laptop.push(remote)
    (one,) = remote.list()
    (bundle,) = read_bundles(remote.get(one.name))
    (entry,) = bundle.index.entries
    assert entry.file is not None
    assert "shop" not in entry.file.path
    assert str(tmp_path) not in entry.file.home
    assert bundle.content(entry).count(b"\n") == 1


@pytest.mark.parametrize(
    ("project", "mode"),
    [
        (Project("/work/client-x/app", None), SyncMode.OFF),
        (Project("/work/client", None), SyncMode.REDACTED),
        (Project("/home/ada/shop", "git@github.com:Acme/Shop.git"), SyncMode.FULL),
        (Project("/home/ada/other", "https://gitlab.com/ada/other"), SyncMode.REDACTED),
        (None, SyncMode.OFF),
    ],
)
def test_the_first_rule_that_matches_decides(project: Project | None, mode: SyncMode) -> None:
    policy = Policy(
        SyncMode.REDACTED,
        (PolicyRule("path", "/work/client-*", SyncMode.OFF), PolicyRule("remote", "github.com/acme/*", SyncMode.FULL)),
    )
    assert policy.mode_of(project) is mode


def test_without_rules_files_of_no_project_leave_like_all_others() -> None:
    assert Policy(SyncMode.REDACTED).mode_of(None) is SyncMode.REDACTED


@pytest.mark.parametrize(
    "url",
    [
        "git@github.com:acme/shop.git", "https://github.com/acme/shop", "ssh://git@github.com:22/acme/shop.git/",
        "https://token@github.com/Acme/Shop.git", "github.com/acme/shop",
    ],
)  # fmt: skip
def test_a_git_remote_is_the_same_however_it_is_cloned(url: str) -> None:
    assert normal_remote(url) == "github.com/acme/shop"
