"""The rules of an organisation on its team server: fetched when they change, kept with the remote, and obeyed."""

import hashlib
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import msgspec

from backscroll.archive.archive import Archive
from backscroll.library.archives import find_archive
from backscroll.library.machine import ensure_machine
from backscroll.library.syncing.projects import FileProjects
from backscroll.library.syncing.remote_settings import RemoteSettings, note_remote, read_credential
from backscroll.settings import Settings
from backscroll.sync.http_remote import TRIES, HttpRemote, RulesChangedError, ToldProject
from backscroll.sync.policy import SyncMode, normal_remote

Answer = TypeVar("Answer")
SHOWN_MODES = frozenset({SyncMode.FULL, SyncMode.REDACTED})
"""Under these the paths of projects leave anyway."""


class HeldBack(NamedTuple):
    """A project that sends less than the user chose."""

    project: str
    wanted: SyncMode
    mode: SyncMode
    reason: str


def following_rules(
    settings: Settings, remote: RemoteSettings, run: Callable[[RemoteSettings], Answer]
) -> tuple[Answer, RemoteSettings]:
    """Run something with a remote; if the rules of its organisation have changed, fetch them and run it again."""
    try:
        return run(remote), remote
    except RulesChangedError:
        found = fetch_rules(settings, remote)
        return run(found), found


def fetch_rules(settings: Settings, remote: RemoteSettings, *, tries: int = TRIES) -> RemoteSettings:
    """The remote with the rules that its organisation has now; they are kept."""
    rules = HttpRemote(remote.url, read_credential(settings, remote.name), tries=tries).rules()
    note_remote(settings, remote.name, org_rules=rules)
    return msgspec.structs.replace(remote, org_rules=rules)


def tell_projects(settings: Settings, remote: RemoteSettings, archive: Archive, store: HttpRemote) -> None:
    """Tell the server the git remotes of the projects that leave, if they have changed since the last time.

    The server learns nothing about projects that send only metrics, or nothing.
    """
    projects, machine = FileProjects(archive), ensure_machine(settings.library)
    found = set()
    for file in archive.files.values():
        project = projects.project_of(file) if machine.is_own(file.machine) else None
        if project and project.path and project.remote and remote.effective.mode_of(project) in SHOWN_MODES:
            found.add(ToldProject(project.path, normal_remote(project.remote)))
    told = sorted(found, key=lambda one: one.path)
    digest = hashlib.sha256(msgspec.json.encode(told)).hexdigest()[:16] if told else ""
    if digest != remote.told_projects:
        store.tell_projects(told)
        note_remote(settings, remote.name, told_projects=digest)


def held_back(settings: Settings, remote: RemoteSettings, archive: Archive | None = None) -> list[HeldBack]:
    """The projects of this machine that send less than the user chose, and why."""
    if not remote.org_rules.digest:
        return []
    archive = archive or find_archive(settings)
    if archive is None:
        return []
    projects, machine = FileProjects(archive), ensure_machine(settings.library)
    found: dict[str, HeldBack] = {}
    for file in archive.files.values():
        if machine.is_own(file.machine) and file.versions:
            project = projects.project_of(file)
            reason = remote.effective.reason_for(project)
            if reason:
                name, mode = projects.name_of(file), remote.effective.mode_of(project)
                found[name] = HeldBack(name, remote.policy.mode_of(project), mode, reason)
    return sorted(found.values())
