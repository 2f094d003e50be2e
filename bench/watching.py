"""How soon a change is noticed: from the end of an append until `watch` tells of it, over many session files.

    python -m bench.watching [--files 5000] [--appends 150]

The watcher runs in a process of its own, as it would; this one appends. Both read the same clock. Then the watcher is
left alone, to see what an idle watch and one sweep cost. Only with the system's events: polling is its own second.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Final

from backscroll.files.homes import Home
from backscroll.files.watching import (
    _Seen,  # what a sweep costs is a question about the inside
    watch,
)

AIM: Final = 0.050
"""Seconds, the median from append to batch."""
FILES_IN_A_PROJECT: Final = 50
LINE: Final = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"go on"},"uuid":"u"}\n'


@dataclass(frozen=True)
class WatchingResult:
    """What was measured, in seconds of the wall clock or of CPU time."""

    files: int
    appends: int
    noticed: int
    median: float
    percentile_95: float
    slowest: float
    first_batch: float
    idle_seconds: float
    idle_cpu: float
    sweep_cpu: float


def make_home(root: Path, files: int, rng: Random) -> list[Path]:
    """Small sessions, in projects of fifty."""
    paths = []
    for number in range(files):
        digits = f"{rng.getrandbits(128):032x}"
        name = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}.jsonl"
        path = root / "projects" / f"-home-mara-project-{number // FILES_IN_A_PROJECT}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(LINE * 5)
        paths.append(path)
    return paths


def watch_home(root: Path, connection: Connection) -> None:
    """The watcher's process: sends each batch with its moment, and its CPU time when asked; ends when told to."""
    stop = threading.Event()
    lock = threading.Lock()

    def answer() -> None:
        while connection.recv() != "stop":
            with lock:
                connection.send(("cpu", time.process_time(), []))
        stop.set()

    threading.Thread(target=answer, daemon=True).start()
    started = time.monotonic()
    for batch in watch([Home(root)], stop=stop):
        now = time.monotonic()
        with lock:
            if len(batch) > 100:
                connection.send(("first", now - started, []))
            else:
                connection.send(("batch", now, [(str(changed.file.path), changed.file.size) for changed in batch]))


def measure(root: Path, files: int, appends: int, idle_seconds: float, seed: int) -> WatchingResult:
    """Make the home, watch it, append to it, leave it alone."""
    rng = Random(seed)
    paths = make_home(root, files, rng)
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=watch_home, args=(root, theirs))
    process.start()
    try:
        first_batch = float(ours.recv()[1])
        time.sleep(1)
        delays = []
        for _ in range(appends):
            path = rng.choice(paths)
            with path.open("ab") as file:
                file.write(LINE)
            appended = time.monotonic()
            if (noticed := _wait_for(ours, str(path), path.stat().st_size)) is not None:
                delays.append(noticed - appended)
            # Not in step with the watcher's own rhythm.
            time.sleep(rng.uniform(0.02, 0.12))
        before = _cpu(ours)
        time.sleep(idle_seconds)
        idle_cpu = _cpu(ours) - before
    finally:
        ours.send("stop")
        process.join(10)
    return WatchingResult(
        files=files,
        appends=appends,
        noticed=len(delays),
        median=statistics.median(delays),
        percentile_95=statistics.quantiles(delays, n=20)[-1],
        slowest=max(delays),
        first_batch=first_batch,
        idle_seconds=idle_seconds,
        idle_cpu=idle_cpu,
        sweep_cpu=_sweep(root),
    )


def _wait_for(connection: Connection, path: str, size: int) -> float | None:
    """When the watcher told that this file has this size; None if it did not within five seconds."""
    ends = time.monotonic() + 5
    while connection.poll(max(0.0, ends - time.monotonic())):
        _, moment, files = connection.recv()
        if (path, size) in files:
            return float(moment)
    return None


def _cpu(connection: Connection) -> float:
    connection.send("cpu")
    while True:
        what, value, _ = connection.recv()
        if what == "cpu":
            return float(value)


def _sweep(root: Path) -> float:
    """CPU time of looking through everything once more: the best of five."""
    seen = _Seen([Home(root)])
    seen.sweep()
    times = []
    for _ in range(5):
        started = time.process_time()
        seen.sweep()
        times.append(time.process_time() - started)
    return min(times)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if the median is over what we aim for, or an append was missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.watching", description="From an append to its batch.")
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--appends", type=int, default=150)
    parser.add_argument("--idle", type=float, default=10.0, help="seconds to watch with nothing happening")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        result = measure(Path(name).resolve(), options.files, options.appends, options.idle, options.seed)
    good = result.median < AIM and result.noticed == result.appends
    if options.json:
        print(json.dumps({"aim": AIM, **asdict(result)}, indent=2))
    else:
        print(f"{result.files:,} files; {result.noticed} of {result.appends} appends noticed")
        print(
            f"append to batch: median {result.median * 1000:.1f} ms, p95 {result.percentile_95 * 1000:.1f} ms, "
            f"slowest {result.slowest * 1000:.1f} ms"
        )
        print(f"first batch, of everything: {result.first_batch * 1000:.0f} ms")
        print(f"idle: {100 * result.idle_cpu / result.idle_seconds:.2f} % of a core over {result.idle_seconds:.0f} s")
        print(f"one sweep: {result.sweep_cpu * 1000:.0f} ms CPU")
        print(f"aim: median under {AIM * 1000:.0f} ms and no append missed: {'reached' if good else 'missed'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
