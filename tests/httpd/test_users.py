"""Who else uses this machine, and whose connection it is."""

import os
import pwd
import socket
import subprocess
import sys

import pytest

from backscroll.httpd.users import FIRST_USER, LAST_USER, connected_user, has_other_users, is_other_user


def account(uid: int, shell: str = "/bin/bash") -> pwd.struct_passwd:
    return pwd.struct_passwd((f"user{uid}", "x", uid, uid, "", "/home/user", shell))


def test_another_person_has_an_id_for_people_and_a_shell() -> None:
    services = [account(0), account(1, "/bin/sh"), account(FIRST_USER - 1), account(65_534), account(LAST_USER + 1)]
    locked = [account(FIRST_USER + 5, shell) for shell in ("/usr/sbin/nologin", "/bin/false", "/sbin/nologin")]
    own = account(FIRST_USER)
    assert not has_other_users([*services, *locked, own], FIRST_USER)
    assert has_other_users([*services, own, account(FIRST_USER + 1)], FIRST_USER)
    assert has_other_users([*services, own, account(FIRST_USER + 1, "")], FIRST_USER)  # an empty shell is /bin/sh
    assert has_other_users([*services, own], 0)
    assert isinstance(has_other_users(), bool)


CONNECT = """
import os, socket, sys
user, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
if user != os.geteuid():
    os.setgid(user)
    os.setuid(user)
connection = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
connection.connect((host, port))
print("connected", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")
@pytest.mark.parametrize(
    ("family", "listens", "connects"),
    [
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET, "127.0.0.1", "::ffff:127.0.0.1"),
    ],
)
def test_a_connection_is_its_users(family: socket.AddressFamily, listens: str, connects: str) -> None:
    user = 12_345 if os.geteuid() == 0 else os.geteuid()
    with socket.create_server((listens, 0), family=family) as listener:
        listener.settimeout(30)
        port = listener.getsockname()[1]
        command = [sys.executable, "-c", CONNECT, str(user), connects, str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            accepted, client = listener.accept()
            with accepted:
                ends = (client[0], client[1]), (listens, port)
                assert connected_user(*ends) == user
                assert is_other_user(*ends, own=user + 1)
                assert not is_other_user(*ends, own=user)
                assert not is_other_user(*ends, own=0)
                assert connected_user((client[0], port), (listens, client[1])) != user or os.geteuid() == user
            process.communicate()
    assert connected_user(("192.0.2.1", 1), ("192.0.2.2", 2)) is None
    assert not is_other_user(None, ("", None), own=user)
