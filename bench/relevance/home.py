"""The home that is searched: the real sessions, the sample conversations, and one version's recordings."""

import re
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from backscroll.demo.sample import PACKED
from bench.recall import copy_home

RECORDINGS: Final = Path(__file__).parents[2] / "tests" / "fixtures" / "transcripts" / "2.1.325"
"""All versions have the same conversations: eight of each would make every query about them ambiguous."""
SCENARIO: Final = "recording/"
SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def build_home(corpus: Path, home: Path) -> dict[str, set[str]]:
    """Write one home of all three, and return the sessions of every chat that a query may name."""
    copy_home(real_sessions(corpus), home)
    with tarfile.open(PACKED) as archive:
        archive.extractall(home.parent / "sample", filter="data")
    shutil.copytree(home.parent / "sample" / "home" / "projects", home / "projects", dirs_exist_ok=True)
    sessions = {path.stem: {path.stem} for path in (home / "projects").rglob("*.jsonl") if SESSION.fullmatch(path.stem)}
    for scenario in sorted(RECORDINGS.iterdir()):
        shutil.copytree(scenario / "projects", home / "projects", dirs_exist_ok=True)
        sessions[SCENARIO + scenario.name] = {path.stem for path in main_files(scenario)}
    return sessions


def real_sessions(corpus: Path) -> Path:
    """The home in a corpus, which may be one itself."""
    return corpus / "home" if (corpus / "home").is_dir() else corpus


def main_files(home: Path) -> Iterator[Path]:
    """The transcripts that are no agent's."""
    return (path for path in home.glob("projects/*/*.jsonl") if SESSION.fullmatch(path.stem))
