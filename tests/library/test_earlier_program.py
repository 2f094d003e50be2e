"""An earlier version that still runs on the machine, as a hook or a timer: it goes on keeping, or says why not."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from backscroll.archive.archive import Archive
from backscroll.archive.verify import verify
from backscroll.files.layout import FileKind
from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import EVERYTHING, session_path, write_home
from tests.support.landed import checked_out, run_landed

pytestmark = pytest.mark.all
S1 = session_uuid("S1")
ZEBRA = "@ session=S1 cwd=/home/ada/shop\na <- - user: about the zebra\nb <- a assistant(m1): it has stripes\n"


class Both:
    """A home and a library that this version and an earlier one use in turn."""

    def __init__(self, root: Path, source: Path) -> None:
        self._source = source
        self.home = write_home(root / "home", dict(EVERYTHING) | {session_path("S1"): jsonl(draw(ZEBRA))})
        self.library = root / "library"
        self.options = ["--home", str(self.home), "--library", str(self.library)]

    def earlier(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        done = run_landed(self._source, *words, *self.options)
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
        return done

    def now(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        done = run_command(*words, *self.options)
        assert done.returncode == code, done.stderr
        return done

    def kept(self) -> dict[str, bytes]:
        """All bytes of the latest version of each file."""
        archive = Archive(self.library / "archive")
        assert verify(archive).damages == []
        return {
            file.path: b"".join(archive.content(file.latest))
            for file in archive.files.values()
            if file.latest is not None
        }


def chats(done: CompletedProcess[str]) -> set[str]:
    found: Any = json.loads(done.stdout)
    return {chat["id"] for chat in found["chats"]}


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    """A home with everything that is kept, also what earlier versions do not know."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path))
    with checked_out() as source:
        both = Both(tmp_path, source)
        outputs = tmp_path / f"claude-{os.getuid()}" / "-home-ada-shop" / S1 / "tasks"
        outputs.mkdir(parents=True)
        outputs.parents[2].chmod(0o700)
        (outputs / "b1.output").write_text("built")
        write_home(
            both.home, {f"jobs/{S1[:8]}/state.json": b"{}\n", f"teams/session-{S1[:8]}/inboxes/lead.json": b"[]\n"}
        )
        both.earlier("keep")
        both.now("update")
        yield both


def test_a_hook_of_an_earlier_version_goes_on_keeping(both: Both) -> None:
    before = both.kept()
    assert {f"jobs/{S1[:8]}/state.json", f"{session_path('S1').removesuffix('.jsonl')}/tasks/b1.output"} <= set(before)
    kinds = {file.kind for file in Archive(both.library / "archive").files.values()}
    assert {FileKind.JOB, FileKind.TASK_OUTPUT} <= kinds
    with (both.home / session_path("S1")).open("ab") as file:
        file.write(jsonl(draw("@ session=S1 cwd=/home/ada/shop\nc <- b user: and the quagga\n")))
    both.earlier("keep")
    assert both.kept()[session_path("S1")] == (both.home / session_path("S1")).read_bytes()
    assert "quagga" in both.now("search", "quagga").stdout
    (both.home / session_path("S1")).unlink()
    both.earlier("keep")
    assert "quagga" in both.now("search", "quagga").stdout
    after = both.kept()
    assert {path: after[path][: len(data)] for path, data in before.items()} == before
    for words in (["archive", "verify"], ["archive", "status"], ["archive", "backup", str(both.home.parent / "usb")]):
        both.earlier(*words)


def test_an_index_that_an_earlier_version_cannot_read_is_said_and_left_alone(both: Both) -> None:
    both.now("pin", S1)
    listed = chats(both.now("list", "--json", "--limit", "1000"))
    refused = both.earlier("list", code=1)
    assert "the index was made by a later version of backscroll" in refused.stderr
    assert "update backscroll" in refused.stderr
    assert chats(both.now("list", "--json", "--limit", "1000")) == listed
    # Who goes back for good removes the index, as the hint says.
    shutil.rmtree(both.library / "index")
    both.earlier("update")
    assert S1 in chats(both.earlier("list", "--json", "--limit", "1000"))
    assert "zebra" in both.earlier("search", "zebra").stdout
    for words in (["stats"], ["doctor"], ["show", S1], ["archive", "versions", S1], ["list", "is:pinned"]):
        both.earlier(*words)
    both.now("update")
    assert chats(both.now("list", "--json", "--limit", "1000")) == listed
