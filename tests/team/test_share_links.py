"""Links for people outside: one chat, redacted, until a day or until it is revoked, and nothing else."""

import json
import re
from pathlib import Path

import httpx
import pytest

from backscroll.errors import UsageError
from backscroll.team.arrival.devices import new_device
from backscroll.team.arrival.intake import take
from backscroll.team.arrival.libraries import Libraries
from backscroll.team.reading.share_links import new_link
from tests.sync.support import SESSION, Device
from tests.team.demo_served import CSV, FLAKY, DemoServed

TOKEN = "ghp_" + "0123456789abcdefABCDEF0123456789abcd"


def _made(demo: DemoServed, handle: str, session: str, days: str = "7") -> str:
    page = demo.browser(handle).submit(f"/chats/{demo.chat(handle, session)}/links", days=days).text
    found = re.search(r"http://\S+/shared-link/bsu_[\w-]+", page)
    assert found, page[-2000:]
    return found[0]


def _outside(link: str, **headers: str) -> httpx.Response:
    return httpx.get(link, headers=headers, trust_env=False, timeout=60)


def test_anyone_with_the_link_reads_the_chat_and_nothing_else(demo: DemoServed) -> None:
    link = _made(demo, "ada", FLAKY)
    answer = _outside(link)
    assert answer.status_code == 200
    assert "The flaky order test" in answer.text
    assert ">Ada Lovelace<" in answer.text, "who typed it"
    assert ">You<" not in answer.text
    assert "Thinking" not in answer.text
    assert "set-cookie" not in answer.headers
    assert answer.headers["x-robots-tag"] == "noindex, nofollow"
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "sha256-" in answer.text.partition("Content-Security-Policy")[2][:400]
    where = link.partition("/shared-link/")[0]
    with httpx.Client(base_url=where, trust_env=False) as stranger:
        assert stranger.get(f"/chats/{demo.chat('ada', FLAKY)}").status_code == 303
        assert stranger.get("/api/v1/chats").status_code == 401


def test_its_owner_sees_that_it_was_opened_and_revokes_it(demo: DemoServed) -> None:
    chat, ben = demo.chat("ben", CSV), demo.browser("ben")
    link = _made(demo, "ben", CSV)
    for _ in range(2):
        assert _outside(link).status_code == 200
    page = ben.get(f"/chats/{chat}/audience").text
    assert 'data-label="Opened">2<' in page
    assert link not in page, "it is shown once"
    number = page.partition("/links/")[2].partition("/")[0]
    number = re.findall(r'action="/links/(\d+)/revoke"', page)[0]
    assert demo.browser("ada").submit(f"/links/{number}/revoke").status_code == 404
    assert _outside(link).status_code == 200
    ben.submit(f"/links/{number}/revoke")
    gone = _outside(link)
    assert gone.status_code == 404
    assert gone.text == _outside(f"{link.partition('bsu_')[0]}bsu_guessed").text
    assert "<style>" in gone.text, "at such an address nothing can be loaded"
    assert "/static/" not in gone.text
    assert "<nav" not in gone.text
    assert "link.revoke" in demo.browser("ada").get("/audit").text


def test_a_link_ends_by_itself_and_with_its_owner(demo: DemoServed) -> None:
    link, other = _made(demo, "liz", "1315437a"), _made(demo, "liz", "1315437a")
    database = demo.served.context.database
    with database.transaction() as connection:
        connection.execute(
            "update share_link set expires = now() - interval '1 s' where id = (select max(id) - 1 from share_link)"
        )
    assert _outside(link).status_code == 404
    assert _outside(other).status_code == 200
    with database.transaction() as connection:
        connection.execute("update person set disabled = now() where handle = 'liz'")
    try:
        assert _outside(other).status_code == 404
    finally:
        with database.transaction() as connection:
            connection.execute("update person set disabled = null where handle = 'liz'")


@pytest.mark.parametrize("days", ["0", "91", "-1", "", "many", "99999"])
def test_a_link_without_an_end_is_not_made(demo: DemoServed, days: str) -> None:
    answer = demo.browser("ada").submit(f"/chats/{demo.chat('ada', FLAKY)}/links", days=days)
    assert answer.status_code == 400
    assert "1 to 90 days" in answer.text


def test_no_one_makes_a_link_to_a_chat_of_another(demo: DemoServed) -> None:
    assert demo.browser("ben").submit(f"/chats/{demo.chat('ada', FLAKY)}/links", days="7").status_code == 404
    assert demo.browser("liz").submit(f"/chats/{demo.chat('ben', CSV)}/links", days="7").status_code == 404
    with demo.served.context.database.transaction() as connection, pytest.raises(UsageError):
        new_link(connection, demo.person("ada"), "x", "x", 0)


def test_secrets_and_addresses_are_masked_although_they_left_the_machine(demo: DemoServed, tmp_path: Path) -> None:
    context = demo.served.context
    with context.database.transaction() as connection:
        name = new_device(connection, demo.person("ada"), "open").device
    device = Device(tmp_path, name, signs=False)  # which sends everything as it is
    said = f"the token is {TOKEN} and I am grace@example.org, marzipan"
    row = {
        "type": "user",
        "uuid": "u7",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "sessionId": SESSION.format(7)[-42:-6],
        "message": {"role": "user", "content": said},
    }
    device.write(SESSION.format(7), json.dumps(row).encode() + b"\n")
    device.keep()
    device.push(context.objects)
    take(Libraries(demo.folder / "server", context.database), context.objects, name)
    ada = demo.browser("ada")
    (found,) = ada.get("/api/v1/search?q=owner:me+marzipan").json()["chats"]
    assert TOKEN in ada.get(f"/chats/{found['id']}").text, "its owner reads it as it is"
    link = _made(demo, "ada", found["id"][:13])
    text = _outside(link).text
    assert "marzipan" in text
    assert TOKEN not in text
    assert "grace@example.org" not in text
