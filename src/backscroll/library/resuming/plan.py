"""Plan how a chat is continued: the files to restore first, the folder, and the command."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.archive.restore import Restored
from backscroll.errors import BackscrollError, NothingFound, UsageError
from backscroll.files.layout import container_of
from backscroll.files.names import MAX_NAME_LENGTH, project_folder
from backscroll.files.source_key import SourceKey
from backscroll.library.chats.resume import Leaf, Resume, config_folder, leaf_of, own_place
from backscroll.library.growing import recent_writes
from backscroll.library.keeping.restore import put_back, target_home
from backscroll.library.library import Library
from backscroll.library.project_folders import former_folders, note_move, seen_folders
from backscroll.library.resuming.client import client_version, resumes_anywhere
from backscroll.library.resuming.folders import FoundFolder, find_folder, is_folder
from backscroll.library.resuming.ran_in import folders_of
from backscroll.records.sidecars import LiveSession
from backscroll.store.reader import StoredChat

CHOOSE: Final = "choose a folder with --in DIR"


class ResumePlan(NamedTuple):
    """The steps to continue a chat."""

    resume: Resume
    chat: str
    title: str
    project: str | None
    """The folder in which the session ran."""
    source: SourceKey
    """The session's file."""
    folder: FoundFolder
    restores: str = ""
    """Why its files must be restored first; empty if they exist."""
    home: Path = Path()
    """The home that they are restored to."""
    into: Path | None = None
    """The project that the client must find the session in, if it only searches that of the current folder."""
    running: LiveSession | None = None
    """The client that has it open."""
    is_growing: bool = False
    """Whether it was written a moment ago."""

    @property
    def commands(self) -> list[list[str]]:
        """The commands that do it, without the one that starts the client."""
        if not self.restores and self.into is None:
            return []
        words = ["backscroll", "archive", "restore", self.resume.session, "--in-place"]
        return [[*words, "--project", str(self.into)] if self.into is not None else words]


def plan_resume(
    library: Library,
    stored: StoredChat,
    name: str = "",
    branch: int | None = None,
    *,
    chosen: Path | None = None,
    fork: bool = False,
) -> ResumePlan:
    """Plan to continue a chat: in the folder that the user chose, or in the one that is found."""
    chat = library.open(stored, with_records=False).chat
    leaf = leaf_of(chat, name, branch)
    session = leaf.transcript.session_id or ""
    here = own_place(chat, leaf.transcript, library.machine)
    is_there = here is not None and os.path.isfile(os.path.join(here[0].home, here[0].path))  # noqa: PTH113, PTH118
    source = here[0] if here is not None else SourceKey.parse(leaf.transcript.place.file)
    home = Path(source.home) if is_there else target_home(library, source)
    project = here[1] if here is not None and is_there else _project_of(leaf)
    folder = _chosen(chosen) if chosen is not None else _find(library, leaf, project)
    live = library.live.get(session.lower())
    plan = ResumePlan(
        Resume(session, folder.path or project, leaf.branch, fork, config_folder(home)),
        stored.overview.id,
        stored.overview.title,
        project,
        source,
        folder,
        "" if is_there else _why_restored(library, source),
        home,
        running=live if is_there else None,
        is_growing=is_there and live is None and session.lower() in recent_writes(library.homes),
    )
    return plan._replace(into=_into(plan))


def in_folder(plan: ResumePlan, folder: Path) -> ResumePlan:
    """Return the plan for a folder that the user chose."""
    chosen = _chosen(folder)
    offers = (plan.folder.path, *plan.folder.others) if plan.folder.is_move else ()
    chosen = chosen._replace(is_move=chosen.path in offers)
    plan = plan._replace(folder=chosen, resume=plan.resume._replace(folder=chosen.path))
    return plan._replace(into=_into(plan))


def carry_out(library: Library, plan: ResumePlan) -> list[Restored]:
    """Restore files as planned; raises an error if the session itself cannot be restored. Notes a moved project."""
    if plan.folder.is_move and plan.folder.is_sure and plan.project and plan.folder.path:
        note_move(library.settings.library, plan.project, plan.folder.path)
    if not plan.restores and plan.into is None:
        return []
    done = put_back(library, plan.resume.session, None, project=plan.into)
    own = [item for item in done if item.target.name == f"{plan.resume.session}.jsonl"]
    bad = next((item for item in own if item.outcome not in ("restored", "already there")), None)
    if bad is not None and bad.outcome == "another file is there" and plan.restores:
        hint = f"it is left as it is; move it away to continue what is kept, or compare: {_compare(plan)}"
        raise BackscrollError(f"another file is there: {bad.target}", hint)
    if bad is not None and bad.outcome != "another file is there":
        hint = f"see backscroll archive versions {plan.resume.session[:8]}"
        raise BackscrollError(f"the session could not be restored: {bad.outcome}", hint)
    if not own:
        raise NothingFound("nothing of this session is kept", "run backscroll keep")
    return done


def newest_here(library: Library, here: Path) -> StoredChat:
    """Return the newest chat of the project in this folder, also from its former folders, or in a folder above it."""
    for folder in (here, *here.parents):
        names = {str(folder), os.path.realpath(folder)}
        names |= former_folders(library.settings.library, str(folder))
        newest = next((chat for chat in library.chats() if chat.overview.project in names), None)
        if newest is not None:
            return newest
        if (folder / ".git").exists() or folder == Path.home():
            break
    raise NothingFound(
        f"no chat of {here}", "name one: backscroll list shows their ids, backscroll find lets you choose"
    )


def _chosen(folder: Path) -> FoundFolder:
    path = os.path.realpath(folder.expanduser())
    if not is_folder(path):
        raise UsageError(f"there is no folder {folder}", "create it first, or choose another one")
    return FoundFolder(path, "you chose it")


def _find(library: Library, leaf: Leaf, project: str | None) -> FoundFolder:
    if project is None or is_folder(project):
        return FoundFolder(project)
    source = library.source(leaf.transcript.place.file)
    ran_in = folders_of(source) if source is not None else []
    known = dict.fromkeys(chat.overview.project for chat in library.chats() if chat.overview.project)
    homes = library.archive.captured if library.archive is not None else {}
    users = [str(Path(home).parent) for _, home in homes if Path(home).name == ".claude"]
    return find_folder(project, ran_in, seen_folders(library.settings.library), known, users, Path.cwd())


def _into(plan: ResumePlan) -> Path | None:
    """Return the project that the session must be in, if the client only searches that of its current folder."""
    path, folder = plan.source.path, plan.folder.path
    if folder is None or not plan.folder.is_sure or container_of(path) is not None:
        return None
    slug = path.split("/")[1] if path.startswith("projects/") else ""
    return None if _is_folder_of(slug, folder) or resumes_anywhere(client_version()) else Path(folder)


def _project_of(leaf: Leaf) -> str | None:
    return leaf.transcript.project


def _is_folder_of(slug: str, folder: str) -> bool:
    """Whether the sessions of a folder are under this name. The end of a long name differs between versions."""
    name = project_folder(os.path.realpath(folder))
    return name == slug or (len(name) > MAX_NAME_LENGTH and name[:MAX_NAME_LENGTH] == slug[:MAX_NAME_LENGTH])


def _why_restored(library: Library, source: SourceKey) -> str:
    if not library.machine.is_own(source.machine):
        return f"it is from another machine: {source.machine}"
    if (holder := container_of(source.path)) is not None:
        return f"it is in {holder}, which Claude Code of today does not read"
    return "Claude Code has deleted it"


def _compare(plan: ResumePlan) -> str:
    return f"backscroll archive restore {plan.resume.session[:8]} --to DIR"
