"""The real Claude Code, driven by a program: installed from npm, cut off from the network, behind a pseudo-terminal.

It talks to `messages_api` only. What is said stands with those who drive it: `scripts/record-transcripts`,
`scripts/record-demo` and the checks beside them. Standard library only; Linux, node and npm.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.messages_api import MessagesApi

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "@anthropic-ai/claude-code"
CACHE = ROOT / ".cache"

# What of a Claude Code home is kept. All else is left: keys, machine ids, caches, telemetry, shell snapshots.
KEPT = (
    "projects",
    "__store.db",
    "history.jsonl",
    "todos",
    "tasks",
    "plans",
    "file-history",
    "image-cache",
    "paste-cache",
)

AUTHOR = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
API_KEY = "sk-ant-api03-" + "recording-" * 8
EVERYTHING_STORED = """
    SELECT message FROM user_messages UNION ALL SELECT message FROM assistant_messages
    UNION ALL SELECT summary FROM conversation_summaries
"""
LATEST_STORED = "SELECT session_id FROM base_messages WHERE message_type = 'assistant' ORDER BY rowid DESC LIMIT 1"
PATIENCE = 45.0  # seconds for one answer; a scenario that works is done in about ten


class RecordingFailedError(Exception):
    """One version or one scenario could not be recorded; the others go on."""


# The client ----------------------------------------------------------------------------------------------------------

ESCAPE, ENTER, UP, CONTROL_C, END_OF_LINE, CLEAR_LINE = "\x1b", "\r", "\x1b[A", "\x03", "\x05", "\x15"


@dataclass
class Client:
    """One version of Claude Code in a home and a project of its own, talking to `api` only."""

    version: tuple[int, ...]
    command: list[str]
    base: Path
    api: MessagesApi
    keeps_requests: bool = False

    @property
    def home(self) -> Path:
        return self.base / "home"

    @property
    def project(self) -> Path:
        return self.base / "shop"

    @property
    def environment(self) -> dict[str, str]:
        """All that the client sees. It inherits nothing: a proxy or a key of the caller's must not reach it."""
        switched_off = (
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
            "DISABLE_AUTOUPDATER",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_TELEMETRY",
        )
        node = shutil.which("node") or "node"
        return {
            "PATH": os.pathsep.join([str(Path(node).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
            "HOME": str(self.home),
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TMPDIR": str(self.base / "tmp"),
            "CLAUDE_CODE_TMPDIR": str(self.base / "tmp"),
            "ANTHROPIC_API_KEY": API_KEY,
            "ANTHROPIC_BASE_URL": self.api.url,
            # Some models have a window of a million tokens, and newer versions wait for the API to refuse; this makes
            # every version compact by itself at the same size.
            "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "200000",
            # The newest versions write every request into the transcript as `api-request` rows: most of its bytes.
            "CLAUDE_CODE_ELEGANT_MEADOW": "1" if self.keeps_requests else "0",
            "CLAUDE_CODE_SUBAGENT_PROMPT_SNAPSHOT": "0",
            **dict.fromkeys(switched_off, "1"),
        }

    def make_project(self, files: Mapping[str, str | bytes], commit: str) -> None:
        """Write the project and commit it: the branch stands in the rows; without git they have none."""
        for name, content in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if git := shutil.which("git"):
            for step in (["init", "-q", "-b", "main"], ["add", "."], [*AUTHOR, "commit", "-q", "-m", commit]):
                subprocess.run([git, *step], cwd=self.project, env=self.environment, check=True)

    def make_home(
        self,
        tools_allowed: Sequence[str] = ("Bash", "Read", "Edit", "Write", "Task", "Agent"),
    ) -> None:
        """Make a home in which every first-run question is already answered."""
        for folder in (self.home / ".claude", self.base / "tmp"):
            folder.mkdir(parents=True, exist_ok=True)
        settings = {"permissions": {"allow": list(tools_allowed)}, "disableAutoMode": "disable"}
        (self.home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        global_config = {
            "hasCompletedOnboarding": True,
            "lastOnboardingVersion": "9.9.9",
            "lastReleaseNotesSeen": "9.9.9",
            "theme": "dark",
            "numStartups": 9,
            "autoUpdates": False,
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
            # The first versions do not take a key from the environment in the terminal.
            **({"primaryApiKey": API_KEY} if self.version < (1,) else {}),
            "projects": {
                str(self.project): {
                    "allowedTools": list(tools_allowed),
                    "hasTrustDialogAccepted": True,
                    "hasCompletedProjectOnboarding": True,
                    "projectOnboardingSeenCount": 9,
                }
            },
        }
        (self.home / ".claude.json").write_text(json.dumps(global_config), encoding="utf-8")

    def ask(self, prompt: str, *options: str) -> None:
        """One prompt in print mode, through standard input: options that take a list would swallow an argument."""
        try:
            done = subprocess.run(
                [*self.command, "--print", *options, *self.small_prompt],
                cwd=self.project,
                env=self.environment,
                input=prompt,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=PATIENCE,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RecordingFailedError(f"no answer to {prompt!r} in {PATIENCE:.0f} s") from None
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
            raise RecordingFailedError(f"{prompt!r} ended with code {done.returncode}: {said}")

    def terminal(self, *options: str) -> "Terminal":
        return Terminal(self, [*self.command, *options, *self.small_prompt])

    @property
    def small_prompt(self) -> list[str]:
        """Newer versions write the whole prompt and all tools into the transcript: 140 KB, and not ours to publish."""
        if self.version < (2, 1, 250):
            return []
        prompt = ["--system-prompt", "You help in a small shop."]
        if self.keeps_requests:
            return [*prompt, "--tools", "Read"]
        return [*prompt, "--tools", "Agent,Bash,Edit,Read,Write", "--system-prompt-snapshot", "off"]

    def transcripts(self) -> list[Path]:
        return sorted((self.home / ".claude" / "projects").glob("**/*.jsonl"))

    @property
    def database(self) -> Path:
        """Where versions 0.2.90 to 0.2.100 write their conversations."""
        return self.home / ".claude" / "__store.db"

    def stored(self, statement: str) -> list[tuple[str, ...]]:
        """What a statement finds in the database; nothing before it has its tables."""
        if not self.database.exists():
            return []
        with contextlib.closing(sqlite3.connect(f"{self.database.as_uri()}?mode=ro", uri=True)) as database:
            try:
                return database.execute(statement).fetchall()
            except sqlite3.OperationalError:  # it is being made, or written at this moment
                return []

    def written(self) -> Iterator[bytes]:
        """Everything that the client has written of its conversations, piece by piece."""
        for path in self.transcripts():
            yield path.read_bytes()
        for row in self.stored(EVERYTHING_STORED):
            yield row[0].encode()

    def latest_session(self) -> str:
        """The id of the session that was answered last; other files may hold a summary alone, or nothing."""
        if stored := self.stored(LATEST_STORED):
            return stored[0][0]
        answered = [
            path
            for path in self.transcripts()
            if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4,12}){4}", path.stem)
            and b'"type":"assistant"' in path.read_bytes()
        ]
        if not answered:
            raise RecordingFailedError("no answer was written")
        return max(answered, key=lambda path: path.stat().st_mtime_ns).stem

    def wait_for_row(self, text: str, times: int = 1) -> None:
        """Wait until the transcripts hold `text` this often: what is on disk is what counts, not the screen."""
        written = json.dumps(text, ensure_ascii=False)[1:-1].encode()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if sum(piece.count(written) for piece in self.written()) >= times:
                return
            time.sleep(0.1)
        raise RecordingFailedError(f"no row with {text!r} in {PATIENCE:.0f} s")


class Terminal:
    """The interactive client behind a pseudo-terminal, as a context manager."""

    def __init__(self, client: Client, command: Sequence[str]) -> None:
        self.client = client
        self.command = command
        self.output = bytearray()
        self.changed = time.monotonic()

    def __enter__(self) -> Self:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        self.process = subprocess.Popen(
            self.command,
            cwd=self.client.project,
            env=self.client.environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        # Keys that come before the client listens are lost; this line is the last that it draws when it starts.
        try:
            self.wait_for_screen("? for shortcuts", "plan mode on")
        except RecordingFailedError as problem:
            self.__exit__(type(problem), problem, None)  # `with` does not, because it was not entered yet
            raise
        self.settle(seconds=1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Twice within a second is how every version is left; metadata rows are written on the way out.
        for _ in range(3):
            if self.process.poll() is None:
                self.press(CONTROL_C, CONTROL_C, pause=0.2)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: whatever a tool left running goes too
        self.process.wait()
        self.reader.join(5)
        os.close(self.master)
        if isinstance(problem, RecordingFailedError):
            problem.add_note(self.screen()[-1500:])

    def read(self) -> None:
        # Reading ends with an error when the last process on the other side is gone: that is the end of the file here.
        with contextlib.suppress(OSError):
            while piece := os.read(self.master, 65536):
                self.output += piece
                self.changed = time.monotonic()

    def screen(self) -> str:
        """What was drawn so far, without the control sequences. Not a picture: redrawn lines stand there again."""
        text = self.output.decode("utf-8", "replace")
        text = re.sub(r"\x1b\][^\x07\x1b]*(\x07|\x1b\\)", "", text)
        text = re.sub(r"\x1b\[[0-9]*C", " ", text)
        return re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z~]|.)", "", text)

    def forget_screen(self) -> None:
        """Let `wait_for_screen` see only what is drawn from now on."""
        self.output.clear()

    def wait_for_screen(self, *texts: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            # Newer versions move the cursor instead of writing a blank, so blanks do not count.
            drawn = without_blanks(self.screen())
            if any(without_blanks(text) in drawn for text in texts):
                return
            time.sleep(0.1)
        raise RecordingFailedError(f"{' or '.join(texts)} did not appear on the screen in {PATIENCE:.0f} s")

    def rest(self, seconds: float) -> None:
        """Let the client run on for a moment."""
        time.sleep(seconds)

    def settle(self, seconds: float = 0.8) -> None:
        """Wait until nothing was drawn for so long; a client that is still drawing loses keys."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and self.process.poll() is None:
            if self.output and time.monotonic() - self.changed > seconds:
                return
            time.sleep(0.05)

    def press(self, *keys: str, pause: float = 0.3) -> None:
        """Press the keys one by one: keys that come in one piece are taken for a paste."""
        for key in keys:
            with contextlib.suppress(OSError):
                os.write(self.master, key.encode())
            time.sleep(pause)

    def enter(self, line: str) -> None:
        """Type a line and send it off. While the line is still being drawn, Enter can be taken for part of it."""
        self.press(line)
        self.settle(seconds=0.3)
        self.press(ENTER)

    def ask(self, prompt: str, answer: str) -> None:
        """Enter a prompt and wait until the answer is on disk and the client is idle again."""
        self.enter(prompt)
        self.client.wait_for_row(answer)
        self.settle()

    def ask_and_allow(self, prompt: str, answer: str) -> None:
        """The same, with yes to every question whether a tool may run."""
        self.enter(prompt)
        deadline = time.monotonic() + PATIENCE
        written = answer.encode()
        while time.monotonic() < deadline and not any(written in piece for piece in self.client.written()):
            self.settle()
            if "Doyouwantto" in without_blanks(self.screen()):
                self.forget_screen()
                self.press(ENTER)
        self.client.wait_for_row(answer)
        self.settle()


def without_blanks(text: str) -> str:
    return "".join(text.split())


# Recording -----------------------------------------------------------------------------------------------------------


def install(version: str) -> list[str]:
    """Install `version` unless it is there, and return the command that runs it."""
    place = CACHE / "claude-code" / version
    if not (place / "installed").exists():
        say(f"{version}: installing")
        place.mkdir(parents=True, exist_ok=True)
        # No install scripts: the one that newer versions have only copies the program, which is run where it lies.
        options = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--no-update-notifier")
        done = subprocess.run(
            ["npm", "install", *options, "--prefix", place, "--cache", CACHE / "npm", f"{PACKAGE}@{version}"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "error" in line] or ["npm said nothing"]
            raise RecordingFailedError(f"npm install failed: {said[0]}")
        _build_database_engine(place)
        (place / "installed").touch()
    modules = place / "node_modules" / "@anthropic-ai"
    # 2.1.197 is a binary for each platform, 2.1.112 still one file of JavaScript.
    for binary in modules.glob("claude-code-*/claude"):
        return [str(binary)]
    for name in ("cli.js", "cli.mjs"):
        if (modules / "claude-code" / name).exists():
            return [shutil.which("node") or "node", str(modules / "claude-code" / name)]
    raise RecordingFailedError("the package holds neither cli.js nor a program for this platform")


def _build_database_engine(place: Path) -> None:
    """Versions that write a database need an engine of machine code, which npm would build in an install script."""
    folder = place / "node_modules" / "better-sqlite3"
    if not folder.is_dir():
        return
    say(f"{place.name}: building better-sqlite3, which takes some minutes")
    done = subprocess.run(
        ["npm", "rebuild", "better-sqlite3", "--prefix", place], capture_output=True, text=True, check=False
    )
    if done.returncode or not list(folder.glob("build/*/better_sqlite3.node")):
        raise RecordingFailedError(f"better-sqlite3 was not built: {done.stderr[-300:]}")


def leave_the_network() -> None:
    """Move this process, and so the client, to a network that has nothing but loopback (Linux only).

    The switches in the environment ask the client to stay at home; this makes it.
    """
    new_user, new_network = 0x10000000, 0x40000000
    interface_up, set_flags = 0x1 | 0x40, 0x8914  # IFF_UP | IFF_RUNNING, SIOCSIFFLAGS
    system = ctypes.CDLL(None, use_errno=True)
    # Root can leave by itself; anyone else needs a user namespace to be allowed to.
    if all(system.unshare(flags) for flags in (new_network, new_user | new_network)):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        fcntl.ioctl(probe, set_flags, struct.pack("16sh", b"lo", interface_up))


def save(home: Path, to: Path) -> int:
    """Copy what is worth keeping of `home`, after making sure that nothing in it is about this machine."""
    files = [path for name in KEPT for path in sorted([home / name, *(home / name).glob("**/*")]) if path.is_file()]
    for path in files:
        content = bytes(path.relative_to(home)) + b"\n" + path.read_bytes()  # a name can tell as much as a row
        for what, pattern in private_patterns():
            if re.search(pattern, content):
                raise RecordingFailedError(f"not saved: {path.relative_to(home)} holds {what}")
    shutil.rmtree(to, ignore_errors=True)
    for path in files:
        copy = to / path.relative_to(home)
        copy.parent.mkdir(parents=True, exist_ok=True)
        # The only bytes that are not the client's: it tells the model which kernel it runs on.
        copy.write_bytes(path.read_bytes().replace(os.uname().release.encode(), stand_in_kernel()))
    return sum(path.stat().st_size for path in files)


def stand_in_kernel() -> bytes:
    """A name for a kernel as long as that of this machine."""
    return "6.12.30-generic".ljust(len(os.uname().release), "0")[: len(os.uname().release)].encode()


def private_patterns() -> Iterator[tuple[str, bytes]]:
    """What must not be in a fixture, each with the words for it."""
    words = {
        "the checkout's path": str(ROOT),
        "the checkout's path as a folder name": re.sub(r"[^A-Za-z0-9]", "-", str(ROOT)),
        "the caller's home": str(Path.home()),
        "this machine's name": socket.gethostname(),
        "the API key": API_KEY,
    }
    secret = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PROXY|REGISTRY)", re.IGNORECASE)
    words |= {f"${name}": value for name, value in os.environ.items() if secret.search(name) and len(value) > 3}
    for what, word in words.items():
        # Whole words only: a short host name also stands inside ordinary words.
        yield what, rb"(?<![A-Za-z0-9])" + re.escape(word.encode()) + rb"(?![A-Za-z0-9])"


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
