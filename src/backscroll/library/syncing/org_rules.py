"""The rules of an organisation on its team server: fetched when they change, kept with the remote, and obeyed."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.files.layout import TRANSCRIPTS
from backscroll.library.archives import find_archive
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.decisions import SessionDecisions, decisions_for
from backscroll.library.syncing.remote_settings import RemoteSettings, note_remote, read_credential, read_remotes
from backscroll.settings import Settings
from backscroll.sync.http_remote import TRIES, HttpRemote, RulesChangedError, ToldProject
from backscroll.sync.policy import EffectivePolicy, SyncMode

Answer = TypeVar("Answer")
SHOWN_MODES = frozenset({SyncMode.FULL, SyncMode.REDACTED})
"""Modes under which the paths of projects leave anyway."""


class HeldBack(NamedTuple):
    """A project that sends less than the user chose."""

    project: str
    wanted: SyncMode
    mode: SyncMode
    reason: str


def following_rules(
    settings: Settings, remote: RemoteSettings, run: Callable[[RemoteSettings], Answer]
) -> tuple[Answer, RemoteSettings]:
    """Call `run` with a remote; if the rules of its organisation have changed, fetch them and call it again."""
    try:
        return run(remote), remote
    except RulesChangedError:
        updated = fetch_rules(settings, remote)
        return run(updated), updated


def fetch_rules(settings: Settings, remote: RemoteSettings, *, tries: int = TRIES) -> RemoteSettings:
    """Return the remote with the current rules of its organisation; the rules are kept."""
    rules = HttpRemote(remote.url, read_credential(settings, remote.name), tries=tries).rules()
    before = remote.rules_before
    if before is None and rules.digest != remote.org_rules.digest:
        before = remote.org_rules
    note_remote(settings, remote.name, org_rules=rules, rules_before=before)
    return msgspec.structs.replace(remote, org_rules=rules, rules_before=before)


def taken_back(remote: RemoteSettings, decisions: SessionDecisions) -> Callable[[KeptFile], bool]:
    """Return a test for files of which less may leave because the organisation changed its rules since the last sync.

    The server is the organisation's, so files that it switches off are removed there without asking the user. A file
    that may not leave for another reason, such as a git remote that was added to its clone, stays until the user
    agrees.
    """
    before = remote.rules_before
    if before is None:
        return lambda _: False
    old = decisions.under(EffectivePolicy(remote.policy, before))

    def is_taken_back(file: KeptFile) -> bool:
        return old.mode_of(file).strictness < decisions.mode_of(file).strictness

    return is_taken_back


def note_followed(settings: Settings, remote: RemoteSettings) -> None:
    """Drop the rules before the change, unless they changed again: the files that it switched off are being removed."""
    if remote.rules_before is not None and read_remotes(settings)[remote.name].org_rules == remote.org_rules:
        note_remote(settings, remote.name, rules_before=None)


def tell_projects(settings: Settings, remote: RemoteSettings, archive: Archive, store: HttpRemote) -> None:
    """Send the server the git remotes of the projects that leave, if they have changed since the last time.

    The server learns nothing about projects that send only metrics, or nothing.
    """
    machine = ensure_machine(settings.library)
    decisions = decisions_for(settings, archive, remote.effective, needs_folders=True)
    own = (file for file in archive.files.values() if file.type in TRANSCRIPTS and machine.is_own(file.machine))
    leaving = {decision for decision in map(decisions.of, own) if decision.mode in SHOWN_MODES}
    projects = sorted(
        {ToldProject(place.path, seen) for decision in leaving for place in decision.places for seen in place.remotes},
        key=lambda project: (project.path, project.remote),
    )
    digest = hashlib.sha256(msgspec.json.encode(projects)).hexdigest()[:16] if projects else ""
    if digest != remote.told_projects:
        store.tell_projects(projects)
        note_remote(settings, remote.name, told_projects=digest)


def held_back(settings: Settings, remote: RemoteSettings, archive: Archive | None = None) -> list[HeldBack]:
    """Return the projects of this machine that send less than the user chose, with reasons."""
    if not remote.org_rules.digest:
        return []
    archive = archive or find_archive(settings)
    if archive is None:
        return []
    machine = ensure_machine(settings.library)
    decisions = decisions_for(settings, archive, remote.effective)
    held: set[HeldBack] = set()
    for file in archive.files.values():
        if machine.is_own(file.machine) and file.versions:
            decision = decisions.of(file)
            if decision.mode.strictness > decision.wanted.strictness:
                held.add(HeldBack(decisions.name_of(file), decision.wanted, decision.mode, decision.reason))
    return sorted(held)
