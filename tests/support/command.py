"""Run a command as a user does, without importing everything for each of them.

A command that needs no terminal runs in this process, with an environment, working directory, input and output of its
own for as long as it runs. One that needs a terminal, changes its process or runs beside others gets a process, forked
from one that has imported the program.
"""

import gc
import importlib
import multiprocessing
import os
import pkgutil
import re
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Final

import click

import backscroll
from backscroll.cli.main import backscroll as backscroll_command
from backscroll.cli.options import UnusedOption
from backscroll.cli.start import main

PATIENCE: Final = 300.0
"""Seconds after which a command is taken to hang."""
PROGRESS: Final = re.compile(r"\r[^\r\n\x1b]*\x1b\[K")
STREAMS: Final = ("stdin", "stdout", "stderr")
CHANGES_ITS_PROCESS: Final = frozenset(
    {"--demo", "connect", "demo", "find", "follow", "hook", "mcp", "open", "server", "statusline", "--watch", "watch"}
)
"""Words of commands that handle signals, lower their priority, leave threads behind, or bypass `cli.main`."""


def run_command(
    *arguments: object,
    given: str = "",
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    columns: int | None = None,
) -> CompletedProcess[str]:
    """Run `backscroll` with these arguments; `given` is its input. The environment is this process's unless named.

    With `columns`, it writes to a terminal of that width, and `stdout` is all that is seen there.
    """
    own = {**(os.environ if environment is None else environment)}
    words = [str(argument) for argument in arguments]
    with TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in STREAMS]
        streams[0].write_text(given)
        if columns is None:
            code = _run(words, own, cwd, streams)
        else:
            with _terminal(columns, streams[1]) as terminal:
                code = _run(words, own, cwd, [streams[0], terminal, terminal])
        printed, errors = (_text_of(stream) for stream in streams[1:])
    return CompletedProcess(["backscroll", *words], code, printed, errors)


def place_options(arguments: Sequence[object], home: object, library: object = None) -> list[object]:
    """`--home` and `--library`, as far as the command takes them."""
    command: click.Command = backscroll_command
    for word in map(str, arguments):
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word) or command
    unused = {option.opts[0] for option in command.params if isinstance(option, UnusedOption)}
    named = {"--home": home, "--library": library}
    return [word for name, value in named.items() if value and name not in unused for word in (name, value)]


def _text_of(stream: Path) -> str:
    """What was printed, without the line of progress: a command that takes a second shows it, whatever the machine."""
    if not stream.exists():
        return ""
    text = stream.read_bytes().decode()
    return PROGRESS.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def run_in_terminal(
    *arguments: object, cwd: Path, environment: Mapping[str, str], columns: int = 100, typed: str = ""
) -> CompletedProcess[bytes]:
    """Run `backscroll` with a terminal for input and output; `stdout` is every byte that is sent to it.

    `typed` waits in the terminal before the command asks for it.
    """
    words = [str(argument) for argument in arguments]
    with TemporaryDirectory() as folder:
        screen = Path(folder) / "screen"
        with _terminal(columns, screen, typed) as terminal:
            code = _run(words, {**environment}, cwd, [terminal, terminal, terminal])
        return CompletedProcess(["backscroll", *words], code, screen.read_bytes())


def _run(words: list[str], environment: dict[str, str], cwd: Path | None, streams: list[Path]) -> int:
    """Its exit code."""
    has_terminal = any(stream.is_char_device() for stream in streams)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and not has_terminal and CHANGES_ITS_PROCESS.isdisjoint(words):
        with _process_state():
            try:
                _work(words, environment, cwd or Path.cwd(), streams)
            except SystemExit as end:
                return end.code if isinstance(end.code, int) else int(end.code is not None)
            return 0
    if streams[1].is_char_device():
        environment.pop("COLUMNS", None)  # it would be believed before the terminal
    child = forked_processes().Process(target=_work, args=(words, environment, cwd or Path.cwd(), streams))
    child.start()
    child.join(PATIENCE)
    if child.exitcode is None:
        child.kill()
        child.join()
        raise TimeoutExpired(words, PATIENCE)
    return child.exitcode


@contextmanager
def _terminal(columns: int, copy: Path, typed: str = "") -> Iterator[Path]:
    """The path of a terminal of this width, all of whose output goes to `copy`."""
    ours, theirs = os.openpty()
    tty.setraw(theirs)  # a newline stays a newline
    termios.tcsetwinsize(theirs, (50, columns))
    os.write(ours, typed.encode())

    def read() -> None:
        with copy.open("wb") as file, suppress(OSError):  # as it ends: nothing has the other side open
            while content := os.read(ours, 65536):
                file.write(content)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield Path(os.ttyname(theirs))
    finally:
        os.close(theirs)
        reader.join()
        os.close(ours)


def forked_processes() -> ForkServerContext:
    """Processes that start with all modules of the program.

    Python has one server that they are forked from, and it has imported what its first user asked for: if tests asked
    for other modules, every command after them would import the program again.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "bench.generate"])
    return context


@contextmanager
def _process_state() -> Iterator[None]:
    """Put back what `_work` and a command change in this process."""
    environment, cwd, threshold = {**os.environ}, os.open(".", os.O_RDONLY), gc.get_threshold()
    streams = {name: getattr(sys, name) for name in ("argv", *STREAMS)}
    with ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for descriptor in range(len(STREAMS)):
            copy = os.dup(descriptor)
            stack.callback(os.close, copy)
            stack.callback(os.dup2, copy, descriptor)
        try:
            yield
        finally:
            for name in STREAMS:
                getattr(sys, name).close()
            for name, stream in streams.items():
                setattr(sys, name, stream)
            os.environ.clear()
            os.environ.update(environment)
            time.tzset()
            os.fchdir(cwd)
            os.close(cwd)
            gc.set_threshold(*threshold)


def _work(arguments: list[str], environment: dict[str, str], cwd: Path, streams: list[Path]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.chdir(cwd)
    for descriptor, path in enumerate(streams):
        opened = os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
        mode = "r" if descriptor == 0 else "w"
        setattr(sys, STREAMS[descriptor], open(descriptor, mode, closefd=False))  # noqa: SIM115 - until it ends
    sys.argv = ["backscroll", *arguments]
    main()


for _module in pkgutil.walk_packages(backscroll.__path__, "backscroll."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)
