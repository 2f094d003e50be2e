"""A machine's own sessions win over copies of them from elsewhere, and a copy that says something else is told."""

import json
from pathlib import Path

import pytest

from tests.attack.sync.who_forging import ForgedKey, forge
from tests.cli.test_sync import Machine
from tests.support.drawings import session_uuid
from tests.support.homes import session_file

TALK = """
@ session=S1 cwd=/home/ada/shop
a <- - user: ask about zirconium
b <- a assistant(m1): it is a metal
"""
LONGER = """
@ session=S1 cwd=/home/ada/shop
a <- - user: ask about plutonium
b <- a assistant(m1): it is a secret
c <- b user: go on about neptunium
d <- c assistant(m2): gladly
"""
MALLORY = ForgedKey(b"mallory")
S1 = session_uuid("S1")


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "laptop", TALK, "S1")


@pytest.fixture
def nas(tmp_path: Path) -> Path:
    folder = tmp_path / "nas"
    folder.mkdir()
    return folder


def take(machine: Machine, nas: Path, device: str, drawing: str) -> None:
    """Have another machine send a copy of a session, and the machine take it."""
    ((path, data),) = session_file("S1", drawing).items()
    content = data if isinstance(data, bytes) else str(data).encode()
    forge(nas, device, content, path=path, key=MALLORY, log="000001-aaaaaaaa")
    words = ("sync",) if (machine.library / "sync").exists() else ("sync", "add", "nas", nas, "--yes")
    ran = machine.run(*words)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("device", ["aaa", "zzz"])
def test_what_was_said_here_is_shown_beside_what_another_machine_has(laptop: Machine, nas: Path, device: str) -> None:
    take(laptop, nas, device, LONGER)
    shown = laptop.run("show", S1[:8]).stdout
    assert shown.index("ask about zirconium") < shown.index(f"{device} has another text here")
    assert shown.index(f"{device} has another text here") < shown.index("ask about plutonium")
    assert shown.index("it is a metal") < shown.index("it is a secret")
    messages = json.loads(laptop.run("show", S1[:8], "--json").stdout)["messages"]
    assert [message["text"] for message in messages][:2] == ["ask about zirconium", "it is a metal"]
    assert messages[0]["conflicts"] == [{"machine": device, "text": "ask about plutonium"}]
    assert "conflicts" not in messages[2]


@pytest.mark.parametrize("device", ["aaa", "zzz"])
def test_what_was_said_here_is_found_and_listed(laptop: Machine, nas: Path, device: str) -> None:
    take(laptop, nas, device, LONGER)
    (chat,) = laptop.json("list")["chats"]
    assert chat["title"] == "ask about zirconium"
    hits = laptop.json("search", "ask about")["hits"]
    assert [hit["snippet"] for hit in hits if hit["message"] == "a"] == ["ask about zirconium"]
    (other,) = laptop.json("search", "plutonium")["hits"]
    assert (other["snippet"], other["machine"]) == ("ask about plutonium", device)
    assert f"prompt (on {device}): ask about plutonium" in laptop.run("search", "plutonium").stdout


def test_a_copy_that_only_goes_on_is_no_conflict(laptop: Machine, nas: Path) -> None:
    take(laptop, nas, "desktop", LONGER.replace("plutonium", "zirconium").replace("a secret", "a metal"))
    shown = laptop.run("show", S1[:8]).stdout
    assert "another text" not in shown
    assert "go on about neptunium" in shown


def test_a_copy_with_masked_secrets_is_no_conflict(laptop: Machine, nas: Path) -> None:
    take(laptop, nas, "desktop", LONGER.replace("plutonium", "[redacted: word 0123456789]").replace("secret", "metal"))
    assert "another text" not in laptop.run("show", S1[:8]).stdout
