"""The small files say what they say, or nothing."""

import pytest

from backscroll.records.sidecars import AgentMeta, agent_meta, cleanup_period, custom_title, live_session


def test_a_live_session_names_its_process() -> None:
    live = live_session(b'{"pid": 12, "sessionId": "s", "cwd": "/a", "procStart": "77", "status": "busy"}')
    assert live is not None
    assert (live.pid, live.session_id, live.cwd, live.process_start, live.status) == (12, "s", "/a", "77", "busy")


def test_only_odd_fields_are_lost() -> None:
    live = live_session(b'{"pid": 12, "sessionId": 5, "procStart": 77}')
    assert live is not None
    assert (live.session_id, live.process_start, live.status) == (None, "77", None)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"pid": "12"}', b'{"pid": true}', b'{"pid": -1}', b"\xff{"])
def test_without_a_process_there_is_no_live_session(data: bytes) -> None:
    assert live_session(data) is None


@pytest.mark.parametrize(
    ("settings", "days"),
    [
        (b'{"cleanupPeriodDays": 90}', 90),
        (b'{"cleanupPeriodDays": 0}', 0),
        (b'{"cleanupPeriodDays": 7.9}', 7),
        (b'{"cleanupPeriodDays": "90"}', None),
        (b'{"cleanupPeriodDays": true}', None),
        (b'{"cleanupPeriodDays": -4}', None),
        (b'{"model": "opus"}', None),
        (b"not json", None),
    ],
)
def test_the_days_that_sessions_are_kept(settings: bytes, days: int | None) -> None:
    assert cleanup_period(settings) == days


def test_an_agents_sidecar_names_its_call() -> None:
    meta = agent_meta(b'{"agentType": "Explore", "toolUseId": "t1", "isFork": true, "description": 5}')
    assert (meta.agent_type, meta.tool_use_id, meta.is_fork, meta.description) == ("Explore", "t1", True, None)
    assert agent_meta(b"broken") == AgentMeta()


def test_a_title_may_be_in_a_separate_file() -> None:
    assert custom_title(b'{"customTitle": "Parser"}') == "Parser"
    assert custom_title(b"[]") is None
