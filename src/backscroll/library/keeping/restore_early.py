"""Restore a chat from before session files as a session file, which today's Claude Code can open."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.restore import Outcome, Restored
from backscroll.disk import write_new
from backscroll.files.layout import container_of
from backscroll.files.source_key import SourceKey
from backscroll.library.indexing.sources import Source
from backscroll.library.library import Library
from backscroll.library.opened_chat import OpenedChat


def restore_early(library: Library, archive: Archive, opened: OpenedChat, to: Path | None) -> list[Restored]:
    """Write a session file for each session of the chat that was the last of its conversation.

    A resumed conversation continues in another session, with its parent in the one before. Claude Code looks in one
    file only, so each file gets all rows of the chat, under its own id.
    """
    sources = [source for source in opened.sources.values() if container_of(source.key.path) is not None]
    rows = sorted(_rows_of(sources), key=lambda row: str(row.get("timestamp", "")))
    leaves = {leaf.session_id for leaf in opened.chat.leaves}
    done = []
    for source in sources:
        key, session = source.key, source.place.session_id
        file = archive.sources.get(key.beside(container_of(key.path) or ""))
        if file is None or file.latest is None or session is None or session not in leaves:
            continue
        folder = next((str(row["cwd"]) for row in rows if row.get("cwd")), "unknown")
        target = (to or _home_of(library, key)) / "projects" / NOT_NAME.sub("-", folder) / f"{session}.jsonl"
        lines = [msgspec.json.encode({**row, "sessionId": session} if "uuid" in row else row) for row in rows]
        done.append(Restored(file, file.latest, target, _write(target, b"".join(line + b"\n" for line in lines))))
    return done


def _rows_of(sources: list[Source]) -> Iterator[dict[str, Any]]:
    """Return every row once, in the order of writing."""
    seen: set[object] = set()
    for source in sources:
        with source.open() as reading:
            for line in reading:
                data = line.data if line.data is not None else b"".join(reading.pieces(line))
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError):  # a row that cannot be read
                    row = msgspec.json.decode(data, type=dict[str, Any])
                    unique = row.get("uuid") or ("title of", row.get("leafUuid"))
                    if unique not in seen:
                        seen.add(unique)
                        yield row


def _home_of(library: Library, key: SourceKey) -> Path:
    """Return the session's own home; the first home of this machine for a log of the cache folder, or another machine's
    session.
    """
    is_home = library.machine.is_own(key.machine) and "/" not in (container_of(key.path) or "/")
    return Path(key.home) if is_home or not library.homes else library.homes[0].path


def _write(target: Path, data: bytes) -> Outcome:
    if target.is_symlink() or target.exists():
        is_same = target.is_file() and not target.is_symlink() and target.read_bytes() == data
        return "already there" if is_same else "another file is there"
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_new(target, [data])
    except FileExistsError:
        return "another file is there"
    return "restored"


NOT_NAME: Final = re.compile("[^A-Za-z0-9]")
