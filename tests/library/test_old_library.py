"""A library that was made before files were known by their machine: the same answers, and nothing lost.

`4693d8b.tar.xz` holds a home and its library as commit 4693d8b left them, on a machine called ada-laptop: sessions of
which one was deleted, one shrank and one was forgotten, an agent, a pin, a tag and a note. `4693d8b.json` is what that
version answered. The paths in it are absolute, so it is laid where it was made.
"""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

import pytest

from backscroll.disk import FileLock
from backscroll.library.machine import Machine, read_machine
from tests.support.command import run_command
from tests.support.drawings import session_uuid
from tests.support.homes import session_path

FIXTURES: Final = Path(__file__).parent.parent / "fixtures" / "libraries"
ROOT: Final = Path("/tmp/backscroll-library-4693d8b")
ANSWERS: Final[dict[str, Any]] = json.loads((FIXTURES / "4693d8b.json").read_text())
MAY_CHANGE: Final = ("cost", "score", "words")
"""Prices and ranking are not what this is about."""
OF_BRANCHES: Final = ("branch", "branches", "found", "hits", "title", "total")


@pytest.fixture(scope="module")
def library() -> Iterator[Path]:
    with FileLock(ROOT.with_suffix(".lock"), "another run of this test", "wait for it", wait=300):
        shutil.rmtree(ROOT, ignore_errors=True)
        with tarfile.open(FIXTURES / "4693d8b.tar.xz") as packed:
            packed.extractall(ROOT, filter="data")
        yield ROOT / "library"
        shutil.rmtree(ROOT)


def run(*arguments: str) -> CompletedProcess[str]:
    return run_command(*arguments, "--home", str(ROOT / "home"), "--library", str(ROOT / "library"))


def _by_message(hits: list[Any]) -> list[Any]:
    """In an order that does not depend on the ranking, which may change."""
    return sorted(hits, key=lambda hit: (str(hit["message"]), str(hit["kind"]), hit["block"]))


def check(found: Any, expected: Any, at: str = "answer") -> None:  # noqa: ANN401 - whatever JSON says
    """All that was answered then is answered now. There may be more."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            if not any(word in name for word in MAY_CHANGE):
                own, then = map(_by_message, (found[name], value)) if name == "hits" else (found[name], value)
                check(own, then, f"{at}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), at
        for number, value in enumerate(expected):
            check(found[number], value, f"{at}[{number}]")
    else:
        assert found == expected, at


@pytest.mark.parametrize("name", ANSWERS)
def test_the_same_is_answered(library: Path, name: str) -> None:
    assert library.exists()
    found, expected = json.loads(run(*ANSWERS[name]["command"], "--json").stdout), ANSWERS[name]["answer"]
    if name in ("giraffes", "rhino", "list", "show shrunk"):
        found, expected = _without_branches(found), _without_branches(expected)
    check(found, expected)


def test_a_session_that_was_written_anew_is_one_branch_from_its_first_prompt(library: Path) -> None:
    """It was two branches of which none began anywhere, and had the title of the second."""
    assert library.exists()
    for word in ("count", "seventeen", "eighteen", "rhino"):
        assert session_uuid("shrunk") in run("search", word, "--json").stdout
    found = json.loads(run("show", session_uuid("shrunk"), "--json").stdout)
    assert found["chat"]["title"] == "count the giraffes"
    assert [(message["branch"], *message["uuids"], message.get("starts_part")) for message in found["messages"]] == [
        (1, "h", None), (1, "i", None), (1, "j", None), (1, "k", None), (1, "z", "other session")
    ]  # fmt: skip


def _without_branches(answer: Any) -> Any:  # noqa: ANN401 - whatever JSON says
    """An answer without what depends on the branches of the session that was written anew, which are one now."""
    if isinstance(answer, list):
        return [_without_branches(item) for item in answer]
    if not isinstance(answer, dict):
        return answer
    plain = {name: _without_branches(value) for name, value in answer.items() if name not in OF_BRANCHES}
    if "messages" in plain and isinstance(plain["messages"], list):
        plain["messages"] = sorted(plain["messages"], key=lambda message: message["uuids"])
    return plain


@pytest.mark.usefixtures("library")
def test_what_was_forgotten_stays_forgotten_though_claude_code_still_has_it() -> None:
    assert (ROOT / "home" / session_path("forgotten")).exists()
    assert run("update").returncode == 0
    assert run("search", "lemurs").returncode == 3
    assert run("show", session_uuid("forgotten")).returncode == 3


@pytest.mark.usefixtures("library")
def test_what_was_deleted_and_what_shrank_are_restored(tmp_path: Path) -> None:
    for name, word in (("deleted", b"in the okapi forest"), ("shrunk", b"eighteen giraffes")):
        assert run("archive", "restore", session_uuid(name), "--to", str(tmp_path / name)).returncode == 0
        assert word in (tmp_path / name / session_path(name)).read_bytes()


def test_it_is_still_the_machine_that_it_was_though_the_host_has_another_name(library: Path) -> None:
    run("keep")
    machine = read_machine(library)
    assert (machine.id, machine.formerly) == ("ada-laptop", ())
    assert machine != Machine("ada-laptop", "ada-laptop")  # the name is that of this host
    files = json.loads(run("archive", "status", "--json").stdout)
    assert files["sessions"] == 4
    rows = json.loads(run("sql", "select distinct machine from v_sessions", "--json").stdout)["rows"]
    assert rows == [["ada-laptop"]]
