"""The session in a message log, which the clients before `__store.db` wrote: a JSON array of messages."""

import json
import re
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from backscroll.files.early_rows import message_line, problem_line
from backscroll.files.early_sessions import Contents, Gathered, name_of
from backscroll.files.opening import read_small
from backscroll.files.times import storable_time

LONGEST_LOG: Final = 64 * 1024 * 1024


class LogContents(Contents):
    """The one session in a message log: a JSON array of messages, in their order."""

    def __init__(self, path: Path, data: bytes | None = None, modified_ns: int = 0) -> None:
        super().__init__()
        if data is None:
            data, modified_ns = read_small(path, LONGEST_LOG), storable_time(path.stat().st_mtime_ns)
        self._all = list(_messages(data, path.stem))
        if not self._all:
            return
        session = next(filter(None, map(_session_in, self._all)), path.stem)
        gathered = Gathered(size=len(data))
        for number in range(len(self._all)):
            gathered.add(number + 1, modified_ns / 1e9)
        session_entry = gathered.session(session)
        self.sessions[session_entry.name] = session_entry._replace(mark=zlib.crc32(data))

    @contextmanager
    def reading(self) -> Iterator[Callable[[tuple[int, ...]], Iterator[bytes]]]:
        yield lambda numbers: (self._all[number - 1] for number in numbers if 0 < number <= len(self._all))


def _messages(data: bytes, name: str) -> Iterator[bytes]:
    """Yield the messages of a log as lines, and a problem where it breaks off."""
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
        problem = None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        items, problem = list(_as_far_as_readable(data)), str(error)
    before: object = None
    session = name_of(SIDECHAIN.sub("", name))
    for at, item in enumerate(items):
        try:
            message = msgspec.json.decode(item, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield problem_line(f"item {at + 1} of the log is no message")
            continue
        known: dict[str, object] = {
            "parentUuid": before,
            "isSidechain": SIDECHAIN.search(name) is not None,
            "sessionId": session,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{name} {at}")),
        }
        if moment := _moment_in(name):
            known["timestamp"] = moment
        yield message_line(message, known)
        before = message.get("uuid", known["uuid"])
    if problem:
        yield problem_line(f"the log breaks off: {problem}")


def _as_far_as_readable(data: bytes) -> Iterator[msgspec.Raw]:
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = text.find("[") + 1
    while at:
        at = GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches anywhere
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield msgspec.Raw(msgspec.json.encode(value))


def _session_in(line: bytes) -> str | None:
    try:
        session = msgspec.json.decode(line, type=dict[str, msgspec.Raw]).get("sessionId")
        return msgspec.json.decode(session, type=str) if session is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _moment_in(name: str) -> str | None:
    """Return the time in the name of a log."""
    match = MOMENT.match(name)
    return "{}T{}:{}:{}.{}Z".format(*match.groups()) if match else None


SIDECHAIN: Final = re.compile(r"-sidechain-\d+$")
MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z")
GAP: Final = re.compile(r"[\s,]*")
