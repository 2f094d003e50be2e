"""Prepare many texts in a second process, while this one continues reading.

Preparing is a sixth of the work of a first update, and all of it is Python: a thread would wait for the one that reads.
The process is given texts and nothing else, and it is never needed: whatever goes wrong with it, texts are prepared
here.
"""

import marshal
import os
import subprocess
import sys
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from backscroll.query import words
from backscroll.query.words import Preparation

WORTH_A_PROCESS: Final = 1_000_000
"""From how many characters at once: starting the process takes as long as preparing this many."""
Prepared = tuple[str, str]
"""A text as it is indexed, and what it is found by besides."""


class Preparing:
    """Prepares texts, one list after the other: `start` takes a list, `finish` gives what was made of it."""

    def __init__(self) -> None:
        self._preparation = Preparation()
        self._is_alone = (os.cpu_count() or 1) < 2
        self._worker: _PreparingProcess | None = None
        self._texts: Sequence[str] = ()
        self._is_sent = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether the second process is at work on what was begun."""
        return self._is_sent

    def start(self, texts: Sequence[str]) -> None:
        """Start preparing these texts. The previous ones must be finished."""
        self._texts = texts
        self._is_sent = False
        if self._is_alone or sum(map(len, texts)) < WORTH_A_PROCESS:
            return
        try:
            self._worker = self._worker or _PreparingProcess()
            self._worker.send(texts)
            self._is_sent = True
        except (OSError, ValueError):
            self._give_up()

    def finish(self) -> list[Prepared]:
        """The prepared texts, in order."""
        texts, self._texts = self._texts, ()
        is_sent, self._is_sent = self._is_sent, False
        if is_sent and self._worker is not None:
            try:
                made = zip(texts, self._worker.receive(), strict=True)
                return [(text if found is None else found, parts) for text, (found, parts) in made]
            except (OSError, EOFError, ValueError, TypeError):
                self._give_up()
        return [self._preparation.prepare(text) for text in texts]

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _give_up(self) -> None:
        self._is_alone = True
        self.close()


class _PreparingProcess:
    """The process and its pipes."""

    def __init__(self) -> None:
        # Without site-packages it starts in a third of the time.
        command = [sys.executable, "-I", "-S", "-c", WORKER, str(Path(words.__file__).parents[2])]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin and self._process.stdout  # noqa: S101 - both are pipes
        self._input, self._output = self._process.stdin, self._process.stdout
        self.end = weakref.finalize(self, _end, self._process)

    def send(self, texts: Sequence[str]) -> None:
        data = marshal.dumps(list(texts))
        self._input.write(len(data).to_bytes(8, "big"))
        self._input.write(data)
        self._input.flush()

    def receive(self) -> list[tuple[str | None, str]]:
        size = int.from_bytes(self._output.read(8), "big")
        data = self._output.read(size)
        if not size or len(data) < size:
            raise EOFError
        made: list[tuple[str | None, str]] = marshal.loads(data)  # noqa: S302 - from our own process
        return made


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


WORKER: Final = """
import marshal, sys
sys.path.append(sys.argv[1])
from backscroll.query.words import Preparation
prepare = Preparation().prepare
while head := sys.stdin.buffer.read(8):
    texts = marshal.loads(sys.stdin.buffer.read(int.from_bytes(head, "big")))
    made = [(None if found is text else found, parts) for text in texts for found, parts in (prepare(text),)]
    data = marshal.dumps(made)
    sys.stdout.buffer.write(len(data).to_bytes(8, "big") + data)
    sys.stdout.buffer.flush()
"""
"""What the process runs: the same module, found in the folder of our packages."""
