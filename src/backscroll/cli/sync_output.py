"""How `backscroll sync` tells what it found and did."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from backscroll.cli.output import heading, warning, write
from backscroll.render.terminal import clean_line, minute, plural, size

if TYPE_CHECKING:
    from backscroll.library.syncing.preview import ProjectPreview
    from backscroll.library.syncing.status import RemoteStatus
    from backscroll.library.syncing.sync import Synced
    from backscroll.sync.verify import Verified


def write_preview(rows: list["ProjectPreview"]) -> None:
    for row in rows:
        masked = sum(row.masked.values())
        note = f"; {plural(masked, 'secret')} masked" if masked else ""
        held = f"{plural(row.sessions, 'session')}, {plural(row.files, 'file')}, {size(row.size)}"
        write(f"  {row.mode:<8}  {clean_line(row.project)}")
        write(f"            {held}{note}")
        if row.reason:
            write(f"            because of {clean_line(row.reason)}")
    leaving = [row for row in rows if row.mode != "off"]
    total = size(sum(row.size for row in leaving))
    write(heading(f"{plural(len(leaving), 'project')} with {total} would leave."))


def write_synced(one: "Synced") -> None:
    sent = (
        f"sent {size(one.pushed.size)} in {plural(one.pushed.objects, 'object')}"
        if one.pushed.objects
        else "nothing to send"
    )
    took = f"took {size(one.pulled.size)}" if one.pulled.size else "nothing new from other machines"
    write(f"{one.remote}: {sent}; {took}.")
    if one.has_new_rules:
        write(f"  your organisation has new rules: see backscroll sync preview {one.remote}")
    if one.pushed.mended:
        write(f"  wrote {plural(one.pushed.mended, 'bundle')} again that the remote had lost")
    if one.pushed.removed:
        write(f"  removed the content of {plural(one.pushed.removed, 'file')} from the remote")
    if one.pulled.unknown:
        write(warning(f"  left {_of_unknown_kind(one.pulled.unknown)} on the remote; update backscroll to take them"))
    for problem in one.pulled.problems:
        write(warning(f"  {clean_line(problem)}"))


def write_status(one: "RemoteStatus") -> None:
    paused = " (paused)" if one.remote.is_paused else ""
    write(heading(f"{one.remote.name}{paused}: {clean_line(one.remote.url)}"))
    if one.is_syncing:
        write("  a process is syncing it right now")
    write(f"  last sync {_minute(one.remote.last_sync)}, last verified {_minute(one.remote.last_proof)}")
    if one.problem:
        write(warning(f"  {clean_line(one.problem)}"))
    write(f"  {size(one.waiting)} wait to be sent" if one.waiting else "  nothing waits to be sent")
    for held in one.held_back:
        why = f"{held.mode} instead of {held.wanted}, because of {clean_line(held.reason)}"
        write(f"  {clean_line(held.project)}: {why}")
    for device in one.devices:
        lag = "" if not device.behind else f", {plural(device.behind, 'bundle')} not here yet"
        if device.is_own:
            lag = " (this machine)"
        name = clean_line(device.machine or device.device)
        write(f"  {name}: {size(device.size)} in {plural(device.bundles, 'bundle')}{lag}")
        if device.unknown:
            write(warning(f"    {_of_unknown_kind(device.unknown)} not here; update backscroll to take them"))


def _minute(text: str | None) -> str:
    try:
        return minute(datetime.fromisoformat(text)) if text else "never"
    except ValueError:  # the settings of remotes are a file that people can edit
        return clean_line(f"{text}")


def _of_unknown_kind(count: int) -> str:
    return f"{plural(count, 'file')} of a kind that this version does not know"


def write_verified(name: str, one: "Verified") -> None:
    deep = ", every object read" if one.is_deep else ""
    state = "equal" if one.is_whole else "NOT EQUAL"
    text = f"{name}: {one.equal:,} of {one.streams:,} streams, {size(one.size)}, {state}{deep}."
    write(text if one.is_whole else warning(text))
    if one.waiting:
        write(f"  {plural(one.waiting, 'stream')} not sent to the end yet")
    if one.lost:
        write(warning(f"  the remote has lost {plural(len(one.lost), 'bundle')}; the next sync writes them again"))
    for problem in one.damaged:
        write(warning(f"  {clean_line(problem)}"))


def synced_as_json(one: "Synced") -> dict[str, Any]:
    pushed, pulled = one.pushed, one.pulled
    return {
        "remote": one.remote,
        "sent": {
            "streams": pushed.streams, "segments": pushed.segments, "bytes": pushed.size, "stored_bytes": pushed.stored,
            "objects": pushed.objects, "mended": pushed.mended, "removed": pushed.removed,
        },
        "taken": {
            "bytes": pulled.size, "files": pulled.files, "forgotten": pulled.forgotten, "unknown": pulled.unknown,
            "devices": pulled.devices,
        },
        "problems": pulled.problems, "has_new_rules": one.has_new_rules,
    }  # fmt: skip


def status_as_json(one: "RemoteStatus") -> dict[str, Any]:
    import msgspec

    return {
        **msgspec.to_builtins(one.remote), "problem": one.problem, "is_syncing": one.is_syncing,
        "waiting_bytes": one.waiting,
        "devices": [msgspec.to_builtins(device) for device in one.devices],
        "held_back": [held._asdict() for held in one.held_back],
    }  # fmt: skip


def preview_as_json(row: "ProjectPreview") -> dict[str, Any]:
    return {
        "project": row.project, "mode": str(row.mode), "sessions": row.sessions, "files": row.files,
        "bytes": row.size, "masked": dict(row.masked), "reason": row.reason,
    }  # fmt: skip


def verified_as_json(one: "Verified") -> dict[str, Any]:
    import msgspec

    return {**msgspec.to_builtins(one), "is_whole": one.is_whole}
