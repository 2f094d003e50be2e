"""How much memory reading takes: peak resident memory of a child process that reads a file from end to end.

    python -m bench.memory [--file 2000] [--line 200]     (megabytes)

The files are made in a temporary folder and removed again: a long session, and sessions with one very long line. The
child goes through `backscroll.library.setup.inspect`, as `backscroll inspect` does. Exits with 1 if any file takes more
than the limit.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

from bench.generate import Mix, generate

LIMIT: Final = 300_000_000
SPARE: Final = 1_000_000_000
"""Bytes of disk that stay free."""
SAMPLE_BYTES: Final = 20_000_000


@dataclass(frozen=True)
class MemoryResult:
    """The measurements of one file."""

    what: str
    bytes: int
    peak: int
    seconds: float
    lines: int
    records: int
    problems: int


def measure(what: str, path: Path) -> MemoryResult:
    """Read the file in a process of its own."""
    command = [sys.executable, "-m", "bench.memory", "--child", str(path)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    told: dict[str, Any] = json.loads(output)
    return MemoryResult(what=what, bytes=path.stat().st_size, **told)


def read_here(path: Path) -> dict[str, float]:
    """Read the file in this process, and tell what it took."""
    from backscroll.library.setup.inspect import inspect  # here: only the child pays for it

    started = time.process_time()
    found = inspect([path])
    return {
        "peak": peak_memory(),
        "seconds": time.process_time() - started,
        "lines": found.lines,
        "records": found.records,
        "problems": found.problems,
    }


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: there, a child begins with the peak of the process that started it.
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def write_small(file: BinaryIO, sample: bytes, size: int) -> None:  # noqa: ARG001
    """The sample's first lines, to see what Python and the imports take."""
    file.write(sample[: sample.index(b"\n", 100_000) + 1])


def write_session(file: BinaryIO, sample: bytes, size: int) -> None:
    """Generated lines, again and again, up to this size."""
    for _ in range(max(1, size // len(sample))):
        file.write(sample)


def write_image(file: BinaryIO, sample: bytes, size: int) -> None:
    """A pasted picture of this size, in base64, between ordinary lines."""
    write_small(file, sample, 0)
    head = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":[{"type":"image","source":{'
    file.write(head + b'"type":"base64","media_type":"image/png","data":"')
    _write_repeated(file, b"iVBORw0KGgoAAAANSUhEUgAA+/4x" * 1024, size)
    file.write(
        b'"}},{"type":"text","text":"what is this?"}]},"uuid":"long-1","timestamp":"2026-01-05T10:00:00.000Z"}\n'
    )
    write_small(file, sample, 0)


def write_output(file: BinaryIO, sample: bytes, size: int) -> None:
    """The output of a tool gone wild, with letters beyond ASCII and escapes, between ordinary lines."""
    write_small(file, sample, 0)
    head = (
        b'{"parentUuid":null,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",'
    )
    file.write(head + b'"content":"')
    _write_repeated(file, 'Größe: 12 日本語 \\"fertig\\" → ✓ 😀\\n\\tnächste Zeile\\\\ '.encode() * 512, size)
    file.write(b'"}]},"uuid":"long-2","timestamp":"2026-01-05T10:00:00.000Z"}\n')
    write_small(file, sample, 0)


def write_many_values(file: BinaryIO, sample: bytes, size: int) -> None:
    """A line just short of being read in pieces, of nothing but small values: no string to cut."""
    write_small(file, sample, 0)
    file.write(b'{"type":"user","uuid":"many","message":{"content":"x"},"toolUseResult":[')
    _write_repeated(file, b'{"a":1},', min(size, 16_000_000))
    file.write(b'{}],"timestamp":"2026-01-05T10:00:00.000Z"}\n')
    write_small(file, sample, 0)


def _write_repeated(file: BinaryIO, piece: bytes, size: int) -> None:
    for _ in range(max(1, size // len(piece))):
        file.write(piece)


def sample_lines(folder: Path) -> bytes:
    """Lines of generated sessions, all whole."""
    generate(folder, sessions=20, total_bytes=SAMPLE_BYTES, seed=1, mix=Mix(problems=0))
    parts = []
    for path in sorted((folder / "projects").rglob("*.jsonl")):
        data = path.read_bytes()
        parts.append(data[: data.rfind(b"\n") + 1])
    return b"".join(parts)


def run(file_bytes: int, line_bytes: int, folder: Path) -> Iterator[MemoryResult]:
    """Make each file, read it, remove it."""
    sample = sample_lines(folder / "home")
    tasks: list[tuple[str, Callable[[BinaryIO, bytes, int], None], int]] = [
        ("a small session (baseline)", write_small, 0),
        ("a long session", write_session, file_bytes),
        ("one long line: an image", write_image, line_bytes),
        ("one long line: text of a tool", write_output, line_bytes),
        ("one line of many small values", write_many_values, line_bytes),
    ]
    for what, write, size in tasks:
        path = folder / "session.jsonl"
        with path.open("wb") as file:
            write(file, sample, size)
        try:
            yield measure(what, path)
        finally:
            path.unlink()


def _megabytes(text: str) -> int:
    return int(float(text) * 1_000_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if a file took more than the limit."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description="Peak memory of reading large files.")
    parser.add_argument("--file", type=_megabytes, default=2_000_000_000, help="megabytes of the long session (2000)")
    parser.add_argument("--line", type=_megabytes, default=200_000_000, help="megabytes of the long lines (200)")
    parser.add_argument("--limit", type=_megabytes, default=LIMIT, help="megabytes that are still right (300)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        print(json.dumps(read_here(options.child)))
        return 0
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        needed = max(options.file, options.line) + SAMPLE_BYTES + SPARE
        free = shutil.disk_usage(name).free
        if free < needed:
            where = Path(name).parent
            print(f"error: {free / 1e9:.1f} GB free in {where}, {needed / 1e9:.1f} needed", file=sys.stderr)
            print("  next: set TMPDIR to a larger disk, or choose a smaller --file", file=sys.stderr)
            return 2
        results = []
        if not options.json:
            print(f"{'':32}{'MB':>8}{'peak MB':>9}{'MB/s':>7}{'records':>11}{'problems':>10}")
        for result in run(options.file, options.line, Path(name)):
            results.append(result)
            if not options.json:
                speed = result.bytes / 1e6 / max(result.seconds, 0.001)
                print(
                    f"{result.what:32}{result.bytes / 1e6:8,.0f}{result.peak / 1e6:9.0f}{speed:7.0f}"
                    f"{result.records:11,}{result.problems:10,}",
                    flush=True,
                )
    over = [result.what for result in results if result.peak > options.limit]
    if options.json:
        print(json.dumps({"limit": options.limit, "results": [asdict(result) for result in results]}, indent=2))
    else:
        print(f"limit: {options.limit / 1e6:.0f} MB: {'over it: ' + ', '.join(over) if over else 'kept'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
