"""A home may be inside another one: each file belongs to one of them."""

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from backscroll.archive.archive import Archive
from backscroll.files.homes import Home
from backscroll.library.archives import archive_folder
from backscroll.library.indexing.follow import WATCHING, follow
from backscroll.library.indexing.progress import NoProgress
from backscroll.library.keeping.keep import keep_watching
from backscroll.library.local import local_library
from backscroll.settings import Settings
from tests.support.drawings import draw, jsonl
from tests.support.homes import session_path, write_home

HISTORY = "history.jsonl"


Rounds = Generator[object, None, None]


def watched(settings: Settings, homes: list[Home], stop: threading.Event, change: Callable[[], None]) -> Rounds:
    rounds = keep_watching(settings, homes, stop)
    yield next(rounds)
    change()
    yield from rounds


def followed(settings: Settings, homes: list[Home], stop: threading.Event, change: Callable[[], None]) -> Rounds:
    class Watching(NoProgress):
        def begin(self, what: str, total: int, unit: str = "bytes") -> None:
            super().begin(what, total, unit)
            if what == WATCHING:
                change()

    with local_library(settings, homes) as library:
        yield from follow(library, stop, Watching())


@pytest.mark.parametrize("below", ["work/.claude", "projects/-home-ada-shop/.claude"])
@pytest.mark.parametrize("run", [watched, followed])
def test_what_changes_in_a_home_inside_another_is_kept_of_that_home(
    tmp_path: Path, run: Callable[[Settings, list[Home], threading.Event, Callable[[], None]], Rounds], below: str
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / below
    for home, name in ((outer, "S1"), (inner, "S2")):
        session = jsonl(draw(f"{name} <- - user: hello from {name}", session=name))
        write_home(home, {HISTORY: f'{{"display":"{name}"}}\n', session_path(name): session})
    settings = Settings(homes=(outer, inner), library=tmp_path / "library", file=tmp_path / "settings.toml")
    stop = threading.Event()

    def change() -> None:
        for home, name in ((outer, "S1"), (inner, "S2")):
            with (home / session_path(name)).open("ab") as file:
                file.write(jsonl(draw(f"{name}b <- {name} user: more", session=name)))
            with (home / HISTORY).open("a") as history:
                history.write('{"display":"more"}\n')

    with closing(run(settings, [Home(outer), Home(inner)], stop, change)) as rounds:
        next(rounds)
        while not is_as_on_disk(settings, outer, inner):
            next(rounds)
        stop.set()
    assert is_as_on_disk(settings, outer, inner)


def is_as_on_disk(settings: Settings, *homes: Path) -> bool:
    """Whether each file is kept as it is, and of nothing else; none of them may ever count as gone."""
    archive = Archive(archive_folder(settings))
    assert not [file for file in archive.files.values() if file.gone_since]
    kept = {file.name: b"".join(archive.content(file.versions[-1])) for file in archive.files.values()}
    assert all(len(file.versions) == 1 for file in archive.files.values())
    names = [HISTORY, session_path("S1"), session_path("S2")]
    files = {str(home / name) for home in homes for name in names if (home / name).exists()}
    assert set(kept) <= files
    return kept == {name: Path(name).read_bytes() for name in files}
