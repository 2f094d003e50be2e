"""What an append costs on its way to being searchable, and what stays in memory for the next one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from backscroll.library.indexing.warm_chats import WarmChats
from backscroll.store.base import Store
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.operating.worker import Worker
from tests.support.postgres import fresh_database, running_postgres
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Served, serving

__all__ = ["running_postgres"]
BEGUN = "@ cwd=/home/dev/shop\na0 <- - user: begin with zyx0\nb0 <- a0 assistant(m0): begun"
MOST_IN_WORKER = 45
MOST_IN_WEB = 4
"""Statements of an append of two records. Where hundreds of machines append, this decides how many a server can have: a
statement costs about as much CPU time in our process and in PostgreSQL, whatever it does. If a change needs one more,
look first whether it can be part of another."""


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server", works=False) as found:
        yield found


def worker_of(served: Served, tmp_path: Path) -> Worker:
    database = served.context.database
    return Worker(database, served.context.objects, Libraries(tmp_path / "server", database))


def finish(worker: Worker) -> None:
    while worker.do_next():
        pass


def append(machine: Machine, number: int) -> None:
    """One more prompt and its answer."""
    lines = [BEGUN]
    for at in range(1, number + 1):
        lines += [f"a{at} <- b{at - 1} user: go on with zyx{at}", f"b{at} <- a{at} assistant(m{at}): done {at}"]
    machine.push(s="\n".join(lines))


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """The statements that are run meanwhile, by who runs them."""
    found: dict[str, list[str]] = {"web": [], "worker": []}

    def note(query: object, times: int = 1) -> None:
        is_web = threading.current_thread().name.startswith("AnyIO")
        found["web" if is_web else "worker"] += [" ".join(str(query).split())] * times

    execute, many, enter = psycopg.Cursor.execute, psycopg.Cursor.executemany, psycopg.Transaction.__enter__

    def counted(cursor: Any, query: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401
        note(query)
        return execute(cursor, query, *values, **named)

    def counted_many(cursor: Any, query: Any, rows: Any, **named: Any) -> Any:  # noqa: ANN401
        rows = list(rows)
        note(query, len(rows))
        return many(cursor, query, rows, **named)

    def entered(transaction: Any) -> Any:  # noqa: ANN401
        note("begin and commit", 2)
        return enter(transaction)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", counted)
        patch.setattr(psycopg.Cursor, "executemany", counted_many)
        patch.setattr(psycopg.Transaction, "__enter__", entered)
        yield found


def test_an_append_takes_few_statements(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (person,) = invited(served, "ada")
    machine = machine_of(served, person, tmp_path / "machine")
    worker = worker_of(served, tmp_path)
    for number in range(3):  # the first ones are of a new library, and of new connections
        append(machine, number)
        finish(worker)
    with counting(monkeypatch) as statements:
        append(machine, 3)
        finish(worker)
    assert len(statements["web"]) <= MOST_IN_WEB, statements["web"]
    # A worker may look for a job once more in between, and find none.
    work = [statement for statement in statements["worker"] if not statement.startswith("update job set due")]
    assert len(work) <= MOST_IN_WORKER, "\n".join(work)
    assert len(work) > MOST_IN_WORKER // 2  # they are counted at all


def chats(served: Served) -> tuple[object, ...]:
    with psycopg.connect(served.context.database.address) as connection:
        connection.execute("set backscroll.build = '0'")
        (build,) = connection.execute("select max(id) from backscroll.builds where is_current").fetchone() or (0,)
        connection.execute(f"set backscroll.build = '{build}'")
        return (
            connection.execute("select name, title, overview, tokens from backscroll.chats order by name").fetchall(),
            connection.execute(
                "select uuid, number, abandoned from backscroll.records order by file, number"
            ).fetchall(),
        )


def found_by(served: Served, handle: str, number: int) -> list[int]:
    browser = served.signed_in(handle)
    return [browser.get(f"/api/v1/search?q=zyx{at}").json()["total"] for at in range(number + 1)]


def test_chats_in_memory_are_loaded_again_after_someone_else_went_on_with_them(served: Served, tmp_path: Path) -> None:
    """Two workers in turn, and an index that was made anew: the same as if all had come at once."""
    (person,) = invited(served, "eve")
    machine = machine_of(served, person, tmp_path / "machine")
    first, second = worker_of(served, tmp_path), worker_of(served, tmp_path)
    for number, worker in enumerate((first, first, second, first, second, second, first)):
        append(machine, number)
        finish(worker)
    with Libraries(tmp_path / "server", served.context.database).own("eve") as library:
        library.rebuild()
        library.update()
    append(machine, 7)
    finish(first)
    append(machine, 8)
    finish(first)
    taken = chats(served)
    assert found_by(served, "eve", 8) == [2, *[1] * 8]  # the first is in the title, too
    with Libraries(tmp_path / "server", served.context.database).own("eve") as library:
        library.rebuild()
        library.update()
    assert chats(served) == taken


def test_no_more_rows_are_kept_in_memory_than_allowed(served: Served, tmp_path: Path) -> None:
    people = invited(served, "ann", "bob", "cat")
    worker = worker_of(served, tmp_path)
    loaded: list[int] = []

    class Watched(WarmChats):
        def keep(self, folder: Path, store: Store, stamp: str, ingest: Any) -> None:  # noqa: ANN401
            super().keep(folder, store, stamp, ingest)
            loaded.append(sum(kept.ingest.rows for kept in self._kept.values()))

    worker._warm = Watched(most_rows=5)
    machines = [machine_of(served, person, tmp_path / person.handle) for person in people]
    for number in range(3):
        for machine in machines:
            append(machine, number)
            finish(worker)
    assert max(loaded) > 0
    assert max(loaded) <= 5
    assert [found_by(served, person.handle, 2) for person in people] == [[2, 1, 1]] * 3


def test_an_index_that_an_older_version_made_is_made_anew(served: Served, tmp_path: Path) -> None:
    (person,) = invited(served, "noor")
    machine = machine_of(served, person, tmp_path / "machine")
    worker = worker_of(served, tmp_path)
    append(machine, 1)
    finish(worker)
    taken = chats(served)
    with psycopg.connect(served.context.database.address) as connection:
        number = Libraries(tmp_path / "server", served.context.database).number("noor")
        connection.execute("update backscroll.builds set content = content - 1 where org = %s", (number,))
    (before,) = builds(served, number)
    worker.look_for_work()
    finish(worker)
    (after,) = builds(served, number)
    assert after > before
    assert chats(served) == taken
    assert found_by(served, "noor", 1) == [2, 1]
    worker.look_for_work()
    finish(worker)
    assert builds(served, number) == [after]  # once is enough


def builds(served: Served, person: int) -> list[int]:
    with psycopg.connect(served.context.database.address) as connection:
        found = connection.execute("select id from backscroll.builds where org = %s and is_current", (person,))
        return [int(number) for (number,) in found]
