"""What happens in a server under load: when appended records can be found, rows touched, memory and CPU time."""

import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from bench.team_load.devices import Sent
from bench.team_load.server import LoadServer

LOOK_SECONDS = 0.03
SAMPLE_SECONDS = 5.0
FLUSH_SECONDS = 10.5
"""After so long an idle connection of PostgreSQL has told what it counted."""
TICKS = os.sysconf("SC_CLK_TCK")
FOUND = """
select l.word from unnest(%s::text[], %s::int[]) as asked (word, build)
join lexicon l on l.build = asked.build and l.word = asked.word
"""
BY_TABLE = """
select schemaname || '.' || relname, n_tup_ins, n_tup_upd, n_tup_del from pg_stat_all_tables
where schemaname in ('backscroll', 'team')
"""


class Finder(threading.Thread):
    """Notes when the word of each push is in the index, by looking there, not by asking the server.

    Words of the lexicon are committed together with their passages.
    """

    def __init__(self, server: LoadServer, builds: dict[str, int]) -> None:
        super().__init__(name="finder", daemon=True)
        self._server, self._builds = server, builds
        self.sent: list[Sent] = []
        """What is looked for; others append to it."""
        self._waiting: dict[str, Sent] = {}
        self._taken = 0
        self._stop_asked = threading.Event()

    @property
    def waiting(self) -> int:
        """How many are not found yet."""
        return len(self._waiting) + len(self.sent) - self._taken

    def run(self) -> None:
        """Look until it is stopped."""
        with self._server.superuser() as connection:
            while not self._stop_asked.wait(LOOK_SECONDS):
                fresh = self.sent[self._taken :]
                self._taken += len(fresh)
                self._waiting |= {one.needle: one for one in fresh}
                if not self._waiting:
                    continue
                owners = [self._builds.get(one.device.partition("/")[0], 0) for one in self._waiting.values()]
                found = connection.execute(FOUND, (list(self._waiting), owners)).fetchall()
                now = time.monotonic()
                for (word,) in found:
                    self._waiting.pop(word).found = now

    def wait_for_all(self, seconds: float) -> bool:
        """Wait until everything that was sent is found; False if that took too long."""
        until = time.monotonic() + seconds
        while self.waiting and time.monotonic() < until:
            time.sleep(LOOK_SECONDS)
        return not self.waiting

    def stop(self) -> None:
        """End."""
        self._stop_asked.set()
        self.join()


@dataclass
class Sampler(threading.Thread):
    """Notes memory and CPU time of the server's processes now and then."""

    server: LoadServer
    waiting: Callable[[], int] = lambda: 0
    memory: dict[str, list[int]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    loads: list[float] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    _before: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self._stop_asked = threading.Event()
        self._before = self._cpu_now()

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        """Sample until it is stopped."""
        while not self._stop_asked.wait(SAMPLE_SECONDS):
            for name, pids in self.server.pids().items():
                self.memory.setdefault(name, []).append(sum(map(memory_of, pids)))
            self.loads.append(os.getloadavg()[0])
            self.behind.append(self.waiting())

    def stop(self) -> None:
        """End, and count the CPU time."""
        self._stop_asked.set()
        self.join()
        self.cpu = {name: used - self._before.get(name, 0.0) for name, used in self._cpu_now().items()}

    def _cpu_now(self) -> dict[str, float]:
        return {name: cpu_seconds(pids) for name, pids in self.server.pids().items()}


def cpu_seconds(pids: Iterable[int]) -> float:
    """The CPU time of some processes, of which the first has counted that of its children that ended."""
    total = 0
    for place, pid in enumerate(pids):
        try:
            parts = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        total += sum(map(int, parts[11 : 15 if not place else 13]))
    return total / TICKS


def memory_of(pid: int) -> int:
    """The bytes of memory of a process, its share of what is shared."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def rows_touched(server: LoadServer, wait: float = 0.0) -> dict[str, tuple[int, int, int]]:
    """How many rows were inserted, updated and deleted so far, by table; all of them after FLUSH_SECONDS."""
    time.sleep(wait)
    with server.superuser() as connection:
        return {name: (new, changed, gone) for name, new, changed, gone in connection.execute(BY_TABLE)}


def builds_of(server: LoadServer) -> dict[str, int]:
    """The current build of each person, by handle."""
    with server.superuser() as connection:
        return dict(
            connection.execute("select p.handle, b.id from person p join builds b on b.org = p.id and b.is_current")
        )
