"""A team server under load: devices that push and people who read, at the same time, on a real PostgreSQL.

    scripts/bench team [--minutes 10] [--devices 200] [--people 100] [--readers 20] [--rate 200000] [--passages 0]
        [--sharing 20] [--keep DIR] [--json FILE]

Reports what is sustained, how soon an appended record can be searched, how long answers take, the rows that an append
touches, memory and CPU time of each process, and whether anything was lost or doubled. `--passages 1000000` first sends
and indexes a history of that size, through the same door; with `--keep` the next run finds it there. A burst after four
tenths of the time is counted apart. Exits with 1 if anything failed, was lost or doubled; a missed aim is reported.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from backscroll.team.people.accounts import Person
from backscroll.team.reading.shares import share
from bench.generator.texts import GeneratedTexts
from bench.team_load.devices import POOL_BYTES, Fleet, LoadDevice, Records, Sent, SessionStream
from bench.team_load.readers import Reader, Readings
from bench.team_load.server import LoadServer, connect_devices, have_people, running_server, sign_in
from bench.team_load.watching import FLUSH_SECONDS, Finder, Sampler, builds_of, cpu_seconds, rows_touched

AIM_FOUND, AIM_SEARCH, AIM_ROWS = 1.0, 0.150, 10.0
SESSION_LINES = 400
HISTORY_DAYS = 90
BUNDLE_BYTES = 8 << 20
CALM_SECONDS = 30.0
PATIENCE = 900.0
SHARED_CHATS = 3


@dataclass
class Options:
    """What is simulated."""

    minutes: float = 10.0
    devices: int = 200
    people: int = 100
    readers: int = 20
    rate: float = 200_000.0
    pace: float = 5.0
    pause: float = 2.0
    burst: int = 250_000
    passages: int = 0
    sharing: int = 20
    webs: int = 1
    workers: int = 1
    seed: int = 1


@dataclass
class TeamReport:
    """What was measured."""

    options: Options
    load_average: float = 0.0
    loaded: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    megabytes: float = 0.0
    megabytes_a_second: float = 0.0
    pushes: int = 0
    records: int = 0
    passages_in_all: int = 0
    receipt: dict[str, float] = field(default_factory=dict)
    found: dict[str, float] = field(default_factory=dict)
    found_in_burst: dict[str, float] = field(default_factory=dict)
    burst_seconds: float = 0.0
    answers: dict[str, dict[str, float]] = field(default_factory=dict)
    answers_in_calm: dict[str, dict[str, float]] = field(default_factory=dict)
    rows_per_record: float = 0.0
    rows_by_table: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, list[int]] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)
    behind: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    waits: int = 0
    wrong: list[str] = field(default_factory=list)


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Median, 95th and 99th percentile, and the largest, in milliseconds."""
    ordered = sorted(values)
    if not ordered:
        return {}
    at = {name: ordered[min(len(ordered) - 1, int(len(ordered) * part))] for name, part in PARTS.items()}
    return {"count": len(ordered), **{name: round(value * 1000, 1) for name, value in at.items()}}


PARTS = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}


def run(options: Options, folder: Path) -> TeamReport:
    """Start a server, load it, and report."""
    report = TeamReport(options)
    with running_server(folder, webs=options.webs, workers=options.workers) as server:
        people = have_people(server.database, options.people)
        _wait_for_libraries(server, people)
        if options.passages:
            report.loaded = load_history(server, people, options)
        share_chats(server, people[: options.sharing])
        _measure(server, people, options, report)
    return report


def _measure(server: LoadServer, people: list[Person], options: Options, report: TeamReport) -> None:
    owners = [people[number % len(people)] for number in range(options.devices)]
    credentials = connect_devices(server.database, owners, "laptop")
    urls = server.urls
    devices = [LoadDevice.of(urls[n % len(urls)], one) for n, one in enumerate(credentials)]
    fleet = Fleet(devices, options.seed)
    before = rows_touched(server, FLUSH_SECONDS if options.minutes >= 1 else 0.0)
    records_before = _records(server, people)
    finder = Finder(server, builds_of(server))
    sampler = Sampler(server, lambda: finder.waiting)
    words = reader_words(fleet.texts)
    secrets = sign_in(server.database, people[: options.readers])
    readings, calm = Readings(), Readings()

    def readers(into: Readings) -> list[Reader]:
        return [Reader(urls[n % len(urls)], secret, words, into, n, options.pause) for n, secret in enumerate(secrets)]

    print(f"{options.readers} readers alone, then {options.devices} devices beside them", flush=True)
    _read_for(readers(calm), min(CALM_SECONDS, options.minutes * 30))
    asking = readers(readings)
    for thread in (finder, sampler, *asking):
        thread.start()
    report.seconds = fleet.run(options.minutes * 60, options.rate, options.pace, options.burst, finder.sent)
    are_all_found = finder.wait_for_all(PATIENCE)
    for reader in asking:
        reader.stop()
    for reader in asking:
        reader.join()
    finder.stop()
    sampler.stop()
    _collect(report, fleet, readings, calm, sampler)
    report.records = sum(device.lines for device in devices)
    report.waits = sum(device.waits for device in devices)
    report.passages_in_all = _passages(server)
    after = rows_touched(server, FLUSH_SECONDS if options.minutes >= 1 else 0.0)
    _count_rows(report, before, after)
    if not are_all_found:
        report.wrong.append(f"{finder.waiting} pushes were not found after {PATIENCE:.0f} s")
    _check(server, people, devices, records_before, report)


def _count_rows(
    report: TeamReport, before: dict[str, tuple[int, int, int]], after: dict[str, tuple[int, int, int]]
) -> None:
    """Rows that were touched for each record. New words in the list of all words are shown, and not counted."""
    for name, now in after.items():
        rows = [one - other for one, other in zip(now, before.get(name, (0, 0, 0)), strict=True)]
        if sum(rows):
            report.rows_by_table[name] = [round(count / max(1, report.records), 3) for count in rows]
    counted = (rows for name, rows in report.rows_by_table.items() if name.startswith("backscroll."))
    words = sum(report.rows_by_table.get("backscroll.lexicon", ()))
    report.rows_per_record = round(sum(map(sum, counted)) - words, 2)


def _collect(report: TeamReport, fleet: Fleet, readings: Readings, calm: Readings, sampler: Sampler) -> None:
    sent = fleet.sent
    usual, burst = [one for one in sent if not one.in_burst], [one for one in sent if one.in_burst]
    disturbed = _disturbed(burst)
    calm_pushes = [one for one in usual if not disturbed[0] <= one.began <= disturbed[1]]
    report.megabytes = round(sum(one.size for one in sent) / 1e6, 2)
    report.megabytes_a_second = round(report.megabytes / report.seconds, 3)
    report.pushes = len(sent)
    report.receipt = percentiles([one.stored - one.began for one in calm_pushes])
    report.found = percentiles([one.found - one.began for one in calm_pushes if one.found])
    report.found_in_burst = percentiles([one.found - one.began for one in sent if one not in calm_pushes and one.found])
    report.burst_seconds = round(disturbed[1] - disturbed[0], 1) if burst else 0.0
    report.answers = {what: percentiles(values) for what, values in sorted(readings.seconds.items())}
    report.answers_in_calm = {what: percentiles(values) for what, values in sorted(calm.seconds.items())}
    report.errors = [*fleet.errors, *readings.errors, *calm.errors]
    report.memory = {name: [round(size / 1e6) for size in sizes] for name, sizes in sampler.memory.items()}
    report.cpu = {name: round(used, 1) for name, used in sampler.cpu.items()}
    report.cpu["devices and readers"] = round(cpu_seconds([os.getpid()]), 1)
    report.behind = sampler.behind
    report.load_average = round(sum(sampler.loads) / max(1, len(sampler.loads)), 1)


def _disturbed(burst: list[Sent]) -> tuple[float, float]:
    """From the beginning of the burst until all of it was found."""
    return (min(one.began for one in burst), max(one.found for one in burst)) if burst else (0.0, -1.0)


def _read_for(readers: list[Reader], seconds: float) -> None:
    for reader in readers:
        reader.start()
    time.sleep(seconds)
    for reader in readers:
        reader.stop()
    for reader in readers:
        reader.join()


def _wait_for_libraries(server: LoadServer, people: list[Person]) -> None:
    """Everyone has an index, if an empty one."""
    from backscroll.team.database.jobs import enqueue

    handles = {person.handle for person in people}
    with server.database.transaction() as connection:
        for handle in handles - builds_of(server).keys():
            enqueue(connection, "index", handle)
    until = time.monotonic() + PATIENCE
    while handles - builds_of(server).keys():
        if time.monotonic() > until:
            raise TimeoutError("the worker made no indexes")
        time.sleep(0.2)


def _passages(server: LoadServer) -> int:
    with server.superuser() as connection:
        ((found,),) = connection.execute("select coalesce(sum(passages), 0) from builds where is_current")
    return int(found)


def _records(server: LoadServer, people: list[Person]) -> dict[str, int]:
    """How many records the index of each person has."""
    builds = builds_of(server)
    with server.superuser() as connection:
        counts = dict(connection.execute("select build, count(*) from records group by build").fetchall())
    return {person.handle: int(counts.get(builds.get(person.handle, 0), 0)) for person in people}


def load_history(server: LoadServer, people: list[Person], options: Options) -> dict[str, float]:
    """Send histories until there are so many passages, and wait until they are indexed."""
    missing = options.passages - _passages(server)
    if missing <= 0:
        return {}
    print(f"sending a history of {missing:,} passages of {len(people)} people", flush=True)
    each = -(-missing // len(people))
    texts = GeneratedTexts(options.seed, POOL_BYTES * 4)
    credentials = connect_devices(server.database, people, "old-laptop")
    before, cpu = _passages(server), {name: cpu_seconds(pids) for name, pids in server.pids().items()}
    began = time.monotonic()

    def send(number: int) -> int:
        device = LoadDevice.of(server.urls[number % len(server.urls)], credentials[number])
        rng = Random(f"history {number} {time.time_ns()}")
        lines = 0
        while lines < each:
            parts: list[tuple[SessionStream, bytes]] = []
            while lines < each and sum(len(data) for _, data in parts) < BUNDLE_BYTES:
                began = datetime.now(UTC) - HISTORY_DAYS * rng.random() * timedelta(days=1)
                records = Records(texts, rng, f"project{rng.randrange(17)}", began)
                count = min(SESSION_LINES, each - lines)
                parts.append((SessionStream(records.path), b"".join(records.next_line() for _ in range(count))))
                lines += count
            device.push(parts)
        return device.size

    with ThreadPoolExecutor(2) as executor:
        size = sum(executor.map(send, range(len(people))))
    sent = time.monotonic() - began
    while (now := _passages(server)) < before + each * len(people):
        if time.monotonic() - began > PATIENCE * 4:
            raise TimeoutError(f"only {now:,} passages are indexed")
        time.sleep(0.5)
    taken = time.monotonic() - began
    used = {name: cpu_seconds(pids) - cpu.get(name, 0.0) for name, pids in server.pids().items()}
    with server.superuser() as connection:
        connection.execute("vacuum analyze")
        ((database,),) = connection.execute("select pg_database_size(current_database())")
    found = {
        "megabytes": round(size / 1e6, 1), "seconds to send": round(sent, 1), "seconds until indexed": round(taken, 1),
        "megabytes a second": round(size / 1e6 / taken, 2), "passages": _passages(server),
        "database megabytes": round(database / 1e6),
        "objects megabytes": round(_size(server.folder / "objects") / 1e6),
        "archives megabytes": round(_size(server.folder / "data") / 1e6),
        **{f"CPU seconds of {name}": round(value, 1) for name, value in used.items()},
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    return found


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def share_chats(server: LoadServer, owners: list[Person]) -> None:
    """Each of these people shares some chats with everyone, unless they do already."""
    builds = builds_of(server)
    with server.superuser() as connection:
        has = {owner for (owner,) in connection.execute("select distinct owner from share where revoked is null")}
        chats = {
            owner.id: connection.execute(
                "select name, title from chats where build = %s order by id limit %s",
                (builds.get(owner.handle, 0), SHARED_CHATS),
            ).fetchall()
            for owner in owners
            if owner.id not in has
        }
    with server.database.transaction() as team:
        for owner in owners:
            for name, title in chats.get(owner.id, []):
                share(team, owner, name, title)


def reader_words(texts: GeneratedTexts) -> list[str]:
    """Words that are searched for: frequent and rare ones of what is written."""
    rng = Random("words")
    found = re.findall("[a-z]{4,}", " ".join(texts.prose(rng, 400) for _ in range(200)).lower())
    return sorted(set(rng.sample(found, min(400, len(found)))))


def _check(
    server: LoadServer, people: list[Person], devices: list[LoadDevice], before: dict[str, int], report: TeamReport
) -> None:
    """Every record is there once, every needle in one passage, every process alive and without errors in its log."""
    sent: dict[str, int] = {}
    for device in devices:
        owner = device.credential.person
        sent[owner] = sent.get(owner, 0) + device.lines
    now = _records(server, people)
    for handle, count in sent.items():
        if now[handle] - before[handle] != count:
            report.wrong.append(f"{handle}: {count} records were sent, {now[handle] - before[handle]} are indexed")
    with server.superuser() as connection:
        for device in devices:
            name = device.credential.device
            rows = connection.execute(
                "select coalesce(sum(size), 0), coalesce(sum(lines), 0) from files f join builds b on b.id = f.build"
                " and b.is_current where f.machine = %s", (name,),
            ).fetchone()  # fmt: skip
            if rows != (device.size, device.lines):
                report.wrong.append(f"{name}: sent {device.size:,} bytes in {device.lines} lines, indexed {rows}")
        ((jobs,),) = connection.execute("select count(*) from job where problem <> ''")
        if jobs:
            report.wrong.append(f"{jobs} jobs failed")
    for name, process in server.processes.items():
        if process.poll() is not None:
            report.wrong.append(f"{name} ended with {process.returncode}")
        log = (server.folder / f"{name.replace(' ', '-')}.log").read_text(errors="replace")
        if "Traceback" in log:
            report.wrong.append(f"{name} logged an error: {log[log.index('Traceback') :][-300:]}")


def show(report: TeamReport) -> None:
    """Print it."""
    sent = report
    print(f"load average {sent.load_average}, {sent.passages_in_all:,} passages in all")
    print(f"sent {sent.megabytes} MB in {sent.seconds:.0f} s: {sent.megabytes_a_second} MB/s,"
          f" {sent.pushes:,} pushes, {sent.records:,} records; {sent.waits} waits for a busy server")  # fmt: skip
    _line("append → receipt", sent.receipt)
    _line("append → searchable", sent.found, AIM_FOUND)
    _line(f"  during the burst ({sent.burst_seconds} s)", sent.found_in_burst)
    for what, times in sent.answers_in_calm.items():
        _line(f"{what}, no pushes", times, AIM_SEARCH if what == "search" else None)
    for what, times in sent.answers.items():
        _line(what, times, AIM_SEARCH if what == "search" else None)
    over = " MISSED" if sent.rows_per_record > AIM_ROWS else ""
    print(f"rows of the index touched for each record: {sent.rows_per_record} (aim ≤ {AIM_ROWS:.0f}){over}")
    for name, rows in sorted(sent.rows_by_table.items(), key=lambda one: -sum(one[1])):
        print(f"    {name:28} new {rows[0]:8.3f}  changed {rows[1]:8.3f}  gone {rows[2]:8.3f}")
    for name, sizes in sent.memory.items():
        tenths = sizes[:: max(1, len(sizes) // 10)]
        print(f"memory of {name}: {' '.join(map(str, tenths))} MB")
    print("CPU seconds: " + ", ".join(f"{name} {used}" for name, used in sent.cpu.items()))
    print(f"pushes that wait to be indexed, over time: {sent.behind[:: max(1, len(sent.behind) // 20)]}")
    print(f"errors: {len(sent.errors)}{''.join(f'{chr(10)}  {one}' for one in sent.errors[:10])}")
    print(f"lost or doubled: {len(sent.wrong)}{''.join(f'{chr(10)}  {one}' for one in sent.wrong[:10])}")


def _line(what: str, times: dict[str, float], aim: float | None = None) -> None:
    if times:
        told = f" (aim: p95 ≤ {aim * 1000:.0f} ms){' MISSED' if times['p95'] > aim * 1000 else ''}" if aim else ""
        shown = "  ".join(f"{name} {value:8.1f}" for name, value in times.items() if name != "count")
        print(f"{what:36} {times['count']:6} × {shown} ms{told}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.team", description=(__doc__ or "").splitlines()[0])
    for name, value in asdict(Options()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the server's data there, and use what is there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    given = vars(parser.parse_args(arguments))
    keep, file = given.pop("keep"), given.pop("json")
    folder = keep or Path(tempfile.mkdtemp(prefix="backscroll-bench-", dir="/tmp"))
    try:
        report = run(Options(**given), folder.absolute())
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    show(report)
    if file:
        file.write_text(json.dumps(asdict(report), indent=2) + "\n", encoding="utf-8")
    return 1 if report.errors or report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
