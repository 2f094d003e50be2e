"""Which session each session of a chat came of, and how."""

from collections.abc import Mapping
from typing import Final

from backscroll.conversation.branches import is_rewind, ways_from
from backscroll.conversation.origins import origins_of
from tests.conversation.support import one_chat
from tests.support.drawings import session_uuid

FIRST: Final = """
    a <- - user: paint the door
    b <- a assistant(m1): done
    c <- b user: red
"""


def check(files: Mapping[str, str], **expected: str) -> None:
    chat = one_chat(files)
    assert {file: f"{origin.kind} from {origin.session.place.file}" for file, origin in origins_of(chat).items()} == {
        name: words.replace("_", " ") for name, words in expected.items()
    }


def test_the_first_session_came_of_none() -> None:
    check({"S1": FIRST})


def test_a_fork_has_the_times_of_the_rows_that_it_copied() -> None:
    check({"S1": FIRST, "S2": f"@ session=S2\n{FIRST}d <- c user: blue"}, S2="forked from S1")


def test_a_resume_of_old_has_its_own_times() -> None:
    resumed = f"@ session=S2 time=2026-01-06T10:00:00.000Z\n{FIRST}d <- c user: blue"
    check({"S1": FIRST, "S2": resumed}, S2="copied from S1")
    renamed = resumed.replace("a <-", "x <-").replace("b <- a", "y <- x").replace("c <- b", "z <- y")
    check({"S1": FIRST, "S2": renamed.replace("d <- c", "d <- z")}, S2="copied from S1")


def test_a_branch_says_what_it_copied() -> None:
    check({"S1": FIRST, "S2": f"@ session=S2 forked=S1\n{FIRST}@ forked=\nd <- c user: blue"}, S2="branched from S1")


def test_a_session_may_go_on_without_a_copy() -> None:
    first = f"{FIRST}continued-in {session_uuid('S2')}"
    check({"S1": first, "S2": "@ session=S2 time=2026-01-06T10:00:00.000Z\nd <- - user: blue"}, S2="continued from S1")


def test_of_several_the_origin_is_the_one_that_it_shares_most_with() -> None:
    second = f"@ session=S2\n{FIRST}d <- c user: blue"
    third = f"@ session=S3\n{FIRST}d <- c user: blue\ne <- d user: green"
    check({"S1": FIRST, "S2": second, "S3": third}, S2="forked from S1", S3="forked from S2")


def test_a_fork_by_resuming_is_no_rewind() -> None:
    for files, expected in (
        ({"S1": f"{FIRST}d <- b user: blue"}, True),
        ({"S1": FIRST, "S2": f"@ session=S2\n{FIRST.replace('c <- b', 'd <- b')}"}, False),
    ):
        chat = one_chat(files)
        ways = ways_from(chat.branches[1].turns[0], chat.tree)
        assert [way.key for way in ways] == ["c", "d"]
        assert is_rewind(ways) == expected
