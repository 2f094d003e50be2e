"""The startup cost of the memory: CPU time of `backscroll mcp` from its start to its first answer.

    python -m bench.mcp_start [--home DIR] [--bytes 250MB] [--library DIR] [--runs 5] [--json]

On a library that is up to date. A client's part is played line by line over stdin and stdout: initialize, the list of
the tools, one call. Each run is a process of its own, the calls in turn; the median counts. Beside it stands what
importing the SDK takes alone.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.generate import _size, generate
from bench.startup import cpu_seconds

AIM: Final = 1.5
"""Seconds of CPU time up to the first answer."""
CALLS: Final[dict[str, dict[str, Any]]] = {
    "recall": {"question": "how did we fix the failing test of the parser?"},
    "search": {"query": "error"},
    "timeline": {"project": "*"},
    "similar_errors": {"error": "Exit code 1\nError: File does not exist."},
    "stats": {"report": "usage"},
}
SDK: Final = "import mcp.server.lowlevel"


class StartCost(NamedTuple):
    """The times of one run, in seconds."""

    cpu: float
    greeted: float
    answered: float
    """By the clock, since the process was started."""


def run_once(home: Path, library: Path, tool: str) -> StartCost:
    """Start a server, ask it once, and end it."""
    command = [sys.executable, "-m", "backscroll", "--home", str(home), "--library", str(library), "mcp"]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        ask(process, "initialize", hello, 1)
        greeted = time.perf_counter() - begun
        send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        ask(process, "tools/list", {}, 2)
        answer = ask(process, "tools/call", {"name": tool, "arguments": CALLS[tool]}, 3)
        answered = time.perf_counter() - begun
        cpu = cpu_of(process.pid)
        if process.stdin is not None:
            process.stdin.close()
    if answer["result"].get("isError"):
        raise RuntimeError(f"{tool}: {answer['result']['content'][0]['text']}")
    return StartCost(cpu, greeted, answered)


def ask(process: "subprocess.Popen[bytes]", method: str, params: dict[str, Any], number: int) -> dict[str, Any]:
    """One request and its answer."""
    send(process, {"jsonrpc": "2.0", "id": number, "method": method, "params": params})
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def send(process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> None:
    """One line."""
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def cpu_of(pid: int) -> float:
    """The CPU time of a running process so far; Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(home: Path, library: Path, runs: int) -> dict[str, StartCost]:
    """The medians of each call."""
    update = [sys.executable, "-m", "backscroll", "--home", str(home), "--library", str(library), "update", "-q"]
    subprocess.run(update, check=True)
    found: dict[str, list[StartCost]] = {tool: [] for tool in CALLS}
    for _ in range(runs):
        for tool, costs in found.items():
            costs.append(run_once(home, library, tool))
    return {
        tool: StartCost(*(statistics.median(values) for values in zip(*costs, strict=True)))
        for tool, costs in found.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if a first answer takes longer than we aim for."""
    parser = argparse.ArgumentParser(prog="python -m bench.mcp_start", description="CPU time up to a first answer.")
    parser.add_argument("--home", type=Path, help="a home to serve, instead of a generated one")
    parser.add_argument("--library", type=Path, help="a library of it; a temporary one unless given")
    parser.add_argument("--bytes", type=_size, default=250_000_000, help="the size of the generated home")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-mcp-") as name:
        home = options.home or Path(name) / "home"
        if options.home is None:
            generate(home, sessions=max(1, options.bytes // 1_100_000), total_bytes=options.bytes, seed=7)
        medians = measure(home, options.library or Path(name) / "library", options.runs)
    sdk = statistics.median(cpu_seconds(["-c", SDK]) for _ in range(options.runs))
    worst = max(cost.cpu for cost in medians.values())
    if options.json:
        told = {tool: cost._asdict() for tool, cost in medians.items()}
        print(json.dumps({"aim": AIM, "runs": options.runs, "sdk_import": sdk, "medians": told}, indent=2))
    else:
        print(f"{'first call':16}{'CPU s':>8}{'greeted s':>11}{'answered s':>12}")
        for tool, cost in medians.items():
            print(f"{tool:16}{cost.cpu:8.2f}{cost.greeted:11.2f}{cost.answered:12.2f}")
        print(f"importing the SDK alone: {sdk:.2f} s of CPU")
        print(f"aim: every first answer under {AIM} s of CPU: {'reached' if worst < AIM else 'missed'}")
    return 0 if worst < AIM else 1


if __name__ == "__main__":
    sys.exit(main())
