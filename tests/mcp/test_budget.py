"""No answer exceeds its token budget, for any chats and any budget."""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.library.memory.budget import tokens_of
from backscroll.library.memory.recall import recall
from backscroll.mcp.answers import ToolAnswer, fit, fits
from backscroll.mcp.arguments import LEAST_TOKENS
from backscroll.mcp.quoting import Frame, bare
from backscroll.render.recall import recall_as_json, recalled_text
from tests.library.support import Shelf
from tests.mcp.support import answer
from tests.support.drawings import session_uuid
from tests.support.homes import session_path

TEXTS = st.one_of(
    st.text(max_size=200),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=30), st.integers(1, 400)),
    st.sampled_from(["zebra", "漢" * 900, "🦓" * 400, "1-2-3-" * 600, '"\\' * 700, "⟦⟧" * 300, "\n" * 900]),
)
BUDGETS = st.integers(LEAST_TOKENS, 3_000)


class Listed(ToolAnswer, kw_only=True):
    """An answer of some texts."""

    texts: list[str]


@given(st.lists(TEXTS, max_size=12), st.integers(200, 3_000))
def test_the_longest_answer_that_fits_is_made(texts: list[str], max_tokens: int) -> None:
    frame = Frame("bcdfgh")

    def make(count: int, last: int | None) -> Listed:
        chosen = texts[:count]
        if last is not None:
            chosen[-1] = chosen[-1][:last]
        return Listed(
            note=frame.note, texts=[frame.quote(text) for text in chosen], cut=count < len(texts) or last is not None
        )

    made = fit(make, len(texts), max_tokens, lambda step: len(texts[step]))
    assert fits(made, max_tokens)
    if fits(make(len(texts), None), max_tokens):
        assert len(made.texts) == len(texts) and not made.cut
    else:
        assert made.cut
        whole = next(count for count in range(len(texts) + 1) if not fits(make(count, None), max_tokens))
        assert len(made.texts) >= whole - 1


def drawn_shelf(data: st.DataObject, folder: Path) -> Shelf:
    """Two sessions of any texts."""
    shelf = Shelf(folder)
    for name in ("one", "two"):
        texts = data.draw(st.lists(TEXTS, min_size=2, max_size=6))
        shelf.write({session_path(name): session_of(name, texts)})
    shelf.update()
    return shelf


@pytest.mark.all
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_tool_ever_answers_with_more(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = drawn_shelf(data, Path(folder))
        for tool, arguments in CALLS:
            made = answer(shelf, tool, **arguments, max_tokens=data.draw(BUDGETS))
            # There is always room for a first part, so that asking for the rest makes progress.
            assert tool in MAY_BE_EMPTY or any(value for value in made.values() if isinstance(value, list)), made


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_budget_holds_the_same_passages_in_text_json_and_mcp(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf = drawn_shelf(data, Path(folder))
        for question in ("what about the zebra?", "zebra.py", "Error: zebra"):
            tokens = data.draw(BUDGETS)
            made = answer(shelf, "recall", question=question, max_tokens=tokens)
            with shelf.open() as library:
                found = recall(library, question, max_tokens=tokens)
            messages = [one.source.message for one in found.passages]
            assert [one["message"] for one in recall_as_json(found)["passages"]] == messages
            assert CITED.findall(recalled_text(found)) == [name[:8] for name in messages]
            assert [one["message"] for one in made["passages"]] == [name[:8] for name in messages]
            assert tokens_of(recalled_text(found)) <= found.tokens <= tokens
            for quoted, passage in zip(made["passages"], found.passages, strict=True):
                assert bare(passage.text) in quoted["text"]


def session_of(name: str, texts: list[str]) -> bytes:
    """A session in which every text is said, done and answered, and is everything's name."""
    session = session_uuid(name)
    lines: list[dict[str, Any]] = []
    for number, text in enumerate(texts):
        base = {"sessionId": session, "cwd": f"/home/{text[:300]}", "version": "2.1.42", "gitBranch": text[:100]}
        base["timestamp"] = f"2026-01-05T10:{number:02}:00.000Z"
        ids = [f"{name}-{number}-{letter}" for letter in "abc"]
        given = {"file_path": f"/x/{text[:200]}/zebra.py", "old_string": "a", "new_string": text}
        tool = f"Edit{text[:80] if number % 2 else ''}"
        block = {"type": "tool_use", "id": f"toolu_{name}{number}", "name": tool, "input": given}
        result = {
            "type": "tool_result",
            "tool_use_id": block["id"],
            "content": f"Error: {text}",
            "is_error": number % 2 == 0,
        }
        said = {
            "id": f"m{number}",
            "role": "assistant",
            "model": text[:60],
            "content": [{"type": "text", "text": text}, block],
        }
        lines += [
            {"type": "user", "uuid": ids[0], "parentUuid": f"{name}-{number - 1}-c" if number else None, **base,
             "message": {"role": "user", "content": f"zebra {text}"}},
            {"type": "assistant", "uuid": ids[1], "parentUuid": ids[0], **base, "message": said},
            {"type": "user", "uuid": ids[2], "parentUuid": ids[1], **base,
             "message": {"role": "user", "content": [result]}},
        ]  # fmt: skip
    lines.append({"type": "custom-title", "customTitle": texts[0], "sessionId": session})
    return b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"


CITED = re.compile(r"^\[\d+\] .*/(\S+)$", re.MULTILINE)
MAY_BE_EMPTY = ("recall", "similar_errors", "query", "stats")
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"question": "what about the zebra?"}),
    ("search", {"query": "zebra"}),
    ("search", {"query": "zebra", "detail": "messages"}),
    ("read", {"chat": session_uuid("one")}),
    ("read", {"chat": session_uuid("two"), "message": "two-1-b"}),
    ("read", {"chat": session_uuid("one"), "call": "toolu_one0"}),
    ("timeline", {"project": "*"}),
    ("similar_errors", {"error": "Error: zebra"}),
    ("file_history", {"path": "zebra.py"}),
    ("stats", {"report": "errors"}),
    ("stats", {"report": "activity"}),
    ("query", {"sql": "select * from v_chats"}),
    ("query", {}),
]
