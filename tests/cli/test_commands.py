"""The program as a user runs it: real processes, real homes on disk."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.support.command import run_command
from tests.support.drawings import draw, jsonl
from tests.support.homes import CANARY, EVERYTHING, FAMILIES, session_path, write_home


def run(*arguments: object, **environment: str) -> CompletedProcess[str]:
    return run_command(*arguments, environment=os.environ | environment)


def answer(*arguments: object, exit_code: int = 0) -> Any:  # noqa: ANN401 - whatever JSON says
    done = run(*arguments, "--json")
    assert done.returncode == exit_code, done.stderr
    return json.loads(done.stdout)


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", EVERYTHING)


SHOP = """
@ cwd=/home/ada/shop version=2.1.42
a <- - user: fix the parser
b <- a assistant: done
ai-title: Parser
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_home(tmp_path / "claude", {session_path("S1"): jsonl(draw(SHOP))})


def test_inspect_counts_what_is_in_a_home(shop: Path) -> None:
    found = answer("inspect", "--home", shop)
    assert (found["files"], found["lines"], found["records"], found["problems"]) == (1, 3, 3, 0)
    assert found["types"] == {"user": 1, "assistant": 1, "ai-title": 1}
    assert found["versions"] == {"2.1.42": 2}
    assert (found["first"], found["last"]) == ("2026-01-05T10:00:00.000Z", "2026-01-05T10:00:01.000Z")


def test_inspect_takes_files_folders_and_homes(shop: Path) -> None:
    file = shop / session_path("S1")
    everything = answer("inspect", shop)
    assert everything == answer("inspect", file) == answer("inspect", file.parent) == answer("inspect", file, shop)


def test_inspect_reads_the_corpus_as_counted_independently(corpus: Path) -> None:
    found = answer("inspect", corpus / "home")
    lines = 0
    types: Counter[str] = Counter()
    for file in (corpus / "home").rglob("*.jsonl"):
        for line in file.read_bytes().splitlines():
            lines += 1
            text = line.decode()
            while text.startswith("{"):
                row, end = json.JSONDecoder().raw_decode(text)
                types[row["type"]] += 1
                text = text[end:]
            types["a problem"] += bool(text)
    assert found["problems"] == types.pop("a problem")
    assert (found["lines"], found["records"], found["types"]) == (lines, types.total(), dict(types))


def test_a_whole_last_line_counts_without_its_newline_and_half_a_line_is_a_problem(tmp_path: Path) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(jsonl(draw(SHOP)).rstrip(b"\n"))
    half = tmp_path / "half.jsonl"
    half.write_bytes(jsonl(draw(SHOP))[:-9])
    assert (answer("inspect", whole)["records"], answer("inspect", whole)["problems"]) == (3, 0)
    found = answer("inspect", half)
    assert (found["lines"], found["records"], found["problems"]) == (3, 2, 1)
    assert [(item["line"], item["kind"]) for item in found["problem_list"]] == [(3, "unfinished")]


def test_problems_are_named_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(jsonl(draw(SHOP)) + b'// odd\n\n{"type":"tag","tag":"x"}{"type":\n')
    done = run("inspect", file)
    assert done.returncode == 0
    assert f"{file}:4: not-json" in done.stdout
    assert f"{file}:6: damaged" in done.stdout
    assert "4 records, 2 problems" in done.stdout


def test_inspect_and_doctor_name_what_is_unknown(shop: Path) -> None:
    with (shop / session_path("S1")).open("a") as file:
        file.write('{"type": "brand-new"}\n{"type": "memory-mode"}\n{"type": "mode", "mood": 1}\n')
    found = answer("inspect", shop)
    assert {"brand-new", "memory-mode", "mode"} <= found["types"].keys()
    assert [(one["what"], one["name"], one["line"]) for one in found["unknown"]] == [
        ("record type", "brand-new", 4),
        ("field", "mode.mood", 6),
    ]
    assert answer("doctor", "--home", shop)["unknown"] == found["unknown"]
    for words in (("inspect", shop), ("doctor", "--home", shop)):
        shown = run(*words).stdout.partition("Unknown to this version of backscroll")[2]
        assert "record type brand-new" in shown
        assert "memory-mode" not in shown


def test_doctor_reports_what_it_found_and_what_is_unknown(home: Path) -> None:
    report = answer("doctor", "--home", home)
    (found,) = report["homes"]
    assert found["exists"]
    assert found["files"]["session"]["count"] > 20
    assert found["files"]["agent"]["count"] >= 5
    assert found["left_out"]["secret"] == 6
    assert found["left_out"]["set aside"] == 3
    assert "/home/ada/shop" in found["projects"]
    assert report["sessions"]["problems"] > 5
    assert {"record type", "block type", "wrong type"} <= {item["what"] for item in report["unknown"]}


def test_doctor_knows_what_will_be_deleted_next(shop: Path) -> None:
    (shop / "settings.json").write_text('{"cleanupPeriodDays": 90}')
    os.utime(shop / session_path("S1"), (1_000_000_000, 1_000_000_000))
    retention = answer("doctor", "--home", shop)["homes"][0]["retention"]
    assert (retention["days"], retention["from"]) == (90, "settings.json")
    (due,) = retention["due"]
    assert (due["due"], due["overdue"]) == ("2001-12-08T01:46:40.000Z", True)
    assert due["project"] == "/home/ada/shop"
    assert "1 session overdue" in run("doctor", "--home", shop).stdout


def test_a_running_client_is_reported(shop: Path) -> None:
    pid = os.getpid()
    sessions = shop / "sessions"
    sessions.mkdir()
    (sessions / f"{pid}.json").write_text(json.dumps({"pid": pid, "sessionId": "s", "status": "busy"}))
    assert answer("doctor", "--home", shop)["homes"][0]["live"] == [{"pid": pid, "session": "s", "status": "busy"}]


@pytest.mark.parametrize("arguments", [["inspect"], ["doctor"], ["doctor", "--json"], ["inspect", "-v"]])
def test_a_home_is_the_same_after_every_command(home: Path, arguments: list[str]) -> None:
    before = fingerprint(home)
    done = run(*arguments, "--home", home)
    assert done.returncode == 0
    assert fingerprint(home) == before
    assert CANARY not in done.stdout + done.stderr


def test_a_secret_is_never_opened(home: Path) -> None:
    """By the audit hook of the interpreter itself, which sees every open."""
    program = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "from backscroll.cli.main import run; code = run(sys.argv[1:])\n"
        "print('\\n'.join(opened), file=sys.stderr); sys.exit(code)\n"
    )
    command = [sys.executable, "-c", program, "doctor", "--home", str(home)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    opened = [line for line in done.stderr.splitlines() if str(home) in line]
    assert len(opened) > 20
    secret = (".credentials", "token", ".key", "remote-settings", "policy-limits", "hfi-auth")
    assert [name for name in opened if name.endswith(secret) or any(part in Path(name).name for part in secret)] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_of_homes_is_read(tmp_path: Path, family: str) -> None:
    done = run("doctor", "--home", write_home(tmp_path / "claude", {**FAMILIES[family], "projects/-x/none.txt": b""}))
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_options_work_before_or_after_the_command(shop: Path, tmp_path: Path) -> None:
    before = run("--json", "--home", shop, "inspect")
    after = run("inspect", "--home", shop, "--json")
    assert before.stdout == after.stdout
    assert before.returncode == after.returncode == 0
    both = write_home(tmp_path / "other", {session_path("S2"): jsonl(draw(SHOP))})
    assert answer("--home", shop, "inspect", "--home", both)["files"] == 2


def test_the_home_is_where_claude_code_would_look(shop: Path) -> None:
    done = run("inspect", "--json", CLAUDE_CONFIG_DIR=str(shop))
    assert json.loads(done.stdout)["records"] == 3


def test_homes_can_be_set_in_a_file(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(f"homes = ['{shop}']\nlibrary = '/elsewhere'\n")
    done = run("doctor", "--json", BACKSCROLL_SETTINGS=str(file))
    report = json.loads(done.stdout)
    assert [home["path"] for home in report["homes"]] == [str(shop)]
    assert report["library"]["path"] == "/elsewhere"
    assert (
        json.loads(run("doctor", "--json", "--home", shop, BACKSCROLL_LIBRARY="/env").stdout)["library"]["path"]
        == "/env"
    )


@pytest.mark.parametrize(
    ("arguments", "exit_code", "kind"),
    [
        (["inspect", "/no/such/file"], 2, "usage"),
        (["inspct"], 2, "usage"),
        (["inspect", "--colour"], 2, "usage"),
        (["inspect"], 3, "nothing-found"),
        (["doctor"], 3, "nothing-found"),
        (["doctor", "--home", "/no/such/home"], 3, "nothing-found"),
    ],
)
def test_errors_have_one_shape(arguments: list[str], exit_code: int, kind: str) -> None:
    done = run(*arguments)
    assert done.returncode == exit_code
    first, second = done.stderr.splitlines()
    assert first.startswith("backscroll: ")
    assert second.startswith("  next: ")
    done = run(*arguments, "--json")
    assert done.returncode == exit_code
    error = json.loads(done.stderr)["error"]
    assert (error["kind"], error["exit_code"]) == (kind, exit_code)
    assert error["message"]
    assert error["hint"]


def test_a_broken_settings_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    for content in ("homes = 5", "nonsense", "colour = true", "homes = [3]", "library = 4"):
        file.write_text(content)
        done = run("doctor", BACKSCROLL_SETTINGS=str(file))
        assert done.returncode == 2, content
        assert str(file) in done.stderr


def test_the_projects_folder_given_as_home_gets_a_hint(shop: Path) -> None:
    done = run("doctor", "--home", shop / "projects")
    assert done.returncode == 3
    assert f"did you mean {shop}?" in done.stderr


def test_what_cannot_be_read_fails_after_the_answer(shop: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    done = run("inspect", pipe, shop, "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["records"] == 3
    assert [item["file"] for item in found["unreadable"]] == [str(pipe)]
    assert json.loads(done.stderr)["error"]["kind"] == "failure"


def test_an_interrupted_command_says_so_by_its_exit_code(shop: Path) -> None:
    """Ctrl-C comes while the session is being opened."""
    program = (
        "import os, signal, sys\n"
        "def hook(event, args):\n"
        "    if event == 'open' and str(args[0]).endswith('.jsonl'): os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.addaudithook(hook)\n"
        "from backscroll.cli.main import main; main(sys.argv[1:])\n"
    )
    command = [sys.executable, "-c", program, "inspect", "--home", str(shop)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_a_reader_who_has_seen_enough_is_no_failure(home: Path) -> None:
    command = f'{sys.executable} -m backscroll doctor --json --home "{home}" | head -c 10; exit "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [("inspect",), ("doctor", "--json"), ("--help",)])
def test_a_reader_who_has_gone_is_no_failure(home: Path, arguments: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "backscroll", "--home", str(home), *arguments]
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_from_a_transcript_commands_the_terminal(tmp_path: Path) -> None:
    evil = '\x1b]0;owned\x07\x1b[2J\u202e"\r'
    rows = draw(SHOP)
    rows[0] |= {"cwd": f"/home/{evil}", "version": f"1{evil}", f"field{evil}": 1}
    rows.append({"type": f"type{evil}", "uuid": "x"})
    home = write_home(tmp_path / "claude", {session_path("S1"): jsonl(rows)})
    os.utime(home / session_path("S1"), (1_000_000_000, 1_000_000_000))
    for arguments in (["doctor", "-v"], ["inspect", "-v"]):
        done = run(*arguments, "--home", home)
        assert done.returncode == 0, done.stderr
        assert not set(done.stdout) & {"\x1b", "\x07", "\r", "\u202e"}
        assert "type" in done.stdout
    assert any("\x1b]0;owned" in name for name in answer("inspect", home)["types"])


def test_a_name_that_is_no_utf_8_is_shown(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "x.jsonl").write_bytes(b"junk\n")
    done = run("inspect", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problem_list"][0]["file"].endswith("caf\udce9/x.jsonl")


def test_help_is_shown_without_a_command() -> None:
    done = run()
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    assert run("--version").stdout.startswith("backscroll 0.")


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'msgspec', 'watchfiles', 'rich', 'platformdirs', 'asyncio', 'json.tool', 'backscroll.records'}"
    program = f"import sys; from backscroll.cli.main import run; run(['--help']); print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "set()"


def test_colours_only_where_they_are_wanted(shop: Path) -> None:
    """`script` gives the program a terminal."""
    command = f'{sys.executable} -m backscroll inspect --home "{shop}"'
    for extra, environment, coloured in (("", {}, True), (" --no-color", {}, False), ("", {"NO_COLOR": "1"}, False)):
        done = subprocess.run(
            ["script", "-qec", command + extra, "/dev/null"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, env=os.environ | environment,
        )  # fmt: skip
        assert ("\x1b[1m" in done.stdout) is coloured, (extra, environment)
    assert "\x1b" not in run("inspect", "--home", shop).stdout
