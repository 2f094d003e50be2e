"""Honest machines that share a remote with an attacker: `backscroll sync` as a process of its own, measured.

What a machine keeps is read from its archive by its format alone: plain JSON, zstd and hashes.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final, NamedTuple

import zstandard

from tests.support.command import place_options, run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_file, write_home

MEASURED: Final = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)
"""
"""A small process that starts the real one: the peak of a process that is started by a large one begins with that."""
PATIENCE: Final = 300
CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069]")
TALK: Final = (
    "@ session={0} cwd=/home/ada/{0}\n{0}1 <- - user: about the {0} zebras\n{0}2 <- {0}1 assistant({0}m): striped"
)


class Kept(NamedTuple):
    """A file in an archive."""

    machine: str
    home: str
    path: str


class HonestMachine:
    """A machine with a home, a library and a remote."""

    def __init__(self, root: Path, name: str, remote: object, environment: Mapping[str, str] | None = None) -> None:
        self.name, self.remote = name, remote
        self.home, self.library = root / name / "claude", root / name / "library"
        self.environment = {**os.environ, "HOME": str(root / name), "NO_COLOR": "1", **(environment or {})}
        self.peak = 0
        """MiB that the last sync had in memory at most."""
        self.talk(name)
        self.own = ""

    def talk(self, word: str) -> None:
        """A session about this word."""
        write_home(self.home, session_file(word, TALK.format(word)))

    def add(self) -> None:
        """Begin to sync."""
        ran = self.run("sync", "add", "shared", self.remote, "--yes")
        assert ran.returncode == 0, ran.stderr
        self.own = json.loads((self.library / "machine.json").read_text())["id"]

    def sync(self) -> CompletedProcess[str]:
        """Sync in a process of its own; it must end by itself, without a traceback, and write no control characters."""
        report = self.library / "peak"
        words = ["sync", *map(str, place_options(["sync"], self.home, self.library))]
        command = [
            sys.executable,
            "-S",
            "-c",
            MEASURED,
            str(report),
            sys.executable,
            "-m",
            "backscroll.cli.start",
            *words,
        ]
        ran = subprocess.run(
            command, env=self.environment, capture_output=True, timeout=PATIENCE, check=False, text=True
        )
        self.peak = int(report.read_text()) >> 10
        said = ran.stdout + ran.stderr
        assert ran.returncode in (0, 1), said
        assert "Traceback" not in said, said
        assert not CONTROL.search(said), repr(said)
        return ran

    def run(self, *arguments: object) -> CompletedProcess[str]:
        """Run another command."""
        return run_command(*arguments, *place_options(arguments, self.home, self.library), environment=self.environment)

    def json(self, *arguments: object) -> Any:  # noqa: ANN401
        """What a command answers, for programs."""
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0, (arguments, ran.stderr)
        return json.loads(ran.stdout)

    @property
    def kept(self) -> dict[Kept, list[bytes]]:
        """Every version of every file in the archive."""
        return kept_in(self.library / "archive")

    @property
    def own_files(self) -> dict[Kept, list[bytes]]:
        """What the archive has of this machine itself."""
        return {key: versions for key, versions in self.kept.items() if key.machine == self.own}

    def works(self, *words: str) -> None:
        """Every command that people use every day answers, and finds these words."""
        for command in (["list"], ["stats"], ["status"], ["sync", "status"], ["update"], ["doctor"]):
            ran = self.run(*command)
            assert ran.returncode == 0, (command, ran.stderr)
            assert not CONTROL.search(ran.stdout + ran.stderr), (command, ran.stdout)
        for word in words:
            assert self.json("search", word)["hits"], word
        ran = self.run("show", session_uuid(self.name))
        assert ran.returncode == 0, ran.stderr
        assert f"the {self.name} zebras" in ran.stdout


def kept_in(archive: Path) -> dict[Kept, list[bytes]]:
    """Every version of every file, as docs/reference/archive-format.md says."""
    names: dict[int, Kept] = {}
    versions: dict[int, list[bytes]] = {}
    for text in (archive / "catalogue.jsonl").read_bytes().splitlines():
        line = json.loads(text)
        number = line.get("file", 0)
        if line["kind"] == "file":
            names[number] = Kept(line["machine"], _name(line, "home"), _name(line, "path"))
            versions[number] = []
        elif line["kind"] == "moved":
            names[number] = names[number]._replace(path=_name(line, "path"))
        elif line["kind"] == "bytes":
            has = versions[number]
            has += [b""] * (line["version"] + 1 - len(has))
            has[line["version"]] += b"".join(_chunk(archive, *chunk) for chunk in line["chunks"])
    return {names[number]: data for number, data in versions.items()}


def _chunk(archive: Path, _: str, pack: int, offset: int, length: int, size: int) -> bytes:
    with (archive / "packs" / f"{pack:06}.pack").open("rb") as file:
        file.seek(offset)
        return zstandard.decompress(file.read(length), max_output_size=size)


def _name(line: dict[str, Any], field: str) -> str:
    in_hex = line.get(f"{field}_hex")
    return os.fsdecode(bytes.fromhex(in_hex)) if in_hex else str(line[field])
