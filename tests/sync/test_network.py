"""A network that fails at every request, before a real S3 server: each sync ends with an error in plain words or well,
and the next one ends with both sides equal."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from backscroll.errors import BackscrollError, Busy
from backscroll.sync import buckets
from backscroll.sync.remotes import Remote, open_remote
from tests.support.samples import TRY_ALL, mostly_in_all
from tests.sync.proxy import CuttingProxy, Fault, cutting_proxy
from tests.sync.seaweed import KEYS
from tests.sync.support import SESSION, Device

ONE, TWO = SESSION.format(1), SESSION.format(2)
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'
SAMPLED = 41
"""Every so many of the cases is tried: with this number, each fault and each kind of request is among them."""
FAULTS: tuple[Fault, ...] = ("cut", "lost answer", "torn", "busy", "throttled")


@pytest.fixture
def proxy(s3: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[CuttingProxy]:
    with cutting_proxy(s3) as (address, proxy):
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": address}.items():
            monkeypatch.setenv(name, value)
        yield proxy


def devices(root: Path) -> tuple[Device, Device]:
    """Two devices with something to send."""
    laptop, desktop = Device(root, "laptop"), Device(root, "desktop")
    laptop.write(ONE, LINE % 1 * 40)
    desktop.write(TWO, LINE % 2)
    for device in (laptop, desktop):
        device.keep()
    return laptop, desktop


def sync(remote: Remote, laptop: Device, desktop: Device) -> None:
    """What is new on both, with something forgotten, so that every kind of request is made."""
    for device in (laptop, desktop):
        device.push(remote)
    for device in (laptop, desktop):
        device.pull(remote)


def scenario(remote: Remote, laptop: Device, desktop: Device) -> None:
    sync(remote, laptop, desktop)
    desktop.forget(TWO)
    laptop.append(ONE, LINE % 3)
    laptop.keep()
    sync(remote, laptop, desktop)


def check_equal(remote: Remote, laptop: Device, desktop: Device) -> None:
    for _ in range(2):
        sync(remote, laptop, desktop)
    assert desktop.contents("laptop") == {ONE: [LINE % 1 * 40 + LINE % 3]}
    assert laptop.contents("desktop") == {}
    assert laptop.verify(remote, deep=True).is_whole
    assert desktop.verify(remote, deep=True).is_whole


def bucket(name: str) -> Remote:
    return open_remote(f"s3://bucket/{name}")


@pytest.mark.all
def test_the_network_fails_at_any_request(proxy: CuttingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "TRIES", 0)
    monkeypatch.setattr(buckets, "WAITS", ())
    scenario(bucket(f"{tmp_path.name}-count"), *devices(tmp_path / "count"))
    count = len(proxy.requests)
    assert {*proxy.requests} == {"GET", "PUT", "POST"}  # a deletion is a POST
    every = [(number, fault) for number in range(count) for fault in FAULTS]
    for number, fault in every if TRY_ALL else every[::SAMPLED]:
        laptop, desktop = devices(tmp_path / f"{number} {fault}")
        remote = bucket(f"{tmp_path.name}-{number}-{fault}")
        proxy.requests.clear()
        proxy.fault_of = partial(at_request, number, fault)
        try:
            scenario(remote, laptop, desktop)
        except BackscrollError as error:
            assert error.message.startswith("cannot "), error.message
        proxy.fault_of = lambda _: None
        if not desktop.archive.forgotten:
            desktop.forget(TWO)
        if LINE % 3 not in (laptop.home / ONE).read_bytes():
            laptop.append(ONE, LINE % 3)
        laptop.keep()
        check_equal(remote, laptop, desktop)


def at_request(wanted: int, fault: Fault, number: int) -> Fault:
    """A fault at one request only."""
    return fault if number == wanted else None


@pytest.mark.parametrize("fault", mostly_in_all(["lost answer", "cut", "busy", "throttled", "slow"], each=5))
def test_a_failure_that_passes_is_not_noticed(
    proxy: CuttingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(buckets, "FIRST_WAIT", timedelta(milliseconds=1))
    laptop, desktop = devices(tmp_path)
    proxy.fault_of = lambda at: fault if at % 2 else None
    scenario(bucket(tmp_path.name), laptop, desktop)
    check_equal(bucket(tmp_path.name), laptop, desktop)


@pytest.mark.parametrize(
    ("fault", "answer"), [("busy", "503 Service Unavailable"), ("throttled", "429 Too Many Requests")]
)
def test_a_bucket_that_is_busy_is_waited_for_and_told(
    proxy: CuttingProxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    fault: Fault, answer: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(buckets, "TRIES", 0)
    waits: list[float] = []
    remote = buckets.Bucket(f"s3://bucket/{tmp_path.name}", waits.append)
    proxy.fault_of = lambda at: fault if at < 3 else None
    assert remote.put("one", b"1")
    assert proxy.requests == ["PUT"] * 4
    assert [wait // 5 for wait in waits] == [1, 2, 4]
    assert f"cannot write one: the service answers {answer} (slow down); trying again in " in caplog.text
    proxy.fault_of = lambda _: fault
    for request in (lambda: remote.put("two", b"2"), lambda: list(remote.list()), lambda: remote.get("one")):
        with pytest.raises(Busy, match=answer):
            request()
    assert len(waits) == 3 + 3 * len(buckets.WAITS)


def test_a_bucket_that_refuses_is_told_at_once(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": s3, "AWS_SECRET_ACCESS_KEY": "another"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(BackscrollError, match="the service answers 403 Forbidden") as raised:
        list(open_remote("s3://bucket/x").list())
    assert "keys" in raised.value.hint
