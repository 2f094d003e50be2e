"""Decide how much of a session may leave, from its own rows: every folder it ran in, with every known git remote.

The strictest verdict holds for all files of a session. A file of no session follows the strictest of the sessions that
it may be about, and the history of prompts is decided line by line. Undecided files do not leave.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from backscroll.archive.archive import Archive
from backscroll.archive.kept_file import KeptFile
from backscroll.files.layout import TRANSCRIPTS, FileKind, is_session_id
from backscroll.library.machine import ensure_machine
from backscroll.library.project_folders import seen_folders
from backscroll.library.syncing.noted_projects import Unit
from backscroll.library.syncing.remote_settings import sync_folder_of
from backscroll.library.syncing.seen_projects import SeenProjects, unit_of
from backscroll.settings import Settings
from backscroll.sync.own_streams import LineModes
from backscroll.sync.policy import EffectivePolicy, Judgement, RanIn, SyncMode, stricter

NO_PROJECT: Final = "(no project)"
NOTHING_KNOWN: Final = "rules that are undecided: no row says which project this belongs to"
MIXED: Final = "these files mix projects"


class Decision(NamedTuple):
    """The part of a file that may leave, and the reason."""

    mode: SyncMode
    wanted: SyncMode
    """The mode of the user's own policy."""
    reason: str
    """The reason, as part of a sentence."""
    is_decided: bool = True
    """Whether all facts that the rules need are known; if not, nothing leaves."""
    is_held_back: bool = False
    """Whether less leaves than the user chose: because of an organisation, or because it is undecided."""
    places: tuple[RanIn, ...] = ()
    """The folders of the session, each with its git remotes."""

    @property
    def cwds(self) -> tuple[str, ...]:
        """The folders of the session."""
        return tuple(place.path for place in self.places)

    @property
    def remotes(self) -> tuple[str, ...]:
        """The known git remotes of the folders."""
        return tuple(sorted({remote for place in self.places for remote in place.remotes}))


class SessionDecisions:
    """Decisions about the files of one machine under one policy."""

    def __init__(
        self, archive: Archive, is_own: Callable[[str], bool], policy: EffectivePolicy, seen: SeenProjects
    ) -> None:
        self._archive, self._is_own, self._policy, self._seen = archive, is_own, policy, seen
        self._folders: dict[tuple[str, str], set[Unit]] = {}
        """The sessions of each folder in `projects/`."""
        self._folder_of: dict[Unit, str] = {}
        self._homes: dict[str, set[Unit]] = {}
        self._named_by: dict[Unit, set[Unit]] = {}
        """The agents' files that name a session, by session."""
        self._judged: dict[RanIn, Judgement] = {}
        self._decided: dict[object, Decision] = {}
        for file in archive.files.values():
            if file.type in TRANSCRIPTS and file.versions and is_own(file.machine):
                unit, folder = unit_of(file), file.place.project_folder
                self._homes.setdefault(file.home, set()).add(unit)
                if folder:
                    self._folders.setdefault((file.home, folder), set()).add(unit)
                    self._folder_of[unit] = folder
        for unit in seen.units():
            if not is_session_id(unit.name) and unit in self._folder_of:
                for session in seen.sessions_named_in(unit):
                    self._named_by.setdefault(Unit(unit.home, session), set()).add(unit)

    def under(self, policy: EffectivePolicy) -> "SessionDecisions":
        """Return decisions about the same files under another policy."""
        return SessionDecisions(self._archive, self._is_own, policy, self._seen)

    def of(self, file: KeptFile) -> Decision:
        """Return the decision about a file."""
        place = file.place
        unit = Unit(file.home, place.session_id or file.path)
        if place.kind is FileKind.HISTORY:
            return self._once(unit, lambda: self._of_history(unit))
        if (place.session_id and place.kind is not FileKind.TASK) or place.kind in TRANSCRIPTS:
            return self._once(unit, lambda: self._of_session(unit, place.project_folder))
        if folder := place.project_folder:
            return self._once(("folder", file.home, folder), lambda: self._of_folder(unit, folder))
        if place.kind in (FileKind.LIVE_SESSION, FileKind.JOB) or place.session_start is not None:
            unit = Unit(file.home, file.path)
            return self._once(unit, lambda: self._of_file_about_sessions(unit, place.session_start))
        named = self._session_in_name(file)
        if named is not None:
            return self._once(named, lambda: self._of_session(named, None))
        return self._once(file.home, lambda: self._of_home(unit))

    def mode_of(self, file: KeptFile) -> SyncMode:
        """Return how much of a file may leave."""
        return self.of(file).mode

    def is_undecided(self, file: KeptFile) -> bool:
        """Whether the rules cannot be decided for a file."""
        return not self.of(file).is_decided

    def lines_of(self, file: KeptFile) -> LineModes | None:
        """Return the modes of single lines, for a file whose lines are of different projects; None for others."""
        if file.type != FileKind.HISTORY or self._policy.is_uniform:
            return None
        projects, sessions = self._modes_in(unit_of(file))
        usual = self.of(file).mode
        exceptions = sorted((name, mode) for name, mode in (projects | sessions).items() if mode is not usual)
        digest = hashlib.sha256(repr(exceptions).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return LineModes(lambda line: _mode_of_line(line, projects, sessions), digest)

    def name_of(self, file: KeptFile) -> str:
        """Return the project name of a file, for a list: every folder that its session ran in."""
        decision = self.of(file)
        folder = file.place.project_folder or self._folder_of.get(unit_of(file))
        return ", ".join(decision.cwds) if decision.cwds and folder else folder or NO_PROJECT

    # Each kind of file

    def _of_session(self, unit: Unit, folder: str | None) -> Decision:
        units = self._with_agents({unit})
        places = self._places(units)
        folder = folder or self._folder_of.get(unit)
        if places and not (units & self._seen.unreadable):
            return self._strictest(map(self._judge, places), places)
        if folder and not (units & self._seen.unreadable):
            return self._of_folder(unit, folder)
        return self._unknown(places)

    def _of_folder(self, unit: Unit, folder: str) -> Decision:
        return self._of_units(self._folders.get((unit.home, folder), set()) - {unit})

    def _of_home(self, unit: Unit) -> Decision:
        decision = self._of_units(self._homes.get(unit.home, set()))
        if self._policy.is_uniform or not decision.is_decided:
            return decision
        return decision._replace(reason=f"{decision.reason}; {MIXED}", places=())

    def _of_file_about_sessions(self, unit: Unit, session_start: str | None) -> Decision:
        units = {unit, *(Unit(unit.home, session) for session in self._seen.sessions_named_in(unit))}
        if session_start is not None:
            units |= {
                session_unit
                for session_unit in self._homes.get(unit.home, ())
                if session_unit.name.startswith(session_start)
            }
        places = self._places(units)
        return self._strictest(map(self._judge, places), places) if places else self._of_home(unit)

    def _of_history(self, unit: Unit) -> Decision:
        if self._policy.is_uniform:
            return self._unknown(())
        modes = self._modes_in(unit)[0].values()
        loosest = min(modes, key=lambda mode: mode.strictness, default=SyncMode.OFF)
        own = self._policy.own
        wanted = [own.verdict_on(place).mode for place in self._seen.places_of(unit)]
        wanted_mode = min(wanted, key=lambda mode: mode.strictness, default=own.default)
        return Decision(loosest, wanted_mode, "each line goes by its own project")

    def _of_units(self, units: set[Unit]) -> Decision:
        """Return the strictest decision about some sessions, by the rows of each and of its agents."""
        units = self._with_agents(units)
        if units & self._seen.unreadable:
            return self._unknown(())
        places = self._places(units)
        return self._strictest(map(self._judge, places), places) if places else self._unknown(())

    def _unknown(self, places: Iterable[RanIn]) -> Decision:
        """Return the decision about a file that may belong to any project."""
        own = self._policy.own
        if self._policy.is_uniform:
            mode = self._policy.mode_of(None)
            is_own = mode is own.default
            reason = (
                "the mode for every project" if is_own else f"{self._policy.org_name}'s rule for every other project"
            )
            return Decision(mode, own.default, reason, True, not is_own, tuple(places))
        return Decision(SyncMode.OFF, own.mode_of(None), NOTHING_KNOWN, False, True, tuple(places))

    # Line by line

    def _modes_in(self, unit: Unit) -> tuple[dict[str, SyncMode], dict[str, SyncMode]]:
        """Return the modes of the projects and sessions that a history names; the empty name is for lines without."""
        projects = {place.path: self._judge(place).mode for place in self._seen.places_of(unit)}
        named = {Unit(unit.home, session) for session in self._seen.sessions_named_in(unit)}
        sessions = {
            session_unit.name: self._of_known_session(session_unit).mode
            for session_unit in named & self._homes.get(unit.home, set())
        }
        return projects | {"": self._of_home(unit).mode}, sessions

    def _of_known_session(self, unit: Unit) -> Decision:
        return self._once(unit, lambda: self._of_session(unit, None))

    # The strictest

    def _with_agents(self, units: set[Unit]) -> set[Unit]:
        """Add the sessions that these units name, and the agents that name one of these, wherever their files are."""
        every = units | {Unit(unit.home, session) for unit in units for session in self._seen.sessions_named_in(unit)}
        return every | {agent for session in every for agent in self._named_by.get(session, ())}

    def _places(self, units: Iterable[Unit]) -> tuple[RanIn, ...]:
        return tuple(sorted({place for unit in units for place in self._seen.places_of(unit)}, key=_by_path))

    def _judge(self, place: RanIn) -> Judgement:
        if place not in self._judged:
            self._judged[place] = self._policy.judge(place)
        return self._judged[place]

    def _strictest(self, judgements: Iterable[Judgement], places: tuple[RanIn, ...]) -> Decision:
        every = list(judgements)
        first = max(every, key=lambda judgement: (judgement.mode.strictness, judgement.is_decided))
        wanted = max((judgement.wanted for judgement in every), key=lambda mode: mode.strictness)
        is_held_back = not first.is_decided or first.mode.strictness > wanted.strictness
        return Decision(first.mode, wanted, first.reason, first.is_decided, is_held_back, places)

    def _once(self, key: object, decide: Callable[[], Decision]) -> Decision:
        if key not in self._decided:
            self._decided[key] = decide()
        return self._decided[key]

    def _session_in_name(self, file: KeptFile) -> Unit | None:
        """Return the session whose id is a part of a file's name."""
        for part in file.path.split("/")[1:]:
            unit = Unit(file.home, part.partition(".")[0].lower())
            if unit in self._folder_of:
                return unit
        return None


def decisions_for(
    settings: Settings, archive: Archive, policy: EffectivePolicy, *, needs_folders: bool = False
) -> SessionDecisions:
    """Return the decisions about the files of this machine, after a scan of new bytes.

    If all projects have one mode, their folders are not needed, and only some of them are known, unless `needs_folders`
    asks for all.
    """
    machine = ensure_machine(settings.library)
    indexed = {path: folder.remotes for path, folder in seen_folders(settings.library).items()}
    seen = SeenProjects(sync_folder_of(settings), machine.is_own, indexed=indexed)
    seen.refresh(archive, is_complete=needs_folders or not policy.is_uniform)
    return SessionDecisions(archive, machine.is_own, policy, seen)


class _Prompt(msgspec.Struct):
    """The project and session in a line of the history."""

    project: str = ""
    session_id: str = msgspec.field(name="sessionId", default="")


def _mode_of_line(line: bytes, projects: dict[str, SyncMode], sessions: dict[str, SyncMode]) -> SyncMode:
    """Return the mode of a line of the history: the stricter one of its project and of its session, if known."""
    try:
        prompt = msgspec.json.decode(line, type=_Prompt)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return SyncMode.OFF
    mode = projects.get(prompt.project, SyncMode.OFF)
    return stricter(mode, sessions.get(prompt.session_id.lower(), mode))


def _by_path(place: RanIn) -> tuple[str, bool]:
    return place.path, place.was_bare
