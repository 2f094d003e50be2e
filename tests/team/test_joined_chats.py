"""Chats that become one do not widen what was shared: nobody else reads the new one until its owner agrees."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.arrival.devices import new_device
from backscroll.team.arrival.intake import take
from backscroll.team.arrival.libraries import Libraries
from tests.sync.support import Device
from tests.team.demo_served import DemoServed, serving_demo

SESSION = "projects/-work-boats/22222222-2222-4222-8222-{:012}.jsonl"
SHARED, PRIVATE, FORK = 1, 2, 3


@pytest.fixture(scope="module")
def demo(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServed]:
    """A demo team of its own: what is shared here stays shared."""
    with serving_demo(postgres, tmp_path_factory.mktemp("joined")) as served:
        yield served


class Sender:
    """A machine of Ada's that sends sessions."""

    def __init__(self, demo: DemoServed, folder: Path) -> None:
        self.context, self.libraries = (
            demo.served.context,
            Libraries(demo.folder / "server", demo.served.context.database),
        )
        with self.context.database.transaction() as connection:
            self.name = new_device(connection, demo.person("ada"), "joining").device
        self.device = Device(folder, self.name, signs=False)
        self.files: dict[int, bytes] = {}
        self.minute = 0

    def say(self, session: int, uuid: str, parent: str | None, text: str, **fields: Any) -> None:  # noqa: ANN401
        self.minute += 1
        row: dict[str, Any] = {"type": "user", "uuid": uuid, "parentUuid": parent, "cwd": "/w"}
        row |= {"sessionId": session_id(session)}
        row |= {"timestamp": f"2026-01-05T10:{self.minute:02}:00.000Z", "message": {"role": "user", "content": text}}
        self.files[session] = self.files.get(session, b"") + json.dumps(row | fields).encode() + b"\n"

    def send(self) -> None:
        for session, data in self.files.items():
            self.device.write(SESSION.format(session), data)
        self.device.keep()
        self.device.push(self.context.objects)
        take(self.libraries, self.context.objects, self.name)


def session_id(number: int) -> str:
    return SESSION.format(number)[-42:-6]


def found(demo: DemoServed, handle: str, word: str) -> list[str]:
    """The chats of others in which a person finds a word, and can open."""
    browser = demo.browser(handle)
    chats = [chat["id"] for chat in browser.get(f"/api/v1/search?q={word}").json()["chats"]]
    assert all(browser.get(f"/chats/{chat}").status_code == 200 for chat in chats)
    return chats


@pytest.mark.slow
def test_a_chat_that_becomes_one_with_a_shared_one_is_read_by_others_when_its_owner_agrees(
    demo: DemoServed, tmp_path: Path
) -> None:
    sender, ada, ben = Sender(demo, tmp_path), demo.browser("ada"), demo.browser("ben")
    shared, private = session_id(SHARED), session_id(PRIVATE)
    sender.say(SHARED, "a", None, "about the quagga")
    sender.say(PRIVATE, "x", None, "about the thylacine")
    sender.send()
    ada.submit(f"/chats/{shared}/audience", audience="org")
    page = ada.submit(f"/chats/{shared}/links", days="7").text
    link, *_ = re.findall(r"http://\S+/shared-link/bsu_[\w-]+", page)
    assert (found(demo, "ben", "quagga"), found(demo, "ben", "thylacine")) == ([shared], [])

    # A fork is no other chat: it never was one.
    sender.say(FORK, "a", None, "about the quagga", forkedFrom={"sessionId": shared, "messageUuid": "a"})
    sender.say(FORK, "b", "a", "and the bluebuck")
    sender.send()
    assert found(demo, "ben", "bluebuck") == [shared]
    assert httpx.get(link, trust_env=False, timeout=60).status_code == 200

    sender.say(PRIVATE, "y", "b", "what both are about")
    sender.send()
    for rebuilt in (False, True):
        if rebuilt:
            with sender.libraries.own("ada") as library:
                library.rebuild()
        (joined,) = {chat["id"] for word in ("quagga", "thylacine") for chat in
                     ada.get(f"/api/v1/search?q=owner:me+{word}").json()["chats"]}  # fmt: skip
        for word in ("quagga", "thylacine", "bluebuck"):
            assert found(demo, "ben", word) == [], "it is narrower than it was, not wider"
        for name in {joined, shared, private}:
            assert ben.get(f"/chats/{name}").status_code == 404
            assert ben.get(f"/api/v1/chats/{name}/messages").status_code == 404
        assert "quagga" not in ben.get("/shared").text
        assert httpx.get(link, trust_env=False, timeout=60).status_code == 404
    page = ada.get(f"/chats/{joined}/audience").text
    assert page.count("paused: another chat became one with it") == 2

    (share,) = re.findall(r"/shares/(\d+)/include-joined", page)
    assert ben.submit(f"/shares/{share}/include-joined").status_code == 404
    ada.submit(f"/shares/{share}/include-joined")
    for word in ("quagga", "thylacine", "bluebuck"):
        assert found(demo, "ben", word) == [joined]
    assert httpx.get(link, trust_env=False, timeout=60).status_code == 404, "a link is made anew"
    assert ada.get(f"/chats/{joined}/audience").text.count("paused") == 1


def test_what_has_joined_is_shared_by_sharing_it_anew(demo: DemoServed, tmp_path: Path) -> None:
    sender, ada = Sender(demo, tmp_path), demo.browser("ada")
    older, newer = session_id(SHARED + 3), session_id(PRIVATE + 3)
    sender.say(PRIVATE + 3, "d", "c", "about the huia")
    sender.send()
    ada.submit(f"/chats/{newer}/audience", audience="org")
    assert found(demo, "ben", "huia") == [newer]
    # Its beginning, which arrives later, was never shared.
    sender.minute = -20
    sender.say(SHARED + 3, "c", None, "about the moa", timestamp="2026-01-05T09:00:00.000Z")
    sender.send()
    assert (found(demo, "ben", "huia"), found(demo, "ben", "moa")) == ([], [])
    ada.submit(f"/chats/{older}/audience", audience="org")
    assert (found(demo, "ben", "huia"), found(demo, "ben", "moa")) == ([older], [older])
