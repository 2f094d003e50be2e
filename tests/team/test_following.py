"""A chat on the server that is open in a browser while its machine goes on: the page is sent only what is new."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.reading import viewer_pool
from backscroll.team.reading.shares import share
from tests.support.drawings import session_uuid
from tests.support.homes import session_path
from tests.support.postgres import fresh_database, running_postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Browser, Served, serving
from tests.team.test_appends import append, finish, worker_of

__all__ = ["running_postgres"]
CHAT = session_uuid("s")


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server", works=False) as found:
        yield found


def cursor_of(browser: Browser) -> str:
    found = re.search(r'data-cursor="([^"]+)"', browser.get(f"/chats/{CHAT}").text)
    assert found is not None
    return found[1]


def changes(browser: Browser, cursor: str) -> dict[str, Any]:
    found: dict[str, Any] = browser.get(f"/chats/{CHAT}/changes", params={"since": cursor}).json()
    return found


@contextmanager
def loading(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Each time that a chat is read as a whole."""
    from backscroll.library.chats.chat_reader import ChatReader

    loads: list[object] = []
    real = ChatReader._load

    def load(reader: ChatReader, *values: Any) -> None:  # noqa: ANN401
        loads.append(reader.stored.overview.id)
        real(reader, *values)

    with monkeypatch.context() as patch:
        patch.setattr(ChatReader, "_load", load)
        yield loads


def until_new(browser: Browser, cursor: str) -> dict[str, Any]:
    """What is new as soon as the web process has heard of it."""
    found: dict[str, Any] = {}

    def is_there() -> bool:
        found.update(changes(browser, cursor))
        return bool(found["messages"] or found["reset"])

    until(is_there)
    return found


def test_a_page_is_sent_only_what_is_new(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ada,) = invited(served, "ada")
    machine, worker = machine_of(served, ada, tmp_path / "machine"), worker_of(served, tmp_path)
    append(machine, 0)
    finish(worker)
    browser = served.signed_in("ada")
    cursor = cursor_of(browser)
    with loading(monkeypatch) as loads:
        for number in range(1, 4):
            append(machine, number)
            finish(worker)
            found = until_new(browser, cursor)
            assert not found["reset"]
            told = "".join(message["html"] for message in found["messages"])
            assert f"zyx{number}" in told
            assert f"zyx{number - 1}" not in told
            cursor = found["cursor"]
    assert not loads
    assert all(f"zyx{number}" in browser.get(f"/chats/{CHAT}").text for number in range(4))


def test_files_beside_a_chat_do_not_load_it_again(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ada,) = invited(served, "ada")
    machine, worker = machine_of(served, ada, tmp_path / "machine"), worker_of(served, tmp_path)
    append(machine, 0)
    path = session_path("s")
    machine.device.write(f"{path.removesuffix('.jsonl')}/tool-results/t1.txt", b"a long result zyxspilled\n")
    machine.push()
    finish(worker)
    browser = served.signed_in("ada")
    assert browser.get("/api/v1/search?q=zyxspilled").json()["total"]
    cursor = cursor_of(browser)
    append(machine, 1)
    with loading(monkeypatch) as loads:
        finish(worker)
        assert not until_new(browser, cursor)["reset"]
    assert not loads


def test_a_shared_chat_goes_on_for_its_readers(served: Served, tmp_path: Path) -> None:
    ada, _ = invited(served, "ada", "bob")
    machine, worker = machine_of(served, ada, tmp_path / "machine"), worker_of(served, tmp_path)
    append(machine, 0)
    finish(worker)
    with served.context.database.transaction(ada.org) as connection:
        share(connection, ada, CHAT, "a chat")
    browser = served.signed_in("bob")
    cursor = cursor_of(browser)
    append(machine, 1)
    finish(worker)
    found = until_new(browser, cursor)
    assert not found["reset"]
    assert "zyx1" in "".join(message["html"] for message in found["messages"])


def test_a_file_that_is_replaced_is_read_anew(served: Served, tmp_path: Path) -> None:
    (ada,) = invited(served, "ada")
    machine, worker = machine_of(served, ada, tmp_path / "machine"), worker_of(served, tmp_path)
    append(machine, 2)
    finish(worker)
    browser = served.signed_in("ada")
    cursor = cursor_of(browser)
    machine.push(s="@ cwd=/home/dev/shop\na0 <- - user: quite different zyxother\nb0 <- a0 assistant(m0): begun")
    finish(worker)
    until(lambda: changes(browser, cursor)["reset"])
    assert "zyxother" in browser.get(f"/chats/{CHAT}").text


def test_a_chat_that_nobody_looks_at_costs_nothing_when_it_grows(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ada,) = invited(served, "ada")
    machine, worker = machine_of(served, ada, tmp_path / "machine"), worker_of(served, tmp_path)
    append(machine, 0)
    finish(worker)
    cursor_of(served.signed_in("ada"))
    heard: list[str] = []
    statements: list[str] = []
    told, execute = viewer_pool.ViewerPool.on_notice, psycopg.Cursor.execute
    is_telling: list[int] = []

    def listening(found: viewer_pool.ViewerPool, notice: str) -> None:
        is_telling.append(threading.get_ident())
        told(found, notice)
        is_telling.pop()
        heard.append(notice)

    def counted(cursor: Any, query: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401
        if threading.get_ident() in is_telling:  # a worker's thread goes on meanwhile
            statements.append(str(query))
        return execute(cursor, query, *values, **named)

    with monkeypatch.context() as patch:
        patch.setattr(viewer_pool.ViewerPool, "on_notice", listening)
        patch.setattr(psycopg.Cursor, "execute", counted)
        append(machine, 1)
        finish(worker)
        until(lambda: bool(heard))
    assert not statements


def test_a_stream_that_comes_back_to_another_viewer_reloads(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A viewer may be closed for others, and its numbers mean nothing to the next one."""
    people = invited(served, "ada", "bob")
    worker = worker_of(served, tmp_path)
    for person in people:
        append(machine_of(served, person, tmp_path / person.handle), 0)
        finish(worker)
    monkeypatch.setattr(viewer_pool, "MAX_OPEN", 1)
    ada, bob = (served.signed_in(person.handle) for person in people)
    first, last = first_event(ada, "")
    assert '"again":false' in first
    bob.get("/chats")  # takes the place of ada's viewer
    again, _ = first_event(ada, last)
    assert '"again":true' in again


def first_event(browser: Browser, last: str) -> tuple[str, str]:
    """The first event of a stream, and its id."""
    headers = {"last-event-id": last} if last else {}
    lines: list[str] = []
    with httpx.Client(cookies=browser.cookies, trust_env=False, timeout=60) as client:
        address = f"{browser.base_url}/api/v1/events"
        with client.stream("GET", address.replace("//api", "/api"), headers=headers) as answer:
            for line in answer.iter_lines():
                lines.append(line)
                if line.startswith(("data:", ":")):
                    break
    name = next(line.removeprefix("id: ") for line in lines if line.startswith("id: "))
    return lines[-1], name
