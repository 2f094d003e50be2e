"""The sample conversations in the package, and how they are unpacked."""

import io
import os
import tarfile
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from backscroll.demo.dates import days_until_yesterday, last_moment, move

PACKED: Final = Path(__file__).with_name("sample.tar.xz")
ABOUT: Final = "sample.json"
HOME: Final = "home/"


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What `sample.json` says of the sample. Paths are below its home."""

    recorded: date
    """The day of its newest session."""
    user: str
    deleted: list[str]
    """What Claude Code has deleted: only the archive has it."""
    live: str
    """The session that is played before the user's eyes; until then the home does not have it."""


def unpack(packed: Path, home: Path, live: Path, now: datetime) -> Sample:
    """Write the sample's home, moved so that its newest session was yesterday, and the live session to `live`."""
    with tarfile.open(fileobj=io.BytesIO(packed.read_bytes())) as archive:
        files = {member.name.removeprefix("./"): _content(archive, member) for member in archive if member.isfile()}
    about = msgspec.json.decode(files.pop(ABOUT), type=Sample)
    contents = {name.removeprefix(HOME): content for name, content in files.items() if name.startswith(HOME)}
    script = contents.pop(about.live)
    moments = {name: last_moment(content, about.recorded) for name, content in contents.items()}
    newest = max(moment for moment in moments.values() if moment)
    days = days_until_yesterday(newest, now)
    home.mkdir(mode=0o700)
    for name, content in contents.items():
        written = (moments[name] or newest) + timedelta(days=days)
        _write(home / name, move(content, about.recorded, days), written)
    live.write_bytes(move(script, about.recorded, days))
    return about


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _write(path: Path, content: bytes, written: datetime) -> None:
    """Write a file as if it had been written then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (written.timestamp(), written.timestamp()))
