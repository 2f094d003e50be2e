"""How fast does a library travel? First push, nothing new, one appended record, and a pull on another machine.

    python -m bench.sync HOME [--json FILE]

Pushes into a folder, masked and in full, and, if SeaweedFS is installed (it is one of the packages for development),
into a bucket of a real S3 server. Then the command itself is run as a user runs it, and restic, if it is installed
(`apt install restic`), backs up the same home into the same kinds of places. CPU seconds and memory are of the process
that does the work. For a bucket, requests and bytes are counted on the wire, in both directions; for a folder, at the
remote. `bench/team.py` has the same for a team server, beside agentsview.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import IO

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
from backscroll.sync.push import push
from backscroll.sync.remotes import Folder, Remote, RemoteObject
from backscroll.sync.sender import Sender
from backscroll.sync.state import SyncState
from bench.wire import Wire, counted_wire

RECORD = b'{"type":"user","uuid":"bench","message":{"role":"user","content":"one more record"}}\n'


LAUNCH = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss >> 10]))
"""
"""Runs a command in a small process: the memory of the one that starts it would count as its own."""
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
    """To a bucket: sent and received."""
    megabytes_a_second: float = 0.0
    memory: int = 0
    """The most that its process took, in MB; 0 for a part of this one."""


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

    def pieces(self, name: str) -> Iterator[bytes]:
        """Count a read."""
        self.requests += 1
        return self._remote.pieces(name)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        """Count a write."""
        self.requests += 1
        return self._remote.put_file(name, file)

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


def measure(step: str, remote: Counted, act: Callable[[], int], wire: Wire | None) -> Measured:
    """Run one step."""
    counts = wire.counts() if wire else (remote.requests, remote.sent)
    wall, cpu = time.perf_counter(), time.process_time()
    size = act()
    seconds, used = time.perf_counter() - wall, time.process_time() - cpu
    after = wire.counts() if wire else (remote.requests, remote.sent)
    rate = round(size / 1e6 / seconds, 1) if size else 0.0
    return Measured(step, round(seconds, 3), round(used, 3), after[0] - counts[0], after[1] - counts[1], rate)


def run(home: Path, root: Path, wire: Wire | None) -> Iterator[Measured]:
    """All steps."""
    copy = root / "home"
    shutil.copytree(home, copy, symlinks=True)
    session = next(path for path in sorted(copy.rglob("*.jsonl")) if "projects" in path.parts)
    laptop = Machine(root, "laptop")
    laptop.keep(copy)
    for name, remote in remotes(root):
        counting = wire if name == "s3" else None
        for mode in (SyncMode.FULL, SyncMode.REDACTED):
            counted = Counted(remote(f"{mode}"))
            state = f"{name}-{mode}"
            first = f"{name}, {mode}"
            push = partial(laptop.push, counted, mode, state)
            yield measure(f"{first}: first push", counted, push, counting)
            yield measure(f"{first}: nothing new", counted, push, counting)
            append(session)
            laptop.keep(copy)
            yield measure(f"{first}: one record", counted, push, counting)
            other = Machine(root, f"other-{state}")
            yield measure(f"{first}: pull of everything", counted, partial(other.pull, counted), counting)
    print(f"most memory of the pushes and pulls: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    yield followed(copy, root, session)
    size = sum(path.stat().st_size for path in copy.rglob("*") if path.is_file())
    for name, place in (("folder", str(root / "remote" / "command")), ("s3", f"s3://bucket/{root.name}-command")):
        if name == "folder" or wire:
            yield from command(copy, root / f"command-{name}", name, place, session, wire)
    if shutil.which("restic"):
        for name, place in restic_places(root):
            yield from restic(copy, name, place, session, size, wire)


def append(session: Path) -> None:
    """One more record."""
    with session.open("ab") as file:
        file.write(RECORD)


def process(
    step: str, arguments: Sequence[str], wire: Wire | None, size: int = 0, environment: Mapping[str, str] | None = None
) -> Measured:
    """Run a command."""
    counts = wire.counts() if wire else (0, 0)
    launched = [sys.executable, "-S", "-c", LAUNCH, *arguments]
    told = subprocess.run(launched, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, check=True)
    seconds, cpu, memory = json.loads(told.stdout)
    after = wire.counts() if wire else (0, 0)
    rate = round(size / 1e6 / seconds, 1) if size else 0.0
    counted = after[0] - counts[0], after[1] - counts[1]
    return Measured(step, round(seconds, 3), round(cpu, 3), *counted, rate, memory)


def command(home: Path, library: Path, name: str, place: str, session: Path, wire: Wire | None) -> Iterator[Measured]:
    """The command as a user runs it, with what is found and kept before the sync."""
    options = ("--home", str(home), "--library", str(library))
    counting = wire if name == "s3" else None

    def backscroll(step: str, *arguments: str) -> Measured:
        return process(f"command, {name}: {step}", (sys.executable, "-m", "backscroll", *arguments, *options), counting)

    yield backscroll("sync add --yes", "sync", "add", "bench", place, "--create", "--yes")
    yield backscroll("nothing new", "sync")
    append(session)
    yield backscroll("one record", "sync")


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


def restic(home: Path, name: str, repository: str, session: Path, size: int, wire: Wire | None) -> Iterator[Measured]:
    """The same with restic."""
    places = {"RESTIC_PASSWORD": "bench", "RESTIC_REPOSITORY": repository}
    counting = wire if name == "s3" else None
    process("", ("restic", "--quiet", "init"), None, environment=places)
    for step in ("first push", "nothing new", "one record"):
        if step == "one record":
            append(session)
        backup = ("restic", "--quiet", "backup", str(home))
        yield process(f"restic, {name}: {step}", backup, counting, size if step == "first push" else 0, places)


def measured(home: Path, root: Path) -> Iterator[Measured]:
    """All steps, with an S3 server if there is one."""
    weed = find_weed()
    if weed is None:
        yield from run(home, root, None)
        return
    with s3_server(weed, root / "s3") as address, counted_wire(address) as wire:
        os.environ.update(KEYS, AWS_ENDPOINT_URL=wire.address)
        yield from run(home, root, wire)


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
            memory = f"{one.memory:4} MB of memory" if one.memory else ""
            print(f"{one.step:52} {one.seconds:8.2f} s  {one.cpu:7.2f} s CPU  {one.requests:4} requests"
                  f"  {one.bytes_sent:>12,} bytes {rate} {memory}", flush=True)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
