"""Kill a capture again and again while its home grows, and see that nothing is lost.

    python -m tests.faults.crash --kills 500 --seed 1

A child captures in a loop and tells us what it has acknowledged; we play the home, and now and then cut, rewrite,
delete or move a file of it. After each `kill -9` the archive is opened, caught up and verified: what is live is kept
byte for byte and once, what was acknowledged is still there, and nothing is damaged.
"""

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from bench.generate import GeneratedPlayer, generate

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.rewriting import Writer
from backscroll.archive.verify import verify
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from tests.support.command import forked_processes

MACHINE = "crash-test"
Sizes = dict[str, list[int]]
"""File number → the sizes of its versions."""


@dataclass
class CrashSummary:
    """What was done and found."""

    kills: int = 0
    captures: int = 0
    in_the_middle: int = 0
    """Kills that left something in the archive that was not acknowledged."""
    torn: int = 0
    """Kills that left half a line in the catalogue."""
    mischief: int = 0
    versions: int = 0
    files: int = 0
    size: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def sizes_of(archive: Archive) -> Sizes:
    return {str(file.number): [version.size for version in file.versions] for file in archive.files.values()}


def capture_forever(folder: Path, home: Path, acknowledgements: Connection) -> None:
    """The child: capture, tell what is acknowledged, and again."""
    while True:
        with Writer(folder) as writer:
            capture(writer, Home(home), MACHINE)
        acknowledgements.send_bytes(json.dumps(sizes_of(writer)).encode())


class Test:
    """One archive through many kills."""

    def __init__(self, root: Path, seed: int) -> None:
        self.home = root / "home"
        self.folder = root / "archive"
        self.random = Random(seed)
        generate(self.home, sessions=6, total_bytes=600_000, seed=seed)
        self.player = GeneratedPlayer(self.home, seed=seed, tear=0.2)
        self.acknowledged: Sizes = {}
        self.proofs: dict[tuple[str, int], tuple[int, str]] = {}
        """File number and version → how much of it was kept at least, and the sum over that."""
        self.cut_off = 0
        """Bytes in the packs that nothing speaks of."""
        self.summary = CrashSummary()
        self._context = forked_processes()

    def round(self) -> None:
        receiver, sender = self._context.Pipe(duplex=False)
        child = self._context.Process(target=capture_forever, args=(self.folder, self.home, sender), daemon=True)
        child.start()
        sender.close()
        try:
            self._wait(receiver, self.random.choice(["started", "acknowledged", "acknowledged twice", "pack", "step"]))
            ends = time.monotonic() + self.random.random() * self.random.choice([0.004, 0.06])
            while time.monotonic() < ends:
                self._play()
                time.sleep(self.random.random() * 0.004)
        finally:
            child.kill()
            child.join()
        self._hear(receiver)
        receiver.close()
        self.summary.kills += 1
        self._check()

    def _wait(self, receiver: Connection, trigger: str) -> None:
        before = self._pack_bytes()
        heard = 0
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            heard += self._hear(receiver)
            if trigger == "started" or (trigger == "pack" and self._pack_bytes() != before):
                return
            if (trigger == "acknowledged" and heard) or (trigger == "acknowledged twice" and heard > 1):
                return
            self._play()
            if trigger == "step" and heard:
                return
            time.sleep(0.001)

    def _hear(self, receiver: Connection) -> int:
        """Take in what the child acknowledged. A message that was cut off was not sent."""
        heard = 0
        try:
            while receiver.poll():
                self.acknowledged = json.loads(receiver.recv_bytes())
                heard += 1
        except (EOFError, OSError):
            pass
        self.summary.captures += heard
        return heard

    def _pack_bytes(self) -> int:
        try:
            return sum(pack.stat().st_size for pack in (self.folder / "packs").iterdir())
        except FileNotFoundError:
            return 0

    def _play(self) -> None:
        self.player.step()
        if self.random.random() < 0.02:
            self.summary.mischief += 1
            self._mischief()

    def _mischief(self) -> None:
        """What happens to files besides growing. Those that are played may be cut, too: the player only appends."""
        paths = [file.path for file in discover(Home(self.home)).files if file.path.name != "settings.json"]
        path = self.random.choice(paths)
        what = self.random.choice(["cut", "rewritten", "deleted", "moved", "replaced"])
        data = path.read_bytes()
        if what == "cut":
            os.truncate(path, len(data) // 2)
        elif what == "rewritten":
            path.write_bytes(data[::-1])
        elif what == "replaced":
            beside = path.with_name(path.name + ".tmp")
            beside.write_bytes(data + b"replaced\n")
            beside.replace(path)
        elif what == "deleted":
            path.unlink()
        else:
            target = self.home / "projects" / f"-moved-{self.random.randrange(4)}" / path.name
            target.parent.mkdir(exist_ok=True)
            path.replace(target)

    def _check(self) -> None:
        left = Archive(self.folder)
        spoken_of = sum(chunk.length for chunk in left.chunks.values())
        self.summary.in_the_middle += (
            sizes_of(left) != self.acknowledged or self._pack_bytes() != spoken_of + self.cut_off
        )
        self.cut_off = self._pack_bytes() - spoken_of
        if left.exists:
            self.summary.torn += not left.catalogue.read_bytes().endswith(b"\n")
        self._expect_acknowledged(left, "before the catch-up")
        with Writer(self.folder) as writer:
            caught_up = capture(writer, Home(self.home), MACHINE)
        self._expect(not caught_up.unreadable, f"unreadable: {caught_up.unreadable}")
        archive = Archive(self.folder)
        report = verify(archive)
        self._expect(not report.damages, f"damages: {[damage.what for damage in report.damages]}")
        self._expect_acknowledged(archive, "after the catch-up")
        self._expect_live(archive)
        self._expect_proofs(archive)
        self.acknowledged = sizes_of(archive)

    def _expect_acknowledged(self, archive: Archive, when: str) -> None:
        found = sizes_of(archive)
        for number, sizes in self.acknowledged.items():
            now = found.get(number, [])
            kept = len(now) >= len(sizes) and all(after >= before for before, after in zip(sizes, now, strict=False))
            self._expect(kept, f"{when}: file {number} had {sizes}, has {now}")

    def _expect_live(self, archive: Archive) -> None:
        there = [file for file in archive.files.values() if file.gone_since is None]
        doubled = [path for path, count in Counter(file.path for file in there).items() if count > 1]
        self._expect(not doubled, f"doubled: {doubled}")
        by_path = {file.path: file for file in there}
        live = {file.relative: file.path for file in discover(Home(self.home)).files}
        self._expect(by_path.keys() == live.keys(), f"not the same files: {sorted(by_path.keys() ^ live.keys())}")
        for relative in by_path.keys() & live.keys():
            latest = by_path[relative].latest
            kept = b"".join(archive.content(latest)) if latest else None
            self._expect(kept == live[relative].read_bytes(), f"{relative} is not what it is in the home")

    def _expect_proofs(self, archive: Archive) -> None:
        """Every byte that was ever acknowledged is what it was."""
        self.summary.files = len(archive.files)
        self.summary.versions = self.summary.size = 0
        for file in archive.files.values():
            for number, version in enumerate(file.versions):
                data = b"".join(archive.content(version))
                key = (str(file.number), number)
                if key in self.proofs:
                    size, proof = self.proofs[key]
                    self._expect(hashlib.sha256(data[:size]).hexdigest() == proof, f"version {key} has changed")
                self.proofs[key] = (len(data), hashlib.sha256(data).hexdigest())
                self.summary.versions += 1
                self.summary.size += len(data)
        known = {(str(file.number), number) for file in archive.files.values() for number in range(len(file.versions))}
        self._expect(self.proofs.keys() <= known, f"versions are lost: {sorted(self.proofs.keys() - known)}")

    def _expect(self, holds: bool, failure: str) -> None:
        if not holds:
            self.summary.failures.append(f"kill {self.summary.kills}: {failure}")


def run(kills: int, seed: int, *, seconds: float = float("inf")) -> list[CrashSummary]:
    """So many kills, or as many as fit into the time; stops at the first failure. Every fifty a new home is begun."""
    ends = time.monotonic() + seconds
    done: list[CrashSummary] = []
    while kills > 0 and time.monotonic() < ends and not (done and done[-1].failures):
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="backscroll-crash-") as root:
            test = Test(Path(root), seed + len(done))
            done.append(test.summary)
            while test.summary.kills < min(kills, 50) and time.monotonic() < ends and not test.summary.failures:
                test.round()
            test.summary.seconds = time.monotonic() - started
        kills -= test.summary.kills
    return done


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.crash")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    done = run(options.kills, options.seed)

    def total(name: str) -> int:
        return sum(getattr(summary, name) for summary in done)

    failures = [failure for summary in done for failure in summary.failures]
    print(  # noqa: T201
        f"{total('kills')} kills in {total('seconds'):.0f} s, seed {options.seed}, {len(done)} homes: "
        f"{total('captures')} captures were acknowledged, {total('in_the_middle')} kills came in the middle of one, "
        f"{total('torn')} left half a line; {total('mischief')} files were cut, rewritten, replaced, deleted or moved\n"
        f"at the end {total('files')} files in {total('versions')} versions, {total('size') / 1e6:.1f} MB: "
        + ("FAILED" if failures else "nothing lost, nothing doubled, no damage")
    )
    for failure in failures:
        print(failure, file=sys.stderr)  # noqa: T201
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
