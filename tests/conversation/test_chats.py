"""Which files are one chat: resumes, forks, copies with new uuids, and files that are gone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import permutations
from typing import Final

import pytest

from backscroll.conversation.branches import Branch
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from tests.conversation.support import check_nothing_is_lost
from tests.support.drawings import Row, draw, line, session_uuid

Files = Mapping[str, Sequence[Row]]
"""The rows of each file by its name: `S1` is a session, `S1/x1` its agent, `backup:S1` the same session elsewhere."""


def add(chats: ChatBuilder, name: str, rows: Iterable[Row]) -> None:
    session, _, agent = name.rpartition(":")[2].partition("/")
    chats.add(TranscriptPlace(name, session_uuid(session), agent or None), records(rows))


def records(rows: Iterable[Row]) -> list[Record]:
    decoded = [decode_line(line(row)) for row in rows]
    found = [record for record in decoded if isinstance(record, Record)]
    assert len(found) == len(decoded)
    return found


def chats_of(files: Files) -> list[Chat]:
    """The chats of these files, which are added in their order."""
    chats = ChatBuilder()
    for name, rows in files.items():
        add(chats, name, rows)
    return chats.chats()


def check(files: Files, *expected: str, leaves: str) -> Chat:
    """One chat with these branches, the active one first, and these leaves; nothing of it is lost or there twice.

    A branch is written as what was typed in its turns: `one | two < zero` leaves after the turn that says zero.
    """
    (chat,) = chats_of(files)
    check_nothing_is_lost(chat)
    assert [told(branch) for branch in chat.branches] == list(expected)
    assert leaves_of(chat) == set(leaves.split())
    return chat


def told(branch: Branch) -> str:
    said = " | ".join(turn.head.row.text if turn.head else "-" for turn in branch.turns)
    return f"{said} < {branch.left_at.head.row.text}" if branch.left_at and branch.left_at.head else said


def leaves_of(chat: Chat) -> set[str]:
    return {leaf.place.file for leaf in chat.leaves}


def times_of(chat: Chat) -> dict[str, datetime | None]:
    return {node.row.text: node.row.when for node in chat.tree.nodes.values() if node.row.text}


def copied(rows: Iterable[Row], session: str, moment: str) -> list[Row]:
    """What a resume up to 1.0.120 made of a closed session: other ids, and the time of the resume on every row."""
    return [row | {"sessionId": session_uuid(session), "timestamp": moment} for row in rows]


def given_new_uuids(rows: Iterable[Row], prefix: str) -> list[Row]:
    """New uuids all over, as up to 1.0.17 and in a fork by the SDK."""
    return [
        row
        | {"uuid": prefix + row["uuid"]}
        | {key: prefix + row[key] for key in ("parentUuid", "logicalParentUuid") if row.get(key)}
        for row in rows
    ]


def forked_by_sdk(rows: Sequence[Row], prefix: str, *, of: str, to: str, moment: str) -> list[Row]:
    """What `fork_session` of the SDK writes: only the last row has the time of the fork."""
    origins = [{"sessionId": session_uuid(of), "messageUuid": row["uuid"]} for row in rows]
    forked = given_new_uuids(rows, prefix)
    forked[-1] |= {"timestamp": moment}
    return [
        row | {"sessionId": session_uuid(to), "forkedFrom": origin} for row, origin in zip(forked, origins, strict=True)
    ]


def turn(name: str, after: str, text: str, session: str, time: str, version: str = "1.0.60") -> list[Row]:
    """A prompt `<name>-p` and its answer `<name>-a`."""
    drawing = f"""
        {name}-p <- {after} user: {text}
        {name}-a <- {name}-p assistant(m-{name}): answer to {text}
        """
    return draw(drawing, session=session, time=time, version=version)


# The history of six files that a user reported, by their first letters: who was resumed, and whether it was closed.
HISTORY: Final = (
    ("ce66e75e", None, False),
    ("755d966a", 0, True),
    ("ab337be2", 1, False),
    ("48bfdc96", 2, True),
    ("fa2f7873", 3, True),
    ("77a00ded", 3, False),
)
SIX: Final = tuple(f"{name}-0000-4000-8000-000000000000" for name, _, _ in HISTORY)
FIRST_END: Final = "four < three"
SECOND_END: Final = "zero | one | two | three | five"
WORDS: Final = "zero one two three four five".split()


def six_files(names: Sequence[str] = SIX) -> dict[str, list[Row]]:
    files: dict[str, list[Row]] = {}
    for number, (name, (_, parent, was_closed)) in enumerate(zip(names, HISTORY, strict=True)):
        history = files[names[parent]] if parent is not None else []
        if was_closed:
            history = copied(history, name, f"2025-07-0{number + 1}T09:00:00.000Z")
        after = f"{WORDS[parent]}-a" if parent is not None else "-"
        time = f"2025-07-0{number + 1}T09:00:10"
        files[name] = [*history, *turn(WORDS[number], after, WORDS[number], name, time)]
    return files


def test_a_history_of_six_files_is_one_chat_with_two_leaves() -> None:
    chat = check(six_files(), SECOND_END, FIRST_END, leaves=f"{SIX[4]} {SIX[5]}")
    assert chat.id == SIX[0]
    assert chat.prompts == 6
    assert chat.messages == 12


def test_the_branches_of_a_history_can_be_resumed_by_their_sessions() -> None:
    chat = check(six_files(), SECOND_END, FIRST_END, leaves=f"{SIX[4]} {SIX[5]}")
    assert [branch.sessions for branch in chat.branches] == [[SIX[5]], [SIX[4]]]


@pytest.mark.parametrize("gone", range(4))
def test_a_history_with_a_file_deleted_is_still_one_chat_with_two_leaves(gone: int) -> None:
    files = six_files()
    del files[SIX[gone]]
    chat = check(files, SECOND_END, FIRST_END, leaves=f"{SIX[4]} {SIX[5]}")
    assert chat.prompts == 6


def test_a_history_with_a_leaf_deleted_has_the_other_one() -> None:
    files = six_files()
    del files[SIX[5]]
    check(files, "zero | one | two | three | four", leaves=SIX[4])


def test_a_history_with_the_other_leaf_deleted_has_the_first() -> None:
    files = six_files()
    del files[SIX[4]]
    check(files, SECOND_END, leaves=SIX[5])


def test_a_history_whose_leaves_are_deleted_ends_before_them() -> None:
    files = six_files()
    del files[SIX[4]], files[SIX[5]]
    check(files, "zero | one | two | three", leaves=SIX[3])


def test_the_files_of_a_history_may_come_in_any_order() -> None:
    files = six_files()
    for names in permutations(files):
        check({name: files[name] for name in names}, SECOND_END, FIRST_END, leaves=f"{SIX[4]} {SIX[5]}")


def test_nothing_depends_on_how_session_ids_sort() -> None:
    for names in permutations(SIX):
        chat = check(six_files(names), SECOND_END, FIRST_END, leaves=f"{names[4]} {names[5]}")
        assert chat.id == names[0]
        assert chat.sessions[0].session_id == names[0]


def test_the_original_times_count_not_those_of_a_resume() -> None:
    (chat,) = chats_of(six_files())
    began = {number: datetime(2025, 7, number + 1, 9, 0, 10, tzinfo=UTC) for number in range(6)}
    assert times_of(chat) == {WORDS[number]: when for number, when in began.items()}
    assert chat.started == began[0]


def test_without_the_original_the_earliest_copy_gives_the_time() -> None:
    files = six_files()
    del files[SIX[0]]
    (chat,) = chats_of(files)
    assert times_of(chat)["zero"] == datetime(2025, 7, 2, 9, tzinfo=UTC)
    assert chat.started == datetime(2025, 7, 2, 9, tzinfo=UTC)


def test_a_superseded_session_that_continues_is_a_leaf_again() -> None:
    files = six_files()
    files[SIX[0]] += turn("six", "zero-a", "six", SIX[0], "2025-07-09T09:00:00")
    check(files, "zero | six", "one | two | three | five < zero", FIRST_END, leaves=f"{SIX[0]} {SIX[4]} {SIX[5]}")


# Uuids given anew, up to 1.0.17: only the ids of messages and of tool calls are the same, and every time is that of
# the resume.


def begun() -> list[Row]:
    return draw(
        """
        @ version=1.0.17 session=S1 time=2025-06-01T09:00
        a <- - user: one
        b <- a thinking(m1): hm
        c <- b call(m1) t1 Read {"file_path": "x.py"}
        d <- c result t1: contents
        e <- d assistant(m2): done
        f <- e user: one
        g <- f assistant(m3): once more
        """
    )


def resumed_with_new_uuids(rows: Sequence[Row], session: str, prefix: str, moment: str, text: str) -> list[Row]:
    history = copied(given_new_uuids(rows, prefix), session, moment)
    return [*history, *turn(f"{prefix}new", history[-1]["uuid"], text, session, moment.replace(":00.", ":30."))]


def test_rows_with_new_uuids_are_copies_if_their_messages_are() -> None:
    files = {"S1": begun(), "S2": resumed_with_new_uuids(begun(), "S2", "x", "2025-06-02T09:00:00.000Z", "two")}
    chat = check(files, "one | one | two", leaves="S2")
    assert chat.prompts == 3
    assert chat.messages == 7
    assert chat.copies == 7
    assert chat.started == datetime(2025, 6, 1, 9, tzinfo=UTC)


def test_a_resume_with_new_uuids_may_be_added_first() -> None:
    later = resumed_with_new_uuids(begun(), "S2", "x", "2025-06-02T09:00:00.000Z", "two")
    chat = check({"S2": later, "S1": begun()}, "one | one | two", leaves="S2")
    assert chat.id == session_uuid("S1")
    assert chat.prompts == 3


def test_a_resume_with_new_uuids_of_such_a_resume_is_one_chat() -> None:
    second = resumed_with_new_uuids(begun(), "S2", "x", "2025-06-02T09:00:00.000Z", "two")
    third = resumed_with_new_uuids(second, "S3", "y", "2025-06-03T09:00:00.000Z", "three")
    for names in permutations(("S1", "S2", "S3")):
        files = {"S1": begun(), "S2": second, "S3": third}
        chat = check({name: files[name] for name in names}, "one | one | two | three", leaves="S3")
        assert chat.prompts == 4
    check({"S1": begun(), "S3": third}, "one | one | two | three", leaves="S3")


def test_two_resumes_with_new_uuids_are_two_branches() -> None:
    second = resumed_with_new_uuids(begun(), "S2", "x", "2025-06-02T09:00:00.000Z", "two")
    third = resumed_with_new_uuids(begun(), "S3", "y", "2025-06-03T09:00:00.000Z", "three")
    chat = check({"S1": begun(), "S2": second, "S3": third}, "one | one | three", "two < one", leaves="S2 S3")
    assert chat.prompts == 4
    check({"S2": second, "S3": third}, "one | one | three", "two < one", leaves="S2 S3")


def test_what_is_typed_again_after_a_resume_with_new_uuids_is_no_copy() -> None:
    second = resumed_with_new_uuids(begun()[:5], "S2", "x", "2025-06-02T09:00:00.000Z", "one")
    chat = check({"S1": begun(), "S2": second}, "one | one", "one < one", leaves="S1 S2")
    assert (chat.prompts, chat.copies) == (3, 5)


INTERRUPTED: Final = """
    @ version=1.0.17 session=S1 time=2025-06-01T09:00
    a <- - user: one
    b <- a assistant(m1): well
    c <- b user: [{"type": "text", "text": "[Request interrupted by user]"}]
    d <- c user: two
    e <- d assistant(m2): done
    """
COMMANDED: Final = """
    @ version=1.0.17 session=S1 time=2025-06-01T09:00
    a <- - user: one
    b <- a assistant(m1): well
    c <- b meta: Caveat: the messages below were generated by the user while running local commands.
    d <- c user: <command-name>/cost</command-name><command-args></command-args>
    e <- d user: <local-command-stdout>nothing</local-command-stdout>
    f <- e user: two
    g <- f assistant(m2): done
    """
COMPACTED: Final = """
    @ version=1.0.17 session=S1 time=2025-06-01T09:00
    a <- - user: one
    b <- a assistant(m1): well
    c <- - compact-summary: This session is being continued from a previous conversation. They said one.
    d <- c user: two
    e <- d assistant(m2): done
    """


@pytest.mark.parametrize(
    ("drawing", "prompts", "rows"),
    [(INTERRUPTED, 3, 5), (COMMANDED, 4, 7), (COMPACTED, 3, 5)],
    ids=["interruption", "command", "compaction"],
)
def test_rows_between_messages_are_copied_with_new_uuids_too(drawing: str, prompts: int, rows: int) -> None:
    first = draw(drawing)
    second = resumed_with_new_uuids(first, "S2", "x", "2025-06-02T09:00:00.000Z", "three")
    (chat,) = chats_of({"S1": first, "S2": second})
    assert chat.prompts == prompts
    assert len(chat.tree.nodes) == rows + 2
    assert len(chat.branches) == 1


def test_an_agent_among_rows_with_new_uuids_is_listed_once() -> None:
    first = draw(
        """
        @ version=1.0.17 session=S1 time=2025-06-01T09:00
        a <- - user: one
        b <- a call(m1) t1 Task {"description": "look", "prompt": "find it"}
        @ agent=inline
        s1 <- - user: find it
        s2 <- s1 assistant(m2): found
        @ agent=
        c <- b result t1: found
        d <- c assistant(m3): done
        """
    )
    second = resumed_with_new_uuids(first, "S2", "x", "2025-06-02T09:00:00.000Z", "two")
    (chat,) = chats_of({"S1": first, "S2": second})
    assert [(agent.prompt, agent.call and agent.call.id) for agent in chat.agents] == [("find it", "t1")]


# Equal ids of messages that mean nothing.


def stand_in(session: str, text: str, time: str) -> list[Row]:
    rows = turn(session, "-", text, session, time)
    rows[1]["message"]["id"] = "msg_1"
    return rows


def test_sessions_of_a_stand_in_that_gives_equal_message_ids_stay_two_chats() -> None:
    chats = chats_of({"S1": stand_in("S1", "one", "2025-07-01T09:00"), "S2": stand_in("S2", "two", "2025-07-02T09:00")})
    assert [[told(branch) for branch in chat.branches] for chat in chats] == [["two"], ["one"]]


def test_equal_message_ids_do_not_hide_a_resume_in_any_order() -> None:
    unrelated = stand_in("S1", "one", "2025-06-01T09:00")
    first = stand_in("S2", "two", "2025-06-02T09:00")
    second = copied(given_new_uuids(first, "x"), "S3", "2025-06-03T09:00:00.000Z")
    second += turn("S3", second[-1]["uuid"], "three", "S3", "2025-06-03T09:00:30")
    files = {"S1": unrelated, "S2": first, "S3": second}
    for names in permutations(files):
        chats = chats_of({name: files[name] for name in names})
        assert [[told(branch) for branch in chat.branches] for chat in chats] == [["two | three"], ["one"]]


def test_sessions_that_only_ran_commands_stay_apart_with_equal_message_ids() -> None:
    first = stand_in("S1", "<command-name>/review</command-name>", "2025-07-01T09:00")
    second = stand_in("S2", "<command-name>/init</command-name>", "2025-07-02T09:00")
    assert len(chats_of({"S1": first, "S2": second})) == 2


# Forks.


def parent() -> list[Row]:
    first = turn("one", "-", "one", "P", "2026-01-01T09:00", "2.1.100")
    return [*first, *turn("two", "one-a", "two", "P", "2026-01-01T09:10", "2.1.100")]


def sdk_fork(rows: Sequence[Row], prefix: str, text: str, *, of: str, to: str, day: int) -> list[Row]:
    history = forked_by_sdk(rows, prefix, of=of, to=to, moment=f"2026-01-0{day}T09:00:00.000Z")
    return [*history, *turn(text, history[-1]["uuid"], text, to, f"2026-01-0{day}T09:00:10", "2.1.100")]


def test_a_fork_by_the_sdk_is_a_branch_of_its_parent() -> None:
    original = parent()
    fork = sdk_fork(original, "f-", "three", of="P", to="F", day=2)
    original += turn("four", "two-a", "four", "P", "2026-01-03T09:00", "2.1.100")
    for files in ({"P": original, "F": fork}, {"F": fork, "P": original}):
        chat = check(files, "one | two | four", "three < two", leaves="P F")
        assert chat.id == session_uuid("P")
        assert chat.prompts == 4
        assert chat.copies == 4


def test_a_fork_by_the_sdk_supersedes_a_parent_that_does_not_go_on() -> None:
    check(
        {"P": parent(), "F": sdk_fork(parent(), "f-", "three", of="P", to="F", day=2)}, "one | two | three", leaves="F"
    )


def test_the_rows_of_the_parent_are_the_originals_for_any_name_of_the_fork() -> None:
    for name in ("A", "Z"):
        (chat,) = chats_of({"P": parent(), name: sdk_fork(parent(), "f-", "three", of="P", to=name, day=2)})
        assert [node.row.uuid for node in chat.tree.nodes.values()][:4] == ["one-p", "one-a", "two-p", "two-a"]


def test_the_fork_of_a_deleted_parent_is_whole() -> None:
    fork = sdk_fork(parent(), "f-", "three", of="P", to="F", day=2)
    chat = check({"F": fork}, "one | two | three", leaves="F")
    assert chat.id == session_uuid("F")


def forks_of_forks() -> dict[str, list[Row]]:
    fork = sdk_fork(parent(), "f-", "three", of="P", to="F", day=2)
    return {"P": parent(), "F": fork, "G": sdk_fork(fork, "g-", "four", of="F", to="G", day=3)}


def test_a_fork_of_a_fork_is_one_chat_in_any_order() -> None:
    files = forks_of_forks()
    for names in permutations(files):
        chat = check({name: files[name] for name in names}, "one | two | three | four", leaves="G")
        assert chat.prompts == 4


@pytest.mark.parametrize("gone", ["P", "F"])
def test_a_fork_of_a_fork_is_one_chat_if_one_of_the_three_is_deleted(gone: str) -> None:
    files = forks_of_forks()
    del files[gone]
    for names in permutations(files):
        chat = check({name: files[name] for name in names}, "one | two | three | four", leaves="G")
        assert chat.prompts == 4


def test_two_forks_of_a_deleted_parent_are_one_chat() -> None:
    first = sdk_fork(parent(), "f-", "three", of="P", to="F", day=2)
    second = sdk_fork(parent(), "g-", "four", of="P", to="G", day=3)
    for files in ({"F": first, "G": second}, {"G": second, "F": first}):
        chat = check(files, "one | two | four", "three < two", leaves="F G")
        assert chat.prompts == 4


def test_a_fork_session_has_the_same_uuids_and_another_session() -> None:
    fork = [row | {"sessionId": session_uuid("F")} for row in parent()]
    fork += turn("three", "two-a", "three", "F", "2026-01-02T09:00", "2.1.100")
    original = [*parent(), *turn("four", "two-a", "four", "P", "2026-01-03T09:00", "2.1.100")]
    check({"F": fork, "P": original}, "one | two | four", "three < two", leaves="P F")
    check({"F": fork, "P": parent()}, "one | two | three", leaves="F")
    check({"F": fork}, "one | two | three", leaves="F")


def test_a_copied_prompt_of_a_fork_session_may_keep_the_old_session() -> None:
    fork = [row if row["type"] == "user" else row | {"sessionId": session_uuid("F")} for row in parent()]
    fork += turn("three", "two-a", "three", "F", "2026-01-02T09:00", "2.1.100")
    chat = check({"F": fork, "P": parent()}, "one | two | three", leaves="F")
    assert chat.id == session_uuid("P")
    assert check({"F": fork}, "one | two | three", leaves="F").id == session_uuid("F")


def branched(text: str, session: str, time: str) -> list[Row]:
    copies = [
        row
        | {"sessionId": session_uuid(session)}
        | {"forkedFrom": {"sessionId": session_uuid("P"), "messageUuid": row["uuid"]}}
        for row in parent()
    ]
    return [*copies, *turn(text, "two-a", text, session, time, "2.1.100")]


def test_a_branch_says_on_its_copied_rows_where_they_came_from() -> None:
    branch = branched("three", "B", "2026-01-02T09:00")
    original = [*parent(), *turn("four", "two-a", "four", "P", "2026-01-03T09:00", "2.1.100")]
    check({"P": original, "B": branch}, "one | two | four", "three < two", leaves="P B")
    check({"B": branch, "P": parent()}, "one | two | three", leaves="B")
    check({"B": branch}, "one | two | three", leaves="B")


def test_two_branches_of_a_deleted_session_are_one_chat() -> None:
    files = {"B": branched("three", "B", "2026-01-02T09:00"), "C": branched("four", "C", "2026-01-03T09:00")}
    check(files, "one | two | four", "three < two", leaves="B C")


# One session over several files, without copies.


def test_a_resume_may_write_into_a_new_file_under_the_old_id() -> None:
    first = turn("one", "-", "one", "S1", "2025-10-01T09:00", "1.0.126")
    second = turn("two", "one-a", "two", "S1", "2025-10-01T10:00", "1.0.126")
    third = turn("three", "two-a", "three", "S1", "2025-10-01T11:00", "1.0.126")
    for names in permutations(("S1", "S2", "S3")):
        files = {"S1": first, "S2": second, "S3": third}
        check({name: files[name] for name in names}, "one | two | three", leaves="S3")


def test_a_resume_in_a_new_file_outlives_the_file_of_its_parent() -> None:
    second = turn("two", "one-a", "two", "S1", "2025-10-01T10:00", "1.0.126")
    chat = check({"S2": second}, "two", leaves="S2")
    assert chat.id == session_uuid("S2")


def test_rows_of_several_sessions_in_one_file_join_these_sessions() -> None:
    mixed = [*turn("one", "-", "one", "S1", "2025-07-01T09:00"), *turn("two", "one-a", "two", "S2", "2025-07-01T10:00")]
    mixed += turn("three", "two-a", "three", "S3", "2025-07-01T11:00")
    other = turn("four", "-", "four", "S1", "2025-07-01T12:00")
    check({"S3": mixed, "S1": other}, "one | two | three | four", leaves="S1 S3")


def test_a_session_continues_in_the_one_it_names() -> None:
    first = [*turn("one", "-", "one", "S1", "2026-01-01T09:00"), *draw("continued-in S2", session="S1")]
    second = turn("two", "-", "two", "S2", "2026-01-02T09:00")
    for files in ({"S1": first, "S2": second}, {"S2": second, "S1": first}):
        chat = check(files, "one | two", leaves="S2")
        assert chat.id == session_uuid("S1")


def test_a_session_whose_continuation_is_deleted_is_a_separate_chat() -> None:
    first = [*turn("one", "-", "one", "S1", "2026-01-01T09:00"), *draw("continued-in S2", session="S1")]
    check({"S1": first}, "one", leaves="S1")


def derived(*names: str) -> list[Row]:
    return [
        {"type": "derived-from", "sessionId": session_uuid("S2"), "sessions": [session_uuid(name) for name in names]}
    ]


def test_a_session_continues_the_one_it_was_derived_from() -> None:
    first = turn("one", "-", "one", "S1", "2026-01-01T09:00")
    second = [*derived("S1"), *turn("two", "-", "two", "S2", "2026-01-02T09:00")]
    for files in ({"S1": first, "S2": second}, {"S2": second, "S1": first}):
        check(files, "one | two", leaves="S2")


def test_sessions_derived_from_a_deleted_one_are_one_chat() -> None:
    second = [*derived("S1"), *turn("two", "-", "two", "S2", "2026-01-02T09:00")]
    third = [*derived("S1"), *turn("three", "-", "three", "S3", "2026-01-03T09:00")]
    check({"S2": second}, "two", leaves="S2")
    check({"S2": second, "S3": third}, "two | three", leaves="S2 S3")


def test_a_continuation_may_begin_with_rows_that_say_nothing() -> None:
    """The first reading of the new file finds no row of the conversation yet."""
    chats = ChatBuilder()
    add(chats, "S1", [*turn("one", "-", "one", "S1", "2026-01-01T09:00"), *draw("continued-in S2", session="S1")])
    add(chats, "S2", draw("mode: default", session="S2"))
    assert len(chats.chats()) == 1
    add(chats, "S2", turn("two", "-", "two", "S2", "2026-01-02T09:00"))
    (chat,) = chats.chats()
    assert [told(branch) for branch in chat.branches] == ["one | two"]


def test_a_session_that_was_derived_may_say_so_before_its_first_row() -> None:
    chats = ChatBuilder()
    add(chats, "S1", turn("one", "-", "one", "S1", "2026-01-01T09:00"))
    add(chats, "S2", derived("S1"))
    assert len(chats.chats()) == 1
    add(chats, "S2", turn("two", "-", "two", "S2", "2026-01-02T09:00"))
    (chat,) = chats.chats()
    assert [told(branch) for branch in chat.branches] == ["one | two"]


# Summaries.


def test_a_summary_in_another_file_is_the_title_of_the_chat_whose_row_it_names() -> None:
    titles = [*draw("summary two-a: The second thing"), *turn("three", "-", "three", "S2", "2025-07-03T09:00")]
    first = [*turn("one", "-", "one", "S1", "2025-07-01T09:00"), *turn("two", "one-a", "two", "S1", "2025-07-02T09:00")]
    for files in ({"S1": first, "S2": titles}, {"S2": titles, "S1": first}):
        assert {chat.id: chat.title for chat in chats_of(files)} == {
            session_uuid("S1"): "The second thing",
            session_uuid("S2"): "three",
        }


def test_of_several_summaries_the_one_of_the_latest_row_is_the_title() -> None:
    titles = draw("summary two-a: Later\nsummary one-a: Earlier\nsummary nowhere: Gone")
    first = [*turn("one", "-", "one", "S1", "2025-07-01T09:00"), *turn("two", "one-a", "two", "S1", "2025-07-02T09:00")]
    assert sorted(chat.title for chat in chats_of({"S2": titles, "S1": first}) if chat.tree.nodes) == ["Later"]


def test_a_file_of_nothing_but_summaries_says_nothing_itself() -> None:
    (chat,) = chats_of({"S2": draw("summary gone: A conversation that is gone")})
    assert (chat.id, chat.branches, chat.agents, chat.prompts) == (session_uuid("S2"), [], [], 0)
    assert chat.last_active is None


def test_the_title_is_forgotten_with_its_file() -> None:
    chats = ChatBuilder()
    add(chats, "S1", turn("one", "-", "one", "S1", "2025-07-01T09:00"))
    add(chats, "S2", draw("summary one-a: The first thing"))
    assert [chat.title for chat in chats.chats() if chat.tree.nodes] == ["The first thing"]
    chats.remove("S2")
    assert [chat.title for chat in chats.chats()] == ["one"]


# Agents, and the same files twice.

AGENT: Final = """
    x-a <- - user: find it
    x-b <- x-a assistant(m-x): found
    """


def with_agent() -> dict[str, list[Row]]:
    main = """
        a <- - user: one
        b <- a call(m1) t1 Task {"description": "look", "prompt": "find it"}
        c <- b result t1: found {"toolUseResult": {"agentId": "x1"}}
        d <- c assistant(m2): done
        """
    return {"S1": draw(main, session="S1"), "S1/x1": draw(AGENT, session="S1", agent="x1", time="2026-01-05T10:00:02")}


def test_agents_whose_session_is_gone_are_listed() -> None:
    files = with_agent()
    del files["S1"]
    (chat,) = chats_of(files)
    assert [(agent.id, agent.prompt, agent.call) for agent in chat.agents] == [("x1", "find it", None)]
    assert chat.id == session_uuid("S1")
    assert (chat.sessions, chat.branches) == ([], [])


def test_a_chat_of_agents_began_when_they_did() -> None:
    (chat,) = chats_of({"S1/x1": with_agent()["S1/x1"]})
    assert chat.last_active == datetime(2026, 1, 5, 10, 0, 3, tzinfo=UTC)
    assert chat.started == datetime(2026, 1, 5, 10, 0, 2, tzinfo=UTC)


def test_agents_of_one_session_that_is_gone_are_one_chat() -> None:
    other = draw(AGENT.replace("x-", "y-").replace("m-x", "m-y"), session="S1", agent="y1")
    (chat,) = chats_of({"S1/x1": with_agent()["S1/x1"], "S1/y1": other})
    assert sorted(agent.id for agent in chat.agents) == ["x1", "y1"]


def test_an_agent_that_comes_before_its_session_finds_its_call() -> None:
    files = with_agent()
    for names in permutations(files):
        (chat,) = chats_of({name: files[name] for name in names})
        assert [(agent.id, agent.call and agent.call.id) for agent in chat.agents] == [("x1", "t1")]


def test_a_session_in_two_homes_is_one_chat_with_its_rows_counted_once() -> None:
    files = with_agent()
    chat = check({**files, "backup:S1": files["S1"]}, "one", leaves="backup:S1")
    assert (chat.prompts, chat.messages, len(chat.tree.nodes), chat.copies) == (1, 3, 4, 4)


def test_a_backup_that_ends_earlier_is_no_leaf() -> None:
    rows = parent()
    for files in ({"P": rows, "backup:P": rows[:2]}, {"a:P": rows[:2], "P": rows}):
        check(files, "one | two", leaves="P")


def test_an_agent_in_two_homes_is_listed_once() -> None:
    files = with_agent()
    (chat,) = chats_of(files | {f"backup:{name}": rows for name, rows in files.items()})
    assert [(agent.id, agent.call and agent.call.id) for agent in chat.agents] == [("x1", "t1")]


# Files that go and come back.


def description(chats: ChatBuilder) -> list[object]:
    return [
        (chat.id, chat.title, [told(branch) for branch in chat.branches], leaves_of(chat), chat.copies, times_of(chat))
        for chat in chats.chats()
    ]


@pytest.mark.parametrize("gone", range(6))
@pytest.mark.parametrize("ask", [True, False])
def test_a_file_that_is_removed_and_added_again_was_never_gone(gone: int, *, ask: bool) -> None:
    files = six_files()
    chats = ChatBuilder()
    for name, rows in files.items():
        add(chats, name, rows)
    expected = description(chats)
    chats.remove(SIX[gone])
    if ask:
        assert len(chats.chats()) == 1
    add(chats, SIX[gone], files[SIX[gone]])
    assert description(chats) == expected


def test_removed_files_are_gone() -> None:
    chats = ChatBuilder()
    for name, rows in six_files().items():
        add(chats, name, rows)
    chats.remove(SIX[5])
    (chat,) = chats.chats()
    assert leaves_of(chat) == {SIX[4]}
    for name in SIX:
        chats.remove(name)
    assert chats.chats() == []


def test_sessions_that_only_a_removed_file_held_together_come_apart() -> None:
    first = turn("one", "-", "one", "S1", "2025-07-01T09:00")
    second = turn("two", "-", "two", "S2", "2025-07-02T09:00")
    chats = ChatBuilder()
    add(chats, "S1", first)
    add(chats, "S2", second)
    add(chats, "S3", [*first, *second])
    assert len(chats.chats()) == 1
    chats.remove("S3")
    assert [chat.id for chat in chats.chats()] == [session_uuid("S2"), session_uuid("S1")]


def test_removing_a_file_that_was_never_there_changes_nothing() -> None:
    chats = ChatBuilder()
    add(chats, "S1", parent())
    before = description(chats)
    chats.remove("nowhere")
    assert description(chats) == before


def test_removing_a_session_leaves_its_namesakes_by_message_id_linked() -> None:
    """An unrelated session with the same message ids goes; the next resume still finds its own."""
    chats = ChatBuilder()
    add(chats, "S1", stand_in("S1", "one", "2025-06-01T09:00"))
    add(chats, "S2", stand_in("S2", "two", "2025-06-02T09:00"))
    chats.remove("S2")
    add(
        chats,
        "S3",
        copied(given_new_uuids(stand_in("S1", "one", "2025-06-01T09:00"), "x"), "S3", "2025-06-03T09:00:00Z"),
    )
    assert len(chats.chats()) == 1


def test_a_file_rewritten_without_what_precedes_a_compaction_loses_only_that() -> None:
    whole = draw(
        """
        a <- - user: one
        b <- a assistant: done
        c <- - compact(logical=b) auto
        d <- c compact-summary: they said one
        e <- d user: two
        f <- e assistant: done too
        """
    )
    chats = ChatBuilder()
    add(chats, "S1", whole)
    (before,) = chats.chats()
    assert [told(branch) for branch in before.branches] == ["one | two"]
    chats.remove("S1")
    add(chats, "S1", whole[2:])
    (after,) = chats.chats()
    assert [told(branch) for branch in after.branches] == ["- | two"]
    assert (after.prompts, after.compactions) == (1, 1)


def test_rows_that_were_taken_back_are_gone_after_a_rewrite() -> None:
    chats = ChatBuilder()
    add(chats, "P", parent())
    assert [told(branch) for chat in chats.chats() for branch in chat.branches] == ["one | two"]
    chats.remove("P")
    add(chats, "P", [*parent()[:2], *turn("three", "one-a", "three", "P", "2026-01-02T09:00")])
    assert [told(branch) for chat in chats.chats() for branch in chat.branches] == ["one | three"]


def test_a_session_of_nothing_but_commands_holds_each_once() -> None:
    commands = draw(
        """
        a <- - user: <command-name>/cost</command-name>
        b <- a user: <local-command-stdout>nothing</local-command-stdout>
        c <- b user: <command-name>/exit</command-name>
        """
    )
    check({"S1": commands}, "/cost | /exit", leaves="S1")


def test_commands_after_a_rewind_to_the_beginning_are_not_lost() -> None:
    commands = draw(
        """
        a <- - user: <command-name>/cost</command-name>
        b <- a user: <local-command-stdout>nothing</local-command-stdout>
        last-prompt - {"explicit": true}
        """
    )
    check({"S1": commands}, "/cost", leaves="S1")


def test_a_leaf_that_is_not_named_is_no_rewind_to_the_beginning() -> None:
    """Up to 2.1.112 `last-prompt` has no leafUuid at all."""
    rows = [*parent(), *draw('raw {"type": "last-prompt", "lastPrompt": "two", "sessionId": "P"}')]
    (chat,) = chats_of({"P": rows})
    end = chat.leaf_of(chat.sessions[0])
    assert end is not None
    assert end.key == "two-p"


def test_two_prompts_that_go_back_into_one_turn_leave_each_row_in_one_place() -> None:
    rows = draw(
        """
        a <- - user: one
        b <- a call(m1) t1 Bash {"command": "ls"}
        c <- b result t1: shop.py
        d <- c assistant(m2): done
        e <- b user: two
        f <- c user: three
        """
    )
    (chat,) = chats_of({"S1": rows})
    check_nothing_is_lost(chat)


def test_rows_that_hang_on_one_another_end_somewhere() -> None:
    """The row before the compaction is lost, and so hangs on a row that hangs on the compaction."""
    rows = draw(
        """
        a <- c assistant: done
        b <- gone assistant: done
        c <- - compact(logical=a) auto
        """
    )
    (chat,) = chats_of({"S1": rows})
    check_nothing_is_lost(chat)


def test_a_file_that_is_gone_does_not_come_back_with_what_was_queued() -> None:
    queued = """
        a <- - user: one
        queue-operation enqueue: wait
        queue-operation remove
        """
    linked = [{"type": "derived-from", "sessionId": session_uuid("S1"), "sessions": [session_uuid("S2")]}]
    chats = ChatBuilder()
    add(chats, "S2", turn("other", "-", "other", "S2", "2026-01-01T09:00"))
    add(chats, "S1", [*draw(queued, session="S1"), *draw("b <- a user: wait", session="S1"), *linked])
    assert len(chats.chats()) == 1
    chats.remove("S1")
    add(chats, "S1", draw(queued, session="S1"))
    assert sorted([session.place.file for session in chat.sessions] for chat in chats.chats()) == [["S1"], ["S2"]]
