"""The server as a user starts it: ports, keys, links, one server per library, and a shutdown that does not wait."""

import http.client
import json
import os
import shlex
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backscroll.errors import BackscrollError, UsageError
from backscroll.httpd.guard import HEADERS, OPENER
from backscroll.httpd.listening import listen
from backscroll.settings import RequireKey
from backscroll.web.running_server import FILE, find_running_server
from backscroll.web.server import FIRST_PORT, PORTS, StartedViewer
from backscroll.web.state import ViewerState
from tests.library.support import Shelf
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path
from tests.web.served import HttpAnswer, ask, free_port, serving

CHAT = session_uuid("S1")
CHOSEN = "correct-horse-battery"
SHOP = """
@ cwd=/home/ada/shop
a <- - user: fix the parser
b <- a assistant: done
"""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path).write({session_path("S1"): jsonl(draw(SHOP))})


@pytest.fixture
def read(shelf: Shelf) -> Shelf:
    shelf.update()
    return shelf


def path_of(served: StartedViewer, link: str) -> str:
    assert link.startswith(served.url)
    return link.removeprefix(served.url)


def cookie_of(answer: HttpAnswer) -> tuple[str, str]:
    return "Cookie", answer.headers["set-cookie"].partition(";")[0]


def test_loopback_needs_no_key(read: Shelf) -> None:
    with serving(read) as served:
        assert served.url == f"http://127.0.0.1:{served.running.port}"
        assert served.link("/chats") == f"{served.url}/chats"
        assert ask(served, "/api/v1/chats").json["chats"][0]["id"] == CHAT


def test_loopback_needs_a_key_where_the_settings_say_so(read: Shelf) -> None:
    with serving(read, require_key="always") as served:
        assert ask(served, "/api/v1/chats").status == 401
        cookie = cookie_of(ask(served, path_of(served, served.link("/chats"))))
        assert ask(served, "/api/v1/chats", headers=[cookie]).status == 200
        token = served.access.keys.token
        assert ask(served, "/api/v1/chats", headers=[("Authorization", f"Bearer {token}")]).status == 200
        assert find_running_server(ViewerState(read.settings, read.open().homes)) == served.running


@pytest.mark.parametrize("others", [True, False])
def test_loopback_needs_a_key_where_the_machine_has_other_users(
    read: Shelf, others: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backscroll.web.server.has_other_users", lambda: others)
    choices: list[tuple[RequireKey, bool]] = [("auto", others), ("always", True), ("never", False)]
    for require_key, needs_key in choices:
        with serving(read, require_key=require_key) as served:
            assert (ask(served, "/api/v1/chats").status == 401) == needs_key
            assert ("token=" in served.link()) == needs_key


def test_the_new_loopback_is_one_too(read: Shelf) -> None:
    with serving(read, host="::1", port=free_port("::1")) as served:
        assert served.url == f"http://[::1]:{served.running.port}"
        assert not served.access.needs_key
        assert ask(served, "/api/v1/chats").status == 200
        assert ask(served, "/api/v1/chats", host=f"[::1]:{served.running.port + 1}").status == 421


def test_any_other_address_needs_a_key_on_every_route(read: Shelf) -> None:
    with serving(read, host="0.0.0.0") as served:
        for path in ("/", "/static/base.css", "/api/v1/events", "/api/v1/chats", "/none", "/?token=", "/?token=guess"):
            answer = ask(served, path)
            assert answer.status == 401, path
            assert HEADERS.items() - {(OPENER, "same-origin")} <= answer.headers.items()
            assert "set-cookie" not in answer.headers
        assert ask(served, "/api/v1/chats").json["error"]["kind"] == "usage"
        assert ask(served, "/", host="evil.com").status == 421


def test_a_link_opens_once_and_leaves_a_cookie_that_holds_something_else(read: Shelf) -> None:
    with serving(read, host="0.0.0.0") as served:
        path = path_of(served, served.link("/chats?sort=oldest"))
        opened = ask(served, path)
        assert (opened.status, opened.headers["location"]) == (303, "/chats?sort=oldest")
        assert opened.headers["cache-control"] == "no-store"
        name, value = cookie_of(opened)
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(opened.headers["set-cookie"].split("; "))
        code = path.partition("token=")[2]
        assert code not in value
        assert served.access.keys.token not in value
        assert ask(served, "/api/v1/chats", headers=[(name, value)]).status == 200
        for odd in (f"theme=dark; {value}; other=1", f'a={{"b": "c"}}; =; ;; x"y; {value}', f"{value};"):
            assert ask(served, "/static/base.css", headers=[(name, odd)]).status == 200
        assert ask(served, path).status == 401
        # Who is in already may use it from the history: it only leads on.
        assert ask(served, path, headers=[(name, value)]).headers["location"] == "/chats?sort=oldest"
        assert ask(served, "/", headers=[(name, value[:-1])]).status == 401
        assert ask(served, "/", headers=[(name, value), (name, value)]).status == 401


def test_who_comes_from_elsewhere_without_showing_the_cookie_can_go_on(read: Shelf) -> None:
    with serving(read, host="0.0.0.0") as served:
        page = ask(served, "/chats?q=%22%3E%3Cb%3E&token=old")
        assert (page.status, page.headers["www-authenticate"]) == (401, "Bearer")
        assert b'href="/chats?q=%22%3E%3Cb%3E"' in page.body


def test_a_cookie_does_not_make_another_site_ours(read: Shelf) -> None:
    with serving(read, host="0.0.0.0") as served:
        cookie = cookie_of(ask(served, path_of(served, served.link())))
        assert ask(served, "/api/v1/chats", "POST", headers=[cookie, ("Origin", "http://evil.com")]).status == 403
        assert ask(served, "/api/v1/chats", headers=[cookie, ("Sec-Fetch-Site", "same-site")]).status == 403


def test_programs_send_the_token(read: Shelf) -> None:
    with serving(read, host="0.0.0.0", token=CHOSEN) as served:
        assert ask(served, "/api/v1/chats", headers=[("Authorization", f"Bearer {CHOSEN}")]).status == 200
        assert ask(served, "/api/v1/chats", "POST", headers=[("Authorization", f"Bearer {CHOSEN}")]).status == 405
        for value in ("Bearer", "Bearer guess", f"Basic {CHOSEN}", CHOSEN, f"Bearer {CHOSEN} x", f"Bearer x{CHOSEN}"):
            assert ask(served, "/api/v1/chats", headers=[("Authorization", value)]).status == 401


def test_a_token_that_was_chosen_is_wanted_on_loopback_too(read: Shelf) -> None:
    with serving(read, token=CHOSEN) as served:
        assert ask(served, "/").status == 401
        assert ask(served, f"/?token={CHOSEN}").status == 401  # it is for programs: it would stay in a history
        assert CHOSEN not in served.link()
        assert ask(served, path_of(served, served.link())).status == 303


@pytest.mark.parametrize(
    "path", ["//evil.com/", "//evil.com/?token=", "/%2f%2fevil.com", "/\\evil.com", "/%0d%0aX:%20y"]
)
def test_a_link_leads_nowhere_else(read: Shelf, path: str) -> None:
    with serving(read, host="0.0.0.0") as served:
        code = served.access.keys.new_code()
        answer = ask(served, f"{path.removesuffix('?token=')}?token={code}")
        location = answer.headers["location"]
        assert location.startswith("/")
        assert not location.startswith(("//", "/\\"))
        assert "x" not in answer.headers


def test_where_a_port_is_taken_the_next_one_is_used_unless_it_was_asked_for() -> None:
    with listen("127.0.0.1", PORTS) as first, listen("127.0.0.1", PORTS) as second:
        ports = [one.getsockname()[1] for one in (first, second)]
        assert ports[0] >= FIRST_PORT
        assert ports[1] != ports[0]
        with pytest.raises(BackscrollError, match="in use"):
            listen("127.0.0.1", ports[:1])


def test_an_address_that_is_not_ours_is_said_to_be_so() -> None:
    with pytest.raises(UsageError, match="not an address"):
        listen("no.such.host.invalid", [0])
    with pytest.raises(BackscrollError, match="cannot listen"):
        listen("203.0.113.7", [0])


def test_what_a_server_writes_of_itself_is_for_its_user_alone(read: Shelf) -> None:
    file = read.folder / FILE
    with serving(read) as served:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert json.loads(file.read_text())["url"] == served.url
        assert list(read.folder.glob(f"{FILE}.*")) == []
    assert not file.exists()


def test_a_server_is_found_by_who_asks_for_the_same(read: Shelf) -> None:
    state = ViewerState(read.settings, read.open().homes)
    with serving(read) as served:
        assert find_running_server(state) == served.running
        assert find_running_server(state, needs_key=True) is None
        assert find_running_server(state, "127.0.0.1", served.running.port) == served.running
        assert find_running_server(state, "0.0.0.0") is None
        assert find_running_server(state, None, served.running.port + 1) is None
        assert find_running_server(ViewerState(read.settings, [])) is None
    assert find_running_server(state) is None


def test_a_server_with_a_token_is_found_by_who_has_the_same(read: Shelf) -> None:
    state = ViewerState(read.settings, read.open().homes)
    with serving(read, token=CHOSEN) as served:
        assert find_running_server(state) == served.running
        assert find_running_server(state, token=CHOSEN, needs_key=True) == served.running
        assert find_running_server(state, token="another-good-token") is None
        assert CHOSEN not in (read.folder / FILE).read_text()
    with serving(read):
        assert find_running_server(state, token=CHOSEN) is None


def test_a_stranger_on_the_port_of_a_server_that_died_is_not_taken_for_it(read: Shelf) -> None:
    state = ViewerState(read.settings, read.open().homes)
    with serving(read) as served:
        written = (read.folder / FILE).read_text()
        other = json.dumps(json.loads(written) | {"secret": "another"})
        (read.folder / FILE).write_text(other)
        assert find_running_server(state) is None
        (read.folder / FILE).write_text("{not json")
        assert find_running_server(state) is None
        (read.folder / FILE).write_text(written)
        assert find_running_server(state) == served.running
    (read.folder / FILE).write_text(written)
    assert find_running_server(state) is None  # it has stopped


def test_another_process_makes_links_to_a_server_that_needs_a_key(read: Shelf) -> None:
    state = ViewerState(read.settings, read.open().homes)
    with serving(read, host="0.0.0.0") as served:
        found = find_running_server(state)
        assert found is not None
        for _ in range(2):
            link = path_of(served, found.link(f"/chats/{CHAT}"))
            assert ask(served, link).headers["location"] == f"/chats/{CHAT}"
            assert ask(served, link).status == 401


def test_a_server_ends_at_once_while_streams_are_open(read: Shelf) -> None:
    with serving(read, follows=True) as served:
        streams = []
        for _ in range(3):
            stream = http.client.HTTPConnection("127.0.0.1", served.running.port, timeout=30)
            stream.request("GET", "/api/v1/events")
            answer = stream.getresponse()
            assert answer.readline().startswith(b"event: ")
            streams.append((stream, answer))
    for stream, answer in streams:
        answer.read()
        stream.close()


def test_a_server_answers_at_once_and_reads_meanwhile(shelf: Shelf) -> None:
    with serving(shelf, follows=True) as served:
        assert ask(served, "/api/v1/status").status == 200
        stream = http.client.HTTPConnection("127.0.0.1", served.running.port, timeout=30)
        stream.request("GET", "/api/v1/events")
        answer = stream.getresponse()
        while (asked := ask(served, "/api/v1/chats")).status != 200 or not asked.json["chats"]:
            assert answer.readline()  # something was read, or will be
        assert asked.json["chats"][0]["id"] == CHAT
        stream.close()


# As a user runs it


@contextmanager
def opened(
    shelf: Shelf, *arguments: str, require_key: str = "never", **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`backscroll open` with the first line that it prints."""
    command = [sys.executable, "-m", "backscroll", "open", "--home", str(shelf.home), "--library", str(shelf.folder)]
    hidden = {
        name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    }
    shelf.settings.file.write_text(f'[web]\nrequire_key = "{require_key}"\n')
    hidden["BACKSCROLL_SETTINGS"] = str(shelf.settings.file)
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=hidden | environment
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()


def fetch(link: str) -> tuple[int, Any]:
    """What is at an address, without following it."""
    host, _, path = link.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("GET", f"/{path}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    is_json = answer.headers.get("content-type") == "application/json"
    return answer.status, json.loads(body) if is_json else body.decode()


def ended(process: subprocess.Popen[str], number: int) -> tuple[int, str]:
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    return process.returncode, errors


def test_open_serves_and_ends_with_ctrl_c(shelf: Shelf) -> None:
    with opened(shelf, "--port", str(free_port())) as (process, link):
        assert fetch(f"{link}api/v1/status")[0] == 200
        host = link.removeprefix("http://").rstrip("/")
        stream = http.client.HTTPConnection(host, timeout=30)
        stream.request("GET", "/api/v1/events")
        assert stream.getresponse().readline().startswith(b"event: ")
        code, errors = ended(process, signal.SIGINT)
        stream.close()
        assert code == 130
        assert "no display" in errors
        assert "Traceback" not in errors
        assert "Cancel" not in errors
    assert not (shelf.folder / FILE).exists()


def test_open_removes_its_state_when_it_is_terminated(shelf: Shelf) -> None:
    with opened(shelf, "--port", str(free_port()), "--no-browser") as (process, _):
        code, errors = ended(process, signal.SIGTERM)
        assert code in (-signal.SIGTERM, 143)
        assert "Traceback" not in errors
    assert not (shelf.folder / FILE).exists()


def test_open_again_uses_what_runs(shelf: Shelf) -> None:
    with opened(shelf, "--port", str(free_port()), "--no-browser") as (_, link):
        with opened(shelf, "--no-browser", "--quiet", CHAT[:8]) as (process, again):
            assert again == f"{link}chats/{CHAT}"
            assert process.wait(30) == 0
        with opened(shelf, "--no-browser", "--port", str(free_port())) as (process, other):
            assert other != link
            assert fetch(f"{other}api/v1/status")[0] == 200


def test_open_prints_json_for_programs(shelf: Shelf) -> None:
    arguments = ("--json", "--no-browser", "--host", "0.0.0.0", "--port", str(free_port()))
    with opened(shelf, *arguments) as (process, line):
        assert process.stdout is not None
        text = line
        while not text.endswith("}"):
            text += process.stdout.readline().strip()
        told = json.loads(text)
        assert (told["pid"], told["reused"]) == (process.pid, False)
        assert told["link"].startswith(f"{told['url']}/?token=")
        code, errors = ended(process, signal.SIGINT)
        assert code == 130
        assert told["token"] not in errors
        assert told["link"].partition("token=")[2] not in errors


def test_open_gives_the_browser_the_address_of_the_chat(shelf: Shelf, tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(told))}\n')
    browser.chmod(0o755)
    with opened(shelf, CHAT[:8], "--port", str(free_port()), BROWSER=f"{browser} %s") as (_, link):
        assert link.endswith(f"/chats/{CHAT}")
        assert told.read_text() == link


def test_no_argument_of_any_process_holds_a_key(shelf: Shelf, tmp_path: Path) -> None:
    """Except for the code in the link that a browser is given, which works once, and only for the same user."""
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(CHOSEN)
    port = str(free_port())
    for arguments, environment in (
        (("--token-file", str(file)), {}),
        ((), {"BACKSCROLL_TOKEN": CHOSEN}),
    ):
        with opened(shelf, "--no-browser", "--port", port, *arguments, **environment) as (process, link):
            host = link.removeprefix("http://").partition("/")[0]
            connection = http.client.HTTPConnection(host, timeout=30)
            connection.request("GET", "/api/v1/status", headers={"Authorization": f"Bearer {CHOSEN}"})
            assert connection.getresponse().status == 200
            connection.close()
            assert CHOSEN not in link
            command = Path(f"/proc/{process.pid}/cmdline")
            assert not command.exists() or CHOSEN.encode() not in command.read_bytes()
            assert fetch(link)[0] == 303
            assert fetch(link)[0] == 401
            with opened(shelf, "--no-browser", *arguments, **environment) as (again, other):
                assert other.startswith(f"http://{host}/?token=")
                assert again.wait(30) == 0


def test_open_prints_a_link_with_a_key_where_one_is_needed(shelf: Shelf) -> None:
    with opened(shelf, "--no-browser", "--port", str(free_port()), require_key="always") as (_, link):
        host = link.partition("/?")[0]
        assert fetch(f"{host}/api/v1/status")[0] == 401
        assert fetch(link)[0] == 303
        assert fetch(link)[0] == 401


def test_open_reports_errors(shelf: Shelf) -> None:
    def run(*arguments: str) -> tuple[int, str]:
        command = [
            sys.executable,
            "-m",
            "backscroll",
            "open",
            "--home",
            str(shelf.home),
            "--library",
            str(shelf.folder),
        ]
        done = subprocess.run([*command, "--no-browser", *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    assert run("ffffffff")[0] == 3
    code, errors = run("--token", CHOSEN)
    assert code == 2
    assert CHOSEN not in errors
    assert "BACKSCROLL_TOKEN" in errors and "--token-file" in errors
    assert run("--host", "no.such.host.invalid")[0] == 2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, errors = run("--port", str(taken.getsockname()[1]))
    assert code == 1
    assert "in use" in errors
