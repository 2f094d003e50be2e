"""Limits that the server keeps in the database: over all processes, and in a way that shuts no one out."""

import hashlib
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from backscroll.errors import Busy
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync.bundles import read_bundles
from backscroll.sync.objects import folder_of
from backscroll.team.arrival.devices import MAX_OF_ADDRESS, collect, request_access
from backscroll.team.arrival.line_limits import CROWDED, LineLimits, Values
from backscroll.team.database.connections import Database
from backscroll.team.database.jobs import Leases, enqueue, next_job
from backscroll.team.people import secrets as team_secrets
from backscroll.team.people.client_address import CountedAddress, counted_address, networks_of
from backscroll.team.people.failed_sign_ins import TRIES, TRIES_THROUGH, FailedSignIns, know_browser
from backscroll.team.people.rates import TooMuchError
from backscroll.team.people.secrets import hash_password, is_outdated, is_password
from tests.support.homes import session_path
from tests.support.postgres import fresh_database, running_postgres
from tests.support.processes import until
from tests.team.sending import invited, machine_of
from tests.team.served import PASSWORD, Served, serving

USUAL_WORK = {name: getattr(team_secrets, name) for name in ("ITERATIONS", "MEMORY_KIB")}

SAID = "@ cwd=/home/dev/shop\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads every line twice"
ONE, OTHER = CountedAddress("203.0.113.7"), CountedAddress("198.51.100.1")


@pytest.fixture(scope="module")
def served(postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with fresh_database(postgres) as url, serving(url, tmp_path_factory.mktemp("limits"), works=False) as found:
        invited(found, "ada")
        yield found


def _fails(database: Database, handle: str, counted: CountedAddress, browser: str = "") -> bool:
    """One failed attempt; whether it was refused before it was tried."""
    with database.transaction() as connection:
        guesses = FailedSignIns(connection, handle, counted, browser)
        try:
            guesses.check()
        except TooMuchError:
            return True
        guesses.note_failure()
    return False


def test_guesses_are_refused_by_handle_and_address_and_not_elsewhere(served: Served) -> None:
    database = served.context.database
    assert [_fails(database, "Ben ", ONE) for _ in range(TRIES + 2)] == [False] * TRIES + [True] * 2
    other_process = Database(database.address)
    assert _fails(other_process, "ben", ONE)
    other_process.close()
    assert not _fails(database, "ben", OTHER)
    assert not _fails(database, "zoe", ONE)


def test_many_failures_at_one_address_leave_fewer_tries_and_never_none(served: Served) -> None:
    database = served.context.database
    crowd = CountedAddress("203.0.113.99")
    for number in range(210):
        assert not _fails(database, f"crowd{number}", crowd)
    assert [_fails(database, "new", crowd) for _ in range(3)] == [False, False, True]


def test_a_browser_that_signed_in_before_is_not_shut_out(served: Served) -> None:
    database = served.context.database
    with database.transaction() as connection:
        row = connection.execute("select id from person where handle = 'ada'").fetchone()
        assert row
        browser = know_browser(connection, row[0], "")
        assert know_browser(connection, row[0], browser) == browser
    while not _fails(database, "ada", ONE):
        pass
    assert not _fails(database, "ada", ONE, browser)
    assert _fails(database, "ada", ONE, secrets.token_urlsafe(32)), "a made-up cookie is not known"
    assert [_fails(database, "ada", ONE, browser) for _ in range(TRIES)] == [False] * (TRIES - 1) + [True]


def test_what_an_untrusted_proxy_says_tells_people_apart_and_is_not_believed_for_long(served: Served) -> None:
    database, trusted = served.context.database, networks_of(["10.0.0.0/8"])
    assert counted_address("10.1.2.3", ["203.0.113.7"], trusted) == ONE
    made_up = [counted_address("192.0.2.1", [f"1.1.1.1, 203.0.113.{n}"], trusted) for n in range(TRIES_THROUGH + 1)]
    assert made_up[5] == CountedAddress("192.0.2.1 203.0.113.5", "192.0.2.1")
    refused = [_fails(database, "through", counted) for counted in made_up]
    assert refused == [False] * TRIES_THROUGH + [True]
    assert not _fails(database, "else", made_up[0])
    assert counted_address("2001:db8::1", [], ()) == counted_address("2001:db8::ffff", [], ())


def test_machines_of_one_address_leave_room_for_others(served: Served) -> None:
    database = served.context.database
    with database.transaction() as connection:
        waiting = [request_access(connection, "m", "203.0.113.7") for _ in range(MAX_OF_ADDRESS)]
        with pytest.raises(TooMuchError):
            request_access(connection, "m", "203.0.113.7")
        request_access(connection, "m", "198.51.100.1")
        connection.execute("update device_request set polled = polled - interval '1 minute'")
        assert collect(connection, waiting[0].secret) is None  # it still asks
        request_access(connection, "m", "203.0.113.7")
        asking = {row[0] for row in connection.execute("select code from device_request")}
        assert waiting[0].code in asking
        assert len(asking & {one.code for one in waiting}) == MAX_OF_ADDRESS - 1


def test_the_lease_of_a_job_is_renewed_while_it_runs(served: Served) -> None:
    database = served.context.database
    leases, stop = Leases(database, seconds=0.3), threading.Event()
    keeping = threading.Thread(target=leases.keep, args=(stop,))
    keeping.start()
    with database.transaction() as connection:
        connection.execute("delete from job")
        enqueue(connection, "test", "long")

    def due() -> object:
        with database.connection() as connection:
            row = connection.execute("select due from job where kind = 'test'").fetchone()
        return row and row[0]

    try:
        with next_job(database, leases) as job:
            assert job
            for _ in range(4):  # each time the lease would have ended, and is renewed
                before = due()
                until(lambda before=before: due() != before)  # type: ignore[misc]
                with next_job(database, leases) as other:
                    assert other is None
            with database.transaction() as connection:
                enqueue(connection, "test", "long")  # what is wanted meanwhile is due at once
            leases.renew()
            with database.connection() as connection:
                row = connection.execute("select due <= now() from job where kind = 'test'").fetchone()
            assert row == (True,)
    finally:
        stop.set()
        keeping.join()


def test_a_replay_adds_nothing_to_what_was_ever_sent(served: Served, tmp_path: Path) -> None:
    (ben,) = invited(served, "ben")
    machine = machine_of(served, ben, tmp_path)
    machine.push(a=SAID)

    def sent() -> object:
        with served.context.database.connection() as connection:
            return connection.execute(
                "select sent_bytes, stored_bytes from device where name = 'ben/laptop'"
            ).fetchone()

    before = sent()
    (one,) = served.context.objects.list(folder_of("ben/laptop"))
    data = served.context.objects.get(one.name)
    entries = [entry for bundle in read_bundles(data) for entry in bundle.index.entries]
    assert before == (len(data), max(len(data), sum(entry.length for entry in entries)))
    assert machine.remote.put(one.name, data)
    assert sent() == before


def test_passwords_are_in_the_standard_encoding_and_older_ones_are_hashed_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from argon2.low_level import Type, hash_secret_raw

    for name, number in USUAL_WORK.items():
        monkeypatch.setattr(team_secrets, name, number)

    salt = secrets.token_bytes(16)
    key = hash_secret_raw(PASSWORD.encode(), salt, 2, 19 * 1024, 1, 32, Type.ID)
    old = f"argon2id$2$1${19 * 1024}${salt.hex()}${key.hex()}"
    assert is_password(PASSWORD, old)
    assert not is_password("another password", old)
    assert is_outdated(old)
    (zoe,) = invited(served, "zoe")
    with served.context.database.transaction() as connection:
        connection.execute("update person set password = %s where id = %s", (old, zoe.id))
    served.signed_in("zoe")
    with served.context.database.transaction() as connection:
        row = connection.execute("select password from person where id = %s", (zoe.id,)).fetchone()
    assert row
    assert row[0].startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert is_password(PASSWORD, row[0])
    assert not is_outdated(hash_password(PASSWORD))
    assert not is_password(PASSWORD, None)
    served.signed_in("zoe")


def test_no_statement_of_a_request_runs_for_long(postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backscroll.store.postgres.pool.STATEMENT_SECONDS", 1)
    with fresh_database(postgres) as url:
        limited = Database(url).limited()
        with pytest.raises(Busy), limited.transaction() as connection:
            connection.execute("select pg_sleep(60)")
        with limited.connection() as connection:
            assert connection.execute("show idle_in_transaction_session_timeout").fetchone() == ("2min",)
        limited.close()


def test_a_connection_that_does_not_come_free_is_busy(
    postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backscroll.store.postgres.pool.MAX_LENT", 2)
    monkeypatch.setattr("backscroll.store.postgres.pool.WAIT_SECONDS", 0.2)
    with fresh_database(postgres) as url:
        database = Database(url)
        with database.connection(), database.connection(), pytest.raises(Busy), database.connection():
            pass
        with database.transaction() as connection:
            number = connection.info.backend_pid
        with psycopg.connect(url, autocommit=True) as other:
            other.execute("select pg_terminate_backend(%s, 5000)", (number,))
        with database.transaction() as connection:  # one that broke while it was idle is replaced
            assert connection.execute("select 1").fetchone() == (1,)
        database.close()


@pytest.mark.slow
@pytest.mark.all
def test_a_database_that_is_away_is_told_without_its_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backscroll.store.postgres.pool.WAIT_SECONDS", 0.5)
    with running_postgres() as postgres, serving(postgres.url(), tmp_path / "server", works=False) as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        headers = {"authorization": f"Bearer {machine.secret}"}
        postgres.stop()
        answer = httpx.get(f"{served.url}/sync/v1/objects", headers=headers, trust_env=False, timeout=60)
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) > 0
        assert "socket" not in answer.text
        assert "busy or away" in answer.text
        postgres.start()
        until(lambda: list(machine.remote.list()) == [])


# What arrives


def test_a_long_line_arrives_as_it_was_sent(served: Served, tmp_path: Path) -> None:
    """Longer than a segment, so that it is taken piece by piece, and again after a crash."""
    from backscroll.library.archives import find_archive
    from backscroll.team.arrival.intake import take
    from backscroll.team.arrival.libraries import Libraries

    (eve,) = invited(served, "eve")
    machine = machine_of(served, eve, tmp_path / "machines")
    text = "".join(hashlib.sha512(str(n).encode()).hexdigest() for n in range(40_000))
    line = b'{"type":"user","uuid":"u1","message":{"role":"user","content":"' + text.encode() + b'"}}\n'
    assert len(line) > 5_000_000
    machine.device.write(session_path("a"), line + line)
    machine.device.keep()
    machine.device.push(machine.remote)
    libraries = Libraries(tmp_path / "server", served.context.database)
    for _ in range(2):
        take(libraries, served.context.objects, "eve/laptop")
        archive = find_archive(libraries.settings("eve"))
        assert archive
        (file,) = archive.files.values()
        assert b"".join(archive.content(file.versions[0])) == line + line
        assert max(chunk.size for chunk in file.versions[0].chunks) < 3_000_000
        (libraries.settings("eve").library / "team.sqlite").unlink()


@pytest.mark.parametrize("text", [b'{"a":[1,2,{"b":"x,[{"}]}', b'"\\\\",[,]"{"', b'"\\"{[,",{', b""])
@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_values_are_counted_outside_of_strings_wherever_a_line_is_cut(text: bytes, cut: int) -> None:
    whole, parts = Values(), Values()
    whole.count(text)
    for at in range(0, len(text), cut):
        parts.count(text[at : at + cut])
    expected = {b'{"a":[1,2,{"b":"x,[{"}]}': 5, b'"\\\\",[,]"{"': 3, b'"\\"{[,",{': 2, b"": 0}
    assert whole.number == parts.number == expected[text]


def test_a_crowded_line_is_withheld_and_nothing_else() -> None:
    crowded = b'{"x":[' + b"{}," * 110_000 + b"{}]}\n"
    data = b'{"a":1}\n' + crowded + b'{"b":"' + b"[{," * 50_000 + b'"}\n'
    limits = LineLimits()
    kept = b"".join(limits.incoming("a.jsonl", len(data), [data]))
    assert len(kept) == len(data)
    lines, before = kept.splitlines(), data.splitlines()
    assert (lines[0], lines[2]) == (before[0], before[2])
    assert lines[1].rstrip() == CROWDED
    assert limits.is_heavy
    assert b"".join(LineLimits().incoming("a.txt", len(data), [data])) == data
