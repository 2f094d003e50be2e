"""Devices with real archives and real state, and remotes that fail when they are told to."""

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.capture import capture
from backscroll.archive.forgetting import keys_to_forget
from backscroll.archive.kept_file import KeptFile
from backscroll.archive.rewriting import Writer
from backscroll.errors import NothingFound
from backscroll.files.homes import Home
from backscroll.files.reading import Bookmark
from backscroll.library.syncing.trusted_keys import TrustedKeys
from backscroll.settings import Settings
from backscroll.sync.bundles import PLAIN, Seal
from backscroll.sync.consent import agree, stay_until_agreed
from backscroll.sync.forgotten_elsewhere import ForgottenElsewhere, forget_keys
from backscroll.sync.objects import folder_of
from backscroll.sync.outgoing import Outgoing
from backscroll.sync.policy import SyncMode
from backscroll.sync.pull import Pulled, has_news, pull
from backscroll.sync.push import push
from backscroll.sync.remotes import Remote, RemoteObject
from backscroll.sync.sender import Pushed, Sender
from backscroll.sync.signing import Signer
from backscroll.sync.state import SyncState
from backscroll.sync.trust import Judge
from backscroll.sync.verify import Verified, verify

Answer = TypeVar("Answer")
SESSION = "projects/-work-shop/11111111-1111-4111-8111-{:012}.jsonl"
EACH_REMOTE = pytest.mark.parametrize("remote", ["folder", "s3", "server"], indirect=True)
"""Try a test with every kind of remote."""
Contents = dict[str, list[bytes]]


class Device:
    """A machine with a home, an archive, and what it knows of a remote."""

    def __init__(
        self, root: Path, name: str, *, mode: SyncMode = SyncMode.FULL, seal: Seal = PLAIN, signs: bool = True
    ) -> None:
        """A new machine. One of a team server, which knows its devices by their credentials, does not sign."""
        self.root, self.name = root / name, name
        self.home = self.root / "home"
        (self.home / "projects").mkdir(parents=True, exist_ok=True)
        self.mode_of: Callable[[KeptFile], SyncMode] = lambda _: self.mode
        self.mode = mode
        self.key = name.encode()
        self.seal = seal
        self.signer: Signer | None = Signer(hashlib.sha256(self.key).digest()) if signs else None
        self.machine = name
        """What it is called on remotes; `sync enroll` gives it another name."""
        self.device_of: Callable[[str], str] = lambda machine: machine
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.agrees = True
        """Whether it forgets what other devices ask it to forget, as soon as they do."""

    @property
    def device(self) -> str:
        """Its name on the remote."""
        return self.device_of(self.machine)

    @property
    def archive(self) -> Archive:
        return Archive(self.root / "archive")

    @property
    def state_path(self) -> Path:
        return self.root / "sync" / "state.sqlite"

    def write(self, path: str, data: bytes) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)

    def append(self, path: str, data: bytes) -> None:
        file = self.home / path
        self.write(path, (file.read_bytes() if file.exists() else b"") + data)

    def delete(self, path: str) -> None:
        (self.home / path).unlink(missing_ok=True)

    def keep(self) -> None:
        with self.writer() as writer:
            capture(writer, Home(self.home), self.name)

    def keep_as(self, path: str, kind: str, data: bytes) -> None:
        """Keep more of a file as a later version would, which knows more kinds of them."""
        with self.writer() as writer:
            found = [file for file in writer.files.values() if file.path == path]
            file = found[0] if found else writer.new_file(self.name, str(self.home), path, kind)
            end = (file.versions[0].size if found else 0) + len(data)
            writer.add(file, [data], lambda: Bookmark(end, 0, 0, end, 0, 0, 0, 0, 0), new_version=not found)

    def forget(self, path: str) -> None:
        with self.writer() as writer:
            files = [file for file in writer.files.values() if file.path == path]
            writer.forget(files, keys_to_forget([(str(self.home), path)]))

    def writer(self) -> Writer:
        return Writer(self.root / "archive")

    def push(self, remote: Remote) -> Pushed:
        state = SyncState(self.state_path)
        try:
            return push(self.sender(), remote, state)
        finally:
            state.close()

    def withdraw(self, remote: Remote) -> Pushed:
        """Agree that everything that may not leave any more is withdrawn, and push."""
        state = SyncState(self.state_path)
        try:
            sender = self.sender()
            agree(state, [one.base for one in stay_until_agreed(sender, state)])
            return push(sender, remote, state)
        finally:
            state.close()

    def pull(self, remote: Remote) -> Pulled:
        state = SyncState(self.state_path)
        try:
            with self.writer() as writer:
                pulled = pull(
                    lambda: contextlib.nullcontext(writer), remote, state, self.device, self.seal,
                    is_own=lambda machine: machine == self.name, on_forgotten=self._note_asked, judge=self.judge,
                )  # fmt: skip
                if self.agrees and self.asked - writer.forgotten:
                    pulled.forgotten += forget_keys(writer, self.asked - writer.forgotten)
                return pulled
        finally:
            state.close()

    @property
    def judge(self) -> Judge | None:
        """Judges what others sent; None for one of a team server."""
        settings = Settings(homes=(), library=self.root, file=self.root / "settings.toml")
        return Judge(TrustedKeys(settings), self.device_of) if self.signer else None

    @property
    def asked(self) -> set[str]:
        """What other devices have asked it to forget."""
        path = self.root / "asked"
        return set(path.read_text().split()) if path.exists() else set()

    def _note_asked(self, request: ForgottenElsewhere) -> None:
        with (self.root / "asked").open("a") as file:
            file.write("".join(f"{key}\n" for key in request.keys))

    def has_news(self, remote: Remote) -> bool:
        state = SyncState(self.state_path)
        try:
            return has_news(remote.list(), state, self.device)
        finally:
            state.close()

    def verify(self, remote: Remote, *, deep: bool = False) -> Verified:
        state = SyncState(self.state_path)
        try:
            return verify(self.sender(), remote, state, deep=deep)
        finally:
            state.close()

    def sender(self) -> Sender:
        return Sender(
            self.device, self.machine, self.archive, lambda machine: machine == self.name,
            lambda file: self.mode_of(file), Outgoing(self.key), self.seal, self.signer, self.clock,
        )  # fmt: skip

    def contents(self, device: str) -> Contents:
        """What this device has of the files of one, version by version."""
        archive = self.archive
        return {
            file.path: [b"".join(archive.content(version)) for version in file.versions]
            for file in archive.files.values()
            if file.machine == device
        }


class LateObjects:
    """A remote as a machine sees it to which some objects of the others have not come yet."""

    def __init__(self, remote: Remote, own: str, late: frozenset[int]) -> None:
        others = [one.name for one in remote.list() if not one.name.startswith(folder_of(own))]
        self._late = {name for number, name in enumerate(others) if number in late}
        self._remote = remote

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        return (one for one in self._remote.list(prefix) if one.name not in self._late)

    def get(self, name: str) -> bytes:
        if name in self._late:
            raise NothingFound(f"the remote has no {name}", "wait")
        return self._remote.get(name)

    def pieces(self, name: str) -> Iterator[bytes]:
        yield self.get(name)

    def put(self, name: str, data: bytes) -> bool:
        return self._remote.put(name, data)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        return self._remote.put_file(name, file)

    def delete(self, name: str) -> None:
        self._remote.delete(name)


class Unreachable(Exception):  # noqa: N818
    """The network is cut."""


class CutRemote:
    """A remote whose requests fail: before they arrive, or after, when only the answer is lost."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.fails_in: int | None = None
        """After how many more requests one fails."""
        self.loses_answer = False
        self.requests: list[str] = []

    def list(self, prefix: str = "") -> Iterator[RemoteObject]:
        found = self._do("list", lambda: [*self._remote.list(prefix)])
        return iter(found)

    def get(self, name: str) -> bytes:
        return self._do("get", lambda: self._remote.get(name))

    def put(self, name: str, data: bytes) -> bool:
        return self._do("put", lambda: self._remote.put(name, data))

    def pieces(self, name: str) -> Iterator[bytes]:
        yield self.get(name)

    def put_file(self, name: str, file: IO[bytes]) -> bool:
        return self.put(name, file.read())

    def delete(self, name: str) -> None:
        self._do("delete", lambda: self._remote.delete(name))

    def _do(self, kind: str, act: Callable[[], Answer]) -> Answer:
        self.requests.append(kind)
        fails = self.fails_in == 0
        if self.fails_in is not None:
            self.fails_in = None if fails else self.fails_in - 1
        if fails and not self.loses_answer:
            raise Unreachable
        answer = act()
        if fails:
            raise Unreachable
        return answer
