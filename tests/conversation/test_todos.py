"""The to-do list follows from the calls, in order."""

from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.transcripts import TranscriptPlace
from backscroll.records.decode import decode_line
from backscroll.records.record import Record
from tests.support.drawings import draw, line


def check(drawing: str, expected: str) -> None:
    chats = ChatBuilder()
    records = [record for row in draw(drawing) if isinstance(record := decode_line(line(row)), Record)]
    chats.add(TranscriptPlace("f", "s"), records)
    (chat,) = chats.chats()
    assert " | ".join(f"{todo.content}: {todo.status}" for todo in chat.todos) == expected


def test_the_list_that_was_written_last_counts() -> None:
    check(
        """
        a <- - user: go
        b <- a call(m1) t1 TodoWrite {"todos": [{"content": "parse", "status": "pending"}]}
        c <- b result t1: ok
        d <- c call(m2) t2 TodoWrite {"todos": [{"content": "parse", "status": "completed"}, {"content": "test"}]}
        """,
        "parse: completed | test: pending",
    )


def test_tasks_are_made_changed_and_deleted_one_by_one() -> None:
    check(
        """
        a <- - user: go
        b <- a call(m1) t1 TaskCreate {"subject": "parse"}
        c <- b call(m1) t2 TaskCreate {"subject": "test"}
        d <- c call(m1) t3 TaskCreate {"subject": "never"}
        e <- d call(m2) t4 TaskUpdate {"taskId": "1", "status": "completed"}
        f <- e call(m2) t5 TaskUpdate {"taskId": "3", "status": "deleted"}
        g <- f call(m2) t6 TaskUpdate {"taskId": "2", "subject": "test more"}
        h <- g call(m2) t7 TaskUpdate {"taskId": "9", "status": "completed"}
        """,
        "parse: completed | test more: pending",
    )


def test_odd_calls_change_nothing() -> None:
    check(
        """
        a <- - user: go
        b <- a call(m1) t1 TodoWrite {"todos": "all of it"}
        c <- b call(m1) t2 TaskUpdate {"taskId": 1, "status": "completed"}
        """,
        "",
    )
