"""A remote full of what no machine writes: each thing costs only itself, in little memory, and is said.

Everything that is honest arrives all the same, on every machine, and every command goes on.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.attack.sync.honest_machines import HonestMachine
from tests.attack.sync.hostile_objects import (
    LOG,
    NO_BUNDLE,
    bundle,
    encode,
    frame_of_zeros,
    hash_of,
    head_after,
    index_of,
    indexes_of,
    lay,
    line_of,
    name_of,
    segment,
    session_of,
)

MOST_MEMORY: Final = 200
"""MiB."""
GIB: Final = 1 << 30
RARE: Final = "\U0001f600"


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "nas"
    folder.mkdir()
    return folder


@pytest.fixture
def machines(tmp_path: Path, remote: Path) -> Iterator[list[HonestMachine]]:
    """Two machines that have each other's session; in the end both go on as before."""
    machines = [HonestMachine(tmp_path, name, remote) for name in ("laptop", "desktop")]
    for machine in machines:
        machine.add()
    assert machines[0].run("sync").returncode == 0
    before = [machine.kept for machine in machines]
    assert before[0] == before[1]
    yield machines
    for machine, files in zip(machines, before, strict=True):
        kept = machine.kept
        assert {key: kept.get(key) for key in files} == files, "something that was there is another now"


def attacked(machines: list[HonestMachine], *words: str) -> str:
    """Every machine syncs, and works; what the first said. All of them agree in the end."""
    said = []
    for machine in machines:
        ran = machine.sync()
        said.append(ran.stdout + ran.stderr)
        assert machine.peak < MOST_MEMORY, machine.peak
        machine.works("laptop", "desktop", *words)
    assert machines[0].kept == machines[1].kept
    return said[0]


def in_use(remote: Path, machine: HonestMachine) -> Path:
    """The only object of a machine."""
    (path,) = (remote / "backscroll" / "1" / machine.own).glob("*/*")
    return path


def good(number: int = 1, word: str = "oryx") -> Any:  # noqa: ANN401
    return segment(line_of(f"the {word} is fine", number), session_of(number))


ODD_FACTS: Final[list[dict[str, Any]]] = [
    {"modified_ns": 2**63}, {"modified_ns": 2**64 - 1}, {"modified_ns": -(2**62) * 3}, {"version": 0},
    {"version": 2**62}, {"version": -1}, {"generation": 2**63 - 1}, {"home_hex": "0g"}, {"path_hex": "f"},
    {"home": "/home/\0eve"}, {"home": "/" + "x" * 100_000}, {"type": "session\x1b[2J"}, {"rules": "x" * 100_000},
]  # fmt: skip
ODD_PATHS: Final = [
    "../../.bashrc",
    "/etc/passwd",
    "projects/../../x.jsonl",
    "",
    "projects//x.jsonl",
    "a\0b",
    "x" * 9999,
]
ODD_INDEXES: Final[list[dict[str, Any]]] = [
    {"machine": "\x1b[31mevil"}, {"machine": "a/b"}, {"machine": ""}, {"machine": "x\ny"}, {"machine": "\u202eevil"},
    {"number": 0}, {"number": 2**63}, {"number": -1}, {"number": 10**4000}, {"previous": "x"}, {"at": "\x1b]0;x\x07"},
    {"size": -1}, {"size": 2**64}, {"log": "../../x"}, {"forgotten": ["../x"]}, {"forgotten": [""] * 1000},
    {"entries": None}, {"entries": [1]}, {"key": "x" * 64}, {"device": "laptop"},
]  # fmt: skip
ODD_ENTRIES: Final[list[dict[str, Any]]] = [
    {"number": 2**63}, {"number": -1}, {"start": -1}, {"start": 2**63}, {"length": 2**63}, {"length": -1},
    {"length": 1 << 31}, {"offset": -1}, {"offset": 2**62}, {"packed": 2**62}, {"packed": -5}, {"source": 2**63},
    {"stream": "../x"}, {"stream": "\x1b"}, {"head": "x"}, {"before": "\x1b[2J"}, {"number": 5},
]  # fmt: skip


def forged_facts() -> Iterator[bytes]:
    """Each bundle has a file that cannot be, and one that can."""
    for number, facts in enumerate(ODD_FACTS):
        odd = segment(line_of("odd", 100 + number), session_of(100 + number), **facts)
        yield bundle(f"eve{number}", [odd, good(number, "oryx")])
    for number, path in enumerate(ODD_PATHS, len(ODD_FACTS)):
        yield bundle(f"eve{number}", [segment(line_of("odd"), path), good(number, "oryx")])


def forged_indexes() -> Iterator[bytes]:
    """Indexes that no machine writes."""
    for number, fields in enumerate(ODD_INDEXES):
        yield bundle(f"ivy{number}", [good()], **fields)
    for number, fields in enumerate(ODD_ENTRIES, len(ODD_INDEXES)):
        entry, frame = good()
        yield bundle(f"ivy{number}", [({**entry, **fields}, frame)])
    number = len(ODD_INDEXES) + len(ODD_ENTRIES)
    entry, frame = good()
    yield encode(index_of(f"ivy{number}", [entry] * 3, size=len(frame)), frame)  # all of the same bytes
    yield encode(b"[" * 200_000)
    yield encode(json.dumps(index_of(f"ivy{number + 2}"))[:-1].encode() + b',"later":' + b"[" * 200_000)


def heavy_indexes() -> Iterator[bytes]:
    """Objects of a few kilobytes that would take gigabytes."""
    yield encode(b"", packed=frame_of_zeros(2 * GIB))
    yield encode(b"", packed=frame_of_zeros(6 * GIB, said=1000))
    entry = {"stream": "a" * 32, "number": 0, "start": 0, "length": 0, "head": ""}
    yield encode(index_of("ann2", [entry] * 79_000))
    yield encode(json.dumps(index_of("ann3", machine="x" * 16_000_000 + "?")).replace("?", RARE).encode())
    yield encode(json.dumps(index_of("ann4", forgotten=["" for _ in range(3_000_000)])).encode())


def heavy_segments() -> Iterator[bytes]:
    """Segments of 200 KB and less that unpack to gigabytes."""
    long = {"frame": frame_of_zeros(6 * GIB)}
    yield bundle("amy0", [segment(b"", session_of(1), length=6 * GIB, **long)])
    yield bundle("amy1", [segment(b"", session_of(1), length=100, frame=frame_of_zeros(6 * GIB, said=100))])
    yield bundle("amy2", [segment(b"", session_of(1), length=GIB, frame=frame_of_zeros(GIB))] * 100)
    yield bundle("amy3", [segment(b"", session_of(1), length=1 << 20, frame=frame_of_zeros(6 * GIB, said=1 << 20))])


@pytest.mark.slow
def test_what_cannot_be_costs_only_itself(remote: Path, machines: list[HonestMachine]) -> None:
    for number, data in enumerate(forged_facts()):
        lay(remote, name_of(f"eve{number}"), data)
    for number, data in enumerate(forged_indexes()):
        lay(remote, name_of(f"ivy{number}"), data)
    zed = bundle("zed", [good(999, "ibex")])
    lay(remote, name_of("zed"), zed)
    said = attacked(machines, "oryx", "ibex")
    count = len(ODD_FACTS) + len(ODD_PATHS)
    kept = [key for key in machines[0].kept if key.machine.startswith("eve")]
    assert sorted(key.machine for key in kept) == sorted(f"eve{number}" for number in range(count))
    assert all(f"eve{number}: left out" in said for number in range(count))
    assert not [key for key in machines[0].kept if key.machine.startswith(("ivy", "a"))]
    assert all(f"ivy{number}: " in said for number in range(len(ODD_INDEXES) + len(ODD_ENTRIES)))


@pytest.mark.all
@pytest.mark.parametrize("objects", [heavy_indexes, heavy_segments])
def test_a_small_object_takes_little_memory(
    objects: Callable[[], Iterator[bytes]], remote: Path, machines: list[HonestMachine]
) -> None:
    for number, data in enumerate(objects()):
        index = name_of(f"{'ann' if objects is heavy_indexes else 'amy'}{number}")
        assert len(data) < 10_000_000
        lay(remote, index, data)
    lay(remote, name_of("zed"), bundle("zed", [good(999, "ibex")]))
    attacked(machines, "ibex")


@pytest.mark.all
def test_a_line_of_a_gibibyte_is_taken_in_little_memory(remote: Path, machines: list[HonestMachine]) -> None:
    entry, frame = segment(b"", session_of(1), frame=frame_of_zeros(GIB), length=GIB)
    digest = hashlib.sha256()
    for _ in range(1024):
        digest.update(bytes(1 << 20))
    entry["head"] = hashlib.sha256(f"{entry['stream']} 0 1 {GIB} {digest.hexdigest()}".encode()).hexdigest()
    lay(remote, name_of("amy"), bundle("amy", [(entry, frame)]))
    for machine in machines:
        machine.sync()
        assert machine.peak < MOST_MEMORY
        machine.works("laptop", "desktop")


@pytest.mark.all
def test_special_files_and_names_are_refused_and_the_rest_is_taken(remote: Path, machines: list[HonestMachine]) -> None:
    base = remote / "backscroll" / "1" / "ron" / LOG
    base.mkdir(parents=True)
    objects = remote / name_of("ron", 1)
    os.mkfifo(objects)
    (base / "0000000002-0000000002.0").symlink_to("/dev/zero")
    (base / "0000000003-0000000003.0").mkdir()
    for name, size in (("0000000004-0000000004.0", 40 * GIB), ("0000000001-9999999999.0", GIB)):
        with (base / name).open("wb") as file:
            file.truncate(size)
    for odd in (b"a\x1b[31mb", b"x\ny", b"\xff\xfe", b"..%2f..", b"%00", "a\u202eb".encode(), b"%6captop"):
        folder = os.fsencode(remote / "backscroll" / "1") + b"/" + odd
        os.makedirs(folder + b"/" + LOG.encode())  # noqa: PTH103 - bytes
        with open(folder + b"/" + LOG.encode() + b"/0000000001-0000000001.0", "wb") as file:  # noqa: PTH123
            file.write(bundle("x", [good()]))
    lay(remote, name_of("zed"), bundle("zed", [good(999, "ibex")]))
    said = attacked(machines, "ibex")
    assert "a FIFO" in said
    assert "a link" in said


@pytest.mark.all
@pytest.mark.parametrize("name", ["backscroll/1/desk/junk {}", "backscroll/1/junk/000001-0badc0de/{:010}-{:010}.0"])
def test_junk_takes_little_memory(name: str, remote: Path, machines: list[HonestMachine]) -> None:
    folder = (remote / name).parent
    folder.mkdir(parents=True)
    for number in range(1, 50_001):
        (remote / name.format(number, number)).write_bytes(bytes(30))
    lay(remote, name_of("zed"), bundle("zed", [good(999, "ibex")]))
    attacked(machines, "ibex")


@pytest.mark.all
def test_junk_in_the_place_of_an_object_stops_nothing(remote: Path, machines: list[HonestMachine]) -> None:
    """Objects that say that they have everything, and a log that counts more, in the folder of a machine."""
    laptop, desktop = machines
    mine = in_use(remote, laptop).parent
    laptop.talk("later")
    assert laptop.run("sync").returncode == 0
    for number in range(20):
        (mine / f"0000000001-9999999999.{number}").write_bytes(bytes(100))
        (mine / f"0000000002-{number + 3:010}.0").write_bytes(bundle(laptop.own, [good()], number=7))
    lay(remote, name_of(laptop.own, 1, log="999999-ffffffff"), bytes(100))
    lay(remote, name_of(laptop.own, 1, log="999998-ffffffff"), bundle(laptop.own, [good()]))
    desktop.sync()
    desktop.works("laptop", "later")
    assert desktop.kept == laptop.kept
    laptop.sync()
    assert desktop.sync().returncode == 0
    assert [path.parent.name for path in sorted(mine.parent.glob("*/*"))] == [mine.name] * 2


@pytest.mark.all
def test_replayed_torn_and_moved_objects_bring_nothing_and_heal(remote: Path, machines: list[HonestMachine]) -> None:
    laptop, desktop = machines
    mine = in_use(remote, laptop)
    first = mine.read_bytes()
    for word in ("second", "third"):
        laptop.talk(word)
        assert laptop.run("sync").returncode == 0
    objects = sorted(mine.parent.glob("*"))
    second, third = (path.read_bytes() for path in objects[1:])
    third += bytes(len(third) == len(second))  # a sync notices other sizes; `verify --deep` notices other bytes
    objects[1].write_bytes(third)  # in another's place
    objects[2].write_bytes(second[: len(second) // 2])  # torn
    (mine.parent / "0000000004-0000000004.0").write_bytes(first)  # replayed under a new number
    other = remote / name_of(desktop.own, 9)  # and as another machine
    other.parent.mkdir(parents=True)
    other.write_bytes(first)
    ran = desktop.sync()
    assert ran.returncode == 1
    desktop.works("laptop")
    for machine in (laptop, desktop, laptop):
        machine.sync()
    assert desktop.sync().returncode == 0
    attacked(machines, "second", "third")


@pytest.mark.all
def test_nothing_is_forgotten_because_a_forged_object_says_so(remote: Path, machines: list[HonestMachine]) -> None:
    """All hashes of all sessions of all machines, in one small object in the name of each."""
    keys = [_key("path", key.home, key.path) for key in machines[0].kept]
    keys += [_key("session", key.path.rpartition("/")[2].removesuffix(".jsonl")) for key in machines[0].kept]
    for number, device in enumerate(("eve", machines[0].own, machines[1].own)):
        fields: dict[str, Any] = {}
        if number:
            known = indexes_of(in_use(remote, machines[number - 1]).read_bytes())[-1]
            fields = {"number": known["number"] + 1, "previous": hash_of(known)}
            fields["log"] = in_use(remote, machines[number - 1]).parent.name
        data = bundle(device, forgotten=sorted(keys), **fields)
        lay(remote, name_of(device, fields.get("number", 1), log=fields.get("log", LOG)), data)
    attacked(machines)
    assert machines[0].run("sync").returncode in (0, 1)
    attacked(machines)


@pytest.mark.all
@pytest.mark.parametrize("forgets_its_state", [False, True])
def test_a_remote_of_yesterday_takes_nothing_away(
    remote: Path, machines: list[HonestMachine], tmp_path: Path, forgets_its_state: bool
) -> None:
    laptop, desktop = machines
    yesterday = {path: path.read_bytes() for path in remote.rglob("*") if path.is_file()}
    for word in ("new", "newer"):  # a machine that has lost its state sends both in one bundle
        for machine in machines:
            machine.talk(f"{machine.name}-{word}")
            assert machine.run("sync").returncode == 0
    assert desktop.run("sync").returncode == laptop.run("sync").returncode == 0
    for path in remote.rglob("*"):
        if path.is_file():
            path.unlink()
    for path, data in yesterday.items():
        path.write_bytes(data)
    for path in laptop.library.glob("sync/*.sqlite*") if forgets_its_state else ():
        path.unlink()
    for machine in (desktop, laptop, desktop):
        assert machine.sync().returncode == 0
    for word in ("later", "latest"):
        laptop.talk(word)
        assert laptop.run("sync").returncode == 0
    assert desktop.sync().returncode == 0
    attacked(machines, "laptop-new", "desktop-newer", "latest")
    third = HonestMachine(tmp_path, "third", remote)
    third.add()
    assert {key: third.kept.get(key) for key in laptop.kept} == laptop.kept


@pytest.mark.all
def test_a_stream_whose_segments_are_shuffled_is_not_taken(remote: Path, machines: list[HonestMachine]) -> None:
    one, frame = good(1)
    data = line_of("second part", 2)
    two = {**segment(data, session_of(1))[0], "number": 1, "start": one["length"], "before": one["head"]}
    two["head"] = head_after(one["head"], 1, data)
    segments = [(two, segment(data, session_of(1))[1]), (one, frame)]
    lay(remote, name_of("eve"), bundle("eve", segments))
    again = index_of("zed", [{**one, "offset": 0}], size=len(frame), previous=NO_BUNDLE)
    lay(remote, name_of("zed", 1, 2), encode(again, frame) * 2)  # the same bundle twice
    said = attacked(machines, "oryx")
    assert "eve: left out parts of files whose beginning is not here" in said
    assert not any(b"second part" in data for versions in machines[0].kept.values() for data in versions)


def _key(kind: str, *parts: str) -> str:
    """By which an archive knows what was forgotten: docs/reference/archive-format.md."""
    return hashlib.sha256("\0".join((kind, *parts)).encode()).hexdigest()
