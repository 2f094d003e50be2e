"""Output of `backscroll sync`."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from backscroll.cli.output import heading, warning, write
from backscroll.cli.sync_forgets import asks_lines
from backscroll.render.terminal import clean_line, minute, plural, size

if TYPE_CHECKING:
    from backscroll.library.syncing.forgets import AskedChat
    from backscroll.library.syncing.status import RemoteStatus
    from backscroll.library.syncing.sync import Synced
    from backscroll.sync.consent import WithheldCount
    from backscroll.sync.verify import Verified


def write_synced(one: "Synced") -> None:
    from backscroll.library.syncing.forgets import count_by_asker

    sent = (
        f"sent {size(one.pushed.size)} in {plural(one.pushed.objects, 'object')}"
        if one.pushed.objects
        else "nothing to send"
    )
    took = f"took {size(one.pulled.size)}" if one.pulled.size else "nothing new from other machines"
    write(f"{one.remote}: {sent}; {took}.")
    if one.has_new_rules:
        write(f"  your organisation has new rules: see backscroll sync preview {one.remote}")
    for line in one.pushed.healed.lines:
        write(f"  {line}")
    if one.pushed.removed:
        write(f"  removed the content of {plural(one.pushed.removed, 'file')} from the remote")
    if one.pushed.asks:
        write("  told the others what was forgotten here: your machines ask you, a team server forgets it")
    write_withheld_count(one.remote, one.withheld)
    write_undecided(one.remote, one.undecided)
    for asker, count in count_by_asker(one.forgotten).items():
        write(f"  forgot {plural(count, 'chat')} because {clean_line(asker)} asked")
    if one.pulled.unknown:
        write(warning(f"  left {_of_unknown_kind(one.pulled.unknown)} on the remote; update backscroll to take them"))
    for note in one.notes:
        write(f"  {clean_line(note)}")
    for problem in one.pulled.problems:
        write(warning(f"  {clean_line(problem)}"))


def write_withheld_count(name: str, count: "WithheldCount", *, says_all: bool = False) -> None:
    """Print the count of sent sessions that may not leave any more; with `says_all`, also of those that the user leaves
    there."""
    if count.sessions or count.files:
        was = "was" if count.sessions + count.files == 1 else "were"
        write(
            warning(
                f"  {withheld_words(count)} that {was} sent may not leave any more: run backscroll sync withdraw {name}"
            )
        )
    if says_all and count.left_there:
        write(f"  {count.left_there:,} of what may not leave any more stays there, as you chose")


def write_undecided(name: str, count: int) -> None:
    """Print how many sessions are not sent because the rules cannot be applied to them."""
    if count:
        what = "1 session is" if count == 1 else f"{count:,} sessions are"
        write(f"  {what} not sent, because the rules are undecided: see backscroll sync preview {name}")


def withheld_words(count: "WithheldCount") -> str:
    """Return a count in words: "2 sessions and 1 other file"."""
    if not count.sessions:
        return plural(count.files, "file")
    sessions = plural(count.sessions, "session")
    return f"{sessions} and {plural(count.files, 'other file')}" if count.files else sessions


def write_asked(chats: "list[AskedChat]") -> None:
    for line in asks_lines(chats):
        write(warning(line))


def write_status(one: "RemoteStatus") -> None:
    from backscroll.sync.signing import fingerprint

    paused = " (paused)" if one.remote.is_paused else ""
    write(heading(f"{one.remote.name}{paused}: {clean_line(one.remote.url)}"))
    if one.is_syncing:
        write("  a process is syncing it right now")
    write(f"  last sync {_minute(one.remote.last_sync)}, last verified {_minute(one.remote.last_proof)}")
    if one.problem:
        write(warning(f"  {clean_line(one.problem)}"))
    write(f"  {size(one.waiting)} wait to be sent" if one.waiting else "  nothing waits to be sent")
    write_withheld_count(one.remote.name, one.withheld, says_all=True)
    write_undecided(one.remote.name, one.undecided)
    for held in one.held_back:
        why = f"{held.mode} instead of {held.wanted}, because of {clean_line(held.reason)}"
        write(f"  {clean_line(held.project)}: {why}")
    for device in one.devices:
        lag = "" if not device.behind else f", {plural(device.behind, 'bundle')} not here yet"
        if device.is_own:
            lag = f" (this machine, here {clean_line(device.here)})" if device.here else " (this machine)"
        name = clean_line(device.machine or device.device)
        write(f"  {name}: {size(device.size)} in {plural(device.bundles, 'bundle')}{lag}")
        if device.key:
            write(f"    signs with the key {fingerprint(device.key)}")
        elif one.has_signatures and device.machine:
            write("    does not sign: it may add, but neither replace nor forget; update backscroll there")
        if device.refused is not None:
            what = f"signed with {fingerprint(device.refused)}" if device.refused else "not signed"
            write(warning(f"    refused: what is {what}; see backscroll sync trust {name}"))
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
    for line in one.repaired:
        write(f"  {line}")
    again = "the next sync, or --repair, "
    if one.lost:
        lost = plural(len(one.lost), "bundle")
        write(warning(f"  lost or damaged on the remote: {lost}; {again}writes them again"))
    if one.foreign:
        count = plural(len(one.foreign), "object")
        write(warning(f"  not written by this machine, or replaced since: {count}; {again}removes them"))
    if one.key_problem:
        write(warning(f"  {clean_line(one.key_problem)}"))
    for problem in one.damaged:
        write(warning(f"  {clean_line(problem)}"))


def synced_as_json(one: "Synced") -> dict[str, Any]:
    from backscroll.library.syncing.forgets import count_by_asker

    pushed, pulled = one.pushed, one.pulled
    return {
        "remote": one.remote,
        "sent": {
            "streams": pushed.streams, "segments": pushed.segments, "bytes": pushed.size, "stored_bytes": pushed.stored,
            "objects": pushed.objects, "mended": pushed.mended, "removed": pushed.removed,
            "asks": pushed.asks,
            "healed": pushed.healed.lines,
        },
        "taken": {
            "bytes": pulled.size, "files": pulled.files, "forgotten": sum(len(chat.files) for chat in one.forgotten),
            "unknown": pulled.unknown,
            "devices": pulled.devices,
        },
        "forgotten": count_by_asker(one.forgotten), "asked": count_by_asker(one.asked),
        "problems": pulled.problems, "notes": one.notes, "has_new_rules": one.has_new_rules,
        "withheld": one.withheld._asdict(), "undecided": one.undecided,
    }  # fmt: skip


def status_as_json(one: "RemoteStatus") -> dict[str, Any]:
    import msgspec

    return {
        **msgspec.to_builtins(one.remote), "problem": one.problem, "is_syncing": one.is_syncing,
        "waiting_bytes": one.waiting,
        "devices": [msgspec.to_builtins(device) for device in one.devices],
        "held_back": [held._asdict() for held in one.held_back], "withheld": one.withheld._asdict(),
        "undecided": one.undecided,
    }  # fmt: skip


def verified_as_json(one: "Verified") -> dict[str, Any]:
    import msgspec

    fields = {name: value for name, value in msgspec.to_builtins(one).items() if name != "bad"}
    return {**fields, "is_whole": one.is_whole}
