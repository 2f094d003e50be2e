"""How fast does a library travel? First push, nothing new, one appended record, and a pull on another machine.

    python -m bench.sync HOME [--json FILE]

Pushes into a folder, masked and in full, and, if SeaweedFS is installed, into a bucket of a real S3 server; restic, if
it is installed, backs up the same home into the same kinds of places in the same run. CPU seconds are of the process
that does the work; requests and bytes are counted at the remote.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from tests.sync.seaweed import KEYS, find_weed, s3_server

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.files.homes import Home
from backscroll.library.indexing.follow import follow
from backscroll.library.local import local_library
from backscroll.library.syncing.automatic import AutomaticSync, syncs_by_itself
from backscroll.library.syncing.remote_settings import RemoteSettings, find_remote, write_remote
from backscroll.library.syncing.sync import sync
from backscroll.settings import Settings
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.pull import pull
from backscroll.sync.push import Sender, push
from backscroll.sync.remotes import Folder, Remote, RemoteObject
from backscroll.sync.state import SyncState

RECORD = b'{"type":"user","uuid":"bench","message":{"role":"user","content":"one more record"}}\n'


SETTLE_SECONDS = 5.0
"""After the start of a process that follows, until it has nothing more to do."""


@dataclass
class Measured:
    """One step."""

    step: str
    seconds: float
    cpu: float
    requests: int = 0
    bytes_sent: int = 0
    megabytes_a_second: float = 0.0


class Counted:
    """A remote that counts its requests and the bytes that they carry."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.requests = self.sent = 0

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        """Count a list."""
        self.requests += 1
        return self._remote.list(prefix)

    def get(self, name: str) -> bytes:
        """Count a read."""
        self.requests += 1
        return self._remote.get(name)

    def put(self, name: str, data: bytes) -> bool:
        """Count a write."""
        self.requests += 1
        self.sent += len(data)
        return self._remote.put(name, data)

    def delete(self, name: str) -> None:
        """Count a deletion."""
        self.requests += 1
        self._remote.delete(name)


class Machine:
    """An archive with what it knows of a remote."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name = root / name, name
        self.root.mkdir(parents=True)

    def keep(self, home: Path) -> None:
        """Archive a home."""
        with Writer(self.root / "archive") as writer:
            capture(writer, Home(home), self.name)

    def push(self, remote: Remote, mode: SyncMode, state: str) -> int:
        """Send what is new; return how many bytes left."""
        known = SyncState(self.root / f"{state}.sqlite")
        archive = Archive(self.root / "archive")
        sender = Sender(
            self.name, self.name, archive, lambda machine: machine == self.name, lambda _: mode, Outgoing(b"key")
        )
        sent = push(sender, remote, known).size
        known.close()
        return sent

    def pull(self, remote: Remote) -> int:
        """Take what is new; return how many bytes."""
        known = SyncState(self.root / "state.sqlite")
        with Writer(self.root / "archive") as writer:
            taken = pull(lambda: nullcontext(writer), remote, known, self.name).size
        known.close()
        return taken


def measure(step: str, remote: Counted, act: Callable[[], int]) -> Measured:
    """Run one step."""
    requests, sent = remote.requests, remote.sent
    wall, cpu = time.perf_counter(), time.process_time()
    size = act()
    seconds = time.perf_counter() - wall
    return Measured(
        step, round(seconds, 3), round(time.process_time() - cpu, 3), remote.requests - requests, remote.sent - sent,
        round(size / 1e6 / seconds, 1) if size else 0.0,
    )  # fmt: skip


def run(home: Path, root: Path) -> Iterator[Measured]:
    """All steps."""
    copy = root / "home"
    shutil.copytree(home, copy, symlinks=True)
    session = next(path for path in sorted(copy.rglob("*.jsonl")) if "projects" in path.parts)
    laptop = Machine(root, "laptop")
    laptop.keep(copy)
    for name, remote in remotes(root):
        for mode in (SyncMode.FULL, SyncMode.REDACTED):
            counted = Counted(remote(f"{mode}"))
            state = f"{name}-{mode}"
            first = f"{name}, {mode}"
            yield measure(f"{first}: first push", counted, partial(laptop.push, counted, mode, state))
            yield measure(f"{first}: nothing new", counted, partial(laptop.push, counted, mode, state))
            with session.open("ab") as file:
                file.write(RECORD)
            laptop.keep(copy)
            yield measure(f"{first}: one record", counted, partial(laptop.push, counted, mode, state))
            other = Machine(root, f"other-{state}")
            yield measure(f"{first}: pull of everything", counted, partial(other.pull, counted))
    print(f"most memory of the pushes and pulls: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    yield followed(copy, root, session)
    if shutil.which("restic"):
        for name, repository in restic_places(root):
            yield from restic(copy, name, repository, session)


def followed(home: Path, root: Path, session: Path) -> Measured:
    """How long after an append to a session it is on the remote, while a process follows and syncs by itself."""
    settings = Settings(homes=(home,), library=root / "library", file=root / "settings.toml")
    folder = root / "remote" / "followed"
    write_remote(settings, RemoteSettings(name="bench", url=str(folder)))
    with local_library(settings, [Home(home)]) as library:
        library.update()
        sync(settings, find_remote(settings, "bench"))
        stop = threading.Event()
        thread = threading.Thread(target=lambda: [*follow(library, stop, companion=AutomaticSync(settings))])
        thread.start()
        while not syncs_by_itself(settings):
            time.sleep(0.05)
        time.sleep(SETTLE_SECONDS)
        before = count_of(folder)
        cpu, wall = time.process_time(), time.perf_counter()
        with session.open("ab") as file:
            file.write(RECORD)
        while count_of(folder) == before:
            time.sleep(0.005)
        seconds = time.perf_counter() - wall
        used = time.process_time() - cpu
        stop.set()
        thread.join()
    return Measured("folder, followed: append until it is on the remote", round(seconds, 3), round(used, 3))


def count_of(folder: Path) -> int:
    """The objects of a folder."""
    return sum(1 for _ in Folder(folder).list())


def remotes(root: Path) -> Iterator[tuple[str, Callable[[str], Remote]]]:
    """The kinds of remotes that there are here, each as a function that makes an empty one."""
    yield "folder", lambda name: Folder(root / "remote" / name)
    if "AWS_ENDPOINT_URL" in os.environ:
        from backscroll.sync.buckets import Bucket

        yield "s3", lambda name: Bucket(f"s3://bucket/{root.name}-{name}")


def restic_places(root: Path) -> Iterator[tuple[str, str]]:
    """Where restic can put the same."""
    yield "folder", str(root / "restic")
    if "AWS_ENDPOINT_URL" in os.environ:
        yield "s3", f"s3:{os.environ['AWS_ENDPOINT_URL']}/bucket/{root.name}-restic"


def restic(home: Path, name: str, repository: str, session: Path) -> Iterator[Measured]:
    """The same with restic."""
    environment = {**os.environ, "RESTIC_PASSWORD": "bench", "RESTIC_REPOSITORY": repository}

    def act(*command: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["restic", "--quiet", *command], env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    act("init")
    size = sum(path.stat().st_size for path in home.rglob("*") if path.is_file())
    for step in ("first push", "nothing new", "one record"):
        if step == "one record":
            with session.open("ab") as file:
                file.write(RECORD)
        wall = time.perf_counter()
        cpu = act("backup", str(home))
        seconds = time.perf_counter() - wall
        rate = size / 1e6 / seconds if step == "first push" else 0.0
        yield Measured(f"restic, {name}: {step}", round(seconds, 3), round(cpu, 3), megabytes_a_second=round(rate, 1))


def measured(home: Path, root: Path) -> Iterator[Measured]:
    """All steps, with an S3 server if there is one."""
    weed = find_weed()
    if weed is None:
        yield from run(home, root)
        return
    with s3_server(weed, root / "s3") as address:
        os.environ.update(KEYS, AWS_ENDPOINT_URL=address)
        yield from run(home, root)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.sync", description="How fast a library travels.")
    parser.add_argument("home", type=Path)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    options = parser.parse_args(arguments)
    found = []
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        for one in measured(options.home, Path(folder)):
            found.append(one)
            rate = f"{one.megabytes_a_second:8.1f} MB/s" if one.megabytes_a_second else ""
            print(f"{one.step:52} {one.seconds:8.2f} s  {one.cpu:7.2f} s CPU  {one.requests:4} requests"
                  f"  {one.bytes_sent:>12,} bytes {rate}", flush=True)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
