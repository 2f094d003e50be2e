"""Quotas and rates by person and organisation: clear answers, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from backscroll.errors import BackscrollError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import folder_of
from backscroll.team.people import limits, rates
from backscroll.team.people.accounts import Person
from backscroll.team.people.limits import Allowance, Limits, parsed_limit
from backscroll.team.people.sessions import KeyUse, new_key
from tests.support.homes import session_path
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.sync.test_remotes import bundle
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Served, serving

SAID = "@ cwd=/home/dev/shop\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads every line twice"
MORE = "@ cwd=/home/dev/zoo\nc <- - user: feed the zyxquokka\nd <- c assistant(m2): with zyxmarzipan"


@pytest.fixture
def served(postgres: EmbeddedPostgres, tmp_path: Path) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as found:
        yield found


def _limit(served: Served, **numbers: int) -> None:
    told = Limits(**numbers)
    with served.context.database.transaction() as connection:
        connection.execute(
            "insert into org_limits values (1, %s, %s, %s, %s) on conflict (org) do update set"
            " person_bytes = excluded.person_bytes, org_bytes = excluded.org_bytes",
            told,
        )


def _stored(served: Served, machine: Machine) -> int:
    """What the objects of a machine unpack to, or take, if that is more."""
    objects = served.context.objects
    listed = list(objects.list(folder_of(machine.device.name)))
    indexes = [found.index for one in listed for found in read_bundles(objects.get(one.name))]
    entries = [entry for index in indexes for entry in index.entries]
    return max(sum(entry.length for entry in entries if entry.file), sum(one.size for one in listed))


@pytest.mark.parametrize("whose", ["person", "org"])
def test_without_room_nothing_is_lost_and_forgetting_makes_room(served: Served, tmp_path: Path, whose: str) -> None:
    ada, ben = invited(served, "ada", "ben")
    first, second = (machine_of(served, person, tmp_path / "machines") for person in (ada, ben))
    first.push(a=SAID)
    second.push(a=SAID)
    sizes = [_stored(served, machine) for machine in (first, second)]
    limit = sizes[0] + 10 if whose == "person" else sum(sizes) + 10
    _limit(served, **{f"{whose}_bytes": limit})
    with pytest.raises(BackscrollError, match="is used up"):
        first.push(b=MORE)
    browser = served.signed_in("ada")
    until(lambda: len(browser.get("/api/v1/chats").json().get("chats", [])) == 1)
    headers = {"authorization": f"Bearer {first.secret}"}
    name = f"{folder_of('ada/laptop')}000001-00000000/0000000099-0000000099.1"
    address = f"{served.url}/sync/v1/objects/{quote(name)}"
    data = bundle("x" * 40, number=99, device="ada/laptop", machine="ada/laptop")
    answer = httpx.put(address, content=data, headers=headers, trust_env=False)
    assert answer.status_code == 507, answer.text
    assert int(answer.headers["retry-after"]) > 0

    first.device.delete(session_path("a"))
    first.device.forget(session_path("a"))
    with pytest.raises(BackscrollError, match="is used up"):  # first what is forgotten goes, then comes what is new
        first.device.push(first.remote)
    until(lambda: _counted(served, "ada/laptop") == _stored(served, first))
    _limit(served, person_bytes=10**9)
    first.push()
    until(lambda: _counted(served, "ada/laptop") == _stored(served, first))
    assert first.device.verify(first.remote, deep=True).is_whole


def _counted(served: Served, device: str) -> int:
    with served.context.database.transaction() as connection:
        row = connection.execute("select stored_bytes from device where name = %s", (device,)).fetchone()
    return int(row[0]) if row else 0


def test_a_quota_of_its_own_counts_for_a_person(served: Served, tmp_path: Path) -> None:
    (ada,) = invited(served, "ada")
    machine = machine_of(served, ada, tmp_path / "machines")
    admin = served.signed_in("admin")
    admin.submit("/storage/limits", person_bytes="0.0000001")
    with pytest.raises(BackscrollError, match="the quota of ada is used up"):
        machine.push(a=SAID)
    admin.submit("/storage/quota", handle="ada", bytes="1,5")
    machine.push(a=SAID)
    page = admin.get("/storage").text
    assert "1.5 GB, 0 % used" in page
    assert admin.submit("/storage/limits", org_rate="fast").status_code == 400


@pytest.mark.parametrize(("text", "found"), [("", None), ("1,5", 1_500_000), (" 20 ", 20_000_000)])
def test_numbers_as_people_type_them(text: str, found: int | None) -> None:
    assert parsed_limit(text, 1_000_000) == found


def test_bytes_are_counted_by_device_person_and_organisation(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "DEVICE_RATE", 1_000_000)
    ada, ben = (Allowance(f"{name}/laptop", person=name, org="org 1", person_rate=2_000_000, org_rate=10**7)
                for name in ("ada", "ben"))  # fmt: skip

    def refused(allowed: Allowance, size: int) -> str:
        try:
            with served.context.database.transaction() as connection:
                rates.count(connection, allowed.uses(size))
        except rates.TooMuchError as error:
            assert error.seconds > 0
            return error.message.partition(" has")[0]
        return ""

    assert refused(ada, 10**8) == ""  # what is sent at once may be more than the credit
    assert refused(ada, 1) == "this device"
    assert refused(ada._replace(device="ada/desktop"), 40_000_000) == ""
    assert refused(ada._replace(device="ada/third"), 1) == "ada"
    assert refused(ben, 10**9) == ""
    assert refused(ben._replace(device="zoe/laptop", person="zoe"), 1) == "your organisation"


def test_requests_are_counted_by_key_person_and_organisation(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "PER_MINUTE", 6)
    monkeypatch.setattr(rates, "PERSON_PER_MINUTE", 10)
    monkeypatch.setattr(rates, "ORG_PER_MINUTE", 14)
    ada, ben, zoe = invited(served, "ada", "ben", "zoe")
    with served.context.database.transaction() as connection:  # in which it is one moment

        def refused(key: int, person: Person) -> str:
            try:
                with connection.transaction():
                    rates.count_request(connection, KeyUse(key, person, frozenset()))
            except rates.TooMuchError as error:
                assert error.seconds > 0
                return error.message
            return ""

        assert [refused(1, ada) for _ in range(3)] == [""] * 3
        assert refused(1, ada) == "too many requests of this key"
        assert [refused(2, ada), refused(3, ada)] == [""] * 2
        assert refused(4, ada) == "too many requests of all your keys together"
        assert [refused(5, ben), refused(6, zoe)] == [""] * 2
        assert refused(7, zoe) == "too many requests of your organisation"
        connection.execute("update request_rate set until = until - interval '10 seconds'")
        assert refused(1, ada) == ""
        assert refused(1, ada) == "too many requests of this key"


def test_requests_are_counted_by_all_web_processes_together(served: Served, tmp_path: Path) -> None:
    (ada,) = invited(served, "ada")
    database = served.context.database
    with database.transaction() as connection:
        headers = {"authorization": f"Bearer {new_key(connection, ada, 'busy', ['read'])}"}
    with (
        serving(database.address, tmp_path / "second", works=False) as second,
        httpx.Client(headers=headers, trust_env=False, timeout=60) as client,
    ):
        addresses = [f"{one.url}/api/v1/nothing" for one in (served, second)]
        assert client.get(addresses[0]).status_code == 404
        with database.transaction() as connection:
            connection.execute("update request_rate set until = now() + interval '1 hour' where name like 'key %'")
        for address in addresses:
            answer = client.get(address)
            assert (answer.status_code, int(answer.headers["retry-after"]) > 3000) == (429, True)
            assert "this key" in answer.text


def test_a_person_who_sends_too_much_waits(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ada,) = invited(served, "ada")
    machine = machine_of(served, ada, tmp_path / "machines")
    with served.context.database.transaction() as connection:
        connection.execute("insert into org_limits (org, person_rate) values (1, 1)")
    waited: list[float] = []
    monkeypatch.setattr(machine.remote, "_sleep", waited.append)
    machine.push(a=SAID)  # the credit of 64 seconds is overdrawn once
    with pytest.raises(BackscrollError, match="ada has sent too much"):
        machine.push(b=MORE)
