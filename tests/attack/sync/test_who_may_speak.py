"""Anyone who can write to a remote writes in the name of a machine: nothing comes that the machine did not sign."""

import shutil
from pathlib import Path

import pytest

from backscroll.library.syncing.trusted_keys import TrustedKeys
from backscroll.settings import Settings
from backscroll.sync.pull import Pulled
from backscroll.sync.remotes import Folder
from backscroll.sync.signing import fingerprint
from tests.attack.sync.who_forging import ForgedKey, encode, forge, last_index
from tests.sync.support import SESSION, Device

ONE, TWO, THREE = (SESSION.format(number) for number in (1, 2, 3))
LINE = b'{"type":"user","uuid":"u%d"}\n'
FORGED = b'{"type":"user","uuid":"forged"}\n'
MALLORY = ForgedKey(b"mallory")
HIGHER_LOG = "999999-ffffffff"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "remote"


@pytest.fixture
def laptop(tmp_path: Path, folder: Path) -> Device:
    """A machine that signs, and has sent a session."""
    return sent(Device(tmp_path, "laptop"), folder, ONE, LINE % 1)


@pytest.fixture
def desktop(tmp_path: Path, folder: Path, laptop: Device) -> Device:
    """A machine that knows the laptop."""
    device = Device(tmp_path, "desktop")
    assert pulled(device, folder).problems == []
    assert device.contents(laptop.name)
    return device


def sent(device: Device, folder: Path, path: str, data: bytes) -> Device:
    device.append(path, data)
    device.keep()
    device.push(Folder(folder))
    return device


def pulled(device: Device, folder: Path) -> Pulled:
    return device.pull(Folder(folder))


def keys_of(device: Device) -> TrustedKeys:
    return TrustedKeys(Settings(homes=(), library=device.root, file=device.root / "settings.toml"))


def laptop_has(device: Device) -> dict[str, list[bytes]]:
    return device.contents("laptop")


def test_what_is_not_signed_is_refused_once_a_machine_signs(folder: Path, desktop: Device) -> None:
    forge(folder, "laptop", FORGED, path=TWO)
    (problem,) = pulled(desktop, folder).problems
    assert "bundle 2 is not signed" in problem
    assert "sync trust laptop" in problem
    assert laptop_has(desktop) == {ONE: [LINE % 1]}


def test_what_another_key_signed_is_refused_and_both_keys_are_told(
    folder: Path, laptop: Device, desktop: Device
) -> None:
    forge(folder, "laptop", FORGED, path=TWO, key=MALLORY)
    (problem,) = pulled(desktop, folder).problems
    assert laptop.signer is not None
    assert fingerprint(laptop.signer.public) in problem
    assert fingerprint(MALLORY.public) in problem
    assert laptop_has(desktop) == {ONE: [LINE % 1]}


def test_what_a_machine_says_after_a_forgery_is_taken(folder: Path, laptop: Device, desktop: Device) -> None:
    forge(folder, "laptop", FORGED, path=TWO)
    pulled(desktop, folder)
    sent(laptop, folder, THREE, LINE % 3)  # it removes the forgery, too
    assert pulled(desktop, folder).problems == []
    assert laptop_has(desktop) == {ONE: [LINE % 1], THREE: [LINE % 3]}
    assert keys_of(desktop).machines["laptop"].refused is None


@pytest.mark.parametrize("key", [None, MALLORY], ids=["unsigned", "signed by another"])
def test_a_higher_log_that_another_made_up_draws_nobody_off(
    folder: Path, laptop: Device, desktop: Device, key: ForgedKey | None
) -> None:
    sent(laptop, folder, TWO, LINE % 2)
    forge(folder, "laptop", FORGED, path=THREE, key=key, log=HIGHER_LOG)
    assert pulled(desktop, folder).problems == []
    assert laptop_has(desktop) == {ONE: [LINE % 1], TWO: [LINE % 2]}


@pytest.mark.parametrize("key", [None, MALLORY], ids=["unsigned", "signed by another"])
def test_a_log_that_replaced_the_real_one_is_refused_and_what_was_taken_stays_known(
    folder: Path, desktop: Device, key: ForgedKey | None
) -> None:
    shutil.rmtree(folder / "backscroll" / "1" / "laptop")
    forge(folder, "laptop", FORGED, path=ONE, key=key, log=HIGHER_LOG)
    (problem,) = pulled(desktop, folder).problems
    assert "sync trust laptop" in problem
    assert laptop_has(desktop) == {ONE: [LINE % 1]}


@pytest.mark.parametrize("name", ["{0:010}-{0:010}.999999999", "{0:010}-9999999999.0", "0000000001-{0:010}.7"])
def test_an_object_that_covers_a_real_one_hides_it_from_nobody(
    folder: Path, laptop: Device, desktop: Device, name: str
) -> None:
    sent(laptop, folder, TWO, LINE % 2)
    path, index = last_index(folder, "laptop")
    path.with_name(name.format(index["number"])).write_bytes(encode({**index, "entries": [], "size": 0}))
    done = pulled(desktop, folder)
    assert laptop_has(desktop) == {ONE: [LINE % 1], TWO: [LINE % 2]}
    assert done.notes or done.problems


def test_an_object_of_one_machine_does_not_count_in_the_folder_of_another(
    folder: Path, tmp_path: Path, desktop: Device
) -> None:
    sent(Device(tmp_path, "tablet"), folder, TWO, LINE % 2)
    shutil.rmtree(folder / "backscroll" / "1" / "laptop")
    shutil.copytree(folder / "backscroll" / "1" / "tablet", folder / "backscroll" / "1" / "laptop")
    (problem,) = pulled(desktop, folder).problems
    assert "says that it is from tablet" in problem
    assert laptop_has(desktop) == {ONE: [LINE % 1]}
    assert desktop.contents("tablet") == {TWO: [LINE % 2]}


@pytest.mark.parametrize("key", [None, MALLORY], ids=["unsigned", "signed"])
def test_a_second_device_cannot_claim_a_machine(folder: Path, desktop: Device, key: ForgedKey | None) -> None:
    forge(folder, "mallory", FORGED, path=ONE, key=key, log="000001-aaaaaaaa", machine="laptop")
    (problem,) = pulled(desktop, folder).problems
    assert "claims to be from laptop" in problem
    assert laptop_has(desktop) == {ONE: [LINE % 1]}


def test_a_machine_that_was_never_seen_cannot_be_claimed_either(folder: Path, tmp_path: Path) -> None:
    forge(folder, "mallory", FORGED, path=ONE, log="000001-aaaaaaaa", machine="laptop")
    desktop = Device(tmp_path, "desktop")
    assert pulled(desktop, folder).problems
    assert laptop_has(desktop) == {}


def test_a_device_that_is_called_as_a_copy_is_kept_here_adds_nothing_to_it(
    folder: Path, laptop: Device, desktop: Device
) -> None:
    desktop.name = "laptop"  # what it had sent before it got another name
    desktop.state_path.unlink()
    assert pulled(desktop, folder).problems == []
    forge(folder, "laptop-copy", FORGED, path=ONE, key=MALLORY, log="000001-aaaaaaaa", home=str(laptop.home))
    assert pulled(desktop, folder).problems == []
    assert desktop.contents("laptop-copy") == {ONE: [LINE % 1]}
    assert desktop.contents("laptop-copy-copy") == {ONE: [FORGED]}


def test_a_bundle_counts_in_no_other_log_than_it_was_signed_for(folder: Path, desktop: Device) -> None:
    path, _ = last_index(folder, "laptop")
    moved = path.parent.with_name(HIGHER_LOG)
    path.parent.rename(moved)
    (problem,) = pulled(desktop, folder).problems
    assert "signed for another place" in problem


def test_a_key_that_is_known_from_one_remote_is_trusted_on_every_other(tmp_path: Path, desktop: Device) -> None:
    other = tmp_path / "other"
    forge(other, "laptop", FORGED, path=TWO, key=MALLORY, log="000001-aaaaaaaa")
    desktop.state_path.rename(desktop.state_path.with_name("first.sqlite"))
    assert "it is known by the key" in pulled(desktop, other).problems[0]
    assert laptop_has(desktop) == {ONE: [LINE % 1]}


def test_a_machine_that_was_set_up_anew_is_taken_once_the_user_accepts_its_key(
    folder: Path, tmp_path: Path, laptop: Device, desktop: Device
) -> None:
    old = laptop.signer
    shutil.rmtree(laptop.root)
    shutil.rmtree(folder / "backscroll" / "1" / "laptop")
    again = Device(tmp_path, "laptop")
    again.signer = type(old)(b"n" * 32)  # type: ignore[misc]
    sent(again, folder, TWO, LINE % 2)
    assert "set up anew" in pulled(desktop, folder).problems[0]
    assert laptop_has(desktop) == {ONE: [LINE % 1]}
    assert keys_of(desktop).accept("laptop").key == again.signer.public
    assert pulled(desktop, folder).problems == []
    assert laptop_has(desktop) == {ONE: [LINE % 1], TWO: [LINE % 2]}


def test_a_machine_that_adds_the_remote_again_needs_no_new_trust(folder: Path, laptop: Device, desktop: Device) -> None:
    shutil.rmtree(laptop.state_path.parent)
    shutil.rmtree(folder / "backscroll" / "1" / "laptop")
    sent(laptop, folder, TWO, LINE % 2)
    assert pulled(desktop, folder).problems == []
    assert laptop_has(desktop) == {ONE: [LINE % 1], TWO: [LINE % 2]}
