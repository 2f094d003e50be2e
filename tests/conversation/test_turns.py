"""Turns, and the order of the rows in them: parents first, file position breaks ties, and nothing is lost."""

from datetime import UTC, datetime, timedelta

from backscroll.conversation.chat import Chat
from tests.conversation.support import Drawing, check_nothing_is_lost, one_chat, rows_of, turns_of


def check(drawing: Drawing, expected: str) -> Chat:
    """The turns of all branches, the active branch first."""
    chat = one_chat(drawing)
    assert " | ".join(map(rows_of, turns_of(chat))) == expected
    check_nothing_is_lost(chat)
    return chat


def test_a_turn_is_a_prompt_and_everything_up_to_the_next() -> None:
    check(
        """
        a <- - user: fix the parser
        b <- a assistant: done
        c <- b user: now the lexer
        d <- c assistant: done
        """,
        "a b | c d",
    )


def test_order_comes_from_parents_and_not_from_times() -> None:
    check(
        """
        @ time=2026-01-05T12:00
        a <- - user: fix the parser
        @ time=2026-01-05T11:00
        b <- a assistant: done
        @ time=2026-01-05T10:00
        c <- b user: now the lexer
        """,
        "a b | c",
    )


def test_file_position_breaks_ties() -> None:
    check(
        """
        a <- - user: read both
        @ time=2026-01-05T12:00
        z <- a assistant(m1): reading
        @ time=2026-01-05T11:00
        b <- a assistant(m1): both
        """,
        "a z b",
    )


def test_parallel_tools_are_no_rewind() -> None:
    chat = check(
        """
        a <- - user: read both
        b <- a call(m1) t1 Read {}
        c <- b call(m1) t2 Read {}
        d <- b result t1: one
        e <- c result t2: two
        f <- e assistant(m2): read
        """,
        "a b c d e f",
    )
    assert len(chat.branches) == 1


def test_results_out_of_order_are_all_there() -> None:
    check(
        """
        a <- - user: read all
        b <- a call(m1) t1 Read {}
        c <- b call(m1) t2 Read {}
        d <- c call(m1) t3 Read {}
        e <- d result t3: three
        f <- b result t1: one
        g <- c result t2: two
        h <- g assistant(m2): read
        """,
        "a b c d e f g h",
    )


def test_a_result_before_its_call_is_moved_after_it() -> None:
    check(
        """
        a <- - user: read it
        c <- b result t1: one
        b <- a call(m1) t1 Read {}
        d <- c assistant(m2): read
        """,
        "a b c d",
    )


def test_progress_says_nothing_and_its_children_go_past_it() -> None:
    chat = check(
        """
        a <- - user: build it
        b <- a call(m1) t1 Bash {}
        p <- b progress bash_progress t1: line 1
        q <- p progress bash_progress t1: line 2
        c <- q result t1: built
        d <- c user: and test it
        """,
        "a b p q c | d",
    )
    assert len(chat.branches) == 1


def test_a_prompt_below_progress_is_no_rewind() -> None:
    chat = check(
        """
        a <- - user: build it
        b <- a call(m1) t1 Bash {}
        p <- b progress bash_progress t1: line 1
        c <- b result t1: built
        d <- p user: and test it
        """,
        "a b p c | d",
    )
    assert len(chat.branches) == 1


def test_attachments_and_system_rows_off_the_path_stay_in_their_turn() -> None:
    check(
        """
        a <- - user: build it
        f <- a attachment file: parser.py
        b <- a assistant: built
        s <- b system turn_duration {"durationMs": 9}
        c <- b user: and test it
        h <- c attachment hook_success: ok
        d <- c assistant: tested
        """,
        "a f b s | c h d",
    )


def test_a_queued_prompt_begins_no_turn() -> None:
    check(
        """
        a <- - user: build it
        b <- a call(m1) t1 Bash {}
        c <- b result t1: built
        q <- c attachment queued_command: and test it
        d <- q assistant: both done
        """,
        "a b c q d",
    )


def test_a_command_begins_a_turn() -> None:
    check(
        """
        a <- - user: build it
        b <- a assistant: built
        c <- b user: <command-name>/cost</command-name>
        d <- c user: <local-command-stdout>$1</local-command-stdout>
        e <- d user: <bash-input>ls</bash-input>
        f <- e user: <bash-stdout>parser.py</bash-stdout>
        """,
        "a b | c d | e f",
    )


def test_a_child_may_come_before_its_parent_in_the_file() -> None:
    check(
        """
        b <- a assistant: done
        a <- - user: fix the parser
        c <- b user: now the lexer
        """,
        "a b | c",
    )


def test_a_whole_file_may_be_in_reverse_order() -> None:
    check(
        """
        d <- c assistant: done
        c <- b user: now the lexer
        b <- a assistant: done
        a <- - user: fix the parser
        """,
        "a b | c d",
    )


def test_if_the_parent_is_missing_the_conversation_continues_from_the_row_before() -> None:
    check(
        """
        a <- - user: fix the parser
        b <- a assistant: done
        c <- lost user: now the lexer
        d <- c assistant: done
        """,
        "a b | c d",
    )


def test_a_first_row_whose_parent_is_missing_begins_the_conversation() -> None:
    check("b <- lost assistant: done\nc <- b user: now the lexer", "b | c")


def test_two_rows_that_hang_on_one_another_are_both_there() -> None:
    check(
        """
        a <- - user: fix the parser
        b <- c assistant: on
        c <- b assistant: and on
        d <- c user: stop
        """,
        "a b c | d",
    )


def test_three_rows_that_hang_on_one_another_are_all_there() -> None:
    chat = one_chat(
        """
        a <- - user: fix the parser
        b <- d assistant: on
        c <- b assistant: and on
        d <- c assistant: and on
        e <- d user: stop
        """
    )
    check_nothing_is_lost(chat)
    assert len(chat.branches) == 1
    assert [turn.key for turn in chat.branches[0].turns] == ["a", "e"]


def test_a_row_that_is_its_own_parent_continues_from_the_row_before() -> None:
    check("a <- - user: fix the parser\nb <- b assistant: done", "a b")


def test_only_rows_in_a_circle_are_still_there() -> None:
    chat = one_chat("a <- b user: fix the parser\nb <- a assistant: done")
    check_nothing_is_lost(chat)
    assert chat.messages == 2


def test_a_uuid_repeated_in_a_file_is_one_row_and_the_later_wins() -> None:
    chat = check(
        """
        a <- - user: fix the parser
        b <- a assistant: do
        b <- a assistant: done
        """,
        "a b",
    )
    row = chat.tree.nodes["b"].row
    assert row.position == 2
    assert chat.messages == 2


def test_a_row_repeated_elsewhere_in_the_tree_has_the_later_position() -> None:
    check(
        """
        a <- - user: fix the parser
        b <- a assistant: done
        c <- b user: now the lexer
        d <- a assistant: done too
        d <- c assistant: done too
        """,
        "a b | c d",
    )


def test_a_row_without_a_uuid_is_not_lost() -> None:
    chat = one_chat("a <- - user: fix the parser\nb <- a assistant -uuid: done\nc <- a assistant -uuid: really")
    check_nothing_is_lost(chat)
    assert chat.messages == 3
    assert len(chat.branches) == 1


def test_a_row_of_an_unknown_type_keeps_its_place() -> None:
    check(
        """
        a <- - user: fix the parser
        raw {"type": "hologram", "uuid": "h", "parentUuid": "a"}
        b <- h assistant: done
        """,
        "a h b",
    )


def test_an_unknown_record_outside_the_chain_is_no_row_of_the_conversation() -> None:
    check('a <- - user: fix the parser\nhologram-state {"cells": [1]}\nb <- a assistant: done', "a b")


def test_rows_outside_the_chain_change_nothing() -> None:
    check(
        """
        mode: default
        a <- - user: fix the parser
        file-history-snapshot a
        b <- a assistant: done
        cost-state {"totalCostUSD": 1}
        custom-title: The parser
        """,
        "a b",
    )


def test_a_conversation_may_begin_without_a_prompt() -> None:
    chat = check("a <- - assistant: welcome\nb <- a user: hello", "a | b")
    assert turns_of(chat)[0].head is None


def test_a_session_without_rows_has_no_turns() -> None:
    chat = one_chat("custom-title: Nothing happened here")
    assert chat.branches == []
    assert chat.active is None
    assert (chat.prompts, chat.messages, chat.started, chat.last_active) == (0, 0, None, None)


# When it was.


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-01-05T{clock}").replace(tzinfo=UTC)


def check_times(drawing: Drawing, started: str, last: str, worked: timedelta) -> None:
    """When the chat began and was last active, and how long it was worked on."""
    chat = one_chat(drawing)
    assert (chat.started, chat.last_active) == (at(started), at(last))
    assert chat.active_time == worked


def test_a_chat_begins_with_its_first_row_and_ends_with_its_last() -> None:
    check_times(
        "a <- - user: hi\nb <- a assistant: hello\nc <- b user: bye", "10:00:00", "10:00:02", timedelta(seconds=2)
    )


def test_long_silences_are_no_active_time() -> None:
    check_times(
        """
        a <- - user: hi
        @ time=2026-01-05T10:02
        b <- a assistant: hello
        @ time=2026-01-05T16:00
        c <- b user: still there?
        @ time=2026-01-05T16:00:30
        d <- c assistant: yes
        """,
        "10:00:00",
        "16:00:30",
        timedelta(minutes=2, seconds=30),
    )


def test_times_need_not_rise() -> None:
    check_times(
        "@ time=2026-01-05T12:00\na <- - user: hi\n@ time=2026-01-05T11:59\nb <- a assistant: hello",
        "11:59:00",
        "12:00:00",
        timedelta(minutes=1),
    )


def test_rows_without_a_time_do_not_matter() -> None:
    check_times(
        "a <- - user -timestamp: hi\nb <- a assistant: hello\nc <- b user: bye",
        "10:00:01",
        "10:00:02",
        timedelta(seconds=1),
    )


def test_rows_outside_the_chain_are_no_activity() -> None:
    check_times(
        "a <- - user: hi\n@ time=2026-01-05T23:00\npr-link 12 https://github.com/ada/shop/pull/12",
        "10:00:00",
        "10:00:00",
        timedelta(),
    )


def test_a_copy_that_carries_the_moment_of_the_resume_does_not_change_the_beginning() -> None:
    begun = "a <- - user: hi\nb <- a assistant(m1): hello\n"
    check_times(
        {"S1": begun, "S2": f"@ time=2026-01-05T18:00\n{begun}c <- b user: again\nd <- c assistant(m2): hello"},
        "10:00:00",
        "18:00:03",
        timedelta(seconds=2),
    )


def test_where_only_the_copies_are_left_their_times_are_all_there_is() -> None:
    check_times("@ time=2026-01-05T18:00\na <- - user: hi", "18:00:00", "18:00:00", timedelta())


def test_a_sub_agent_at_work_is_activity() -> None:
    chat = one_chat({"S1": "a <- - user: hi", "S1/x1": "@ time=2026-01-05T11:00\nx <- - user: look"})
    assert chat.last_active == at("11:00:00")
