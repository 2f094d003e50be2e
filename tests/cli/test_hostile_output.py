"""Commands in a real terminal over a home whose every text wants to command it: none of it reaches the screen."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from backscroll.cli.main import backscroll
from tests.support.command import place_options, run_command, run_in_terminal
from tests.support.drawings import draw, session_uuid
from tests.support.hostile import COUNT, FIELDS, FOLDER, IDS, LIVE, TWISTED, hostile_home
from tests.support.payloads import armed
from tests.support.payloads_odd import CONTROLS
from tests.support.samples import mostly_in_all

OURS = re.compile(rb"\x1b\[[0-9;]*m|\r(?:[a-z]+: [ -~]*)?\x1b\[K")
"""What we write ourselves: colours, and a line of progress."""
LINK = re.compile(rb"\x1b\]8;(?:id=[0-9]+)?;([!-~]+)\x1b\\(.*?)\x1b\]8;;\x1b\\", re.DOTALL)
WRONG = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
LINKS = session_uuid("links")
LINKED = r"""
@ session=links cwd=/work/shop
a <- - user: where is it written?
b <- a assistant(m1): "See <https://example.org/shown> and [https://example.org/also?a=1;b=2](https://example.org/also?a=1;b=2)."
c <- b assistant(m2): "[the manual](ssh://host/-oProxyCommand=touch%20x) [edit](vscode://file/etc/passwd) [x](x-man-page://ls)"
d <- c assistant(m3): "[https://example.org](https://evil.example/hidden) ![a chart](https://evil.example/pixel.png)"
e <- d assistant(m4): "[![nested](https://evil.example/inner.png)](ssh://nested) <mailto:a@example.org> [](ssh://empty)"
f <- e assistant(m5): "&#x202e;turned &rlm; &#13;over &#27;]0;x&#7; &#x9b;31m &ZeroWidthSpace; `&#x202e;` [a&#x202e;b](https://x/&#x202e;)"
g <- f assistant(m6): "[ref]\n\n[ref]: ssh://by-reference 'title &#x202e;'"
i <- g call(m8) t1 Hostile {}
j <- i result t1: done
h <- j assistant(m7): "| [cell](ssh://in-a-table) |\n|---|\n| <ssh://auto/-oProxyCommand=x> |"
"""
SHOWN = (
    ("sync", "preview", "--quiet"),
    ("list",),
    ("list", "--limit", "20"),
    ("search", "hit", "--limit", "400", "--hits", "20", "-C", "3"),
    ("search", "press", "--limit", "400", "--hits", "20"),
    ("show", FIELDS, "--no-pager", "--thinking", "--tools", "full", "--agents"),
    ("show", FIELDS, "--no-pager", "--no-color"),
    ("show", IDS, "--no-pager", "--tools", "short"),
    ("show", TWISTED, "--no-pager", "--tools", "full", "--thinking"),
    ("tree", FIELDS),
    ("tree", IDS, "--all"),
    ("resume", LIVE, "--json"),  # without it, it asks
    ("doctor",),
    ("inspect",),
    ("sql", "select title, project from v_chats"),
    ("sql", "select * from v_tool_calls limit 3000"),
    ("prices",),
    ("stats",),
    *(("stats", name) for name in ("usage", "time", "chats", "activity", "tools", "errors", "sequences", "files",
                                         "context")),
    ("stats", "cache"),
    ("stats", "usage", "--by", "project"),
    ("stats", "usage", "--by", "model"),
    ("tag",),
    ("note",),
    ("pin",),
    ("show", FIELDS, "--json"),
    ("show", LIVE, "--raw"),
    ("list", "--json"),
    *(("export", LIVE, "--format", name, "--out", "-") for name in ("md", "html", "json", "jsonl")),
    *(("export", FIELDS, "--format", name, "--out", "-", "--no-redact") for name in ("md", "html")),
    *(("sql", f"select * from {view} limit 2000", "--format", "csv") for view in
      ("v_chats", "v_sessions", "v_messages", "v_tool_calls", "v_usage", "v_files_touched", "v_problems")),
    ("sql", "select title as \"\x1b]0;x\x07\u202e\" from v_chats", "--format", "csv"),
    ("sql", "select title from v_chats", "--json"),
    ("sql", "--schema"),
    *(("stats", name, "--csv") for name in (
        "usage", "time", "activity", "tools", "errors", "sequences", "files", "context", "cache", "blocks", "prompts",
        "folders", "topics",
        "chats", "spend")),
    *(("stats", name) for name in ("blocks", "prompts")),
    *(("stats", "usage", "--by", by, "--csv") for by in ("project", "chat", "git-branch")),
    *(("stats", "spend", "--since", "2020-01-01", "--by", by, "--csv") for by in ("chat", "turn", "tool")),
    ("stats", "usage", "--explain", "--csv"),
    ("stats", "usage", "--explain"),
    ("stats", "errors", "--examples"),
    ("stats", "tools", "--csv", "--by", "tool"),
    ("stats", "compare", "model:a", "model:b"),
    ("stats", "compare", "model:a", "model:b", "--csv"),
    ("recall", "press", "hit"),
    ("recall", "press", "hit", "--json"),
    ("recalls",),
    ("prompts",),
    ("prompts", "--json"),
    ("prompts", "show", "hostile"),
    ("prompts", "fill", "hostile", "x=\x1b]0;x\x07\u202e"),
    ("prompts", "install", "hostile", "--print"),
    ("saved",),
    ("update", "--verbose"),
    ("keep", "--verbose"),
    ("doctor", "--verbose"),
    ("inspect", "--verbose"),
    ("status",),
    ("archive", "status"),
    ("archive", "verify"),
    ("archive", "versions", FIELDS),
    ("show", LINKS, "--no-pager"),
    ("show", LINKS),
    ("list", "--verbose"),
)  # fmt: skip
ELSEWHERE = {
    "file": "test_a_file_is_shown_without_what_it_holds",
    "blame": "test_a_file_is_shown_without_what_it_holds",
    "find": "draws with curses what `search` and `show` print",
    "follow": "prints what `show` prints, and the title as `list` does",
    "open": "prints its own address", "mcp": "speaks to programs", "statusline": "prints what its input says",
    "watch": "prints what `update` prints", "demo": "prints its own address, and shows only the sample",
    "completion": "prints a script of its own, and words for a shell: tests/cli/test_completion.py",
    "install": "prints what it changes", "uninstall": "prints what it changes",
    "server": "prints its own address", "connect": "shows what `sync preview` shows",
}  # fmt: skip
"""The commands that are tried by another test, or print nothing from a transcript."""
SAMPLED = mostly_in_all([(words,) for words in SHOWN], each=4)
TOLD = (
    ("list",), ("show", FIELDS, "--tools", "full"), ("show", IDS), ("tree", FIELDS), ("search", "press"), ("note",),
    ("stats", "tools"),
)  # fmt: skip


class HostilePlace:
    """A home, a library, and how commands are run on them."""

    def __init__(self, root: Path) -> None:
        self.home, self.library = root / "home", root / "library"
        session = "\n".join(json.dumps(row, ensure_ascii=False) for row in draw(LINKED)) + "\n"
        session = session.replace('"Hostile"', json.dumps("\x1b]0;x\x07\x1b[2J\x9b31m\u202eTool"))
        linked = {f"{FOLDER}/{LINKS}.jsonl": session.encode("utf-8", "surrogatepass")}
        for name, data in {**hostile_home(COUNT // 16, with_large=False), **linked}.items():
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def options(self, arguments: Sequence[str]) -> list[str]:
        return [str(word) for word in place_options(arguments, self.home, self.library)]

    def answer(self, *arguments: str) -> str:
        done = run_command(*arguments, *self.options(arguments))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def screen(self, *arguments: str, width: int = 100) -> tuple[bytes, int]:
        """What a terminal is sent, by standard output and standard error."""
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "PAGER": "cat"}
        done = run_in_terminal(
            *arguments, *self.options(arguments), cwd=self.home, environment=environment, columns=width
        )
        return done.stdout, done.returncode


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> HostilePlace:
    place = HostilePlace(tmp_path_factory.mktemp("hostile"))
    place.answer("update", "--quiet")
    for number, control in enumerate(CONTROLS[::6]):
        words = control.replace("\0", "").encode("utf-8", "replace").decode()
        place.answer("note", LIVE, words or "x", "--quiet")
        place.answer("tag", LIVE, f"t{number}{words}".replace("\n", " "), "--quiet")
        if number == 0:
            place.answer("pin", FIELDS, "--quiet")
            place.answer("search", "--save", f"s{words}".replace("\n", " "), "press hit release", "--quiet")
            place.answer("recalls", "--save", f"press {words}", "--quiet")
    controls = [control.encode("utf-8", "replace").decode() for control in CONTROLS]
    prompt = {"name": "hostile", "text": f"{{{{x}}}} {''.join(controls)}", "description": controls[0]}
    others = [{**prompt, "name": f"{number}{control}", "tags": [control]} for number, control in enumerate(controls)]
    (place.library / "prompts.json").write_text(json.dumps({"prompts": [prompt, *others]}))  # as we never write it
    return place


def check(sent: bytes) -> None:
    """Nothing but text, tabs, ends of lines, and what is ours: colours, and links that show where they lead."""
    sent = OURS.sub(b"", sent)
    for target, text in LINK.findall(sent):
        is_visible = target.startswith((b"http://", b"https://")) and target.replace(b"\n", b"").find(text.strip()) >= 0
        assert is_visible or target.startswith(b"file:///"), (target, text)
    text = LINK.sub(rb"\2", sent).decode()
    found = WRONG.search(text)
    assert found is None, repr(text[max(0, found.start() - 200) : found.end() + 100])


def test_every_command_is_tried() -> None:
    commands = set(backscroll.list_commands(click.Context(backscroll)))
    assert commands - {arguments[0] for arguments in SHOWN} == set(ELSEWHERE)


def test_a_link_leads_where_it_says(place: HostilePlace) -> None:
    sent, _ = place.screen("show", LINKS, "--no-pager", width=200)
    targets = {target for target, _ in LINK.findall(OURS.sub(b"", sent))}
    assert targets == {b"https://example.org/shown", b"https://example.org/also?a=1;b=2"}
    for address in (b"ssh://", b"vscode://", b"https://evil.example/hidden", b"https://evil.example/pixel.png"):
        assert address in sent  # to be read, not to be followed


@pytest.mark.parametrize(
    "arguments", [("sql", "select title from v_chats", "--format", "csv"), ("stats", "tools", "--csv")]
)
def test_csv_is_exact_where_no_terminal_is(place: HostilePlace, arguments: tuple[str, ...]) -> None:
    written = place.answer(*arguments)
    assert "\x1b]" in written
    assert "\x1b[" in written


@pytest.mark.parametrize("arguments", SAMPLED)
def test_no_command_of_a_transcript_reaches_the_terminal(place: HostilePlace, arguments: tuple[str, ...]) -> None:
    sent, code = place.screen(*arguments)
    check(sent)
    assert code == 0, sent[-1000:]
    assert b"Traceback" not in sent
    assert len(sent) > 20


@pytest.mark.all
def test_hostile_names_are_reported_safely(place: HostilePlace) -> None:
    for number in range(0, COUNT, 40):
        words = armed(number, number).replace("\0", "").encode("utf-8", "replace").decode()
        for command in ("show", "search", "blame"):
            sent, code = place.screen(command, "--", words)
            check(sent)
            assert b"Traceback" not in sent
            assert code in (0, 2, 3), sent[-500:]


def test_a_file_is_shown_without_what_it_holds(place: HostilePlace) -> None:
    rows: Any = place.answer("sql", "select distinct path from v_files_touched limit 12", "--json")
    names = [str(row[0] if isinstance(row, list) else row["path"]) for row in json.loads(rows)["rows"]]
    assert names
    for name in names:
        for arguments in (("blame", "--reads"), ("file", "--list"), ("file", "--diff"), ("file",)):
            sent, code = place.screen(*arguments, "--", name.replace("\0", ""))
            check(sent)
            assert b"Traceback" not in sent
            assert code in (0, 2, 3, 4), sent[-500:]


@pytest.mark.parametrize("arguments", TOLD, ids=" ".join)
def test_json_has_the_original_texts(place: HostilePlace, arguments: tuple[str, ...]) -> None:
    value = json.loads(place.answer(*arguments, "--json"))
    assert value


def test_rows_are_raw_where_no_terminal_is(place: HostilePlace) -> None:
    command = [sys.executable, "-m", "backscroll", "show", LIVE, "--raw", *place.options(["show"])]
    done = subprocess.run(command, capture_output=True, timeout=60)
    written = (place.home / FOLDER / f"{LIVE}.jsonl").read_bytes().splitlines()
    assert len(done.stdout.split(b"\n")) > 30
    assert set(done.stdout.split(b"\n")) - {b""} <= set(written)


def test_json_output_is_unchanged(place: HostilePlace) -> None:
    shown = json.loads(place.answer("show", FIELDS, "--json", "--tools", "full"))
    known = json.dumps(shown)
    rows = (place.home / FOLDER / f"{FIELDS}.jsonl").read_bytes().split(b"\n")
    prompts = [json.loads(row)["message"]["content"] for row in rows if b'"type":"user","message":{"role":' in row]
    texts = [text for text in prompts if isinstance(text, str) and "\x1b" in text and not text.startswith("<")]
    assert texts
    for text in texts:
        assert json.dumps(text)[1:-1] in known, text
