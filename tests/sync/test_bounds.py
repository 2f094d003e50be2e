"""What other machines write has bounds: an impossible file costs only itself, an odd index its object."""

from pathlib import Path

import msgspec
import pytest

from backscroll.sync.bundles import (
    NO_BUNDLE,
    DamagedBundleError,
    Entry,
    FileFacts,
    Index,
    SentSegment,
    encode_bundle,
    read_bundles,
)
from backscroll.sync.objects import BundleObject, parse_object
from backscroll.sync.remotes import Folder, RemoteObject
from backscroll.sync.streams import StreamKey, extend, first_head
from tests.sync.support import SESSION, Device

GOOD = SESSION.format(1)
LINE = b'{"type":"user"}\n'


def facts_of(path: str = GOOD, **changes: object) -> FileFacts:
    return msgspec.structs.replace(FileFacts("/home/eve", path, 1, 0, "session", 17), **changes)


def segment_of(facts: FileFacts, line: bytes = LINE) -> SentSegment:
    """The only segment of a file, as its device sends it."""
    key = StreamKey(facts.home, facts.path, facts.version, facts.generation)
    head = first_head(key)
    return SentSegment(key, facts, extend(head, line), len(line), is_end=False, before=head)


def index_of(number: int = 1, previous: str = NO_BUNDLE, machine: str = "eve") -> Index:
    return Index(device="eve", machine=machine, number=number, previous=previous, at="", entries=[])


def stored(remote: Folder, *files: FileFacts) -> None:
    _, data = encode_bundle(index_of(), [segment_of(facts) for facts in files])
    remote.put(BundleObject("eve", "000001-00000000", 1, 1, 0).name, data)


@pytest.mark.parametrize(
    "facts",
    [
        facts_of(SESSION.format(2), modified_ns=2**63), facts_of(SESSION.format(2), modified_ns=-(2**70)),
        facts_of(SESSION.format(2), version=0), facts_of(SESSION.format(2), version=2**63),
        facts_of(SESSION.format(2), generation=2**40), facts_of(SESSION.format(2), generation=-1),
        facts_of(SESSION.format(2), home_hex="xyz"), facts_of(SESSION.format(2), path_hex="0"),
        facts_of(SESSION.format(2), home="/home/e\0ve"), facts_of("../../.ssh/authorized_keys"), facts_of(""),
        facts_of("/etc/passwd"), facts_of(f"projects/{'x' * 3000}/a.jsonl"),
        facts_of(SESSION.format(2), type="a\x1b[2J"), facts_of(SESSION.format(2), rules="x" * 1000),
    ],
)  # fmt: skip
def test_an_impossible_file_costs_only_itself_and_is_said(facts: FileFacts, tmp_path: Path) -> None:
    remote, laptop = Folder(tmp_path / "remote"), Device(tmp_path, "laptop")
    stored(remote, facts, facts_of())
    pulled = laptop.pull(remote)
    assert laptop.contents("eve") == {GOOD: [LINE]}
    assert len(pulled.problems) == 1
    assert pulled.problems[0].startswith("eve: left out what has ")
    assert laptop.pull(remote).problems == []


@pytest.mark.parametrize("machine", ["", ".", "..", "a/b", " eve", "e\x1b[31mve", "e\u202eve", "eve\n", "x" * 256])
def test_a_machine_is_called_as_machines_are(machine: str) -> None:
    _, data = encode_bundle(index_of(machine=machine), [])
    with pytest.raises(DamagedBundleError):
        [*read_bundles(data)]


def test_an_index_says_only_what_a_machine_writes() -> None:
    entry = Entry("a" * 32, 0, 0, 16, "b" * 64, packed=20, file=facts_of())
    changes: list[dict[str, object]] = [
        {"number": -1}, {"number": 2**63}, {"start": -1}, {"length": 2**63}, {"length": -1}, {"source": 2**63},
        {"packed": 2**40}, {"offset": 2**60}, {"offset": 90}, {"head": "x"}, {"stream": "../x"}, {"length": 2**31},
    ]  # fmt: skip
    for number, change in enumerate(changes):
        odd = msgspec.structs.replace(entry, **change)
        for entries in ([odd], [entry, odd]):
            index = msgspec.structs.replace(index_of(), entries=entries, size=100)
            with pytest.raises(DamagedBundleError):
                [*read_bundles(raw(index) + bytes(100))]
            assert number >= 0
    for index in (
        msgspec.structs.replace(index_of(), entries=[entry, entry], size=100),
        msgspec.structs.replace(index_of(), entries=[entry] * 20_001, size=100),
        msgspec.structs.replace(index_of(), forgotten=["x" * 64]),
        msgspec.structs.replace(index_of(), number=0),
        msgspec.structs.replace(index_of(), previous="x"),
        msgspec.structs.replace(index_of(), at="\x1b[2J"),
        msgspec.structs.replace(index_of(), log="../.."),
    ):
        with pytest.raises(DamagedBundleError):
            [*read_bundles(raw(index) + bytes(100))]
    [*read_bundles(raw(msgspec.structs.replace(index_of(), entries=[entry], size=20)) + bytes(20))]


def raw(index: Index) -> bytes:
    """A bundle with this index, as it is."""
    import zstandard

    packed = zstandard.ZstdCompressor().compress(msgspec.json.encode(index))
    return b"BSYNC1\n" + len(packed).to_bytes(4, "big") + packed


@pytest.mark.parametrize(
    "name",
    [
        "backscroll/1/%65ve/000001-00000000/0000000001-0000000001.0",
        "backscroll/1/e%1bve/000001-00000000/0000000001-0000000001.0",
        "backscroll/1/eve/000001-00000000/0000000001-0000000001.00",
        "backscroll/1/eve/000001-00000000/000000000\u0661-0000000001.0",
        "backscroll/1/%2e%2e/000001-00000000/0000000001-0000000001.0",
        "backscroll/1/eve/000001-00000000/0000000002-0000000001.0",
    ],
)
def test_an_object_has_one_name(name: str) -> None:
    assert parse_object(RemoteObject(name, 1)) is None
