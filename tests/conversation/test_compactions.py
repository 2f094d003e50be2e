"""Compactions: the context was summed up, and the conversation went on."""

import pytest

from backscroll.conversation.chat import Chat
from backscroll.conversation.kinds import RowKind
from backscroll.records.kinds import System
from tests.conversation.support import Drawing, check_nothing_is_lost, messages_in, one_chat, written

BEFORE = "a <- - user: read everything\nb <- a assistant(m1): read\n"
AFTER = "t <- s compact-summary: what was read\nc <- t user: go on\nd <- c assistant(m2): went on\n"
OLD = "This session is being continued from a previous conversation that ran out of context."


def check(drawing: Drawing, *expected: str, compactions: int = 1) -> Chat:
    """The branches of a chat, and how often it was compacted."""
    chat = one_chat(drawing)
    assert [written(branch) for branch in chat.branches] == list(expected)
    assert chat.compactions == compactions
    check_nothing_is_lost(chat)
    return chat


def test_the_history_before_is_reached_by_the_logical_parent() -> None:
    check(f"{BEFORE}s <- - compact(logical=b)\n{AFTER}", "a b s t | c d")


def test_the_logical_parent_counts_more_than_the_position_in_the_file() -> None:
    check(
        f"""
        {BEFORE}
        x <- b user: an aside
        y <- b user: another
        s <- - compact(logical=x)
        {AFTER}
        """,
        "a b | x s t | c d",
        "y < a",
    )


def test_without_a_logical_parent_it_is_reached_by_the_position_in_the_file() -> None:
    check(f"{BEFORE}s <- - compact\n{AFTER}", "a b s t | c d")


def test_where_the_logical_parent_is_in_no_file_it_is_reached_by_the_position() -> None:
    check(f"{BEFORE}s <- - compact(logical=lost)\n{AFTER}", "a b s t | c d")


def test_the_logical_parent_may_be_in_another_file_of_the_chat() -> None:
    begun = f"{BEFORE}x <- b user: one more\n"
    check({"S1": begun, "S2": f"{BEFORE}s <- - compact(logical=x)\n{AFTER}"}, "a b | x s t | c d")


def test_a_file_that_begins_with_the_boundary_continues_the_file_with_its_logical_parent() -> None:
    check({"S1": BEFORE, "S2": f"s <- - compact(logical=b)\n{AFTER}"}, "a b s t | c d")


def test_a_file_that_begins_with_the_boundary_is_a_separate_conversation_if_the_history_is_gone() -> None:
    check(f"s <- - compact(logical=lost)\n{AFTER}", "s t | c d")


def test_a_logical_parent_after_the_boundary_makes_no_cycle() -> None:
    # as in an autocompaction of 2.1.197: the prompt that caused it is written below the summary
    chat = check(
        f"""
        {BEFORE}
        s <- - compact(logical=c)
        t <- s compact-summary: what was read
        c <- t user: go on
        d <- c assistant(m2): went on
        """,
        "a b s t | c d",
    )
    assert "".join(turn.key for turn in chat.branches[0].leaf.path()) == "ac"


def test_a_logical_parent_far_after_the_boundary_makes_no_cycle() -> None:
    check(f"{BEFORE}s <- - compact(logical=e)\n{AFTER}e <- d user: and on\n", "a b s t | c d | e")


def test_a_first_boundary_whose_logical_parent_follows_it_begins_the_conversation() -> None:
    check(f"s <- - compact(logical=c)\n{AFTER}", "s t | c d")


def test_a_prompt_before_the_boundary_that_it_caused_stays_before_it() -> None:
    # as in an autocompaction of 2.1.325
    check(
        f"""
        {BEFORE}
        c <- b user: go on
        s <- - compact(logical=c)
        t <- s compact-summary: what was read
        d <- t assistant(m2): went on
        """,
        "a b | c s t d",
    )


def test_an_old_summary_has_no_boundary_and_continues_from_the_row_before() -> None:
    check(f"{BEFORE}t <- - user: {OLD}\nc <- t user: go on\nd <- c assistant: went on", "a b t | c d")


def test_a_marked_summary_without_a_boundary_continues_from_the_row_before() -> None:
    check(f"{BEFORE}t <- - compact-summary: what was read\nc <- t user: go on", "a b t | c")


def test_an_old_summary_that_begins_a_file_begins_the_conversation() -> None:
    check(f"t <- - user: {OLD}\nc <- t user: go on", "t | c", compactions=1)


def test_two_compactions_are_one_conversation() -> None:
    check(
        f"""
        {BEFORE}
        s <- - compact(logical=b) manual
        {AFTER}
        u <- - compact(logical=d)
        v <- u compact-summary: more of it
        e <- v user: and on
        """,
        "a b s t | c d u v | e",
        compactions=2,
    )


def test_two_compactions_whose_logical_parents_are_lost_are_one_conversation() -> None:
    check(
        f"""
        {BEFORE}
        s <- - compact(logical=lost)
        {AFTER}
        u <- - compact(logical=gone)
        v <- u compact-summary: more of it
        """,
        "a b s t | c d u v",
        compactions=2,
    )


def test_the_summary_is_no_prompt_and_no_title() -> None:
    chat = one_chat(f"s <- - compact(logical=lost)\n{AFTER}")
    assert (chat.prompts, chat.messages) == (1, 2)
    assert chat.title == "go on"


def test_an_old_summary_is_no_prompt_and_no_title() -> None:
    chat = one_chat(f"t <- - user: {OLD}\nc <- t user: go on\nd <- c assistant: went on")
    assert (chat.prompts, chat.messages) == (1, 2)
    assert chat.title == "go on"


def test_the_divider_and_the_summary_can_be_read() -> None:
    chat = one_chat(f"{BEFORE}s <- - compact(logical=b)\n{AFTER}")
    found = [(message.kind, message.text) for message in messages_in(chat)][2:4]
    assert found == [(RowKind.COMPACTION, "Conversation compacted"), (RowKind.COMPACT_SUMMARY, "what was read")]


@pytest.mark.parametrize("trigger", ["auto", "manual"])
def test_the_divider_shows_the_trigger_and_the_size(trigger: str) -> None:
    metadata = '{"postTokens": 900, "preservedSegment": {"headUuid": "a", "anchorUuid": "t", "tailUuid": "b"}}'
    chat = one_chat(f'{BEFORE}s <- - compact(logical=b) {trigger} {{"compactMetadata": {metadata}}}\n{AFTER}')
    (divider,) = (message for message in messages_in(chat) if message.kind is RowKind.COMPACTION)
    record = divider.rows[0].record
    assert isinstance(record, System)
    told = record.compact_metadata
    assert told is not None
    assert (told.trigger, told.pre_tokens, told.post_tokens) == (trigger, 150000, 900)
    assert told.preserved_segment is not None
    assert (told.preserved_segment.head_uuid, told.preserved_segment.tail_uuid) == ("a", "b")


def test_a_microcompaction_is_noted_and_no_divider() -> None:
    chat = check(
        f"{BEFORE}n <- b system microcompact_boundary: Context microcompacted\nc <- n user: on",
        "a b n | c",
        compactions=0,
    )
    assert RowKind.MICROCOMPACTION in {message.kind for message in messages_in(chat)}


def test_a_rewind_after_a_compaction_leaves_at_its_turn() -> None:
    check(f"{BEFORE}s <- - compact(logical=b)\n{AFTER}e <- t user: or not", "a b s t | e", "c d < a")


def test_a_rewind_to_before_a_compaction_is_a_branch() -> None:
    check(f"{BEFORE}s <- - compact(logical=b)\n{AFTER}e <- b user: or not", "a b s t | e", "c d < a")


def test_a_compaction_of_a_sub_agent_does_not_touch_the_session() -> None:
    chat = one_chat(f"{BEFORE}last-prompt b\n@ agent=x1 version=1.0.60\ns <- - compact\nx <- s user: look")
    assert chat.compactions == 0
    assert chat.sessions[0].checkpoint is not None
