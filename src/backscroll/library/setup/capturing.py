"""Check automatic capturing of each home: whether it is installed and works, its last capture, and newer sessions."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.files.layout import FileKind
from backscroll.library.archives import find_archive
from backscroll.library.captures import CaptureNote, Way, find_watcher, last_captures, read_note
from backscroll.library.homes import app_homes, live_sessions
from backscroll.library.machine import read_machine
from backscroll.library.setup.hooks import (
    EVENTS,
    MARKER,
    NOT_STRICT,
    find_hooks,
    plan_hooks,
    read_settings,
    settings_path,
    switched_off,
    words_of,
)
from backscroll.library.setup.plugin import check_plugin
from backscroll.library.setup.program import keep_command, library_path, program_problem, program_words
from backscroll.library.setup.timers import installed_timer, is_timer_current
from backscroll.settings import Settings

Ask = Callable[[tuple[str, ...]], str]
"""A function that returns why a program does not run."""
UNFINISHED_AFTER: Final = timedelta(hours=1)
"""A capture that began longer ago and has no end was interrupted."""


@dataclass(frozen=True)
class CaptureWay:
    """One way of automatic capturing."""

    way: Way
    home: Path | None = None
    """The home that it is installed in; None for the timer and a watcher."""
    is_installed: bool = False
    """For a watcher: whether one runs."""
    command: tuple[str, ...] = ()
    """The command that it runs."""
    problems: tuple[str, ...] = ()
    """Why it cannot work, or failed the last time."""
    notes: tuple[str, ...] = ()
    """Further remarks."""
    hint: str = ""
    """Advice to solve the problems, or to install it."""
    captured: str = ""
    """Time of the last capture, in the format of the catalogue; empty for never."""
    newer: int = 0
    """Number of sessions that changed after that, without running ones."""

    @property
    def is_broken(self) -> bool:
        """Whether it is installed and does not work."""
        return self.is_installed and bool(self.problems)


def check_capturing(settings: Settings, homes: Sequence[Home], now: datetime) -> list[CaptureWay]:
    """Return every way for these homes."""
    # Hooks and plugin are never installed into the homes of an app: it has one for each session.
    left_out = {home.path for home in app_homes(settings)}
    homes = [home for home in homes if home.exists and not home.is_cache and home.path not in left_out]
    state = _State(settings, homes, now)
    ask = cache(program_problem)  # most of them start the same program
    hooks = [_with_history(_hooks(settings, home, ask), state, [home]) for home in homes]
    plugins = [_with_history(_plugin(settings, home, hooks, ask), state, [home]) for home in homes]
    return [*hooks, *plugins, _with_history(_timer(settings, ask), state, homes), _watcher(settings, state, homes)]


def _hooks(settings: Settings, home: Home, ask: Ask) -> CaptureWay:
    way = CaptureWay("hooks", home.path, hint=_with_home("backscroll install hooks", settings, home))
    path = settings_path(home)
    try:
        document = read_settings(home)
    except FileNotFoundError:
        return way
    except (OSError, ValueError, RecursionError) as error:
        # Unknown whether hooks are in the file, but Claude Code cannot read it either.
        return replace(way, notes=(f"{path} cannot be read: {error}",), hint=f"repair {path}")
    hooks = list(find_hooks(document))
    ours = [hook for hook in hooks if hook.counts]
    if not hooks:
        return way
    problems: list[str] = []
    notes: list[str] = []
    if not document.is_strict:
        problems.append(f"{path}: {NOT_STRICT}")
    if switched_off(document):
        problems.append(f"all hooks are switched off by disableAllHooks in {path}")
    if lacking := [event for event in EVENTS if not any(hook.event == event for hook in ours)]:
        messages = problems if len(lacking) == len(EVENTS) else notes
        messages.append(f"there is none for {' and '.join(lacking)}")
    # Both events have the same command, as written by the installer; a user may have changed one.
    commands = [words_of(command) for command in dict.fromkeys(hook.command for hook in ours or hooks)]
    problems += dict.fromkeys(problem for words in commands for problem in _problems_of(words, home, ask))
    libraries = [library for words in commands if (library := _option(words, "--library")) is not None]
    if others := [library for library in libraries if Path(library) != library_path(settings)]:
        notes.append(f"they archive into another library, {others[-1]}")
    elif not problems and not plan_hooks(home, settings).is_empty:
        notes.append("another version or place of backscroll wrote them: install them again to renew them")
    return replace(way, is_installed=True, command=tuple(commands[-1]), problems=tuple(problems), notes=tuple(notes))


def _problems_of(words: Sequence[str], home: Home, ask: Ask) -> Iterator[str]:
    """Yield the problems with the command of a hook."""
    if not words:
        yield f"their command was changed, so it is not known what it does (it ends with {MARKER})"
    elif problem := ask(program_words(words, "hook")):
        yield problem
    named = _option(words, "--home")
    if named is not None and Path(named) != home.path:
        yield f"they archive {named}, not {home.path}"


def _option(words: Sequence[str], name: str) -> str | None:
    return dict(pairwise(words)).get(name)


def _plugin(settings: Settings, home: Home, hooks: Sequence[CaptureWay], ask: Ask) -> CaptureWay:
    hint = _with_home("backscroll install claude", settings, home)
    health = check_plugin(home, settings, ask)
    way = CaptureWay("plugin", home.path, hint=hint, is_installed=health.is_installed)
    if not health.is_installed:
        return way
    notes = [health.trouble] if health.trouble and not health.is_broken else []
    if any(hook.home == home.path and hook.is_installed for hook in hooks):
        notes.append("leaves the capturing to the hooks in settings.json")
    problems = (health.trouble,) if health.is_broken else ()
    return replace(way, command=(health.command or "",), problems=problems, notes=tuple(notes))


def _timer(settings: Settings, ask: Ask) -> CaptureWay:
    way = CaptureWay("timer", hint="backscroll install timer")
    timer = installed_timer()
    if timer is None:
        return way
    problems = list(timer.problems)
    if timer.words and (problem := ask(program_words(timer.words, "keep"))):
        problems.append(problem)
    notes: list[str] = [timer.kind]
    if not problems and not is_timer_current(timer, keep_command(settings)):
        notes.append("another version or place of backscroll installed it: install it again to renew it")
    return replace(way, is_installed=True, command=tuple(timer.words), problems=tuple(problems), notes=tuple(notes))


def _watcher(settings: Settings, state: "_State", homes: Sequence[Home]) -> CaptureWay:
    watcher = find_watcher(settings)
    captured = max((read_note(settings, "watcher", home).captured for home in homes), default="")
    way = CaptureWay("watcher", hint="backscroll open or backscroll watch, as long as it runs", captured=captured)
    if watcher is None:
        return replace(way, newer=state.newer(captured, homes))
    notes = [str(watcher)]
    notes += [f"does not watch {home.path}" for home in homes if not watcher.watches([home])]
    return replace(way, is_installed=True, notes=tuple(notes))


def _with_history(way: CaptureWay, state: "_State", homes: Sequence[Home]) -> CaptureWay:
    """Return the way with the time of its last capture of these homes, and later failures."""
    notes = [read_note(state.settings, way.way, home) for home in homes]
    captured = max((note.captured for note in notes), default="")
    way = replace(way, captured=captured, newer=state.newer(captured, homes))
    if way.is_installed:
        for note in notes:
            if failure := _failure(note, state.now):
                failed, problem = failure
                if failed > state.captured.get(note.home, ""):
                    hint = way.hint if way.problems else "see the reason, then run backscroll keep"
                    way = replace(way, problems=(*way.problems, problem), hint=hint)
                elif not way.problems:
                    way = replace(way, notes=(*way.notes, f"{problem}; everything was captured later, in another way"))
    return way


def _failure(note: CaptureNote, now: datetime) -> tuple[str, str] | None:
    """Return the time and reason of a failed last run; None if it did not fail."""
    if note.failed > note.captured:
        reason = note.problem or "it gave no reason"
        return note.failed, f"the last run failed ({note.failed}): {reason}"
    if note.began > max(note.captured, note.failed) and _is_older(note.began, now - UNFINISHED_AFTER):
        return note.began, f"the last run did not end; it began at {note.began}"
    return None


class _State:
    """Sessions that could be captured, and the last captures."""

    def __init__(self, settings: Settings, homes: Sequence[Home], now: datetime) -> None:
        self.settings, self.now = settings, now.astimezone(UTC)
        archive, machine = find_archive(settings), read_machine(settings.library)
        self.captured = dict(last_captures(settings, homes))
        """Time of the last capture of each home in any way."""
        for (owner, path), at in archive.captured.items() if archive is not None else ():
            if machine.is_own(owner):
                self.captured[path] = max(at, self.captured.get(path, ""))
        live = live_sessions(homes)
        self._changed = {
            home: [
                file.modified_ns / 1e9
                for file in discover(home).files
                if file.kind is FileKind.SESSION and file.place.session_id not in live
            ]
            for home in homes
        }

    def newer(self, captured: str, homes: Sequence[Home]) -> int:
        """Return the number of sessions of these homes that changed after that time."""
        since = _moment(captured)
        limit = since.timestamp() + 1 if since is not None else float("-inf")  # a time has no fractions
        return sum(changed > limit for home in homes for changed in self._changed[home])


def _is_older(text: str, than: datetime) -> bool:
    moment = _moment(text)
    return moment is not None and moment < than


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _with_home(command: str, settings: Settings, home: Home) -> str:
    """Return a command for this home, if the user named it."""
    return f"{command} --home {home.path}" if settings.homes else command
