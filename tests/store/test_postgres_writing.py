"""Writing to PostgreSQL: while others read, when the connection is lost, and texts that it does not take."""

from random import Random
from threading import Thread

import psycopg
import pytest

from backscroll.errors import Busy, StorageError
from backscroll.query.parse import parse
from backscroll.store.postgres.embedded import SUPERUSER, EmbeddedPostgres
from backscroll.store.postgres.store import PgStore
from backscroll.store.reader import EVERYTHING
from tests.contract.support import NOW, Desk
from tests.support.postgres import migrated, new_organisation, postgres

__all__ = ["migrated", "postgres"]


def writing(address: str) -> PgStore:
    return PgStore(address, new_organisation()).start_writing()


def test_an_answer_is_from_one_state_while_another_writes(migrated: str) -> None:
    store = writing(migrated)
    desk = Desk(store).draw({"S0": "a0 <- - user: apples"})
    reader = store.clone()

    def write() -> None:
        for number in range(1, 12):
            desk.draw({f"S{number}": f"a{number} <- - user: apples\nb{number} <- a{number} assistant: more apples"})

    writer = Thread(target=write)
    writer.start()
    totals: list[int] = []
    while writer.is_alive() or not totals or totals[-1] < 12:
        answers = reader.within(EVERYTHING)
        with answers.snapshot():
            page = answers.search(parse("apples", NOW), sort="relevance", limit=100, offset=0, hits=5)
            facets = answers.facets(parse("apples", NOW), {})
            assert page.total_chats == len(page.chats)
            assert page.total == sum(chat.found for chat in page.chats) == facets.total
        totals.append(page.total_chats)
    writer.join()
    assert totals == sorted(totals)
    reader.close()
    store.close()


def test_a_lost_connection_is_told_and_another_can_go_on(postgres: EmbeddedPostgres, migrated: str) -> None:
    store = writing(migrated)
    desk = Desk(store).draw({"S1": "a <- - user: hello"})
    with psycopg.connect(postgres.url(SUPERUSER), autocommit=True) as connection:
        connection.execute("select pg_terminate_backend(%s, 10000)", (store._connection.raw.info.backend_pid,))
    for told in ("cannot reach the database", "lost while writing"):  # it never goes on without the lock that it lost
        with pytest.raises((Busy, StorageError), match=told):
            desk.draw({"S2": "b <- - user: else"})
    other = Desk(store.clone().start_writing())
    assert sorted(other.store.indexed_files()) == ["S1"]
    other.draw({"S3": "c <- - user: more"})
    store.close()
    with pytest.raises(Busy):
        store.start_writing()
    other.store.close()
    assert sorted(store.start_writing().indexed_files()) == ["S1", "S3"]
    store.close()


def test_a_server_that_starts_again_has_what_was_written(postgres: EmbeddedPostgres, migrated: str) -> None:
    store = writing(migrated)
    desk = Desk(store).draw({"S1": "a <- - user: hello"})
    store.close()
    postgres.stop()
    postgres.start()
    assert desk.finds("hello") == "S1: a title"
    assert store.problems() == []
    store.close()


def test_a_passage_of_very_many_words_is_found_by_all_of_them_and_counted_once(migrated: str) -> None:
    desk = Desk(writing(migrated))
    desk.draw({"S1": f"a <- - user: short\nb <- a assistant: first {'word ' * 20_000} the very end"})
    assert desk.finds("first") == desk.finds("end") == desk.finds('"the very end"') == "S1: b"
    assert desk.ask("word").total == desk.ask("word", sort="newest").total == 1
    assert desk.reader.facets(parse("word", NOW), {"ever": 0}).roles == {"answer": 1}
    assert desk.store.problems() == []
    desk.store.close()


def test_what_is_too_long_for_a_key_is_not_told_as_a_lost_connection(migrated: str) -> None:
    store = writing(migrated)
    random = Random(1)
    with pytest.raises(StorageError, match=r"more than PostgreSQL can hold: index row size [0-9]+ exceeds") as caught:
        store.note("".join(random.choices("0123456789abcdef", k=6_000)), "value")
    assert "report" in caught.value.hint
    assert Desk(store).draw({"S1": "a <- - user: hello"}).finds("hello") == "S1: a title"
    store.close()


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "\U0010ffff é \udfff\0"])
def test_texts_that_postgresql_does_not_take_come_back_as_they_were(migrated: str, text: str) -> None:
    store = writing(migrated)
    store.note("text", text)
    assert store.noted("text") == text
    store.close()


def test_what_was_removed_is_gone_from_the_tables(postgres: EmbeddedPostgres, migrated: str) -> None:
    store = writing(migrated)
    desk = Desk(store).draw({"S1": "a <- - user: hello", "S2": "b <- - user: else"})
    desk.remove("S1")
    with psycopg.connect(postgres.url(SUPERUSER)) as connection:
        for table in ("files", "chats", "records", "blocks", "words"):
            counted = f"select count(*) from backscroll.{table} where build = %s"
            assert connection.execute(counted, (store._connection.build,)).fetchone() == (
                {"blocks": 2, "words": 2}.get(table, 1),
            )
    store.close()
