"""A disk as it may be after a power cut, from what a command did to it.

As ext4 does it with `data=ordered`: names, sizes and removals reach the disk in their order, and all of them at the
latest when any file is flushed; what was written into a file reaches it in any order, and is sure to be there only
after that file was flushed.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.faults.tracing import SystemCall

STRING: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
NUMBERS: Final = re.compile(r"(?<![\w\\])-?\d+(?![\w\\])")
RESULT: Final = re.compile(r"= (-?\d+)[^=]*$")
DESCRIPTOR: Final = re.compile(r"^\((\d+)<")
NAMED: Final = re.compile(r"\(\d+<((?:\\x[0-9a-f]{2})+)>")
WRITES: Final = ("write", "pwrite64", "writev", "pwritev")


@dataclass(frozen=True)
class Step:
    """One change: `write` of data into a file, `sync` of one, or one of names and sizes."""

    kind: str
    file: int = -1
    path: str = ""
    target: str = ""
    offset: int = 0
    data: bytes = b""

    @property
    def is_meta(self) -> bool:
        """Whether it is about names or sizes."""
        return self.kind not in ("write", "sync", "datasync")

    @property
    def is_point(self) -> bool:
        """Whether something is made lasting, or becomes another."""
        return self.kind != "write"


Files = dict[str, bytes]
"""The files on a disk; the name of a folder ends in a slash."""


def snapshot(root: Path) -> Files:
    """The current contents of a folder."""
    return {
        f"{path}/" if path.is_dir() else str(path): b"" if path.is_dir() else path.read_bytes()
        for path in root.rglob("*")
        if not path.is_symlink()
    }


@dataclass
class Recording:
    """What a command did to a disk."""

    before: Files
    steps: list[Step] = field(default_factory=list)

    def points(self) -> list[int]:
        """After how many steps the power may be cut: before and after each that makes something lasting."""
        found = {0, len(self.steps)}
        for number, step in enumerate(self.steps):
            if step.is_point:
                found |= {number, number + 1}
        return sorted(found)

    @property
    def syncs(self) -> int:
        """How often something was flushed."""
        return sum(step.kind in ("sync", "datasync") for step in self.steps)

    def state(self, cut: int, survives: Callable[[Step], bool]) -> Files:
        """The disk if the power is cut after so many steps; `survives` says which of what was not flushed is there."""
        done = self.steps[:cut]
        flushed: dict[int, int] = {}
        names = 0
        grown: set[int] = set()
        for number, step in enumerate(done):
            if step.kind in ("sync", "datasync"):
                flushed[step.file] = number
                if step.kind == "sync" or step.file in grown:
                    names = number
                    grown.clear()
            elif step.kind in ("write", "size", "create"):
                grown.add(step.file)
        kept = []
        in_order = True
        for number, step in enumerate(done):
            if step.is_meta:
                in_order = in_order and (number < names or survives(step))
                if in_order:
                    kept.append(step)
            elif step.kind == "write" and (number < flushed.get(step.file, -1) or survives(step)):
                kept.append(step)
        return _apply(self.before, kept)


def write_files(files: Files, root: Path) -> None:
    """Write the files of a disk. The index of a log is shared memory of SQLite, and is recreated."""
    for name, content in sorted(files.items()):
        path = Path(name)
        if not path.is_relative_to(root) or name.endswith("-shm"):
            continue
        if name.endswith("/"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o600)


def digest(files: Files) -> str:
    """Tells two disks apart."""
    sums = hashlib.sha256()
    for name, content in sorted(files.items()):
        sums.update(f"{name} {len(content)}\n".encode())
        sums.update(content)
    return sums.hexdigest()


def _apply(before: Files, steps: Iterable[Step]) -> Files:
    names: dict[str, int] = {}
    contents: dict[int, bytearray] = {}
    for number, (name, content) in enumerate(before.items()):
        names[name], contents[number] = number, bytearray(content)
    for step in steps:
        content_of = contents.setdefault(step.file, bytearray())
        if step.kind == "write":
            if len(content_of) < step.offset:
                content_of.extend(bytes(step.offset - len(content_of)))
            content_of[step.offset : step.offset + len(step.data)] = step.data
        elif step.kind == "size":
            del content_of[step.offset :]
            content_of.extend(bytes(step.offset - len(content_of)))
        elif step.kind in ("create", "mkdir"):
            names[step.path] = step.file
        elif step.kind == "unlink":
            names.pop(step.path, None)
        elif step.kind == "rename":
            _rename(names, step.path, step.target)
    return {name: bytes(contents.get(file, b"")) for name, file in names.items()}


def _rename(names: dict[str, int], path: str, target: str) -> None:
    for name in [name for name in names if name == path or name.startswith(f"{path}/")]:
        names[target + name.removeprefix(path)] = names.pop(name)


class Recorder:
    """Makes steps of what strace saw."""

    def __init__(self, root: Path) -> None:
        self.recording = Recording(snapshot(root))
        self._root = str(root)
        self._names = {name: number for number, name in enumerate(self.recording.before)}
        self._next = len(self._names)
        self._open: dict[int, list[int]] = {}
        """Descriptor → the file, and where the next write goes."""
        self._paths: dict[int, str] = {}

    def take(self, calls: Iterable[SystemCall]) -> Recording:
        """All of them."""
        for call in calls:
            if not call.failed:
                self._take(call)
        return self.recording

    def _take(self, call: SystemCall) -> None:
        strings = [bytes.fromhex(found.replace("\\x", "")) for found in STRING.findall(call.text)]
        result = int(found[1]) if (found := RESULT.search(_plain(call.text))) else 0
        if call.name == "openat":
            self._opened(call, _joined(call.text, strings[0]), result)
        elif call.name in ("rename", "renameat", "renameat2"):
            self._named(Step("rename", path=strings[0].decode(), target=strings[1].decode()))
        elif call.name in ("unlink", "unlinkat", "rmdir"):
            path = _joined(call.text, strings[0])
            self._named(Step("unlink", path=f"{path}/" if f"{path}/" in self._names else path))
        elif call.name == "mkdir":
            self._next += 1
            self._named(Step("mkdir", self._next, f"{strings[0].decode()}/"))
        elif (found := DESCRIPTOR.match(call.text)) and int(found[1]) in self._open and self._is_ours(call.text):
            self._written(call, int(found[1]), strings, result)
        elif call.name in ("link", "fallocate", "truncate") and self._root in str(strings):
            raise NotImplementedError(f"{call.name} is not known to the disk")

    def _is_ours(self, text: str) -> bool:
        """Whether the descriptor that a call begins with is of a file of ours: its number may be another's by now."""
        found = NAMED.match(text)
        return found is not None and bytes.fromhex(found[1].replace("\\x", "")).startswith(os.fsencode(self._root))

    def _opened(self, call: SystemCall, path: str, descriptor: int) -> None:
        self._open.pop(descriptor, None)
        if not path.startswith(self._root):
            return
        if f"{path}/" in self._names:
            self._open[descriptor] = [self._names[f"{path}/"], 0]
            return
        if path not in self._names:
            if "O_CREAT" not in call.text:
                return  # made by a call that we do not look at; reading does not matter
            self._next += 1
            self._named(Step("create", self._next, path))
        file = self._names[path]
        if "O_TRUNC" in call.text:
            self.recording.steps.append(Step("size", file, path))
        self._open[descriptor] = [file, -1 if "O_APPEND" in call.text else 0]
        self._paths[descriptor] = path

    def _written(self, call: SystemCall, descriptor: int, strings: list[bytes], result: int) -> None:
        file, position = self._open[descriptor]
        if call.name in WRITES:
            data = b"".join(strings)[:result]
            at = int(NUMBERS.findall(_plain(call.text))[-2]) if call.name.startswith("pwrite") else position
            if at < 0:
                at = sum(len(step.data) for step in self.recording.steps if step.file == file)
            self.recording.steps.append(Step("write", file, self._paths.get(descriptor, ""), "", at, data))
            if not call.name.startswith("pwrite") and position >= 0:
                self._open[descriptor][1] = position + len(data)
        elif call.name in ("sendfile", "copy_file_range"):
            self._copied(call, descriptor, result)
        elif call.name in ("fsync", "fdatasync"):
            self.recording.steps.append(Step("sync" if call.name == "fsync" else "datasync", file))
        elif call.name == "ftruncate":
            self.recording.steps.append(Step("size", file, "", "", int(NUMBERS.findall(_plain(call.text))[-2])))
        elif call.name == "lseek" or (call.name == "read" and position >= 0):
            self._open[descriptor][1] = result if call.name == "lseek" else position + result

    def _copied(self, call: SystemCall, descriptor: int, count: int) -> None:
        """What the kernel copied from one file to another; the source is read now, because packs only grow."""
        file, position = self._open[descriptor]
        found = re.search(r", (\d+)<((?:\\x[0-9a-f]{2})+)>", call.text)
        if not found or int(found[1]) not in self._open:
            raise NotImplementedError(f"{call.name} from a file that is not known to the disk")
        source = Path(bytes.fromhex(found[2].replace("\\x", "")).decode())
        start = self._open[int(found[1])][1]
        data = source.read_bytes()[start : start + count]
        self._open[int(found[1])][1] += count
        self.recording.steps.append(Step("write", file, self._paths.get(descriptor, ""), "", position, data))
        self._open[descriptor][1] = position + count

    def _named(self, step: Step) -> None:
        if not step.path.startswith(self._root):
            return
        self.recording.steps.append(step)
        if step.kind == "rename":
            _rename(self._names, step.path, step.target)
        elif step.kind == "unlink":
            self._names.pop(step.path, None)
        else:
            self._names[step.path] = step.file


def _plain(text: str) -> str:
    """Without paths and data."""
    return re.sub(r"<(?:\\x[0-9a-f]{2})*>", "", STRING.sub('""', text))


def _joined(text: str, name: bytes) -> str:
    """The path that a call was given, below the folder that it was given with."""
    path = Path(name.decode(errors="surrogateescape"))
    found = re.match(r"\((?:AT_FDCWD|\d+)<((?:\\x[0-9a-f]{2})+)>", text)
    if path.is_absolute() or not found:
        return str(path)
    return str(Path(bytes.fromhex(found[1].replace("\\x", "")).decode()) / path)
