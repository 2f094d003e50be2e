"""Prompts from a file: those that can be one are added, and none that is there is replaced."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import UsageError
from backscroll.library.prompts.prompt import PromptSource, new_prompt
from backscroll.library.prompts.prompt_file import PromptFile
from backscroll.library.prompts.transfer import import_prompts, read_prompts


def test_the_prompts_of_one_machine_are_those_of_another(tmp_path: Path) -> None:
    first, second = PromptFile(tmp_path / "first"), PromptFile(tmp_path / "second")
    first.add(
        new_prompt("a", "größe {{x}}", description="about", tags=["t"], source=PromptSource(chat="c", message="m"))
    )
    first.add(new_prompt("b", "second"))
    first.count_use("a")
    second.add(new_prompt("b", "mine"))
    done = import_prompts(second, read_prompts((tmp_path / "first" / "prompts.json").read_bytes()))
    assert (done.added, done.kept) == (["a"], ["b"])
    assert second.find("a") == first.find("a")
    assert second.find("b").text == "mine"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"{}", b"null", b"\xff", b'{"prompts": 7}', b'{"prompts": [7]}', b'{"prompts": [{}]}',
        b'{"prompts": [{"name": "../x", "text": "t"}]}', b'{"prompts": [{"name": "a", "text": ["t"]}]}',
        json.dumps({"prompts": [{"name": "a", "text": "t"}] * 1001}).encode(),
        json.dumps({"prompts": [{"name": "a", "text": "x" * 100_001}]}).encode(),
    ],
)  # fmt: skip
def test_what_is_no_file_with_prompts_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError):
        read_prompts(content)


def test_odd_fields_are_left_out() -> None:
    odd = {"name": "a", "text": "t", "tags": [7, "x"], "uses": -1, "source": {"chat": 7}, "used": "y", "owner": "eve"}
    (prompt,) = read_prompts(json.dumps({"prompts": [odd], "more": 1}).encode())
    assert (prompt.tags, prompt.uses, prompt.source, prompt.used, prompt.owner) == (["x"], 0, None, "", "")


VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from(["name", "text", "tags", "uses", "source", "created", "used"]), VALUES))
def test_any_prompt_is_read_or_refused(given_prompt: dict[str, object]) -> None:
    try:
        (prompt,) = read_prompts(json.dumps({"prompts": [given_prompt]}).encode())
    except UsageError:
        return
    assert prompt.name == str(given_prompt["name"]).strip()
    assert prompt.text
