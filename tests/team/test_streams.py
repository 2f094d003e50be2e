"""Streams and timings between two organisations: no notice crosses, and a foreign id costs what an unknown one does."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
from starlette.routing import Route

from backscroll.team.serving.app import ROUTES
from tests.support.drawings import session_uuid
from tests.support.processes import until
from tests.team.served import PASSWORD
from tests.team.test_isolation import FIRST, NUMBERED, SECOND, Two, two

__all__ = ["two"]
ABSENT_CHAT = "0a3f6266-28b5-40ce-a133-212a22c85235"


class Listener:
    """A browser that has a stream open."""

    def __init__(self, two: Two, handle: str) -> None:
        self.lines: list[str] = []
        self._cookies = two.browsers[handle].cookies
        self._url = f"{two.served.url}/api/v1/events"
        self._is_open = threading.Event()
        self.is_over = False
        self._client = httpx.Client(cookies=self._cookies, trust_env=False, timeout=60)
        threading.Thread(target=self._read, daemon=True).start()
        assert self._is_open.wait(30)

    def _read(self) -> None:
        try:
            with self._client.stream("GET", self._url) as answer:
                assert answer.status_code == 200
                self._is_open.set()
                for line in answer.iter_lines():
                    self.lines.append(line)
        except httpx.HTTPError:
            pass  # closed
        finally:
            self.is_over = True

    def close(self) -> None:
        self._client.close()


@contextmanager
def listening(two: Two, *handles: str) -> Iterator[list[Listener]]:
    found = [Listener(two, handle) for handle in handles]
    try:
        yield found
    finally:
        for one in found:
            one.close()


# Not without row-level security: the worker writes by it, and refuses to start without.
@pytest.mark.parametrize("two", ["postgres", "older_postgres"], indirect=True)
def test_a_stream_carries_no_notice_of_another_organisation(two: Two) -> None:
    with listening(two, "ada", "zoe", "zadmin") as (ada, zoe, zadmin):
        before = len(zoe.lines), len(zadmin.lines)
        two.machines["ada"].remote.rules()  # type: ignore[attr-defined]
        two.machines["ada"].push(onlyada=f"{FIRST}\ng <- d user: and again zyxonce\nh <- g assistant(m7): yes")
        until(lambda: any(session_uuid("onlyada") in line for line in ada.lines))
        two.machines["zoe"].push(onlyzoe=f"{SECOND}\ng <- f user: and again qvxonce\nh <- g assistant(m8): yes")
        until(lambda: any(session_uuid("onlyzoe") in line for line in zoe.lines))
        assert session_uuid("onlyada") not in "\n".join(zoe.lines + zadmin.lines)
        assert session_uuid("onlyzoe") not in "\n".join(ada.lines + zadmin.lines)
        assert not [line for line in zadmin.lines[before[1] :] if line.startswith("data") and "chats" in line]


def test_a_stream_ends_with_its_session(two: Two) -> None:
    with listening(two, "ada") as (ada,):
        other = two.served.browser()
        other.submit("/sign-in", handle="ada", password=PASSWORD, next="/")
        two.browsers["ada"].submit("/sign-out")
        two.browsers["ada"] = other
        count = len(ada.lines)
        two.machines["ada"].remote.rules()  # type: ignore[attr-defined]
        two.machines["ada"].push(onlyada=f"{FIRST}\ng <- d user: once more zyxafter\nh <- g assistant(m9): yes")
        until(lambda: other.get("/api/v1/search?q=zyxafter").json()["chats"])
        until(lambda: ada.is_over)
        assert not [line for line in ada.lines[count:] if session_uuid("onlyada") in line]


def test_a_stream_without_a_session_is_refused(two: Two) -> None:
    answer = httpx.get(f"{two.served.url}/api/v1/events", trust_env=False)
    assert answer.status_code == 401


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The statements that requests run, without their values: those of worker threads are not counted."""
    found: list[str] = []
    real = psycopg.Cursor.execute

    def execute(cursor: Any, query: Any, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        if threading.current_thread().name.startswith("AnyIO"):
            found.append(str(query))
        return real(cursor, query, *arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", execute)
        yield found


def test_a_foreign_id_runs_the_statements_of_an_unknown_one(two: Two, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the time of an answer does not tell whether another organisation has something of that name."""
    with two.database.transaction() as connection:
        connection.execute("insert into job (kind, about, due) values ('look', 'ada/laptop', now() + interval '1 day')")
        connection.execute(
            "insert into share_link (owner, chat, title, digest, expires)"
            " select id, 'x', 'x', 'streams', now() + interval '1 day' from person where handle = 'ada'"
        )
        foreign = {
            name: str((connection.execute(f"select min(id) from {table}").fetchone() or (0,))[0])
            for name, table in NUMBERED.items()
        }
    foreign |= {"secret": "bsu_guessed", "handle": "ada", "chat": session_uuid("onlyada")}
    unknown = dict.fromkeys(NUMBERED, "99999999")
    unknown |= {"secret": "bsu_other", "handle": "eva", "chat": ABSENT_CHAT}
    paths = [(method, route.path) for route in ROUTES if isinstance(route, Route) and "{" in route.path
             for method in sorted((route.methods or set()) - {"HEAD"})]  # fmt: skip
    paths += [("GET", path) for path in (
        "/chats/{chat}", "/api/v1/chats/{chat}", "/api/v1/chats/{chat}/messages", "/chats/{chat}/export",
        "/chats/{chat}/markdown", "/search?q={chat}", "/api/v1/search?q=owner:{handle}",
    )]  # fmt: skip
    tried = 0
    for method, path in paths:
        ran = []
        for ids in (unknown, foreign, unknown, foreign):  # the first fill what is remembered
            with counting(monkeypatch) as statements:
                _ask(two, method, _filled(path, ids))
            ran.append(list(statements))
        assert ran[2] == ran[3], (method, path)
        tried += bool(ran[3])
    assert tried > 20


def _filled(path: str, ids: dict[str, str]) -> str:
    return re.sub(r"{(\w+)(:\w+)?}", lambda found: ids[found[1]], path)


def _ask(two: Two, method: str, path: str) -> None:
    headers = {"origin": two.served.url, "sec-fetch-site": "same-origin"}
    data = {"member": "zoe", "confirm": "no", "handle": "eva"} if method == "POST" else None
    two.browsers["zadmin"].request(method, path, headers=headers, data=data)
