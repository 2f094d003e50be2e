"""The sample conversations in the package, and the function that unpacks them."""

import io
import os
import re
import tarfile
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from backscroll.demo.dates import days_until_yesterday, last_moment, move

PACKED: Final = Path(__file__).with_name("sample.tar.xz")
ABOUT: Final = "sample.json"
HOME: Final = "home/"
COPY: Final = re.compile(rb'"backupFileName":"([^"]+)","version":[0-9]+,"backupTime":"([^"]+)"')
SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of `sample.json`. Paths are relative to its home."""

    recorded: date
    """Day of the newest session."""
    user: str
    deleted: list[str]
    """Files that Claude Code has deleted: only the archive has them."""
    live: str
    """Session that is played before the user's eyes; until then the home does not have it."""


def unpack(packed: Path, home: Path, live: Path, now: datetime) -> Sample:
    """Write the sample's home, moved so that its newest session was yesterday, and the live session to `live`."""
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
        files = {member.name.removeprefix("./"): _content(archive, member) for member in archive if member.isfile()}
    about = msgspec.json.decode(files.pop(ABOUT), type=Sample)
    contents = {name.removeprefix(HOME): content for name, content in files.items() if name.startswith(HOME)}
    script = contents.pop(about.live)
    times = _times_of_rows(contents, about.recorded)
    newest = max(times.values())
    times |= _times_of_copies(contents)
    days = days_until_yesterday(newest, now)
    home.mkdir(mode=0o700)
    for name, content in contents.items():
        written = times.get(name) or times.get(_session_in(name)) or newest
        _write(home / name, move(content, about.recorded, days), written + timedelta(days=days))
    live.write_bytes(move(script, about.recorded, days))
    return about


def _times_of_rows(contents: Mapping[str, bytes], recorded: date) -> dict[str, datetime]:
    """Return the last time in each transcript, by its path and by its session."""
    times = {name: moment for name, content in contents.items() if (moment := last_moment(content, recorded))}
    return {_session_in(name): moment for name, moment in times.items() if "/subagents/" not in name} | times


def _times_of_copies(contents: Mapping[str, bytes]) -> dict[str, datetime]:
    """Return the times at which Claude Code made its copies of files, according to the sessions."""
    return {
        f"file-history/{_session_in(name)}/{match[1].decode()}": datetime.fromisoformat(match[2].decode())
        for name, content in contents.items()
        for match in COPY.finditer(content)
    }


def _session_in(name: str) -> str:
    """Return the session that a path is about, if its name says so."""
    match = SESSION.search(name)
    return match[0] if match else ""


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _write(path: Path, content: bytes, written: datetime) -> None:
    """Write a file with this time as its last change."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (written.timestamp(), written.timestamp()))
