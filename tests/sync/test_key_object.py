"""The key object of an encrypted remote: lost, swapped, changed, and the sheet of paper that stands in for it."""

import re
import time
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.errors import UsageError
from backscroll.sync.bundles import PLAIN
from backscroll.sync.key_object import (
    KeptKey,
    StartedAnewError,
    carry_out,
    is_encrypted,
    key_of,
    plan_for,
    read_facts,
    write_facts,
)
from backscroll.sync.recovery_sheet import MistypedError, read_sheet, sheet_lines, sheet_text
from backscroll.sync.remotes import Folder
from backscroll.sync.sealing import (
    KEY_OBJECT,
    KeyFacts,
    KeyObjectError,
    hidden_device,
    is_proved,
    make_key,
    open_key,
    seal_with,
    with_proof,
)
from tests.sync.support import SESSION, Device

PASSPHRASE = "correct horse"


@pytest.fixture(scope="module")
def made() -> tuple[bytes, KeyFacts]:
    return make_key(PASSPHRASE)


@pytest.fixture(scope="module")
def other() -> tuple[bytes, KeyFacts]:
    return make_key("battery staple")


def send(tmp_path: Path, remote: Folder, name: str, key: bytes | None) -> None:
    """Have a device send a session."""
    device = Device(tmp_path, name, seal=seal_with(key) if key else PLAIN)
    if key is not None:
        device.device_of = lambda machine: hidden_device(key, machine)
    device.write(SESSION.format(1), b'{"type":"user"}\n')
    device.keep()
    device.push(remote)


@pytest.fixture
def remote(tmp_path: Path, made: tuple[bytes, KeyFacts]) -> Folder:
    """An encrypted remote in use."""
    folder = Folder(tmp_path / "remote")
    write_facts(folder, made[1])
    send(tmp_path, folder, "laptop", made[0])
    return folder


def swap(remote: Folder, data: bytes | None) -> None:
    remote.delete(KEY_OBJECT)
    if data is not None:
        assert remote.put(KEY_OBJECT, data)


def mend(remote: Folder, key: bytes, kept: KeptKey | None) -> KeptKey | None:
    return carry_out(remote, plan_for(remote, [*remote.list()], key, kept))


@pytest.mark.parametrize("damage", [None, b"", b"{}", b'{"salt":"00","word":"00"}', b"\xff" * 40])
def test_a_lost_or_damaged_key_object_is_written_again(
    remote: Folder, made: tuple[bytes, KeyFacts], damage: bytes | None
) -> None:
    key, facts = made
    kept = mend(remote, key, None)
    assert kept is not None
    swap(remote, damage)
    if damage == b'{"salt":"00","word":"00"}':  # it says something, and our objects open: it is not of this remote
        assert plan_for(remote, [*remote.list()], key, kept).is_foreign
    mend(remote, key, kept)
    assert read_facts(remote) == facts
    assert key_of(remote, PASSPHRASE) == key
    assert plan_for(remote, [*remote.list()], key, kept).note == ""


def test_a_swapped_key_object_is_told_and_replaced(
    remote: Folder, made: tuple[bytes, KeyFacts], other: tuple[bytes, KeyFacts]
) -> None:
    key, facts = made
    kept = mend(remote, key, None)
    swap(remote, msgspec.json.encode(other[1]))
    assert plan_for(remote, [*remote.list()], key, kept).note == f"{KEY_OBJECT} was not that of this remote"
    mend(remote, key, kept)
    assert read_facts(remote) == facts


def test_a_changed_salt_under_the_right_word_is_replaced_too(remote: Folder, made: tuple[bytes, KeyFacts]) -> None:
    key, facts = made
    kept = mend(remote, key, None)
    swap(remote, msgspec.json.encode(msgspec.structs.replace(facts, salt="00" * 16)))
    assert plan_for(remote, [*remote.list()], key, kept).is_foreign
    mend(remote, key, kept)
    assert read_facts(remote) == facts


def test_what_an_earlier_version_wrote_is_kept_and_proved_by_the_passphrase(
    remote: Folder, made: tuple[bytes, KeyFacts]
) -> None:
    key, facts = made
    earlier = msgspec.structs.replace(facts, check="")
    swap(remote, msgspec.json.encode({name: getattr(earlier, name) for name in earlier.__struct_fields__[:-1]}))
    kept = mend(remote, key, None)
    assert kept is not None
    assert kept.facts == earlier
    swap(remote, msgspec.json.encode(msgspec.structs.replace(earlier, salt="00" * 16)))
    assert "only the passphrase tells" in plan_for(remote, [*remote.list()], key, kept).problem
    swap(remote, msgspec.json.encode(earlier))
    mend(remote, key, KeptKey(with_proof(key, earlier)))  # of a machine where the passphrase was given
    assert read_facts(remote) == facts
    assert mend(remote, key, kept) == KeptKey(facts, next(one.stamp for one in remote.list() if one.name == KEY_OBJECT))


def test_a_remote_that_was_started_anew_is_left_alone(
    tmp_path: Path, made: tuple[bytes, KeyFacts], other: tuple[bytes, KeyFacts]
) -> None:
    remote = Folder(tmp_path / "anew")
    kept = KeptKey(made[1])
    write_facts(remote, other[1])
    with pytest.raises(StartedAnewError):
        plan_for(remote, [*remote.list()], made[0], kept)
    send(tmp_path, remote, "desktop", other[0])
    with pytest.raises(StartedAnewError):
        plan_for(remote, [*remote.list()], made[0], kept)
    swap(remote, None)
    with pytest.raises(StartedAnewError):
        plan_for(remote, [*remote.list()], made[0], kept)


def test_a_machine_that_never_had_it_says_so(remote: Folder, made: tuple[bytes, KeyFacts]) -> None:
    swap(remote, None)
    plan = plan_for(remote, [*remote.list()], made[0], None)
    assert "is missing, and this machine does not have it" in plan.problem
    assert not plan.must_write


def test_an_unchanged_key_object_is_not_read_again(remote: Folder, made: tuple[bytes, KeyFacts]) -> None:
    kept = mend(remote, made[0], None)
    listing = [*remote.list()]
    swap(remote, None)  # after the listing
    assert plan_for(remote, listing, made[0], kept).kept == kept


def test_no_machine_joins_without_encryption(tmp_path: Path, remote: Folder) -> None:
    swap(remote, None)
    for passphrase in (None, PASSPHRASE):
        with pytest.raises(KeyObjectError, match="is encrypted, and its"):
            key_of(remote, passphrase)
    send(tmp_path, remote, "0", None)  # a stranger's, which is read first
    assert is_encrypted(remote, [*remote.list()])


@pytest.mark.parametrize(
    "change",
    [{"memory_kib": 1 << 21, "iterations": 100}, {"memory_kib": 1 << 21}, {"iterations": 100}, {"iterations": 0},
     {"memory_kib": -1}, {"memory_kib": 8}, {"lanes": 64}, {"lanes": 0}, {"salt": ""}, {"salt": "xx"}],
)  # fmt: skip
def test_costs_are_bounded_before_anything_is_computed(made: tuple[bytes, KeyFacts], change: dict[str, object]) -> None:
    before = time.process_time()
    with pytest.raises(KeyObjectError, match="asks for what backscroll never does"):
        open_key(PASSPHRASE, msgspec.structs.replace(made[1], **change))
    assert time.process_time() - before < 1


def test_a_sheet_and_the_passphrase_make_the_key_object(made: tuple[bytes, KeyFacts]) -> None:
    key, facts = made
    sheet = sheet_text(facts, "cloud", "s3://bucket/backscroll", "2026-01-02")
    read = read_sheet(sheet)
    assert read.recipe == facts.recipe
    assert is_proved(key, read)
    assert open_key(PASSPHRASE, with_proof(key, read)) == key
    assert key.hex() not in sheet.lower()
    assert PASSPHRASE not in sheet


def test_a_sheet_is_read_as_people_type_it(made: tuple[bytes, KeyFacts]) -> None:
    lines = sheet_lines(made[1])
    assert len(lines) == 4
    typed = "\n".join(line.lower().replace(" ", "").replace("0", "o").replace("1", "l") for line in lines)
    numbered = re.sub(r"(?m)^([1l4-]|[2-9]):", lambda match: match[0].replace("l", "1"), typed)
    assert read_sheet(numbered).recipe == made[1].recipe
    assert read_sheet("\r\n".join(reversed(lines))).recipe == made[1].recipe


@given(st.data())
def test_a_mistyped_character_is_told_with_its_line(made: tuple[bytes, KeyFacts], data: st.DataObject) -> None:
    lines = sheet_lines(made[1])
    number = data.draw(st.integers(0, len(lines) - 1))
    places = [at for at, letter in enumerate(lines[number]) if letter.isalnum() and at > 2]
    at = data.draw(st.sampled_from(places))
    letter = data.draw(
        st.sampled_from("0123456789ABCDEFGHJKMNPQRSTVWXYZU*").filter(lambda one: one != lines[number][at])
    )
    lines[number] = lines[number][:at] + letter + lines[number][at + 1 :]
    with pytest.raises(MistypedError, match=f"^line {number + 1} is mistyped in the recovery sheet"):
        read_sheet("\n".join(lines))


def test_lines_that_are_missing_or_exchanged_are_told(made: tuple[bytes, KeyFacts]) -> None:
    lines = sheet_lines(made[1])
    with pytest.raises(MistypedError, match="line 2 is missing"):
        read_sheet("\n".join([lines[0], *lines[2:]]))
    one, two = lines[0], lines[1]
    with pytest.raises(MistypedError, match="lines 1, 2 are mistyped"):
        read_sheet("\n".join([f"1:{two[2:]}", f"2:{one[2:]}", *lines[2:]]))
    with pytest.raises(UsageError, match="no line of a recovery sheet"):
        read_sheet("nothing")
