"""Parts: a row without a parent in a session follows the row before it, behind a divider that says why."""

from typing import Final

import pytest

from backscroll.conversation.chat import Chat
from tests.conversation.support import Drawing, all_chats, check_nothing_is_lost, messages_in, one_chat, written

BEGUN: Final = """
    a <- - user: paint the door
    b <- a assistant: done
    """


def check(drawing: Drawing, *expected: str, starts: str = "") -> Chat:
    """All branches, the active one first, and where parts begin: `c cleared, e rows lost`."""
    chat = one_chat(drawing)
    assert [written(branch) for branch in chat.branches] == list(expected)
    found = {message.key: message.starts_part for message in messages_in(chat) if message.starts_part}
    assert ", ".join(f"{key} {start}" for key, start in found.items()) == starts
    check_nothing_is_lost(chat)
    return chat


def test_a_second_root_follows_the_row_before_it() -> None:
    check(f"{BEGUN}c <- - user: paint the window\nd <- c assistant: done", "a b | c d", starts="c unlinked")


def test_a_compaction_without_a_boundary_is_no_rewind() -> None:
    check(
        f"""{BEGUN}
        c <- - user: This session is being continued from a previous conversation that ran out of context.
        d <- c assistant: I go on
        e <- d user: thanks
        """,
        "a b c d | e",
        starts="c compacted",
    )


def test_what_follows_clear_in_one_file_is_no_rewind() -> None:
    check(
        f"""{BEGUN}
        c <- - meta: <local-command-caveat>Caveat</local-command-caveat>
        d <- c user: <command-name>/clear</command-name>
        e <- d user: <local-command-stdout></local-command-stdout>
        f <- e user: paint the window
        g <- f assistant: done
        """,
        "a b c | d e | f g",
        starts="d cleared",
    )


def test_clear_may_stand_before_the_part_that_it_begins() -> None:
    check(
        f"{BEGUN}c <- b user: <command-name>/clear</command-name>\nd <- - user: the window\ne <- d assistant: done",
        "a b | c | d e",
        starts="d cleared",
    )


def test_an_accepted_plan_is_no_rewind() -> None:
    check(
        f"{BEGUN}c <- - user: Implement the following plan:\nd <- c assistant: done",
        "a b | c d",
        starts="c plan accepted",
    )


@pytest.mark.parametrize("row", ["c <- x user: paint the window", "c <- x assistant: done"])
def test_rows_after_lost_ones_are_no_rewind(row: str) -> None:
    shape = "a b | c d" if "user" in row else "a b c d"
    check(f"{BEGUN}{row}\nd <- c assistant: yes", shape, starts="c rows lost")


def test_a_hidden_first_row_leaves_the_divider_to_the_next_one() -> None:
    check(
        f"{BEGUN}c <- x result t1: ok\nd <- c assistant: done\ne <- d user: thanks",
        "a b c d | e",
        starts="d rows lost",
    )


def test_a_boundary_is_a_divider_itself() -> None:
    check(
        f"{BEGUN}c <- x progress hook_progress t1: p\nd <- - compact(logical=y) auto\ne <- d compact-summary: so far",
        "a b c d e",
    )


def test_rows_that_no_tool_linked_are_one_branch_without_dividers() -> None:
    check(
        """
        a <- - user -parentUuid: paint the door
        b <- - assistant -parentUuid: done
        c <- - user -parentUuid: paint the window
        d <- - assistant -parentUuid: done
        """,
        "a b | c d",
    )


def test_rows_without_uuids_are_one_branch() -> None:
    chat = one_chat(
        """
        a <- - user -parentUuid -uuid: paint the door
        b <- - assistant -parentUuid -uuid: done
        c <- - user -parentUuid -uuid: paint the window
        """
    )
    assert [len(branch.turns) for branch in chat.branches] == [2]


def test_rows_with_one_parent_that_is_nowhere_are_one_branch_with_one_divider() -> None:
    check(
        "a <- x user: one\nb <- x assistant: done\nc <- x user: two\nd <- x assistant: done\ne <- x user: three",
        "a b | c d | e",
        starts="b rows lost",
    )


def test_an_edited_first_prompt_has_the_prompt_id_of_the_one_that_it_replaces() -> None:
    check(
        """
        a <- - user: paint the door {"promptId": "p"}
        b <- a assistant: done
        c <- - user: paint the window {"promptId": "p"}
        d <- c assistant: done
        """,
        "c d",
        "a b",
    )


def test_a_rewind_to_the_very_beginning_is_one_where_the_client_says_so() -> None:
    check(
        f"""{BEGUN}
        last-prompt - {{"explicit": true}}
        c <- - user: paint the window
        d <- c assistant: done
        """,
        "c d",
        "a b",
    )


def test_a_first_prompt_that_replaces_that_of_a_later_part_leaves_there() -> None:
    check(
        f"""{BEGUN}
        c <- - user: paint the window
        d <- c assistant: done
        last-prompt - {{"explicit": true}}
        e <- - user: paint the roof
        f <- e assistant: done
        """,
        "a b | e f",
        "c d < a",
        starts="c unlinked",
    )


def test_two_clients_that_write_one_session_hide_nothing_from_each_other() -> None:
    """What follows only because of where it stands replaces nothing, and nothing replaces it."""
    check(
        f"""{BEGUN}
        c <- - user: the window
        d <- b user: the roof
        e <- c assistant: the window is done
        f <- d assistant: the roof is done
        g <- e user: and the sill
        """,
        "a b | d f | c e | g",
        starts="c unlinked",
    )


def test_a_client_that_goes_on_in_the_middle_of_a_turn_is_not_taken_back_by_another() -> None:
    chat = one_chat(
        """
        a <- - user: paint the door
        b <- a call(m1) t1 Read {}
        c <- - user: the window
        d <- b result t1: ok
        e <- d assistant(m2): the door is done
        f <- c assistant(m3): the window is done
        """
    )
    (branch,) = chat.branches
    assert sorted(" ".join(node.row.uuid for node in turn.nodes) for turn in branch.turns) == ["a b d", "c f", "e"]


def test_a_second_session_of_a_chat_that_hangs_on_nothing_goes_on_from_the_first() -> None:
    check(
        {"S1": BEGUN, "S2": "@ session=S1 time=2026-01-05T11:00:00.000Z\nc <- - user: the roof\nd <- c assistant: yes"},
        "a b | c d",
        starts="c other session",
    )


def test_sessions_that_begin_at_one_lost_row_stand_beside_each_other() -> None:
    later = "@ time=2026-01-05T11:00:00.000Z\n"
    check(
        {"S1": "c <- x user: red\nd <- c assistant: done", "S2": f"{later}e <- x user: blue\nf <- e assistant: done"},
        "e f",
        "c d",
    )


def test_a_history_that_an_editor_wrote_again_is_shown_once() -> None:
    """The extension for VS Code resumed a session by writing all of it again, each block of a prompt as a row."""
    first = """
        a <- - user: [{"type": "text", "text": "<ide_opened_file>x</ide_opened_file>"}, {"type": "text", "text": "go"}]
        b <- a assistant(m1): gone
        c <- b call(m1) t1 Read {}
        d <- c result t1: ok
        e <- d assistant(m2): done
    """
    again = """
        @ time=2026-01-05T10:00:00.000Z
        f <- - user: <ide_opened_file>x</ide_opened_file>
        @ time=2026-01-05T10:00:00.000Z
        g <- f user: go
        h <- g assistant(m1): gone
        i <- h call(m1) t1 Read {}
        j <- i result t1: ok
        k <- j assistant(m2): done
        l <- k user: and now this
        m <- l assistant(m3): done
    """
    check(first + again, "a b c d e | l m")
    once_more = """
        @ time=2026-01-05T10:00:05.000Z
        n <- k user: and now this
        o <- n assistant(m3): done
        p <- o user: thanks
    """
    check(first + again + once_more, "a b c d e | l m | p")


def test_no_branch_begins_nowhere() -> None:
    """Each branch but the first left a turn, or stands in the place of the first one."""
    for chat in all_chats(
        {
            "S1": f"{BEGUN}c <- - user: one\nd <- x user: two\ne <- b user: three",
            "S2": "@ session=S1\nf <- - user: four\ng <- y user: five\nh <- f user: six",
        }
    ):
        for branch in chat.branches[1:]:
            assert branch.left_at is not None, written(branch)


def test_a_rewind_to_the_very_beginning_may_be_noted_behind_the_prompt_that_came_of_it() -> None:
    check(
        f"""{BEGUN}
        c <- - user: paint the window
        last-prompt 00000000-0000-0000-0000-000000000000 {{"explicit": true}}
        d <- c assistant: done
        """,
        "c d",
        "a b",
    )


def test_a_note_behind_an_answer_is_not_about_the_prompt_before_it() -> None:
    check(
        f"""{BEGUN}
        c <- - user: paint the window
        d <- c assistant: done
        e <- d user: and the sill
        last-prompt 00000000-0000-0000-0000-000000000000 {{"explicit": true}}
        f <- e assistant: done
        """,
        "a b | c d | e f",
        starts="c unlinked",
    )
