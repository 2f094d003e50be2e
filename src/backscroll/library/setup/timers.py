"""Run `backscroll keep` every hour by the system: systemd, launchd or cron."""

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from xml.parsers.expat import ExpatError

from backscroll.errors import Busy
from backscroll.library.captures import STARTED_BY
from backscroll.library.setup.edits import Edit, InstallPlan, Words, read_or_none, real
from backscroll.system import user_id

Kind = Literal["systemd", "launchd", "cron"]

UNIT: Final = "backscroll-keep"
LABEL: Final = "backscroll.keep"
MADE_BY: Final = "made by backscroll install timer; backscroll uninstall timer removes it"


def timer_kind() -> Kind:
    """Return the scheduler of this system."""
    if sys.platform == "darwin":
        return "launchd"
    return "systemd" if Path("/run/systemd/system").is_dir() and shutil.which("systemctl") else "cron"


def plan_timer(kind: Kind, words: Sequence[str]) -> InstallPlan:
    """Plan a timer that runs this command every hour."""
    if kind == "cron":
        return InstallPlan(cron=cron_line(words))
    files = systemd_files(words) if kind == "systemd" else launchd_files(words)
    edits = real(Edit(path, read_or_none(path), data) for path, data in files.items())
    if kind == "systemd":
        enable = ("systemctl", "--user", "enable", "--now", f"{UNIT}.timer")
        plan = InstallPlan(edits, then=(("systemctl", "--user", "daemon-reload"), enable))
        is_running = _agrees(("systemctl", "--user", "is-enabled", "--quiet", f"{UNIT}.timer"))
    else:
        is_running = _agrees(("launchctl", "print", f"{_domain()}/{LABEL}"))
        stop = ("launchctl", "bootout", f"{_domain()}/{LABEL}")
        plan = InstallPlan(
            edits, (stop,) if is_running else (), (("launchctl", "bootstrap", _domain(), str(launchd_file())),)
        )
    # Even with the files in place, a command may have failed the last time.
    return plan if edits or is_running is False else InstallPlan()


def plan_no_timer() -> InstallPlan:
    """Plan to remove every timer that `plan_timer` may have created; not a cron line, which the user wrote."""
    units = real(Edit(path, read_or_none(path), None) for path in systemd_files(()))
    agents = real(Edit(path, read_or_none(path), None) for path in launchd_files(()))
    first: list[Words] = []
    if units:
        first.append(("systemctl", "--user", "disable", "--now", f"{UNIT}.timer"))
    if agents and _agrees(("launchctl", "print", f"{_domain()}/{LABEL}")):
        first.append(("launchctl", "bootout", f"{_domain()}/{LABEL}"))
    return InstallPlan(units + agents, tuple(first), (("systemctl", "--user", "daemon-reload"),) if units else ())


def systemd_files(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> dict[Path, bytes]:
    """Return the unit files, with their paths."""
    configured = Path(environment.get("XDG_CONFIG_HOME", ""))
    folder = (configured if configured.is_absolute() else Path.home() / ".config") / "systemd" / "user"
    start = " ".join(_systemd_word(word, is_first=not index) for index, word in enumerate(words))
    service = (
        f"# {MADE_BY}\n[Unit]\nDescription=Keep the conversations of Claude Code\n\n"
        f"[Service]\nType=oneshot\nEnvironment={STARTED_BY}=timer\nExecStart={start}\n"
        # It is not a failure if another process is keeping.
        f"SuccessExitStatus={Busy.exit_code}\nNice=10\nIOSchedulingClass=idle\n"
    )
    timer = (
        f"# {MADE_BY}\n[Unit]\nDescription=Keep the conversations of Claude Code, every hour\n\n"
        "[Timer]\nOnCalendar=hourly\nRandomizedDelaySec=5min\nPersistent=true\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    return {folder / f"{UNIT}.service": service.encode(), folder / f"{UNIT}.timer": timer.encode()}


def _systemd_word(word: str, *, is_first: bool) -> str:
    r"""Quote a word as in systemd.service(5): `%` and `$` are escaped by doubling, but the program has no `$`."""
    escaped = "".join(f"\\x{ord(char):02x}" if char in '"\\' or char < " " else char for char in word)
    return f'"{escaped.replace("%", "%%").replace("$", "$" if is_first else "$$")}"'


def launchd_file() -> Path:
    """Return the path of the launchd agent."""
    return Path.home() / "Library" / "LaunchAgents" / f"{LABEL}.plist"


def launchd_files(words: Sequence[str]) -> dict[Path, bytes]:
    """Return the launchd agent, with its path."""
    agent = {
        "Label": LABEL,
        "ProgramArguments": list(words),
        "EnvironmentVariables": {STARTED_BY: "timer"},
        "StartInterval": 3600,
        "RunAtLoad": True,
        "ProcessType": "Background",
        "StandardOutPath": os.devnull,
        "StandardErrorPath": os.devnull,
    }
    return {launchd_file(): plistlib.dumps(agent).replace(b"<plist ", f"<!-- {MADE_BY} -->\n<plist ".encode(), 1)}


def cron_line(words: Sequence[str]) -> str:
    """Return a line for `crontab -e`. To cron, a bare `%` ends the line."""
    return f"17 * * * * {STARTED_BY}=timer {shlex.join(words)} >/dev/null 2>&1".replace("%", "\\%")


@dataclass(frozen=True)
class InstalledTimer:
    """A timer that runs `keep`."""

    kind: Kind
    words: list[str]
    """The words that it runs."""
    problems: tuple[str, ...] = ()
    """Why it does not run."""
    text: str = ""
    """For cron: the line, in which only the program and its options are ours."""


def installed_timer() -> InstalledTimer | None:
    """Return the timer that `plan_timer` created, or the user's line for cron; None if there is none."""
    service, timer = systemd_files(())
    if service.is_file() or timer.is_file():
        state = _says("systemctl", "--user", "is-enabled", timer.name)
        problems = [f"{path} is gone" for path in (service, timer) if not path.is_file()]
        if state is not None and state[0] and state[1]:  # without output, systemd could not be reached
            problems.append(f"systemd says that it is {state[1]}")
        return InstalledTimer("systemd", _systemd_words(service), tuple(problems))
    if (agent := launchd_file()).is_file():
        state = _says("launchctl", "print", f"{_domain()}/{LABEL}")
        stopped = ("launchd does not run it",) if state is not None and state[0] else ()
        return InstalledTimer("launchd", _launchd_words(agent), stopped)
    table = _says("crontab", "-l")
    for line in table[1].splitlines() if table is not None and not table[0] else ():
        if words := _cron_words(line):
            return InstalledTimer("cron", words, text=line)
    return None


def is_timer_current(timer: InstalledTimer, words: Sequence[str]) -> bool:
    """Whether this version would install the same timer."""
    if timer.kind == "cron":
        return timer.text.split(maxsplit=5)[5:] == cron_line(words).split(maxsplit=5)[5:]
    files = systemd_files(words) if timer.kind == "systemd" else launchd_files(words)
    return all(read_or_none(path) == data for path, data in files.items())


def _systemd_words(service: Path) -> list[str]:
    r"""Return the words that the unit starts, as `_systemd_word` quoted them."""
    text = (read_or_none(service) or b"").decode(errors="replace")
    start = next((line.removeprefix("ExecStart=") for line in text.splitlines() if line.startswith("ExecStart=")), "")
    words = [WRITTEN_CHARACTER.sub(lambda code: chr(int(code[1], 16)), word) for word in QUOTED.findall(start)]
    plain = [word.replace("%%", "%") for word in words]
    return [word.replace("$$", "$") if number else word for number, word in enumerate(plain)]


def _launchd_words(agent: Path) -> list[str]:
    try:
        properties = plistlib.loads(read_or_none(agent) or b"")
    except (ValueError, plistlib.InvalidFileException, ExpatError):
        return []
    words = properties.get("ProgramArguments") if isinstance(properties, dict) else None
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _cron_words(line: str) -> list[str]:
    """Return the words that a line of a crontab runs, if it is ours; empty if not."""
    if line.lstrip().startswith("#") or "backscroll" not in line:
        return []
    try:
        words = shlex.split(line.replace("\\%", "%"))
    except ValueError:
        return []
    start = next((number for number, word in enumerate(words) if "/" in word and not SCHEDULE.fullmatch(word)), None)
    words = words[start:] if start is not None else []
    return [word for word in words if word not in (">/dev/null", "2>&1")] if "keep" in words else []


def _says(*question: str) -> tuple[int, str] | None:
    """Return the exit code and output of a command; None if its program is not installed, or does not end."""
    if shutil.which(question[0]) is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603
            question, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=ANSWER_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode, done.stdout.decode(errors="replace").strip()


ANSWER_SECONDS: Final = 10
QUOTED: Final = re.compile(r'"([^"]*)"')
WRITTEN_CHARACTER: Final = re.compile(r"\\x([0-9a-f]{2})")
SCHEDULE: Final = re.compile(r"[-0-9*/,A-Za-z]*\*?/[0-9]+|" + STARTED_BY + r"=.*")


def _domain() -> str:
    return f"gui/{user_id()}"


def _agrees(question: Words) -> bool | None:
    """Whether the command succeeds; None if its program is not installed."""
    if shutil.which(question[0]) is None:
        return None
    return subprocess.run(question, capture_output=True, check=False).returncode == 0  # noqa: S603
