"""export, as a user runs it."""

import json
import os
import stat
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl, session_uuid
from tests.support.homes import session_path, write_home

TOKEN = "ghp_" + "a1B2" * 9
FIRST = f"""
@ session=S1 cwd=/home/ada/shop branch=main
a <- - user: use {TOKEN} for ada@example.org
b <- a call(m1) t1 Bash {{"command": "echo {TOKEN}"}}
c <- b result t1: {TOKEN}
d <- c assistant(m2): done
custom-title: Parser
"""
SECOND = """
@ session=S2 cwd=/home/ada/blog branch=draft time=2026-02-01T10:00:00.000Z
x <- - user: write a post
y <- x assistant: written
"""
ONE, TWO = session_uuid("S1"), session_uuid("S2")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        session_path("S1"): jsonl(draw(FIRST)),
        session_path("S2").replace("shop", "blog"): jsonl(draw(SECOND)),
    }
    return write_home(tmp_path / "claude", files)


def run(home: Path, *arguments: str, cwd: Path | None = None) -> CompletedProcess[str]:
    return run_command("export", *arguments, "--home", home, cwd=cwd)


@pytest.mark.parametrize("form", ["html", "md", "json", "jsonl"])
def test_secrets_are_masked_by_default(home: Path, form: str) -> None:
    done = run(home, ONE[:8], "--format", form)
    assert done.returncode == 0, done.stderr
    assert TOKEN not in done.stdout
    assert "[redacted: github-token]" in done.stdout
    assert "ada@example.org" in done.stdout
    assert done.stderr == "masked 1 secret: github-token 1\n"
    plain = run(home, ONE[:8], "--format", form, "--no-redact")
    assert TOKEN in plain.stdout
    assert plain.stderr == ""
    masked = run(home, ONE, "--format", form, "--emails")
    assert "ada@example.org" not in masked.stdout
    assert TOKEN not in masked.stdout


def test_rows_are_the_file_byte_for_byte(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert run(home, ONE, "--format", "jsonl", "--no-redact", "--out", str(out)).returncode == 0
    assert out.read_bytes() == (home / session_path("S1")).read_bytes()


def test_json_is_what_show_prints(home: Path) -> None:
    shown = run_command("show", ONE, "--json", "--home", home)
    assert run(home, ONE, "--format", "json", "--no-redact").stdout == shown.stdout


def test_a_page_is_one_file_that_needs_nothing_else(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat.html"
    done = run(home, ONE, "--out", str(out))
    assert done.returncode == 0
    page = out.read_text()
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "Content-Security-Policy" in page
    assert '<link rel="stylesheet"' not in page
    assert "wrote" in done.stderr


def test_several_chats_become_a_folder_with_a_list(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "site"
    done = run(home, ONE, TWO, "--out", str(out))
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in out.iterdir())
    assert names == ["2026-01-05 parser.html", "2026-02-01 write-a-post.html", "index.html"]
    index = (out / "index.html").read_text()
    assert 'href="./2026-01-05%20parser.html"' in index
    assert "Parser" in index
    assert "write a post" in index
    assert all(TOKEN not in path.read_text() for path in out.iterdir())
    assert 'href="index.html"' in (out / names[0]).read_text()


@pytest.mark.parametrize(
    ("arguments", "count"), [(["--project", "blog"], 1), (["--query", "title:parser"], 1), (["--query", ""], 2)]
)
def test_a_project_or_a_query_is_exported_whole(home: Path, tmp_path: Path, arguments: list[str], count: int) -> None:
    out = tmp_path / "site"
    assert run(home, *arguments, "--out", str(out), "--format", "md").returncode == 0
    assert len(list(out.glob("*.md"))) == count
    assert not (out / "index.html").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "no chats were chosen"),
        (["nothing"], 3, "nothing"),
        (["--project", "none", "--out", "x"], 3, "no chats"),
        ([ONE, TWO], 2, "--out"),
        ([ONE, TWO, "--out", "-"], 2, "--out"),
        ([ONE, "--project", "shop"], 2, "use only one of them"),
        ([ONE, "--emails", "--no-redact"], 2, "use only one of them"),
        ([ONE, "--format", "json", "--detail", "talk"], 2, "--detail"),
        ([ONE, "--out", "no/such/folder/x.html"], 2, "create it first"),
        ([ONE, TWO, "--out", "no/such/folder"], 1, "create it first"),
    ],
)
def test_invalid_arguments_are_reported_with_the_next_step(
    home: Path, tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    done = run(home, *arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert "next:" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "claude") == []


def test_nothing_is_written_over_unless_asked_for(home: Path, tmp_path: Path) -> None:
    out = tmp_path / "chat.md"
    out.write_text("mine")
    done = run(home, ONE, "--format", "md", "--out", str(out))
    assert (done.returncode, out.read_text()) == (2, "mine")
    assert "--force" in done.stderr
    assert run(home, ONE, "--format", "md", "--out", str(out), "--force").returncode == 0
    assert out.read_text().startswith("# Parser")
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "index.html").write_text("mine")
    assert run(home, ONE, TWO, "--out", str(folder)).returncode == 2
    assert [path.name for path in folder.iterdir()] == ["index.html"]
    assert run(home, ONE, TWO, "--out", str(folder), "--force").returncode == 0
    assert (folder / "index.html").read_text() != "mine"


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_no_link_is_followed(home: Path, tmp_path: Path, force: list[str]) -> None:
    target, elsewhere = tmp_path / "target", tmp_path / "elsewhere"
    target.write_text("mine")
    elsewhere.mkdir()
    for link, to in (("file.html", target), ("dangling.html", tmp_path / "none"), ("folder", elsewhere)):
        (tmp_path / link).symlink_to(to)
    for name in ("file.html", "dangling.html"):
        assert run(home, ONE, "--out", str(tmp_path / name), *force).returncode == 2
    assert run(home, ONE, TWO, "--out", str(tmp_path / "folder"), *force).returncode == 2
    assert target.read_text() == "mine"
    assert not (tmp_path / "none").exists()
    assert list(elsewhere.iterdir()) == []


def test_a_file_with_secrets_is_for_the_user_alone(home: Path, tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        run(home, ONE, "--out", str(tmp_path / "masked.html"))
        run(home, ONE, "--out", str(tmp_path / "plain.html"), "--no-redact")
        run(home, ONE, "--out", str(tmp_path / "rows.jsonl"), "--format", "jsonl", "--no-redact")
        run(home, ONE, TWO, "--out", str(tmp_path / "site"), "--no-redact")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert (modes["masked.html"], modes["plain.html"], modes["rows.jsonl"]) == (0o644, 0o600, 0o600)
    assert modes["site"] == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "site").iterdir()} == {0o600}


def test_no_partial_file_is_left_behind(home: Path, tmp_path: Path) -> None:
    run(home, ONE, "--out", str(tmp_path / "a.html"))
    run(home, ONE, "--out", str(tmp_path / "a.html"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "claude"]


def test_the_home_is_left_as_it_was(home: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for form in ("html", "md", "json", "jsonl"):
        run(home, "--query", "", "--out", str(tmp_path / form), "--format", form, "--redact")
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_talk_is_short_and_everything_is_long(home: Path) -> None:
    talk, everything = (
        run(home, ONE, "--format", "md", "--detail", detail).stdout for detail in ("talk", "everything")
    )
    assert "Bash" not in talk
    assert "done" in talk
    assert "echo" in everything


def test_errors_are_json_where_that_is_asked_for(home: Path) -> None:
    done = run(home, "nothing", "--json")
    assert json.loads(done.stderr)["error"]["kind"] == "nothing-found"
