"""Copies of a row from other machines: which one counts, and whether it says something else."""

import json

import pytest

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.conflicts import is_other
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.decode import decode_all
from backscroll.records.kinds import ChainRecord

MASK = "[redacted: aws-key 0123456789]"


def record_of(text: str, uuid: str = "a", when: str = "2026-01-05T10:00:00.000Z") -> ChainRecord:
    line = {"type": "user", "uuid": uuid, "timestamp": when, "message": {"role": "user", "content": text}}
    (record,) = decode_all(json.dumps(line).encode() + b"\n")
    assert isinstance(record, ChainRecord)
    return record


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("same", "same"),
        ("a key AKIA1 is here", f"a key {MASK} is here"),
        (f"a key {MASK} is here", "a key AKIA1 is here"),
        (f"a {MASK}, b {MASK}", "a [redacted: aws-key 9999999999], b [redacted: other 1]"),
        ("a text", ""),  # only its metrics were sent
        ("a" * 50_000 + "AKIA" * 50_000, f"{'a' * 50_000}{MASK}"),
    ],
)
def test_what_was_masked_or_left_out_is_no_other_text(text: str, copy: str) -> None:
    assert not is_other(record_of(text), record_of(copy))


@pytest.mark.parametrize(
    ("text", "copy"),
    [
        ("ask about zirconium", "ask about plutonium"),
        ("a key AKIA1 is here", f"a key {MASK} was here"),
        ("ab", f"ab{MASK}b"),
        (f"a {MASK}", f"b {MASK}"),
        (f"a {MASK}", f"a {MASK} {MASK}"),
    ],
)
def test_another_text_is_told_however_much_of_it_is_masked(text: str, copy: str) -> None:
    assert is_other(record_of(text), record_of(copy))


@pytest.mark.parametrize("order", [("here", "there"), ("there", "here")])
@pytest.mark.parametrize("earlier", ["here", "there"])
def test_a_row_of_this_machine_counts_whichever_copy_is_earlier_or_came_first(
    order: tuple[str, str], earlier: str
) -> None:
    chats = ChatBuilder(is_elsewhere=lambda file: file == "there")
    for file in order:
        when = f"2026-01-05T1{0 if file == earlier else 1}:00:00.000Z"
        chats.add(TranscriptPlace(file, "S"), [record_of(f"said {file}", when=when)])
    (chat,) = chats.chats()
    assert (chat.title, chat.tree.nodes["a"].row.transcript) == ("said here", "here")
