"""Rows that a compaction leaves in the context come after its summary, as the client sends them."""

from typing import Final

import pytest

from tests.conversation.support import Drawing, check_nothing_is_lost, one_chat, written

FIRST: Final = """
    a <- - user: one
    b <- a assistant: done
    c <- b user: two
    d <- c assistant: done
"""


def boundary(logical: str, head: str, anchor: str, tail: str) -> str:
    kept = f'{{"headUuid": "{head}", "anchorUuid": "{anchor}", "tailUuid": "{tail}"}}'
    return f'e <- - compact(logical={logical}) manual {{"compactMetadata": {{"preservedSegment": {kept}}}}}\n'


def check(drawing: Drawing, *expected: str) -> None:
    chat = one_chat(drawing)
    assert [written(branch) for branch in chat.branches] == list(expected)
    check_nothing_is_lost(chat)


UP_TO: Final = f"{FIRST}{boundary('b', 'c', 'f', 'd')}f <- e compact-summary: so far\ng <- f user: three"
FORK: Final = f"""
    @ session=S2
    {boundary("b", "c", "f", "d")}
    f <- e compact-summary: so far
    c <- f user: two
    d <- c assistant: done
    g <- d user: three
    h <- g assistant: done
"""


def test_what_was_kept_comes_after_the_summary() -> None:
    check(UP_TO, "a b e f | c d | g")


@pytest.mark.parametrize("logical", ["b", "d"])
def test_the_boundary_may_name_the_last_row_that_was_kept(logical: str) -> None:
    check(UP_TO.replace(boundary("b", "c", "f", "d"), boundary(logical, "c", "f", "d")), "a b e f | c d | g")


@pytest.mark.parametrize("logical", ["b", "d"])
def test_a_fork_has_it_after_the_summary_already(logical: str) -> None:
    fork = FORK.replace(boundary("b", "c", "f", "d"), boundary(logical, "c", "f", "d"))
    session = UP_TO.replace(boundary("b", "c", "f", "d"), boundary(logical, "c", "f", "d"))
    check({"S2": fork}, "e f | c d | g h")
    check({"S1": session, "S2": fork}, "a b e f | c d | g h")
    check({"S2": fork, "S1": session}, "a b e f | c d | g h")


def test_what_was_summarised_from_a_row_on_stands_before_the_boundary() -> None:
    session = f"{FIRST}{boundary('b', 'a', 'e', 'b')}f <- e compact-summary: so far\ng <- f user: two again"
    check(session, "a b | c d e f | g")
    fork = f"""
        @ session=S2 time=2026-01-05T10:00:04.000Z
        {boundary("b", "a", "e", "b")}
        a <- e user: one
        b <- a assistant: done
        f <- b compact-summary: so far
        g <- f user: two again
        h <- g assistant: done
    """
    check({"S2": fork}, "a b e f | g h")
    check({"S1": session, "S2": fork}, "a b | c d e f | g h")


def test_a_boundary_that_names_rows_that_are_not_there_changes_nothing() -> None:
    check(
        f"{FIRST}{boundary('d', 'x', 'y', 'z')}f <- e compact-summary: so far\ng <- f user: three", "a b | c d e f | g"
    )


def test_a_prompt_that_the_client_wrote_behind_the_summary_by_itself_takes_nothing_back() -> None:
    session = f"""
        a <- - user: one
        b <- a assistant: done
        {boundary("g", "b", "f", "g")}
        f <- e compact-summary: so far
        g <- f user: two
        h <- g assistant: done
    """
    check(session, "a b e f | g h")
