"""What a machine may read on the server is what its pages say; and chats without a time come last in what is merged."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from backscroll.errors import NothingFound
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.remotes import open_remote
from tests.support.drawings import session_uuid
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Served, serving

TIMELESS = "a <- - user -timestamp: feed the zyxquokka\nb <- a assistant(m1) -timestamp: it is fed"
EARLY = "@ time=2026-01-05T10:00:00.000Z\nc <- - user: count the zyxquokka\nd <- c assistant(m2): one"
LATE = "@ time=2026-01-06T10:00:00.000Z\ne <- - user: count the zyxquokka again\nf <- e assistant(m3): two"


@dataclass
class Pair:
    served: Served
    machines: dict[str, Machine]


@pytest.fixture(scope="module")
def pair(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("pair")
    with fresh_database(postgres) as url, serving(url, folder / "server") as served:
        people = invited(served, "ada", "bob")
        machines = {person.handle: machine_of(served, person, folder / "machines") for person in people}
        machines["ada"].push(timeless=TIMELESS, early=EARLY)
        machines["bob"].push(late=LATE)
        ada, bob = served.signed_in("ada"), served.signed_in("bob")
        until(lambda: len(ada.get("/api/v1/chats").json().get("chats", [])) == 2)
        until(lambda: bob.get("/api/v1/chats").json().get("chats"))
        for name in ("timeless", "early"):
            ada.submit(f"/chats/{session_uuid(name)}/audience", audience="org")
        yield Pair(served, machines)


def test_a_machine_reads_what_it_has_sent_and_nothing_else(pair: Pair) -> None:
    remote = pair.machines["ada"].remote
    names = [one.name for one in remote.list()]
    assert names
    assert all(name.startswith("backscroll/1/ada%2Flaptop/") for name in names)
    assert remote.get(names[0])
    others = open_remote(pair.served.url, pair.machines["bob"].secret)
    for name in names:
        with pytest.raises(NothingFound):
            others.get(name)
    told = " ".join(pair.served.signed_in("ada").get("/devices").text.split())
    assert "read and remove what it has sent itself; of everything else it can read nothing" in told


@pytest.mark.parametrize("path", ["/api/v1/chats?q=owner:org", "/api/v1/search?q=zyxquokka+owner:org"])
def test_chats_without_a_time_are_the_last_of_several_libraries(pair: Pair, path: str) -> None:
    names = {session_uuid(name): name for name in ("timeless", "early", "late")}
    bob = pair.served.signed_in("bob")
    orders = {
        sort: [names[chat["id"]] for chat in bob.get(f"{path}&sort={sort}").json()["chats"]]
        for sort in ("oldest", "newest")
    }
    assert orders == {"oldest": ["early", "late", "timeless"], "newest": ["late", "early", "timeless"]}
