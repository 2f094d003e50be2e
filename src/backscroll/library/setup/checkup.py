"""Check the library itself: archive, index, marks, permissions and disk space.

Nothing is changed. Each check reports its result and the solution of a problem.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from backscroll import system
from backscroll.archive.archive import Archive
from backscroll.archive.verify import verify
from backscroll.errors import BackscrollError, NewerVersion, NothingFound, storage_error
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from backscroll.library.homes import APART, overlap
from backscroll.library.local import local_library
from backscroll.library.marks import read_marks
from backscroll.library.memory.saved_recalls import saved_recalls
from backscroll.library.prompts.prompt_file import PromptFile
from backscroll.settings import Settings
from backscroll.store.base import DamagedStoreError
from backscroll.store.reader import EVERYTHING

LEAST_FREE: Final = 200_000_000
"""Bytes: room for the next sessions."""
LEAST_FREE_FILES: Final = 1_000
OTHERS: Final = 0o077


@dataclass(frozen=True)
class Check:
    """The result of one check."""

    name: str
    told: str
    """The extent of the check, or why it was not possible."""
    problems: list[str] = field(default_factory=list)
    hint: str = ""
    """Advice to solve the problems."""

    @property
    def is_sound(self) -> bool:
        """Whether there is nothing to do."""
        return not self.problems


def check_library(
    settings: Settings,
    homes: Sequence[Home],
    on_total: Callable[[int], object] = lambda _: None,
    on_bytes: Callable[[int], object] = lambda _: None,
) -> Iterator[Check]:
    """Run all checks. A failure to read is a problem and does not stop the rest."""
    checks: dict[str, Callable[[], Check]] = {
        "place": lambda: _place(settings, homes),
        "archive": lambda: _archive(settings, on_total, on_bytes),
        "index": lambda: _index(settings, homes),
        "marks": lambda: _marks(settings),
        "permissions": lambda: _permissions(settings.library),
        "free space": lambda: _free_space(settings, homes),
    }
    for name, check in checks.items():
        try:
            yield check()
        except OSError as error:
            refused = storage_error(error)
            yield Check(name, "could not be checked", [refused.message], refused.hint)
        except BackscrollError as error:
            yield Check(name, "could not be checked", [error.message], error.hint)


def _place(settings: Settings, homes: Sequence[Home]) -> Check:
    problem = overlap(settings, homes)
    return Check("place", str(settings.library), [problem] if problem else [], APART)


def _archive(settings: Settings, on_total: Callable[[int], object], on_bytes: Callable[[int], object]) -> Check:
    archive = Archive(archive_folder(settings))
    if not archive.exists and not any((archive.folder / "packs").glob("*")):
        return Check("archive", "nothing is kept yet")
    on_total(sum(chunk.size for chunk in archive.chunks.values()))
    report = verify(archive, on_bytes=on_bytes)
    return Check(
        "archive",
        f"{report.files:,} files, {report.size:,} bytes read and compared with their checksums",
        [damage.what for damage in report.damages],
        "run backscroll archive repair, with --from and the folder of a backup if there is one, then backscroll keep",
    )


def _index(settings: Settings, homes: Sequence[Home]) -> Check:
    with local_library(settings, homes, keeps=False) as library:
        try:
            problems = library.store.problems()
            waiting = 0 if problems else library.store.within(EVERYTHING).pending().passages
            extent = "" if problems else f"{waiting:,} passages wait to be indexed"
        except NothingFound:
            return Check("index", "there is none yet; backscroll update makes it")
        except DamagedStoreError as error:
            problems, extent = [error.message], ""
        except NewerVersion as error:
            return Check("index", "could not be checked", [error.message], error.hint)
    extent = f"rows and words compared with each other; {extent}" if extent else "rows and words were checked"
    return Check("index", extent, problems, "run backscroll update --rebuild: it is made again from what is kept")


def _marks(settings: Settings) -> Check:
    marks = read_marks(settings.library)
    recalls = saved_recalls(settings.library)
    prompts = PromptFile(settings.library).all()
    counts = f"{len(marks.chats):,} chats with marks, {len(marks.searches):,} saved searches, {len(recalls):,} recalls"
    return Check("marks", f"{counts}, {len(prompts):,} prompts")


def _permissions(library: Path) -> Check:
    """Check whether other users can read or write files of the library, except those in a private folder."""
    if not library.is_dir():
        return Check("permissions", "there is no library yet")
    foreign = [path for path in _below(library) if not system.is_own(path.lstat())]
    open_to_others = [path for path in _below(library, reachable=True) if stat.S_IMODE(path.lstat().st_mode) & OTHERS]
    problems = []
    if open_to_others:
        others = f" and {len(open_to_others) - 1:,} more" if len(open_to_others) > 1 else ""
        problems.append(f"other users may read {open_to_others[0]}{others}")
    hint = f"run chmod -R go= {library}"
    if foreign:
        problems.append(f"{foreign[0]} belongs to another user" + (", and others do" if len(foreign) > 1 else ""))
        hint = f"run chown -R {system.user_id()} {library}, then chmod -R go= {library}"
    return Check("permissions", "only you can enter the library" if not problems else "checked", problems, hint)


def _below(folder: Path, *, reachable: bool = False) -> Iterator[Path]:
    """Yield the folder and its contents, not targets of links; if `reachable`, not contents that a folder hides."""
    if not folder.is_dir():
        return
    yield folder
    for name, folders, files in os.walk(folder):
        if reachable and not Path(name).stat().st_mode & OTHERS:
            folders.clear()
            continue
        yield from (path for entry in (*folders, *files) if not (path := Path(name, entry)).is_symlink())


def _free_space(settings: Settings, homes: Sequence[Home]) -> Check:
    library = settings.library
    folder = next(path for path in (library, *library.parents) if path.is_dir())
    with local_library(settings, homes, keeps=False) as opened:
        index = opened.index_size()
    free = shutil.disk_usage(folder).free
    needed = max(LEAST_FREE, index)
    problems = []
    if free < needed:
        problems.append(f"{free:,} bytes are free; new sessions and a rebuild of the index may need {needed:,}")
    files = system.free_files(folder)
    if files is not None and files < LEAST_FREE_FILES:
        problems.append(f"the disk has room for only {files:,} more files")
    return Check("free space", f"{free:,} bytes on the disk of {folder}", problems, "make room on that disk")
