"""Other users of this machine, and connections that are theirs."""

import sys
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from backscroll import system

FIRST_USER: Final = 501 if sys.platform == "darwin" else 1000
LAST_USER: Final = 59_999
"""User ids of people; lower ones are services, higher ones are `nobody` and temporary ids."""
NO_LOGIN: Final = frozenset({"nologin", "false", "sync", "halt", "shutdown"})
TABLES: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def has_other_users(accounts: Iterable[system.Account] | None = None, own: int | None = None) -> bool:
    """Whether another person can log in: an account, not ours, with a person's id and a login shell."""
    own = system.user_id() if own is None else own
    return any(
        account.pw_uid != own
        and FIRST_USER <= account.pw_uid <= LAST_USER
        and account.pw_shell.rpartition("/")[2] not in NO_LOGIN
        for account in (system.accounts() if accounts is None else accounts)
    )


def is_other_user(client: tuple[str, int] | None, server: tuple[str, int | None], own: int | None = None) -> bool:
    """Whether a local connection is known to be another user's.

    Linux knows the user of every local connection; on other systems the answer is no. Root counts as the same user: it
    can read everything anyway, and a server that root runs is opened by the person who is root.
    """
    own = system.user_id() if own is None else own
    if client is None or server[1] is None or own == 0:
        return False
    return connected_user(client, (server[0], server[1])) not in (None, own, 0)


def connected_user(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """Return the user id at the other end of a local connection; None if the system does not tell."""
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
    """Whether an address in the kernel's notation is this one."""
    digits, _, port = written.partition(":")
    if int(port, 16) != end[1]:
        return False
    # Each group of four bytes is a number in native byte order.
    groups = [int(digits[at : at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(digits), 8)]
    address, wanted = ip_address(b"".join(groups)), ip_address(end[0].partition("%")[0])
    return address == wanted or getattr(address, "ipv4_mapped", None) == wanted
