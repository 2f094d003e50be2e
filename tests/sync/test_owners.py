"""What one owner forgets on a team server stays with every other owner, even if it is the same file."""

from pathlib import Path

from backscroll.sync.remotes import open_remote
from tests.sync.support import SESSION, Device

PATH = SESSION.format(1)
LINE = b'{"type":"user","uuid":"u1","message":{"role":"user","content":"hello"}}\n'


def test_a_device_cannot_make_the_server_forget_a_file_of_another_owner(tmp_path: Path) -> None:
    objects = open_remote(str(tmp_path / "objects"))
    server = Device(tmp_path, "server")
    ada, bob = Device(tmp_path, "ada/laptop"), Device(tmp_path, "bob/laptop")
    bob.home = ada.home  # the same path on both machines, as in containers
    for device in (ada, bob):
        device.write(PATH, LINE)
        device.keep()
        device.push(objects)
    server.pull(objects)
    ada.forget(PATH)
    ada.push(objects)
    assert server.pull(objects).forgotten == 1
    assert server.contents("ada/laptop") == {}
    assert server.contents("bob/laptop") == {PATH: [LINE]}
    bob.append(PATH, LINE)
    bob.keep()
    bob.push(objects)
    server.pull(objects)
    assert server.contents("bob/laptop") == {PATH: [LINE + LINE]}
