"""Disks that are full and an S3 that fails, under the server: nothing is lost, doubled or believed to be stored."""

import hashlib
import itertools
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from backscroll.errors import BackscrollError
from backscroll.store.postgres.embedded import EmbeddedPostgres
from backscroll.sync import buckets
from tests.support.drawings import session_uuid
from tests.support.homes import session_path
from tests.support.postgres import fresh_database
from tests.support.processes import until
from tests.sync.conftest import s3
from tests.sync.proxy import CuttingProxy, Fault, cutting_proxy
from tests.sync.seaweed import KEYS
from tests.team.sending import Machine, invited, machine_of
from tests.team.served import Browser, Served, serving

__all__ = ["s3"]
SAID = "@ cwd=/home/dev/shop\na <- - user: why is the zyxparser slow\nb <- a assistant(m1): it reads every line twice"
MORE = f"{SAID}\nc <- b user: then make the zyxparser read them once\nd <- c assistant(m2): done"
KINDS: tuple[Fault, ...] = ("busy", "torn", "lost answer", "cut", "throttled")
FAULTS: tuple[Fault, ...] = tuple(one for kind in KINDS for one in (kind, None, "slow", None, None, None, None))


@contextmanager
def tiny_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of this size at a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", str(folder)]
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"cannot mount a tmpfs here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def _grow(folder: Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)


def _write_much(machine: Machine, name: str, size: int) -> None:
    """A session of so many bytes that cannot be packed."""
    noise = "".join(hashlib.sha512(f"{name} {n}".encode()).hexdigest() for n in range(size // 64))
    rows = [
        {"type": "user", "uuid": f"{name}{n}", "sessionId": session_uuid(name), "timestamp": "2026-01-05T10:00:00Z",
         "cwd": "/home/dev/shop", "message": {"role": "user", "content": f"zyxbig {noise[n * 5000:n * 5000 + 5000]}"}}
        for n in range(size * 2 // 5000)
    ]  # fmt: skip
    machine.device.write(session_path(name), b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    machine.device.keep()


def _chats(browser: Browser) -> list[tuple[str, int]]:
    found = browser.get("/api/v1/chats").json().get("chats", [])
    return sorted((chat["id"], chat["messages"]) for chat in found)


def _hurry(served: Served) -> None:
    """Have jobs that were put off tried now."""
    with served.context.database.transaction() as connection:
        connection.execute("update job set due = now()")
        connection.execute("notify backscroll_jobs")


def test_a_full_disk_under_the_objects_gives_no_receipt(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    objects = tmp_path / "server" / "objects"
    with tiny_disk(objects, "300k"), fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        waited: list[float] = []
        machine.remote._sleep = waited.append  # type: ignore[attr-defined]
        machine.push(a=SAID)
        _write_much(machine, "big", 800_000)
        with pytest.raises(BackscrollError, match=r"full|space"):
            machine.device.push(machine.remote)
        assert waited, "it waits as long as the server says, and tries again"
        assert not [path for path in objects.rglob("*") if path.name.startswith(".unfinished")]
        browser = served.signed_in("ada")
        until(lambda: len(_chats(browser)) == 1)  # what was there still is
        _grow(objects)
        machine.push()
        until(lambda: len(_chats(browser)) == 2)
        assert machine.device.verify(machine.remote, deep=True).is_whole


def test_a_full_disk_under_the_archives_delays_and_loses_nothing(
    postgres: EmbeddedPostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backscroll.team.operating.worker.LOOK_SECONDS", 0.2)
    people = tmp_path / "server" / "people"
    with tiny_disk(people, "500k"), fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        machine.push(a=SAID)
        browser = served.signed_in("ada")
        until(lambda: len(_chats(browser)) == 1)
        _write_much(machine, "big", 2_000_000)
        machine.device.push(machine.remote)  # the objects are on another disk: it is stored
        assert machine.device.verify(machine.remote, deep=True).is_whole

        def has_failed() -> bool:
            with served.context.database.transaction() as connection:
                row = connection.execute("select problem from job where kind = 'pull'").fetchone()
            return row is not None and "DiskFull" in row[0]

        until(has_failed, lambda: _hurry(served))
        assert len(_chats(browser)) >= 1
        assert "zyxparser" in browser.get(f"/chats/{session_uuid('a')}").text
        assert "DiskFull" in served.signed_in("admin").get("/jobs").text
        _grow(people)
        until(lambda: len(_chats(browser)) == 2, lambda: _hurry(served))
        machine.push(a=MORE)
        until(lambda: dict(_chats(browser))[session_uuid("a")] == 4, lambda: _hurry(served))
        assert machine.device.verify(machine.remote, deep=True).is_whole


@contextmanager
def _on_s3(
    postgres: EmbeddedPostgres, s3: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Served, CuttingProxy]]:
    monkeypatch.setattr(buckets, "TRIES", 0)
    monkeypatch.setattr(buckets, "WAITS", ())
    monkeypatch.setattr("backscroll.team.operating.worker.LOOK_SECONDS", 0.2)
    with cutting_proxy(s3) as (address, proxy):
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address}.items():
            monkeypatch.setenv(name, value)
        where = f"s3://bucket/team-{folder.parent.name}-{folder.name}"
        with fresh_database(postgres) as url, serving(url, folder / "server", objects=where) as served:
            yield served, proxy


@pytest.mark.all
def test_an_s3_that_tears_slows_and_refuses_loses_and_doubles_nothing(
    postgres: EmbeddedPostgres, s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests of the web process, for pushes, and of the worker, for pulls, fail in turn."""
    with _on_s3(postgres, s3, tmp_path, monkeypatch) as (served, proxy):
        ada, ben = invited(served, "ada", "ben")
        steady = machine_of(served, ben, tmp_path / "machines")
        for drawing in (SAID, MORE):
            steady.push(a=drawing)
        quiet = served.signed_in("ben")
        until(lambda: _chats(quiet) == [(session_uuid("a"), 4)], lambda: _hurry(served))

        machine = machine_of(served, ada, tmp_path / "machines")
        machine.remote._sleep = lambda _: None  # type: ignore[attr-defined]
        turn = itertools.cycle(FAULTS)
        proxy.fault_of = lambda _: next(turn)
        for drawing in (SAID, MORE):
            _push_until_stored(machine, drawing)
        browser = served.signed_in("ada")
        until(lambda: _chats(browser) == _chats(quiet), lambda: _hurry(served))
        proxy.fault_of = lambda _: None
        assert _usage(browser) == _usage(quiet)
        assert machine.device.verify(machine.remote, deep=True).is_whole
        assert steady.device.verify(steady.remote, deep=True).is_whole
        until(lambda: _has_no_jobs(served), lambda: _hurry(served))
        assert _chats(browser) == [(session_uuid("a"), 4)]


def _push_until_stored(machine: Machine, drawing: str) -> None:
    for _ in range(40):
        with suppress(BackscrollError, httpx.HTTPError):
            machine.push(a=drawing)
            return
    raise AssertionError("it was never stored")


def _usage(browser: Browser) -> object:
    return browser.get("/api/v1/stats/usage?by=model").json()


def _has_no_jobs(served: Served) -> bool:
    with served.context.database.transaction() as connection:
        return connection.execute("select count(*) from job").fetchone() == (0,)


# What fits into no key of a tree


def _noise(name: str, length: int = 6000) -> str:
    """Text that cannot be packed into a key."""
    return "".join(hashlib.sha512(f"{name} {n}".encode()).hexdigest() for n in range(length // 128 + 1))[:length]


def test_ids_and_words_that_fit_into_no_key_stop_no_machine(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        machine = machine_of(served, ada, tmp_path / "machines")
        browser = served.signed_in("ada")
        fields = ("uuid", "parentUuid", "sessionId", "requestId", "version", "gitBranch", "agentId", "cwd", "leafUuid")
        for number, name in enumerate((*fields, "id", "model", "call", "word", "speed")):
            _write_hostile(machine, f"s{number}", name)
        machine.push(a=SAID)
        until(lambda: _has_no_jobs(served) and session_uuid("a") in dict(_chats(browser)), lambda: _hurry(served))
        assert len(_chats(browser)) == len(fields) + 6
        assert browser.get("/api/v1/search?q=zyxhostile").json()["total"] >= len(fields) + 5
        assert machine.device.verify(machine.remote, deep=True).is_whole
        machine.push(a=MORE)
        until(lambda: dict(_chats(browser))[session_uuid("a")] == 4, lambda: _hurry(served))


def _write_hostile(machine: Machine, session: str, field: str) -> None:
    long = _noise(field)
    call = {"type": "tool_use", "id": long if field == "call" else f"t{session}", "name": "Bash", "input": {}}
    said = f"zyxhostile {long if field == 'word' else ''}"
    usage = {"input_tokens": 3, "output_tokens": 4, "speed": long if field == "speed" else "standard"}
    common: dict[str, object] = {
        "sessionId": session_uuid(session), "timestamp": "2026-01-05T10:00:00Z", "cwd": "/home/dev/shop",
        "version": "2.1.0", "gitBranch": "main",
    }  # fmt: skip
    message = {"role": "assistant", "id": f"m{session}", "model": "claude-opus-4-1", "usage": usage, "content": [call]}
    message |= {name: long for name in ("id", "model") if name == field}
    rows: list[dict[str, object]] = [
        {**common, "type": "user", "uuid": f"u{session}", "message": {"role": "user", "content": said}},
        {**common, "type": "assistant", "uuid": f"v{session}", "parentUuid": f"u{session}", "message": message},
        {"type": "summary", "summary": "a summary", "leafUuid": f"v{session}"},
    ]
    if field not in ("id", "model", "call", "word", "speed"):
        for row in rows[:2] if field != "leafUuid" else rows[2:]:
            row[field] = f"/{long}" if field == "cwd" else long
    machine.device.write(session_path(session), b"".join(json.dumps(row).encode() + b"\n" for row in rows))


def test_a_home_whose_name_fits_into_no_key_stops_no_machine(postgres: EmbeddedPostgres, tmp_path: Path) -> None:
    with fresh_database(postgres) as url, serving(url, tmp_path / "server") as served:
        (ada,) = invited(served, "ada")
        deep = tmp_path.joinpath(*(_noise(f"folder {n}", 200) for n in range(14)))
        odd, usual = (machine_of(served, ada, tmp_path / "machines", name) for name in ("odd", "usual"))
        odd.device.home = deep
        (deep / "projects").mkdir(parents=True)
        odd.push(b=MORE)
        usual.push(a=SAID)
        browser = served.signed_in("ada")
        until(lambda: _has_no_jobs(served) and len(_chats(browser)) == 1, lambda: _hurry(served))
        assert _chats(browser)[0][0] == session_uuid("a")
        assert odd.device.verify(odd.remote, deep=True).is_whole
