"""Branches: a second prompt is a rewind, and nothing else is; the active branch is the one the client would resume."""

from backscroll.conversation.chat import Chat
from tests.conversation.support import Drawing, check_nothing_is_lost, one_chat, written


def check(drawing: Drawing, *expected: str) -> Chat:
    """All branches, the active one first; `e f < a` leaves after the turn that begins with a."""
    chat = one_chat(drawing)
    assert [written(branch) for branch in chat.branches] == list(expected)
    assert [branch.number for branch in chat.branches] == list(range(1, len(expected) + 1))
    check_nothing_is_lost(chat)
    return chat


REWIND = """
    a <- - user: paint the door
    b <- a assistant: in which colour?
    c <- b user: red
    d <- c assistant: it is red
    e <- b user: blue
    f <- e assistant: it is blue
    """


def test_a_conversation_without_a_rewind_has_one_branch() -> None:
    check("a <- - user: paint the door\nb <- a assistant: in which colour?\nc <- b user: red", "a b | c")


def test_a_second_prompt_is_a_rewind_and_the_last_row_decides_the_active_branch() -> None:
    chat = check(REWIND, "a b | e f", "c d < a")
    assert chat.active is chat.branches[0]


def test_every_branch_can_be_read_from_its_beginning() -> None:
    chat = one_chat(REWIND)
    paths = ["".join(turn.key for turn in branch.leaf.path()) for branch in chat.branches]
    assert paths == ["ae", "ac"]


def test_going_on_in_the_older_branch_makes_it_active_again() -> None:
    check(f"{REWIND}g <- d user: brighter", "a b | c d | g", "e f < a")


def test_a_prompt_is_active_as_soon_as_it_is_typed_although_the_note_of_going_back_stands_behind_it() -> None:
    typed = f'{REWIND}g <- b user: green\nlast-prompt b {{"explicit": true}}'
    check(typed, "a b | g", "c d < a", "e f < a")
    check(f"{typed}\nh <- g assistant: it is green", "a b | g h", "c d < a", "e f < a")
    check(f'{REWIND}last-prompt b {{"explicit": true}}', "a b", "c d < a", "e f < a")


def test_three_prompts_at_one_place_are_three_branches() -> None:
    check(f"{REWIND}g <- b user: green", "a b | g", "c d < a", "e f < a")


def test_a_rewind_inside_an_abandoned_branch_leaves_there() -> None:
    check(
        """
        a <- - user: paint the door
        b <- a user: red
        c <- b user: dark
        d <- b user: light
        e <- a user: blue
        """,
        "a | e",
        "b | c < a",
        "d < b",
    )


def test_the_same_prompt_twice_is_a_rewind_too() -> None:
    check("a <- - user: paint\nb <- a user: red\nc <- a user: red", "a | c", "b < a")


def test_an_answer_tried_again_is_no_branch() -> None:
    check("a <- - user: paint\nb <- a assistant(m1): no\nc <- a assistant(m2): yes\nd <- c user: thanks", "a b c | d")


def test_a_second_prompt_below_a_parallel_result_is_no_rewind_by_itself() -> None:
    check(
        """
        a <- - user: read both
        b <- a call(m1) t1 Read {}
        c <- b call(m1) t2 Read {}
        d <- b result t1: one
        e <- c result t2: two
        f <- d user: stop
        """,
        "a b c d e | f",
    )


def test_a_command_off_the_path_is_not_a_branch() -> None:
    check(
        """
        a <- - user: paint the door
        b <- a assistant: done
        c <- b user: <command-name>/cost</command-name>
        d <- c user: <local-command-stdout>$1</local-command-stdout>
        e <- b user: and the window
        """,
        "a b | c d | e",
    )


def test_a_command_after_a_rewind_decides_where_the_client_would_continue() -> None:
    check(
        """
        a <- - user: paint the door
        b <- a assistant: done
        e <- b user: and the window
        f <- e assistant: done
        c <- b user: <command-name>/cost</command-name>
        d <- c user: <local-command-stdout>$1</local-command-stdout>
        """,
        "a b | c d",
        "e f < a",
    )


def test_a_command_with_no_parent_is_no_branch() -> None:
    check(
        """
        c <- - user: <command-name>/cost</command-name>
        d <- c user: <local-command-stdout>$1</local-command-stdout>
        a <- - user: paint the door
        b <- a assistant: done
        """,
        "c d | a b",
    )


def test_a_command_that_was_answered_is_a_branch() -> None:
    check(
        """
        a <- - user: paint the door
        b <- a user: red
        c <- a user: <command-name>/paint</command-name><command-args>blue</command-args>
        d <- c assistant: done
        """,
        "a | c d",
        "b < a",
    )


def test_only_a_command_is_a_conversation_of_one_branch() -> None:
    check(
        "a <- - user: <command-name>/cost</command-name>\nb <- a user: <local-command-stdout>$1</local-command-stdout>",
        "a b",
    )


def test_a_queued_prompt_off_the_path_is_not_a_branch() -> None:
    check(
        """
        a <- - user: build
        b <- a call t1 Bash {}
        q <- b attachment queued_command: and test
        c <- b result t1: built
        d <- c assistant: done
        """,
        "a b q c d",
    )


def test_an_interrupted_prompt_is_a_separate_branch() -> None:
    check(
        """
        a <- - user: build
        b <- a assistant: built
        c <- b user: tset it
        i <- c user: [Request interrupted by user]
        d <- b user: test it
        """,
        "a b | d",
        "c i < a",
    )


def test_an_unknown_row_at_the_end_is_not_the_active_branch() -> None:
    check(
        'a <- - user: paint\nb <- a assistant: done\nraw {"type": "hologram", "uuid": "h", "parentUuid": "b"}', "a b h"
    )


def test_an_unknown_record_outside_the_chain_at_the_end_is_not_the_active_branch() -> None:
    chat = one_chat('a <- - user: paint\nb <- a assistant: done\nhologram-state {"cells": [1]}')
    assert chat.active is not None
    assert chat.active.leaf.key == "a"
    assert len(chat.branches) == 1


# Where the client itself says that the conversation stands.

NIL = "00000000-0000-0000-0000-000000000000"


def test_the_checkpoint_names_the_branch() -> None:
    check(f"{REWIND}last-prompt d: red", "a b | c d", "e f < a")


def test_what_descends_from_the_checkpoint_wins() -> None:
    check(f"{REWIND}last-prompt d: red\ng <- d user: brighter\nh <- g assistant: it is", "a b | c d | g h", "e f < a")


def test_what_does_not_descend_from_the_checkpoint_loses() -> None:
    check(f"{REWIND}last-prompt d: red\ng <- f user: brighter", "a b | c d", "e f | g < a")


def test_the_latest_checkpoint_counts() -> None:
    check(f"{REWIND}last-prompt d: red\nlast-prompt f: blue", "a b | e f", "c d < a")


def test_a_checkpoint_in_the_middle_ends_the_active_branch_there() -> None:
    rewound = 'last-prompt b: paint the door {"explicit": true, "rewound": true}'
    check(f"{REWIND}{rewound}", "a b", "c d < a", "e f < a")


def test_rows_after_a_checkpoint_in_the_middle_win() -> None:
    rewound = 'last-prompt b: paint the door {"explicit": true, "rewound": true}'
    check(f"{REWIND}{rewound}\ng <- b user: green", "a b | g", "c d < a", "e f < a")


def test_a_checkpoint_on_a_parallel_call_is_no_rewind() -> None:
    check(
        """
        a <- - user: read both
        b <- a call(m1) t1 Read {}
        c <- b call(m1) t2 Read {}
        d <- b result t1: one
        last-prompt d: read both
        e <- c result t2: two
        f <- e assistant(m2): read
        g <- f user: thanks
        """,
        "a b c d e f | g",
    )


def test_a_checkpoint_that_is_in_no_file_is_ignored() -> None:
    check(f"{REWIND}last-prompt lost: blue", "a b | e f", "c d < a")


def test_a_checkpoint_on_the_nil_uuid_is_ignored() -> None:
    check(f'{REWIND}last-prompt {NIL}: blue {{"explicit": true}}', "a b | e f", "c d < a")


def test_a_last_prompt_without_a_leaf_is_no_checkpoint() -> None:
    # as 2.1.112 writes it
    check(f"{REWIND}last-prompt - -leafUuid: blue", "a b | e f", "c d < a")


def test_a_null_leaf_that_the_user_did_not_ask_for_is_no_checkpoint() -> None:
    check(f"{REWIND}last-prompt -: blue", "a b | e f", "c d < a")


def test_a_last_prompt_without_a_leaf_does_not_take_a_checkpoint_back() -> None:
    check(f"{REWIND}last-prompt d: red\nlast-prompt - -leafUuid: red", "a b | c d", "e f < a")


def test_after_a_rewind_to_the_start_the_client_would_start_over_and_the_branch_is_kept() -> None:
    chat = check('a <- - user: never mind\nb <- a assistant: all right\nlast-prompt - {"explicit": true}', "a b")
    assert chat.leaf_of(chat.sessions[0]) is None


def test_rows_after_a_rewind_to_the_start_are_active() -> None:
    check(
        """
        a <- - user: never mind
        b <- a assistant: all right
        last-prompt - {"explicit": true}
        c <- - user: something else
        """,
        "c",
        "a b",
    )


def test_a_compact_boundary_clears_the_checkpoint() -> None:
    check(
        f"""{REWIND}last-prompt d: red
        s <- - compact(logical=f)
        t <- s compact-summary: a door
        g <- t user: brighter
        """,
        "a b | e f s t | g",
        "c d < a",
    )


def test_a_sub_agent_at_the_end_of_the_file_does_not_decide_the_branch() -> None:
    check(f"{REWIND}@ agent=x1 version=1.0.60\nx <- - user: look\ny <- x assistant: seen", "a b | e f", "c d < a")


def test_a_rewind_in_the_agents_name_is_kept_apart() -> None:
    chat = one_chat({"S1": REWIND, "S1/x1": "x <- - user: look\ny <- x assistant: seen"})
    assert [written(branch) for branch in chat.branches] == ["a b | e f", "c d < a"]


def test_a_branch_names_the_session_that_resumes_it() -> None:
    chat = one_chat(REWIND)
    assert [branch.sessions for branch in chat.branches] == [[chat.id], [chat.id]]
