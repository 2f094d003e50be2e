"""Find the git remotes of a folder on this machine. Reads git's own files, a bounded part of each; runs nothing.

The folder comes from a transcript and may be anything. If its configuration cannot be read, its remotes are unknown,
which is not the same as having none.
"""

import os
import re
import stat
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from backscroll.sync.policy import normal_remote

LARGEST_CONFIG: Final = 1_000_000
LARGEST_POINTER: Final = 8_192
"""The largest `.git` file: it names a folder."""
MOST_INCLUDES: Final = 20


class UnknownRemotesError(Exception):
    """The configuration of a repository exists and cannot be read."""


class _Variable(NamedTuple):
    """A line of a configuration."""

    section: str
    subsection: str
    name: str
    value: str


def git_remotes(folder: str) -> frozenset[str] | None:
    """Return every git remote of a folder, without protocol and user; None if unknown.

    These are the remotes of the repository that the folder is in, whether it is a clone, one of its worktrees, or a
    submodule, which also counts as part of the repository around it.
    """
    try:
        if not folder.startswith("/") and not Path(folder).is_absolute():
            return None
        if not stat.S_ISDIR(os.stat(folder).st_mode):  # noqa: PTH116 - a Path would drop the end of `x/..`
            return None
        return frozenset(_remotes_around(Path(folder)))
    except (OSError, ValueError, RuntimeError, UnknownRemotesError):
        return None


def repository_of(folder: str) -> tuple[Path, Path | None] | None:
    """Return the top of a folder's repository, and, if that is a linked worktree, the top of the main one."""
    try:
        for top in (Path(folder), *Path(folder).parents):
            repository = _repository_at(top)
            if repository is None:
                continue
            pointer = repository / "commondir"
            if not pointer.is_file():
                return top, None
            common = Path(os.path.realpath(repository / _read(pointer, LARGEST_POINTER).strip()))
            return top, common.parent if common.name == ".git" else common
    except (OSError, ValueError, RuntimeError, UnknownRemotesError):
        return None
    return None


def _remotes_around(folder: Path) -> Iterator[str]:
    for parent in (folder, *folder.parents):
        repository = _repository_at(parent)
        if repository is not None:
            yield from _remotes_of(repository)
            if SUBMODULE.search(repository.as_posix()) is None:
                return  # the repository around a submodule counts too


def _repository_at(folder: Path) -> Path | None:
    """Return the folder with git's own files for a working folder, or for a bare repository; None if there is none."""
    place = folder / ".git"
    try:
        mode = place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        if place.is_symlink():
            raise UnknownRemotesError from None
        is_bare = (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "config").is_file()
        return folder if is_bare else None
    if stat.S_ISDIR(mode):
        return place
    pointer = _read(place, LARGEST_POINTER)
    if not pointer.startswith("gitdir:"):
        raise UnknownRemotesError
    return folder / pointer.removeprefix("gitdir:").strip()


def _remotes_of(repository: Path) -> Iterator[str]:
    common = repository
    if (repository / "commondir").exists():
        common = repository / _read(repository / "commondir", LARGEST_POINTER).strip()
    variables = [*_variables(common / "config", [])]
    if (repository / "config.worktree").exists():
        variables += _variables(repository / "config.worktree", [])
    rewrites = [*_rewrites(variables), *_rewrites(_user_variables(str(Path.home()), os.environ.get("XDG_CONFIG_HOME")))]
    for variable in variables:
        value = variable.value
        is_remote = variable.section == "remote" and variable.name in ("url", "pushurl")
        # A branch may name an address instead of a remote.
        is_address = variable.section in ("branch", "remote") and variable.name in ADDRESSES and "/" in value
        if value and (is_remote or is_address):
            yield normal_remote(value)
            yield from (normal_remote(new + value[len(old) :]) for old, new in rewrites if value.startswith(old))


def _rewrites(variables: list[_Variable]) -> list[tuple[str, str]]:
    """Return git's replacements of the beginning of an address, as pairs of old and new text."""
    names = ("insteadof", "pushinsteadof")
    return [
        (variable.value, variable.subsection)
        for variable in variables
        if variable.section == "url" and variable.name in names
    ]


@cache
def _user_variables(home: str, settings: str | None) -> list[_Variable]:
    """Return the user's own configuration, for the addresses that it abbreviates."""
    variables: list[_Variable] = []
    for config in (Path(home, ".gitconfig"), Path(settings or Path(home, ".config"), "git", "config")):
        try:
            variables += _variables(config, [])
        except (OSError, ValueError, RuntimeError, UnknownRemotesError):
            continue
    return variables


def _variables(config: Path, read: list[Path]) -> Iterator[_Variable]:
    """Yield the variables of a configuration and of its includes, regardless of their conditions."""
    read.append(config)
    for variable in _parse(_read(config, LARGEST_CONFIG)):
        yield variable
        is_include = variable.section in ("include", "includeif") and variable.name == "path"
        if is_include and len(read) <= MOST_INCLUDES:
            included = config.parent / Path(variable.value).expanduser()
            if included not in read and included.is_file():
                yield from _variables(included, read)


def _parse(text: str) -> Iterator[_Variable]:
    section = subsection = ""
    for line in text.replace("\\\n", "").splitlines():
        rest = line.strip().removeprefix("\ufeff")
        header = SECTION.match(rest)
        if header:
            section, _, after = header[1].lower().partition(".")
            subsection = ESCAPED.sub(r"\1", header[2]) if header[2] is not None else after
            rest = rest[header.end() :].strip()
        name, equals, value = rest.partition("=")
        if equals and name[:1].isalpha():
            yield _Variable(section, subsection, name.strip().lower(), _value(value))


def _value(text: str) -> str:
    """Return the value of a variable, without quotes and comment."""
    unquoted: list[str] = []
    is_quoted = False
    for piece in VALUE_PIECE.findall(text.strip()):
        if piece == '"':
            is_quoted = not is_quoted
        elif piece in "#;" and not is_quoted:
            break
        else:
            unquoted.append(ESCAPES.get(piece, piece[-1]))
    return "".join(unquoted).strip()


def _read(path: Path, most: int) -> str:
    """Read a file that git wrote. A pipe or a device is not waited for, and a file that is too large is refused."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnknownRemotesError
        data = b""
        while piece := os.read(descriptor, most + 1 - len(data)):
            data += piece
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise UnknownRemotesError
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


SUBMODULE: Final = re.compile(r"/\.git/(?:worktrees/[^/]+/)?modules/")
ADDRESSES: Final = ("remote", "pushremote", "pushdefault")
SECTION: Final = re.compile(r'\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)"\s*)?\]')
ESCAPED: Final = re.compile(r"\\(.)")
VALUE_PIECE: Final = re.compile(r"\\.|.", re.DOTALL)
ESCAPES: Final = {r"\n": "\n", r"\t": "\t", r"\b": "\b"}
