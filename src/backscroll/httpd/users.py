"""Whether other people use this machine, and whether one of them is asking."""

import os
import pwd
import sys
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Final

FIRST_USER: Final = 501 if sys.platform == "darwin" else 1000
LAST_USER: Final = 59_999
"""The ids that systems give to people; below are services, above are `nobody` and ids that are made for a moment."""
NO_LOGIN: Final = frozenset({"nologin", "false", "sync", "halt", "shutdown"})
TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def has_other_users(accounts: Iterable[pwd.struct_passwd] | None = None, own: int | None = None) -> bool:
    """Whether another person can log in here: an account with an id for people and a shell, which is not ours."""
    own = os.geteuid() if own is None else own
    return any(
        account.pw_uid != own
        and FIRST_USER <= account.pw_uid <= LAST_USER
        and account.pw_shell.rpartition("/")[2] not in NO_LOGIN
        for account in (pwd.getpwall() if accounts is None else accounts)
    )


def is_other_user(client: tuple[str, int] | None, server: tuple[str, int | None], own: int | None = None) -> bool:
    """Whether a connection from this machine is known to be another user's.

    Linux says so for every connection within the machine; elsewhere it is not known, and the answer is no. Root counts
    as the same user: it can read everything anyway, and a server that it runs is opened by the person who is root.
    """
    own = os.geteuid() if own is None else own
    if client is None or server[1] is None or own == 0:
        return False
    return connected_user(client, (server[0], server[1])) not in (None, own, 0)


def connected_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The user id at the other end of a connection within this machine; None where the system does not say."""
    for table in TABLES:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except (OSError, UnicodeDecodeError):
            continue
        for line in lines:
            _, local, remote, _, _, _, _, user, *_ = line.split()
            if _same(local, client) and _same(remote, server):
                return int(user)
    return None


def _same(written: str, end: tuple[str, int]) -> bool:
    """Whether an end of a connection, as the kernel writes it, is this one."""
    digits, _, port = written.partition(":")
    if int(port, 16) != end[1]:
        return False
    # Each group of four bytes is a number in the order of the machine.
    groups = [int(digits[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(digits), 8)]
    address, wanted = ip_address(b"".join(groups)), ip_address(end[0].partition("%")[0])
    return address == wanted or getattr(address, "ipv4_mapped", None) == wanted
