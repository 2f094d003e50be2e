"""The session that asks, and its project."""

import os
from pathlib import Path

import pytest

from backscroll.library.memory.asking_session import AskingSession, client_that_started_us
from tests.library.support import Shelf
from tests.support.drawings import session_uuid
from tests.support.homes import live_session, session_file

CALLING = session_uuid("calling")
SHOP = "/home/ada/shop"


def test_the_session_is_known_by_the_environment(tmp_path: Path) -> None:
    with Shelf(tmp_path).open() as library:
        caller = client_that_started_us(library, {"CLAUDE_CODE_SESSION_ID": CALLING.upper()}, "/here")
        assert caller == AskingSession(frozenset({CALLING}), "/here")
        environment = {"CLAUDE_CODE_SESSION_ID": "../x; rm", "CLAUDE_PROJECT_DIR": SHOP}
        assert client_that_started_us(library, environment, "/") == AskingSession(frozenset(), SHOP)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process began")
def test_the_session_of_the_client_above_us_is_the_callers(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path).write(session_file("calling", f"@ session=calling cwd={SHOP}\nc1 <- - user: who asks?"))
    parent = os.getppid()
    began = Path(f"/proc/{parent}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    shelf.write(live_session("calling", parent, began))
    with shelf.open() as library:
        assert client_that_started_us(library, {}, "/here") == AskingSession(frozenset({CALLING}), SHOP)
        assert list(library.live) == [CALLING]


def test_a_folder_below_the_callers_is_theirs_too() -> None:
    caller = AskingSession(project=SHOP)
    assert caller.is_at(SHOP) and caller.is_at(f"{SHOP}/web")
    assert not caller.is_at("/home/ada/shopping") and not caller.is_at(None) and not AskingSession().is_at("/home")
