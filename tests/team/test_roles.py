"""The role of a person is changed: by whom, to what, from when on; and an owner is always left."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from backscroll.errors import BackscrollError, UsageError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.team.keeping.erasures import ask_erasure
from backscroll.team.people.accounts import ROLES, Person, disable, person_of
from backscroll.team.people.invitations import invite, invite_again
from backscroll.team.people.roles import change_role
from tests.support.postgres import fresh_database
from tests.team.sending import invited, machine_of, owner_of_server
from tests.team.served import PASSWORD, Served, serving

if TYPE_CHECKING:
    from backscroll.team.database.connections import Connection


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("server"), works=False) as found:
        owner_of_server(found)
        yield found


def _role(served: Served, handle: str) -> str:
    return _person(served, handle).role


def _person(served: Served, handle: str) -> Person:
    with served.context.database.transaction() as connection:
        return person_of(connection, 1, handle)


def demote(connection: "Connection", by: Person, handle: str) -> None:
    change_role(connection, by, handle, "member")


def erase(connection: "Connection", by: Person, handle: str) -> None:
    ask_erasure(connection, by, handle, by.org)


def test_it_counts_from_the_next_request_on_and_the_person_sees_it(served: Served) -> None:
    invited(served, "ada")
    admin, ada = served.signed_in("admin"), served.signed_in("ada")
    assert ada.get("/jobs").status_code == 404
    assert admin.submit("/people/ada/role", role="admin").url.path == "/people"
    assert "Your role is admin." in ada.get("/account").text
    assert ada.get("/jobs").status_code == 200
    key = ada.submit("/account/keys", name="prometheus", scope="metrics").text.partition("bsk_")[2].partition("<")[0]
    program = served.browser()
    program.headers["authorization"] = f"Bearer bsk_{key}"
    assert program.get("/metrics").status_code == 200

    admin.submit("/people/ada/role", role="auditor")
    assert "Your role is auditor." in ada.get("/account").text
    assert [ada.get(path).status_code for path in ("/jobs", "/audit")] == [404, 200]
    assert program.get("/metrics").status_code == 401, "a key does no more than its person may"
    audit = admin.get("/audit").text
    assert "person.role" in audit
    assert "member → admin" in audit
    assert "admin → auditor" in audit
    admin.submit("/people/ada/role", role="auditor")
    assert admin.get("/audit").text.count("person.role") == audit.count("person.role"), "nothing changed"


def test_only_owners_make_and_unmake_owners(served: Served) -> None:
    invited(served, "ann", role="admin")
    invited(served, "bob", "liz")
    owner, ann = served.signed_in("admin"), served.signed_in("ann")
    for role in ("auditor", "service", "admin", "member"):
        assert ann.submit("/people/bob/role", role=role).status_code == 200
        assert _role(served, "bob") == role
    for handle, role in (("bob", "owner"), ("ann", "owner"), ("admin", "member"), ("bob", "king"), ("bob", "")):
        answer = ann.submit(f"/people/{handle}/role", role=role)
        assert answer.status_code == 400, (handle, role)
    assert [_role(served, handle) for handle in ("bob", "ann", "admin")] == ["member", "admin", "owner"]
    page = ann.get("/people").text
    assert 'value="owner"' not in page
    assert 'action="/people/admin/role"' not in page
    for handle in ("bob", "liz"):
        assert served.signed_in("bob").submit(f"/people/{handle}/role", role="admin").status_code == 404

    assert owner.submit("/people/bob/role", role="owner").status_code == 200
    assert owner.submit("/people/bob/role", role="member").status_code == 200
    assert _role(served, "bob") == "member"
    assert ann.submit("/people/ann/role", role="member").status_code == 200
    assert _role(served, "ann") == "member"


def test_an_administrator_revokes_no_machine_of_an_owner(served: Served, tmp_path: Path) -> None:
    invited(served, "ann", role="admin")
    owner = owner_of_server(served)
    (liz,) = invited(served, "liz")
    own, others = (machine_of(served, person, tmp_path) for person in (owner, liz))
    ann = served.signed_in("ann")
    for machine, status in ((own, 404), (others, 200)):
        with served.context.database.transaction() as connection:
            row = connection.execute("select id from device where name = %s", (machine.device.name,)).fetchone()
        assert row
        assert ann.submit(f"/devices/{row[0]}/revoke").status_code == status
    assert own.remote.rules() is not None  # type: ignore[attr-defined]


def test_an_owner_is_always_left(served: Served) -> None:
    invited(served, "ada", role="owner")
    owner = served.signed_in("admin")
    with served.context.database.transaction() as connection:
        invite(connection, person_of(connection, 1, "admin"), "new", "New", "owner")
    owner.submit("/people/ada/disable")
    for role in set(ROLES) - {"owner"}:  # Ada is disabled, and who was invited has not joined
        refused = owner.submit("/people/admin/role", role=role)
        assert refused.status_code == 400
        assert "the only owner" in refused.text
    assert 'action="/people/admin/role"' not in owner.get("/people").text
    owner.submit("/people/ada/disable", undo="1")
    assert owner.submit("/people/admin/role", role="member").url.path == "/people"
    assert _role(served, "admin") == "member"
    assert served.signed_in("ada").submit("/people/ada/role", role="admin").status_code == 400


def test_a_link_that_an_administrator_has_never_lets_them_in_as_an_owner(served: Served) -> None:
    (ann,) = invited(served, "ann", role="admin")
    invited(served, "bob")
    owner = served.signed_in("admin")
    with served.context.database.transaction() as connection:
        known, new = invite_again(connection, ann, "bob"), invite(connection, ann, "eva", "Eva", "member")
    assert owner.submit("/people/bob/role", role="owner").status_code == 200
    assert "has been used already, or has expired" in served.browser().get(f"/welcome?link={known}").text
    refused = owner.submit("/people/eva/role", role="owner")
    assert refused.status_code == 400
    assert "eva has not joined yet" in refused.text
    served.browser().submit("/welcome", link=new, password=PASSWORD)
    assert owner.submit("/people/eva/role", role="owner").status_code == 200


def test_nobody_acts_on_a_right_that_was_taken_meanwhile(served: Served) -> None:
    ada, bob = invited(served, "ada", "bob", role="owner")
    database = served.context.database
    with database.transaction() as connection:
        change_role(connection, ada, "bob", "member")
    for act in (demote, disable, erase):
        with database.transaction() as connection, pytest.raises(UsageError, match="no longer an administrator"):
            act(connection, bob, "ada")


@pytest.mark.parametrize("ouster", [demote, disable])
def test_two_owners_who_oust_each_other_at_once_leave_one(served: Served, ouster: Callable[..., None]) -> None:
    owners = {handle: person for handle in ("ada", "bob") for person in invited(served, handle, role="owner")}
    database = served.context.database
    with database.transaction() as connection:
        change_role(connection, owners["ada"], "admin", "member")
    both, outcomes = threading.Barrier(2), []

    def oust(by: str, other: str) -> None:
        try:
            with database.transaction() as connection:
                both.wait(30)
                ouster(connection, owners[by], other)
            outcomes.append("done")
        except BackscrollError:
            outcomes.append("refused")

    threads = [threading.Thread(target=oust, args=pair) for pair in (("ada", "bob"), ("bob", "ada"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == ["done", "refused"]
    left = [_person(served, handle) for handle in owners]
    assert len([one for one in left if one.role == "owner" and not one.disabled]) == 1
