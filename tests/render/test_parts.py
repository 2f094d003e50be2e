"""A chat as Markdown and in a terminal."""

from collections.abc import Iterator

import pytest

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.messages import Message, messages_of, results_of
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from backscroll.render.markdown import markdown
from backscroll.render.parts import ChatPart, PartFilter, parts_of
from backscroll.render.pretty import pretty
from tests.support.drawings import draw, line

WORK = """
a <- - user: fix the parser
b <- a thinking(m1): where is it?
c <- b call(m1) t1 Read {"file_path": "src/parser.py"}
d <- c result t1: def parse(): ...
e <- d assistant(m2): "Now I **edit** it."
f <- e call(m2) t2 Edit {"file_path": "src/parser.py"}
g <- f result t2: ok {"toolUseResult": {"structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, \
"newLines": 1, "lines": ["-def parse(): ...", "+def parse(text): ..."]}]}}
h <- g call(m3) t3 Bash {"command": "pytest\\n-q"}
i <- h error t3: "Exit code 1\\nmore"
j <- i assistant(m4): done
"""


def messages(drawing: str) -> Iterator[Message]:
    chats = ChatBuilder(keep=True)
    records = [record for row in draw(drawing) if isinstance(record := decode_line(line(row)), Record)]
    chats.add(TranscriptPlace("f", "s"), records)
    (chat,) = chats.chats()
    results = results_of(node.row for node in chat.tree.nodes.values())
    for turn in chat.branches[0].turns:
        yield from messages_of(turn, results)


def shown(drawing: str, **choice: object) -> list[tuple[str, str]]:
    parts = parts_of(messages(drawing), PartFilter(**choice))  # type: ignore[arg-type]
    return [(part.kind, part.title or part.text) for part in parts]


def test_tools_are_shown_on_one_line_with_their_changes_and_errors() -> None:
    assert shown(WORK) == [
        ("prompt", "fix the parser"),
        ("tool", "Read(src/parser.py)"),
        ("answer", "Now I **edit** it."),
        ("tool", "Edit(src/parser.py)"),
        ("diff", "@@ -1,1 +1,1 @@\n-def parse(): ...\n+def parse(text): ..."),
        ("tool", "Bash(pytest…)"),
        ("output", "error"),
        ("answer", "done"),
    ]


def test_tools_can_be_left_out() -> None:
    assert [kind for kind, _ in shown(WORK, tools="none")] == ["prompt", "answer", "answer"]


def test_tools_can_be_shown_in_full() -> None:
    parts = list(parts_of(messages(WORK), PartFilter(tools="full")))
    assert ChatPart("output", "def parse(): ...", "output") in parts
    assert ChatPart("output", "command: pytest\n-q", "input") in parts


def test_thinking_is_shown_to_who_asks() -> None:
    assert ("thinking", "where is it?") in shown(WORK, thinking=True)


def test_a_compaction_divides_and_its_summary_is_folded() -> None:
    drawing = """
    a <- - user: hi
    b <- a assistant: ho
    s <- - compact(logical=b) auto {"compactMetadata": {"preTokens": 155000}}
    t <- s compact-summary: This session is being continued from a previous conversation that ran out of context.
    c <- t user: go on
    """
    kinds = shown(drawing)
    assert ("divider", "compacted (auto, 155,000 tokens)") in kinds
    assert any(kind == "note" and title.startswith("summary of the conversation so far") for kind, title in kinds)


def test_what_the_client_says_to_the_model_is_shown_to_who_asks() -> None:
    drawing = "a <- - user: hi\nb <- a meta: a reminder\nc <- b assistant: ho"
    assert [kind for kind, _ in shown(drawing)] == ["prompt", "answer"]
    assert ("note", "meta") in shown(drawing, everything=True)


def test_as_markdown_nothing_can_end_its_fence() -> None:
    text = "".join(markdown([ChatPart("output", "```\nrm\n````")]))
    assert text == "`````\n```\nrm\n````\n`````\n\n"


def test_as_markdown_a_chat_reads_from_prompt_to_answer() -> None:
    text = "".join(markdown(parts_of(messages(WORK), PartFilter())))
    assert text.startswith("## ❯ fix the parser\n\n- `Read(src/parser.py)` done\n\nNow I **edit** it.\n\n")
    assert "```diff\n@@ -1,1 +1,1 @@\n" in text


def test_in_a_terminal_there_are_colours_or_none() -> None:
    parts = list(parts_of(messages(WORK), PartFilter()))
    coloured = "".join(pretty(parts, 80))
    assert "\x1b[" in coloured
    plain = "".join(pretty(parts, 80, color=False))
    assert "Read(src/parser.py)  done" in plain
    assert "+def parse(text): ..." in plain


@pytest.mark.parametrize("kind", ["prompt", "answer", "thinking", "tool", "diff", "output", "note", "divider"])
def test_no_part_can_command_the_terminal(kind: str) -> None:
    evil = "\x1b]0;owned\x07 \x1b[2J \r \u202e [red]x[/red]"
    part = ChatPart(kind, evil, evil)  # type: ignore[arg-type]
    for text in ("".join(markdown([part])), "".join(pretty([part], 80, color=False))):
        assert not set(text) & {"\x07", "\r", "\u202e"}
        assert "\x1b]0" not in text
        assert "\x1b[2J" not in text
