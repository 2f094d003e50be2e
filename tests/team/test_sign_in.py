"""Who is let in: people by link and password, machines by a person, programs by a key."""

from collections.abc import Iterator

import pytest

from backscroll.errors import NothingFound, UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.connecting import ask_to_connect, wait_to_connect
from backscroll.sync.remotes import open_remote
from backscroll.team.people.accounts import Person, person_of
from backscroll.team.people.invitations import accept, first_link, invite
from backscroll.team.people.sessions import new_key
from tests.support.postgres import fresh_database
from tests.team.served import PASSWORD, Browser, Served, member, serving


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("server")) as found:
        assert found.first_link
        link = found.first_link.partition("link=")[2]
        browser = found.browser()
        assert "Welcome, Administrator" in browser.get(found.first_link).text
        assert "12 to 256" in browser.submit("/welcome", link=link, password="short").text
        assert browser.submit("/welcome", link=link, password=PASSWORD).url.path == "/devices"
        yield found


def test_the_first_link_works_once_and_no_other_is_made(served: Served) -> None:
    with served.context.database.transaction() as connection:
        assert first_link(connection) is None
        with pytest.raises(NothingFound):
            accept(connection, "bsi_guessed", PASSWORD)


@pytest.mark.parametrize(
    "path",
    "/ /chats /devices /people /audit /account /shared /api/v1/chats /api/v1/events /metrics /nothing".split(),
)
def test_nothing_is_shown_to_a_stranger(served: Served, path: str) -> None:
    browser = served.browser()
    browser.follow_redirects = False
    for headers in (
        {},
        {"x-forwarded-for": "127.0.0.1"},
        {"x-forwarded-user": "admin"},
        {"authorization": "Bearer bsk_x"},
    ):
        answer = browser.get(path, headers=headers)
        assert answer.status_code == 401 or answer.headers["location"].startswith("/sign-in?next="), headers


def test_there_is_no_registration(served: Served) -> None:
    for path in ("/register", "/sign-up", "/people"):
        assert served.browser().submit(path, handle="eve", name="Eve", role="owner").status_code in (401, 404)


def test_a_wrong_password_lets_nobody_in_and_guessing_ends(served: Served) -> None:
    browser = served.browser()
    for _ in range(10):
        told = browser.submit("/sign-in", handle="guessed", password="x").text
        assert "wrong" in told
        assert 'value="guessed"' in told
    assert browser.submit("/sign-in", handle="guessed", password=PASSWORD).status_code == 503


def test_a_form_of_another_site_changes_nothing(served: Served) -> None:
    browser = _admin(served)
    answer = browser.post(
        "/teams", data={"name": "x"}, headers={"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    )
    assert answer.status_code == 403
    assert browser.get("/people", headers={"host": "evil.example"}).status_code == 421


def test_a_session_ends_when_its_person_signs_out_or_is_disabled(served: Served) -> None:
    admin = _admin(served)
    member(served.context.database, _owner(served), "sue")
    sue = served.signed_in("sue")
    assert "Sue" in sue.get("/account").text
    admin.submit("/people/sue/disable")
    assert sue.get("/account").url.path == "/sign-in"
    admin.submit("/people/sue/disable", undo="1")
    again = served.signed_in("sue")
    kept = dict(again.cookies)
    again.submit("/sign-out")
    again.cookies.update(kept)
    assert again.get("/account").url.path == "/sign-in"
    from_a_page = {"origin": served.url, "sec-fetch-site": "same-origin", "referer": f"{served.url}/account"}
    late = again.post("/account/keys", data={"name": "x"}, headers={**from_a_page, "sec-fetch-dest": "document"})
    assert late.status_code == 401
    assert "nothing was changed" in late.text
    assert 'href="/sign-in?next=%2Faccount"' in late.text


def test_a_member_cannot_do_what_administrators_do(served: Served) -> None:
    member(served.context.database, _owner(served), "max")
    browser = served.signed_in("max")
    for path in ("/people", "/people/admin/invite", "/people/admin/disable", "/teams", "/teams/1"):
        assert browser.submit(path, handle="eve", name="Eve", role="owner").status_code == 404
    assert browser.get("/audit").status_code == 404


def test_an_administrator_cannot_become_an_owner(served: Served) -> None:
    admin = member(served.context.database, _owner(served), "carl", role="admin")
    with served.context.database.transaction() as connection, pytest.raises(UsageError):
        invite(connection, admin, "dora", "Dora", "owner")
    browser = served.signed_in("carl")
    assert browser.submit("/people/admin/invite").status_code == 400
    assert browser.submit("/people/admin/disable").status_code == 400


def test_a_machine_is_let_in_by_a_person_and_out_again(served: Served) -> None:
    browser = _admin(served)
    asked = ask_to_connect(served.url, "laptop")
    assert asked.code in browser.get(asked.address).text

    def approve(_: float) -> None:
        assert browser.submit("/connect", code=asked.code, answer="yes").url.path == "/devices"

    let_in = wait_to_connect(served.url, asked, sleep=approve)
    assert (let_in.device, let_in.org) == ("admin/laptop", "Team")
    remote = open_remote(served.url, let_in.credential)
    assert list(remote.list()) == []
    with pytest.raises(UsageError, match="already answered"):
        wait_to_connect(served.url, asked)
    page = browser.get("/devices").text
    assert "admin/laptop" in page
    assert let_in.credential not in page
    browser.submit("/devices/1/revoke")
    with pytest.raises(UsageError, match="does not accept"):
        list(remote.list())


def test_a_machine_that_is_refused_gets_nothing(served: Served) -> None:
    asked = ask_to_connect(served.url, "strange")
    _admin(served).submit("/connect", code=asked.code, answer="no")
    with pytest.raises(UsageError, match="refused"):
        wait_to_connect(served.url, asked)


def test_a_key_reads_and_does_nothing_else(served: Served) -> None:
    with served.context.database.transaction() as connection:
        secret = new_key(connection, _owner(served), "script", ["read"])
        other = new_key(connection, _owner(served), "prometheus", ["metrics"])
    browser = served.browser()
    browser.headers["authorization"] = f"Bearer {secret}"
    assert browser.get("/api/v1/nothing").status_code == 404
    browser.follow_redirects = False
    for answer in (
        browser.get("/account"),
        browser.get("/metrics"),
        browser.post("/api/v1/chats"),
        browser.post("/sign-out"),
    ):
        assert answer.status_code in (303, 401, 403)
    browser.headers["authorization"] = f"Bearer {other}"
    assert "backscroll_people" in browser.get("/metrics").text
    assert browser.get("/api/v1/chats").status_code == 401
    assert [served.browser().get(path).text for path in ("/healthz", "/readyz")] == ["ok\n", "ready\n"]


def test_what_happened_is_in_the_audit_log(served: Served) -> None:
    page = _admin(served).get("/audit").text
    assert "password.set" in page
    assert "chain is intact" in page
    with served.context.database.transaction() as connection:
        connection.execute("update audit set actor = 'eve' where number = 2")
    assert "broken at event 2" in _admin(served).get("/audit").text


def _owner(served: Served) -> Person:

    with served.context.database.transaction() as connection:
        return person_of(connection, 1, "admin")


def _admin(served: Served) -> Browser:
    return served.signed_in("admin")
