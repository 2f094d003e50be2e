"""Memory and time belong to the server: bombs, liars, floods and guesses, against a server as its users start it."""

import base64
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import partial
from urllib.parse import quote

import httpx
import psycopg
import pytest
import zstandard

from backscroll.team.arrival.devices import MAX_REQUESTS
from backscroll.team.database.connections import OPTIONS
from backscroll.team.operating.server_database import running_address
from tests.attack.sql_statements import MEMORY
from tests.attack.started_server import (
    PASSWORD,
    StartedServer,
    bundle,
    chained,
    entry_of,
    long_line,
    object_name,
    session,
    started_server,
    with_index,
)
from tests.support.postgres import fresh_database, older_postgres
from tests.support.processes import until

__all__ = ["older_postgres"]
MOST = 400_000_000
"""Bytes of memory that no process may ever hold."""
AT_ONCE = 24
BOMB = 120_000_000
WAITS = {429, 503}

pytestmark = [pytest.mark.slow, pytest.mark.all]


def put(server: StartedServer, credential: str, name: str, data: bytes) -> httpx.Response:
    headers = {"authorization": f"Bearer {credential}"}
    address = f"{server.url}/sync/v1/objects/{quote(name, safe='/')}"
    return httpx.put(address, content=data, headers=headers, trust_env=False, timeout=300)


def at_once(calls: Iterable[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    """Everything in threads of its own, begun at the same moment."""
    answers: list[httpx.Response] = []
    begin = threading.Event()

    def run(call: Callable[[], httpx.Response]) -> None:
        begin.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    begin.set()
    for thread in threads:
        thread.join()
    return answers


def finish(server: StartedServer, browser: httpx.Client) -> None:
    """Wait until no job waits; one that was put off is tried now."""

    def hurry() -> None:
        for job in re.findall(r"/jobs/(\d+)/now", browser.get("/jobs").text):
            server.submit(browser, f"/jobs/{job}/now")

    until(lambda: "No jobs are waiting" in browser.get("/jobs").text, hurry)


def check_memory(server: StartedServer) -> None:
    peaks = server.peaks()
    assert len([name for name in peaks if " server" in name]) >= 2, peaks
    assert max(peaks.values()) < MOST, peaks


@pytest.fixture(scope="module")
def server() -> Iterator[StartedServer]:
    with started_server() as started:
        yield started
        check_memory(started)


@pytest.fixture(scope="module", params=["its own database", "older_postgres"])
def either(request: pytest.FixtureRequest) -> Iterator[StartedServer]:
    """The same server, and one with the address of Debian's PostgreSQL, for what depends on the database."""
    if request.param == "its own database":
        yield request.getfixturevalue("server")
        return
    with (
        fresh_database(request.getfixturevalue(request.param), has_tables=False) as address,
        started_server("--database", address) as started,
    ):
        started.database = address
        yield started
        check_memory(started)


@pytest.fixture(scope="module")
def owner(server: StartedServer) -> Iterator[httpx.Client]:
    with closing(server.owner()) as browser:
        yield browser


def pieces_of_shape(shape: str) -> bytes:
    """A line just below 16 MiB, of very many values."""
    size, name = 15_900_000, session(900)[0].encode()
    begin = b'{"type":"user","uuid":"u","sessionId":"%s","timestamp":"2026-01-05T10:00:00Z",' % name
    text = b'{"type":"text","text":"a"}'
    return {
        "glued": b'{"a":1}' * (size // 7) + b"\n",
        "blocks": begin + b'"message":{"role":"user","content":[' + b",".join([text] * (size // 27)) + b"]}}\n",
        "unknown": b'{"type":"zzz","x":[' + b",".join([b"{}"] * (size // 3)) + b"]}\n",
        "result": begin + b'"toolUseResult":[' + b",".join([b"{}"] * (size // 3)) + b"]}\n",
    }[shape]


@pytest.mark.parametrize("shape", ["glued", "blocks", "unknown", "result"])
def test_lines_of_very_many_values_take_no_memory(server: StartedServer, owner: httpx.Client, shape: str) -> None:
    credential, device = server.connected(owner, shape)
    name, data = next(chained(device, [(session(900)[1], [pieces_of_shape(shape)])]))
    until(lambda: put(server, credential, name, data).status_code == 201)
    finish(server, owner)
    check_memory(server)


def test_what_lies_about_itself_is_refused(server: StartedServer, owner: httpx.Client) -> None:
    credential, device = server.connected(owner, "liar")
    path = session(901)[1]
    entry, frame = entry_of(path, [b"hello\n"])
    bomb, bomb_frame = entry_of(path, long_line(901, BOMB))
    wide, wide_frame = entry_of(path, [os.urandom(1 << 20)] * 40, window=27)
    index = json.dumps({"device": device, "machine": device, "number": 1, "previous": "0" * 64, "at": "x"})[:-1]
    keys = ',"a"' * 3_000_000
    small = {"stream": "", "number": 0, "start": 0, "length": 0, "head": ""}
    lies = {
        "shorter than it is": bundle(device, 1, [{**bomb, "length": 6}], bomb_frame),
        "longer than it is": bundle(device, 1, [{**entry, "length": 60_000_000}], frame),
        "the same bytes 50 times": bundle(device, 1, [{**bomb, "number": n} for n in range(50)], bomb_frame),
        "a window of 128 MB": bundle(device, 1, [wide], wide_frame),
        "a frame without a size": bundle(device, 1, [{**wide, "packed": 64}], wide_frame[:64]),
        "an index of 200 MB": with_index(f'{index}, "entries": [{" " * 200_000_000}]}}'.encode(), b""),
        "an index of short keys": with_index(
            f'{index}, "entries": [], "forgotten": ["a"{keys}]}}'.encode(), b""
        ),
        "more entries than anyone has": bundle(device, 1, [small] * 400_000, b""),
        "an index that says it is longer": b"BSYNC1\n" + (1 << 31).to_bytes(4, "big") + b"x" * 100,
        "a frame that says it is longer": b"BSYNC1\n" + (200).to_bytes(4, "big")
        + zstandard.ZstdCompressor(3).compress(b" " * 8_000_000)[:200],
    }  # fmt: skip
    name = object_name(device, 1, 1)
    for what, data in lies.items():
        found = Counter(one.status_code for one in at_once([partial(put, server, credential, name, data)] * 6))
        assert set(found) <= {422, *WAITS}, (what, found)
        assert found[422], (what, found)
        check_memory(server)


def test_the_longest_honest_lines_arrive_whole(server: StartedServer, owner: httpx.Client) -> None:
    """A line of 107 MB that hardly packs: as large an object as there is. Several at once, and read back at once."""
    noise = base64.b64encode(os.urandom(80_000_000))
    assert len(noise) > 106_000_000
    machines = [server.connected(owner, f"honest{n}") for n in range(3)]
    objects = [
        (credential, *next(chained(device, [(session(910 + n)[1], long_line(910 + n, len(noise), noise))])))
        for n, (credential, device) in enumerate(machines)
    ]
    assert min(len(data) for *_, data in objects) > 80_000_000

    def send(*one: str | bytes) -> httpx.Response:
        answers: list[httpx.Response] = []

        def is_taken() -> bool:
            answers.append(put(server, *one))  # type: ignore[arg-type]
            return answers[-1].status_code == 201

        until(is_taken)
        return answers[-1]

    assert {answer.status_code for answer in at_once(partial(send, *one) for one in objects)} == {201}
    check_memory(server)
    reads = [partial(get, server, credential, name) for credential, name, _ in objects * 4]
    assert {len(answer.content) for answer in at_once(reads)} == {len(data) for *_, data in objects}
    check_memory(server)
    finish(server, owner)
    chats = {chat["id"] for chat in owner.get("/api/v1/chats").json()["chats"]}
    assert {session(910 + n)[0] for n in range(3)} <= chats
    assert "hello" in owner.get(f"/chats/{session(910)[0]}").text
    check_memory(server)


def get(server: StartedServer, credential: str, name: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {credential}"}
    address = f"{server.url}/sync/v1/objects/{quote(name, safe='/')}"
    return httpx.get(address, headers=headers, trust_env=False, timeout=300)


def test_bombs_take_no_memory(server: StartedServer, owner: httpx.Client) -> None:
    """A few kilobytes that unpack to 120 MB, 24 of them at once; then their chats are read."""
    machines = [server.connected(owner, f"m{n}") for n in range(AT_ONCE)]
    bombs = [
        (credential, *next(chained(device, [(session(n)[1], long_line(n, BOMB))])))
        for n, (credential, device) in enumerate(machines)
    ]
    assert max(len(data) for *_, data in bombs) < 100_000
    found = Counter(answer.status_code for answer in at_once(partial(put, server, *one) for one in bombs))
    assert found[201] >= 1
    assert set(found) <= {201, *WAITS}, found
    assert found[429] >= 1, "what they unpack to is counted, over all processes"
    check_memory(server)
    finish(server, owner)
    chats = {chat["id"] for chat in owner.get("/api/v1/chats").json()["chats"]}
    assert len(chats & {session(n)[0] for n in range(AT_ONCE)}) == found[201]
    pages = [partial(owner.get, f"/chats/{session(n)[0]}") for n in range(AT_ONCE)]
    assert {answer.status_code for answer in at_once(pages)} <= {200, 404, *WAITS}
    check_memory(server)


def test_statements_that_ask_for_much_memory_get_little(server: StartedServer, owner: httpx.Client) -> None:
    """The processes of PostgreSQL that run them end with them, so that they are watched while they run."""
    credential, device = server.connected(owner, "asker")
    name, data = next(chained(device, [(session(920)[1], long_line(920, 1000))]))
    assert put(server, credential, name, data).status_code == 201
    finish(server, owner)
    page = server.submit(owner, "/account/keys", name="agent", scope="mcp").text
    key = re.search(r"bsk_[\w-]{43}", page)
    assert key
    peaks: dict[str, int] = {}
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            for name, peak in server.peaks().items():
                peaks[name] = max(peak, peaks.get(name, 0))

    def ask(statement: str) -> httpx.Response:
        params = {"name": "query", "arguments": {"sql": statement}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {key[0]}"}
        return httpx.post(f"{server.url}/mcp", json=body, headers=headers, trust_env=False, timeout=300)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        for statement in MEMORY:
            assert ask(statement).status_code == 200
        assert {answer.status_code for answer in at_once([partial(ask, MEMORY[0])] * 12)} == {200}
    finally:
        is_over.set()
        watching.join()
    assert [name for name in peaks if "backscroll_sql" in name], "it was watched in time"
    assert max(peaks.values()) < MOST, peaks


def test_machines_that_wait_block_no_others(either: StartedServer) -> None:
    """Any number of requests to be let in, from behind a proxy, do not keep others from being let in."""

    def ask(address: str) -> int:
        headers = {"x-forwarded-for": address}
        return httpx.post(
            f"{either.url}/sync/v1/connect", json={"machine": "m"}, headers=headers, trust_env=False
        ).status_code

    found = Counter(ask("203.0.113.7") for _ in range(200))
    assert found[201] <= 20
    assert found[429] >= 180
    assert ask("198.51.100.1") == 201
    with psycopg.connect(
        either.database or running_address(either.data), options=OPTIONS
    ) as connection:  # a flood that went on for long
        connection.execute(FILL, (MAX_REQUESTS,))
    is_over = threading.Event()

    def flood() -> None:
        for n in range(65_000):
            if is_over.is_set():
                return
            ask(f"10.{n // 250}.{n % 250}.1")

    flooding = [threading.Thread(target=flood) for _ in range(4)]
    for thread in flooding:
        thread.start()
    try:
        with closing(either.owner()) as owner:
            either.connected(owner, "another")
    finally:
        is_over.set()
        for thread in flooding:
            thread.join()


FILL = """
insert into device_request (digest, code, machine, address, expires)
select sha256(n::text::bytea), 'x' || n, 'm', '127.0.0.1 ' || n, now() + interval '15 minutes'
from generate_series(1, %s) n
"""


def test_guesses_are_counted_over_all_processes_and_lock_no_one_out(either: StartedServer) -> None:
    with closing(either.owner()) as known:
        _guess(either, known)


def _guess(server: StartedServer, known: httpx.Client) -> None:
    def guess(address: str, handle: str = "admin", password: str = "wrong wrong wrong") -> int:
        with server.browser() as browser:
            browser.headers["x-forwarded-for"] = address
            return server.submit(browser, "/sign-in", handle=handle, password=password, next="/devices").status_code

    found = Counter(guess("203.0.113.7") for _ in range(40))
    assert found == {200: 10, 503: 30}
    assert guess("203.0.113.7", password=PASSWORD) == 503, "what is right is not told either"
    assert guess("198.51.100.1", password=PASSWORD) == 200
    assert "Devices" in server.submit(known, "/sign-in", handle="admin", password=PASSWORD, next="/devices").text
    found = Counter(guess("203.0.113.7", f"handle{n}") for n in range(30))
    assert found == {200: 30}, "one address is no reason to refuse another handle"


def test_many_sign_ins_at_once_take_no_memory(either: StartedServer) -> None:
    """Each takes 19 MiB to be hashed."""

    def sign_in(number: int) -> httpx.Response:
        with either.browser() as browser:
            return either.submit(browser, "/sign-in", handle=f"stranger{number}", password="wrong wrong wrong")

    found = Counter(answer.status_code for answer in at_once(partial(sign_in, number) for number in range(60)))
    assert set(found) <= {200, 503}, found
    check_memory(either)
