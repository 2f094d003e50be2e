"""What an attacker found who came after the mending: agents in crowds, strangers in crowds, names that mislead."""

import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from backscroll.errors import UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival import devices
from backscroll.team.arrival.devices import collect, request_access
from backscroll.team.people import accounts, passwords
from backscroll.team.people.accounts import new_person, person_of
from backscroll.team.people.sessions import new_key
from backscroll.team.reading.remote_mcp import TeamHandlers
from backscroll.web.pages import search as search_page
from tests.attack.test_limits import at_once
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database, postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Served, serving

__all__ = ["postgres"]
CHAT = session_uuid("of_ada")


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("third")
    with fresh_database(postgres) as address, serving(address, folder) as made:
        for person in invited(made, "ada", "ben"):
            drawing = f"x <- - user: hello\ny <- x assistant({person.handle}9): good"
            machine_of(made, person, folder / person.handle).push(**{f"of_{person.handle}": drawing})
            browser = made.signed_in(person.handle)
            until(lambda browser=browser: browser.get("/api/v1/chats").json().get("chats"))  # type: ignore[misc]
        yield made


def agent(served: Served, handle: str) -> Callable[..., httpx.Response]:
    """Calls of an agent of this person."""
    with served.context.database.transaction() as connection:
        key = new_key(connection, person_of(connection, 1, handle), "k", ["mcp"])
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {key}"}

    def call(method: str, **params: object) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return httpx.post(f"{served.url}/mcp", json=body, headers=headers, trust_env=False, timeout=120)

    return call


class Crowd:
    """Requests that come all at once, and how many of them got so far as to a function, which holds them there."""

    def __init__(self, patch: pytest.MonkeyPatch, calls: Sequence[Callable[[], httpx.Response]]) -> None:
        self._patch, self._lock, self._may_go_on = patch, threading.Lock(), threading.Event()
        self.running = self.most = 0
        self.answers: list[httpx.Response] = []
        self._thread = threading.Thread(target=lambda: self.answers.extend(at_once(calls)))

    def hold(self, where: object, name: str, which: Callable[..., bool] = lambda *_: True) -> None:
        """Count the calls of a function, which are made as ever once it is over."""
        call = getattr(where, name)

        def held(*words: Any, **named: Any) -> Any:  # noqa: ANN401
            if not which(*words):
                return call(*words, **named)
            with self._lock:
                self.running += 1
                self.most = max(self.most, self.running)
            self._may_go_on.wait(60)
            try:
                return call(*words, **named)
            finally:
                with self._lock:
                    self.running -= 1

        self._patch.setattr(where, name, held)

    def __enter__(self) -> "Crowd":
        self._thread.start()
        until(lambda: self.running >= 1)
        return self

    def __exit__(self, *_: object) -> None:
        self._may_go_on.set()
        self._thread.join()


def test_agents_of_one_person_have_one_turn_and_take_none_of_others(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty calls at once took all threads of the process, and everyone's pages waited for them."""
    call = partial(agent(served, "ada"), "tools/call", name="recall", arguments={"question": "hello"})
    crowd = Crowd(monkeypatch, [call] * 20)
    crowd.hold(TeamHandlers, "_answer", lambda _, person, *__: person.handle == "ada")
    with crowd:
        other = agent(served, "ben")("tools/call", name="recall", arguments={"question": "hello"})
        assert "good" in other.text, "another person's agent does not wait"
        assert served.signed_in("ada").get("/chats").status_code == 200, "nor do pages of the same person"
        sql = agent(served, "ben")("tools/call", name="query", arguments={"sql": "select count(*) from v_chats"})
        assert "[[1]]" in sql.text
    assert {one.status_code for one in crowd.answers} == {200}
    assert crowd.most == 1


def test_strangers_in_any_number_keep_no_machine_out(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """They make up addresses, and never stop: 1,000 in 30 seconds kept everyone out for as long as they went on."""
    monkeypatch.setattr(devices, "MAX_REQUESTS", 50)
    monkeypatch.setattr(devices, "NOTED", timedelta(0))
    with served.context.database.transaction() as connection:
        for number in range(60):
            request_access(connection, "stranger", f"203.0.113.{number}")
    with served.context.database.transaction() as connection:
        honest = request_access(connection, "laptop", "198.51.100.1")
    for turn in range(5):
        with served.context.database.transaction() as connection:
            for number in range(40):
                request_access(connection, "stranger", f"10.{turn}.{number}.1")
        with served.context.database.transaction() as connection:
            assert collect(connection, honest.secret) is None, "it waits, and keeps its place by asking"
    with served.context.database.transaction() as connection:
        (count,) = connection.execute("select count(*) from device_request").fetchone() or (0,)
        assert count == 50


@pytest.mark.parametrize("handle", ["operator", "server", "me", "team", "org"])
def test_no_one_has_the_name_by_which_the_log_calls_the_operator(served: Served, handle: str) -> None:
    """An administrator invited `operator`, and people were told that the operator had made a link for them."""
    page = served.signed_in("admin").submit("/people", handle=handle, name="Ada", role="admin")
    assert page.status_code == 400
    assert "meaning of its own" in page.text
    with served.context.database.transaction() as connection, pytest.raises(UsageError):
        new_person(connection, 1, handle, "Ada")


def test_a_list_of_titles_is_not_shown_as_reading_them(served: Served) -> None:
    """Every client asks for it when it starts."""
    ada, call = served.signed_in("ada"), agent(served, "ben")
    assert ada.submit(f"/chats/{CHAT}/audience", audience="org").status_code == 200
    assert CHAT in call("resources/list").text
    assert "ben" not in re.sub(r"<header.*?</header>", "", ada.get("/readers").text, flags=re.DOTALL)
    assert "good" in call("resources/read", uri=f"backscroll://chat/{CHAT}").text
    assert "ben" in ada.get("/readers").text


@pytest.mark.parametrize("path", ["/sign-in", "/welcome?link=x", "/static/nothing", "/sync/v1/nothing"])
def test_pages_for_strangers_do_not_link_to_settings(served: Served, path: str) -> None:
    """There are none on a server, and they would be of this machine."""
    page = served.browser().get(path).text
    assert "/settings" not in page
    assert 'href="/sign-in"' in page


@pytest.mark.all
def test_guesses_take_no_threads_that_pages_need(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dozens at once, from made-up addresses, waited in all threads of the process: everyone's pages got 503."""

    def guess(number: int) -> httpx.Response:
        headers = {"origin": served.url, "sec-fetch-site": "same-origin", "x-forwarded-for": f"203.0.113.{number}"}
        fields = {"handle": f"stranger{number}", "password": "wrong wrong wrong"}
        return httpx.post(f"{served.url}/sign-in", data=fields, headers=headers, trust_env=False, timeout=120)

    ada = served.signed_in("ada")
    crowd = Crowd(monkeypatch, [partial(guess, number) for number in range(42)])
    crowd.hold(accounts, "is_password")
    with crowd:
        assert ada.get("/chats").status_code == 200
        assert ada.get("/devices").status_code == 200
    assert crowd.most == 1


@pytest.mark.all
def test_forms_of_one_member_take_no_threads_that_pages_need(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dozens at once did, those of the viewer as well as those of the server."""
    ada, ben = served.signed_in("ada"), served.signed_in("ben")
    save = partial(ben.submit, "/searches", name="x", query="hello")
    change = partial(ben.submit, "/account/password", current="wrong wrong wrong", new="x" * 20, again="x" * 20)
    crowd = Crowd(monkeypatch, [save] * 41 + [change])
    crowd.hold(search_page, "change_marks")
    crowd.hold(passwords, "is_password")
    with crowd:
        assert ada.get("/chats").status_code == 200
        assert ada.get("/devices").status_code == 200
    assert crowd.most == 1


def test_a_form_that_never_ends_holds_no_turn(served: Served) -> None:
    """Its sender's other pages are answered meanwhile; one that is too long is refused."""
    ben = served.signed_in("ben")
    address = urlsplit(served.url)
    cookie = "; ".join(f"{name}={value}" for name, value in ben.cookies.items())
    head = (
        f"POST /searches HTTP/1.1\r\nHost: {address.netloc}\r\nOrigin: {served.url}\r\nSec-Fetch-Site: same-origin\r\n"
        f"Cookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    )
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as slow:
        slow.sendall(f"{head}Content-Length: 100\r\n\r\nname=x".encode())
        assert ben.get("/chats").status_code == 200
        assert ben.submit("/searches", name="y", query="hello").status_code == 200
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=60) as endless:
        chunk = f"{1 << 16:x}\r\n{'x' * (1 << 16)}\r\n"
        endless.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n{chunk * 17}0\r\n\r\n".encode())
        assert endless.recv(100).startswith(b"HTTP/1.1 413 ")
