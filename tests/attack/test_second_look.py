"""What an attacker found who had read only the documentation: shares, links, prompts, marks, names of files, agents."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import zstandard

from backscroll.library import marks
from backscroll.library.sharing.share import share
from backscroll.query.parse import parse
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.store.search.compile import _without_repeats
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.operating.export_history import export_history
from backscroll.team.operating.file_names import possible_name, write_below
from backscroll.team.pages import links_page
from backscroll.team.people.accounts import person_of
from backscroll.team.people.sessions import new_key
from backscroll.team.reading import prompts
from tests.attack.started_server import index_hash, object_name, with_index
from tests.attack.test_limits import at_once
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database, postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import Served, serving

__all__ = ["postgres"]


@dataclass
class World(Served):
    """A server that runs, and the folder with its data."""

    data: Path = Path()


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("second")
    with fresh_database(postgres) as address, serving(address, folder) as made:
        ada, *_ = invited(made, "ada", "ben", "cat")
        machine_of(made, ada, folder / "machines").push(mine="x <- - user: hello\ny <- x assistant(m9): good day")
        browser = made.signed_in("ada")
        until(lambda: browser.get("/api/v1/chats").json().get("chats"))
        yield World(made.context, made.url, made.first_link, made.browsers, folder)


def key_of(served: World, handle: str, scope: str) -> str:
    with served.context.database.transaction() as connection:
        return new_key(connection, person_of(connection, 1, handle), "k", [scope])


def agent(served: World, key: str, method: str, **params: object) -> httpx.Response:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {key}"}
    return httpx.post(f"{served.url}/mcp", json=body, headers=headers, trust_env=False, timeout=120)


def test_a_chat_with_the_id_of_a_shared_one_never_takes_its_place(served: World, tmp_path: Path) -> None:
    """Ben, who can read Ada's chat, sends one of the same id, and shares it after her: readers still get hers."""
    chat = session_uuid("same")
    browsers = {name: served.signed_in(name) for name in ("ada", "ben", "cat")}
    with served.context.database.transaction() as connection:
        people = {name: person_of(connection, 1, name) for name in ("ada", "ben")}
    for name, text in (("ada", "the zyxtruth"), ("ben", "a qvxlie")):
        drawing = f"a <- - user: what is so\nb <- a assistant(m1): {text}"
        machine_of(served, people[name], tmp_path / name, "other").push(same=drawing)
        browser = browsers[name]
        until(lambda browser=browser: chat in browser.get("/api/v1/chats").text)  # type: ignore[misc]
        assert browser.submit(f"/chats/{chat}/audience", audience="org").status_code == 200
    cat, key = browsers["cat"], key_of(served, "cat", "mcp")

    def seen() -> list[str]:
        page = cat.get(f"/chats/{chat}").text
        messages = cat.get(f"/api/v1/chats/{chat}/messages").text
        read = agent(served, key, "tools/call", name="read", arguments={"chat": chat}).text
        return [" ".join(sorted(set(re.findall("zyxtruth|qvxlie", text)))) for text in (page, messages, read)]

    assert seen() == ["zyxtruth"] * 3
    number = re.search(r"/shares/(\d+)/revoke", browsers["ada"].get(f"/chats/{chat}/audience").text)
    assert number
    browsers["ada"].submit(f"/shares/{number[1]}/revoke")
    assert seen() == ["qvxlie"] * 3, "what is no longer shared holds no place"


def test_an_agent_opens_no_stream_that_never_ends(served: World) -> None:
    """Each would hold one of the connections that everyone needs."""
    headers = {"accept": "text/event-stream", "authorization": f"Bearer {key_of(served, 'cat', 'mcp')}"}
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx.request(method, f"{served.url}/mcp", headers=headers, trust_env=False, timeout=20)
        assert answer.status_code in (403, 405), method


def test_prompts_of_one_person_fill_no_memory_of_others(served: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "MAX_TEXT", 250_000)
    ben = served.signed_in("ben")
    statuses = [ben.submit("/prompts", name=f"p{n}", text="x" * 99_000).status_code for n in range(4)]
    assert statuses == [200, 200, 400, 400]
    assert ben.submit("/prompts", name="small", text="x" * 1000).status_code == 200
    grown = ben.submit("/prompts/small", action="change", name="small", text="x" * 99_000)
    assert grown.status_code == 400
    assert "250,000" in grown.text
    assert ben.submit("/prompts/p1", action="delete").status_code == 200
    assert ben.submit("/prompts/small", action="change", name="small", text="x" * 99_000).status_code == 200


def test_a_link_that_many_strangers_open_at_once_is_made_for_one_at_a_time(
    served: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making its page takes long, and anyone who has it may ask."""
    make, running, most = share, [0], [0]

    def watched(*words: Any, **named: Any) -> Any:  # noqa: ANN401
        running[0] += 1
        most[0] = max(most[0], running[0])
        try:
            return make(*words, **named)
        finally:
            running[0] -= 1

    monkeypatch.setattr(links_page, "share", watched)  # counted, and then made as ever
    link = re.search(r"/shared-link/bsu_[\w-]+", _linked(served))
    assert link
    get = partial(httpx.get, f"{served.url}{link[0]}", trust_env=False, timeout=120)
    assert {answer.status_code for answer in at_once([get] * 20)} == {200}
    assert most == [1]


def _linked(served: World) -> str:
    return served.signed_in("ada").submit(f"/chats/{session_uuid('mine')}/links", days="7").text


def test_marks_of_one_person_fill_no_memory(served: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page of that person reads all of them."""
    monkeypatch.setattr(marks, "MAX_BYTES", 100_000)
    ada, chat = served.signed_in("ada"), session_uuid("mine")

    def save(number: int) -> int:
        return ada.submit("/searches", name=f"s{number}", query=f"hello {'y' * 9000}").status_code

    statuses = [save(number) for number in range(14)]
    assert 400 in statuses
    assert statuses == sorted(statuses), "from there on, none is saved"
    assert len(ada.get("/search").text) < 300_000
    assert ada.submit(f"/chats/{chat}/marks", action="note", note="z" * 60_000).status_code == 400
    assert ada.submit("/searches", name="s0", query="", forget="1").status_code == 200
    assert save(0) == 200


@pytest.mark.parametrize(("text", "count"), [("h* " * 3000, 1), ("tool:Bash " * 900, 1), ("h h", 2)])
def test_what_a_query_repeats_is_asked_once(text: str, count: int) -> None:
    """It took a process of PostgreSQL to 343 MB. A repeated word alone counts for more, and is no more work."""
    assert len([*_without_repeats(parse(text, NOW).root.parts)]) == count


NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
ODD = (
    ("..", "projects/-x/{}.jsonl"),
    ("", "projects/-x/{}.jsonl"),
    ("/h", f"projects/{'a' * 300}/{{}}.jsonl"),
    (f"/{'h' * 900}", "projects/-x/{}.jsonl"),
)
"""Homes and paths that a machine can say it has."""


def test_no_name_that_a_machine_gives_a_file_stops_an_export(served: World, tmp_path: Path) -> None:
    with served.context.database.transaction() as connection:
        cat = person_of(connection, 1, "cat")
    machine = machine_of(served, cat, tmp_path / "cat", "odd")
    device, before = machine.device.name, "0" * 64
    for number, (home, path) in enumerate(ODD, start=1):
        index, frame = _one_file(device, number, before, home, path.format(session_uuid(f"odd{number}")))
        name = quote(object_name(device, number, number), safe="/")
        headers = {"authorization": f"Bearer {machine.secret}"}
        data = with_index(json.dumps(index).encode(), frame)
        answer = httpx.put(f"{served.url}/sync/v1/objects/{name}", content=data, headers=headers, trust_env=False)
        assert answer.status_code == 201, answer.text
        before = index_hash(index)
    libraries = Libraries(served.data, served.context.database)

    def is_taken() -> bool:
        with libraries.to_read("cat") as library:
            taken = [] if library.archive is None else [*library.archive.files.values()]
            return len(taken) == len(ODD)

    until(is_taken)
    to = tmp_path / "to"
    export_history(served.context.database, libraries, [cat], to)
    written = [file.read_text() for file in to.rglob("*.jsonl")]
    assert sorted(re.findall("zyxodd[0-9]+", "".join(written))) == sorted(f"zyxodd{n + 1}" for n in range(len(ODD)))
    assert not [file for file in tmp_path.rglob("*.jsonl") if to not in file.parents and "cat/odd/" not in str(file)]
    assert all(file.relative_to(to).parts[1] in ("odd", "odd-names") for file in to.rglob("*.jsonl"))


def _one_file(device: str, number: int, before: str, home: str, path: str) -> tuple[dict[str, object], bytes]:
    name = session_uuid(f"odd{number}")
    row = {"type": "user", "uuid": f"odd{number}", "parentUuid": None, "sessionId": name, "cwd": "/home/cat/shop",
           "timestamp": "2026-01-05T10:00:00Z", "message": {"role": "user", "content": f"zyxodd{number}"}}  # fmt: skip
    content = json.dumps(row).encode() + b"\n"
    stream = hashlib.sha256("\0".join((home, path, "1", "0")).encode()).hexdigest()[:32]
    digest = hashlib.sha256(content).hexdigest()
    head = hashlib.sha256(f"{stream} 0 1 {len(content)} {digest}".encode()).hexdigest()
    frame = zstandard.ZstdCompressor().compress(content)
    facts = {"home": home, "path": path, "version": 1, "generation": 0, "type": "session", "modified_ns": 1}
    entry = {"stream": stream, "number": 0, "start": 0, "length": len(content), "head": head, "before": stream,
             "offset": 0, "packed": len(frame), "source": len(content), "file": facts}  # fmt: skip
    index: dict[str, object] = {"device": device, "machine": device, "number": number, "previous": before,
                                "at": "2026-01-05T10:00:00Z", "entries": [entry], "size": len(frame)}  # fmt: skip
    return index, frame


def test_what_cannot_lie_at_its_place_lies_beside(tmp_path: Path) -> None:
    """A file where another has a folder, and a folder where another has a file."""
    for names in (["a", "b"], ["a", "b", "c"], ["d", "e", "f"], ["d", "e"]):
        write_below(tmp_path, names, "/".join(names).encode())
    assert sorted(file.read_text() for file in tmp_path.rglob("*") if file.is_file()) == [
        "a/b",
        "a/b/c",
        "d/e",
        "d/e/f",
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 400, "é" * 200, "a" * 300 + ".jsonl", "x"])
def test_a_name_becomes_one_that_a_folder_can_have(name: str, tmp_path: Path) -> None:
    possible = possible_name(name)
    assert possible not in ("", ".", "..")
    (tmp_path / f"{possible}.new").write_text("")
    assert Path(possible).suffix == ("" if set(name) == {"."} else Path(name).suffix)
    assert possible_name(f"{name}a") != possible
