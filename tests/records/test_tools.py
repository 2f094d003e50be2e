"""The parts of the calls and results of particular tools that we read."""

import json

import pytest
from msgspec import Raw

from backscroll.records.content import ToolUse
from backscroll.records.tools import AgentCall, agent_call, agent_result, file_of_call


def call(value: object) -> ToolUse:
    return ToolUse(id="t", name="Task", input=Raw(json.dumps(value).encode()))


def test_a_call_says_what_the_agent_is_asked() -> None:
    asked = agent_call(call({"prompt": "look", "description": "d", "subagent_type": "Explore", "more": [1]}))
    assert asked == AgentCall(prompt="look", description="d", subagent_type="Explore")


def test_a_field_of_the_wrong_type_costs_that_field() -> None:
    assert agent_call(call({"prompt": "look", "description": 5})) == AgentCall(prompt="look")


@pytest.mark.parametrize("value", [None, 5, "text", ["list"], {}])
def test_an_input_that_is_no_object_says_nothing(value: object) -> None:
    assert agent_call(call(value)) == AgentCall()
    assert file_of_call(call(value)) is None
    assert agent_result(Raw(json.dumps(value).encode())).agent_id is None


def test_a_call_names_the_file_that_it_changes() -> None:
    assert file_of_call(call({"file_path": "/a.py", "old_string": "x"})) == "/a.py"
    assert file_of_call(call({"notebook_path": "/a.ipynb"})) == "/a.ipynb"


def test_a_result_names_its_agent() -> None:
    assert agent_result(Raw(b'{"agentId": "a1", "status": "completed", "usage": {}}')).agent_id == "a1"
    assert agent_result(Raw(b"")).agent_id is None
