"""A server removes from an archive what its device took back from the remote, wherever the device has put the rest."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from backscroll.sync.objects import devices_in
from backscroll.sync.policy import SyncMode
from backscroll.sync.remotes import Folder
from backscroll.sync.removal import merge_small
from backscroll.sync.state import SyncState
from backscroll.sync.withdrawn import withdraw
from tests.sync.support import SESSION, Device

ONE, TWO = SESSION.format(1), SESSION.format(2)
LINE = b'{"type":"user","uuid":"u%d","message":{"role":"user","content":"hello"}}\n'


@pytest.mark.parametrize("is_merged", [False, True], ids=["shortened", "shortened and merged"])
def test_what_was_taken_back_is_removed_and_nothing_else(tmp_path: Path, is_merged: bool) -> None:
    remote, laptop, server = Folder(tmp_path / "remote"), Device(tmp_path, "laptop"), Device(tmp_path, "server")
    for number, path in enumerate((ONE, TWO)):
        laptop.write(path, LINE % number)
        laptop.keep()
        laptop.push(remote)
    server.pull(remote)
    laptop.mode_of = lambda file: SyncMode.OFF if file.path == ONE else SyncMode.FULL
    assert laptop.withdraw(remote).removed == 1
    if is_merged:
        assert merge_small(remote, "laptop", most=1) == 1
        assert [one.revision for one in devices_in(remote.list())["laptop"]] == [0]
    state = SyncState(server.state_path)
    with server.writer() as writer:
        for expected in (1, 0):  # it is looked for once
            found = withdraw(lambda: nullcontext(writer), remote, [*remote.list()], state, "laptop")
            assert len(found.streams) == expected
            found.note(state, "laptop")
    state.close()
    assert server.contents("laptop") == {TWO: [LINE % 1]}
