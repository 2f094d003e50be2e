"""An administrator gives the organisation its name."""

import html
from collections.abc import Iterator

import pytest

from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.connecting import ask_to_connect, wait_to_connect
from backscroll.team.people.accounts import new_org
from tests.support.postgres import fresh_database
from tests.team.sending import invited, owner_of_server
from tests.team.served import Served, serving


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("server"), works=False) as found:
        owner_of_server(found)
        invited(found, "ada", role="admin")
        invited(found, "ben")
        yield found


def _name(served: Served) -> str:
    with served.context.database.transaction() as connection:
        (name,) = connection.execute("select name from org where id = 1").fetchone() or ("",)
    return str(name)


def test_a_name_is_shown_to_everyone_told_to_machines_and_noted_in_the_audit_log(served: Served) -> None:
    owner, ada, ben = (served.signed_in(handle) for handle in ("admin", "ada", "ben"))
    assert 'value="Team"' in ada.get("/people").text
    name = "Zoë & Söhne <Bau> 東京"
    assert ada.submit("/organisation", name=f"  {name} ").url.path == "/people"
    assert f'value="{html.escape(name)}"' in ada.get("/people").text
    page = ben.get("/people").text
    assert f"{html.escape(name, quote=False)}: everyone on this server" in page
    assert 'action="/organisation"' not in page
    assert f'title="Ben, {html.escape(name)}"' in page
    asked = ask_to_connect(served.url, "laptop")
    ben.submit("/connect", code=asked.code, answer="yes")
    assert wait_to_connect(served.url, asked).org == name
    told = html.unescape(owner.get("/audit").text)
    assert "org.rename" in told
    assert f"Team → {name}" in told
    assert "The hash chain is intact" in told
    ada.submit("/organisation", name=name)  # no change, no event
    assert owner.get("/audit").text.count("org.rename") == 1


@pytest.mark.parametrize("name", ["", "  ", "a" * 101, "Ac\nme", "Ac\0me", "Ac\x1b[31mme", "Ac\u202eme", "Other"])
def test_what_is_not_a_name_is_refused_with_the_next_step(served: Served, name: str) -> None:
    with served.context.database.transaction() as connection:
        if connection.execute("select 1 from org where name = 'Other'").fetchone() is None:
            new_org(connection, "Other")
    before = _name(served)
    answer = served.signed_in("admin").submit("/organisation", name=name)
    assert answer.status_code == 400
    assert "choose another name" in answer.text or "1 to 100 characters" in answer.text
    assert _name(served) == before


def test_only_administrators_rename_it(served: Served) -> None:
    before = _name(served)
    assert served.signed_in("ben").submit("/organisation", name="Mine").status_code == 404
    assert _name(served) == before
