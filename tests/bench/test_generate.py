"""The generated homes are what they claim to be, checked by a recount that shares no code with the generator."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from bench.generate import GeneratedPlayer, GeneratedSummary, Mix, generate, main, play

from backscroll.files.names import project_folder

ROOT = Path(__file__).parents[2]
BUSY = Mix(
    compactions=0.6, rewinds=0.6, resumes=1.0, forks=0.6, agents=0.04, images=0.05, early_results=0.02, problems=0.3
)
CALM = Mix(problems=0.0, no_final_newline=0.0)
SESSION = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.jsonl")


@dataclass
class Recount:
    """The contents of a home, read without the product."""

    files: int = 0
    size: int = 0
    transcripts: int = 0
    sessions: int = 0
    records: Counter[str] = field(default_factory=Counter)
    lengths: list[int] = field(default_factory=list)
    result_bytes: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    no_final_newline: int = 0
    images: set[str] = field(default_factory=set)
    compactions: set[str] = field(default_factory=set)
    rewound: set[str] = field(default_factory=set)
    uses: set[str] = field(default_factory=set)
    answered: set[str] = field(default_factory=set)
    early: set[str] = field(default_factory=set)
    agents: set[str] = field(default_factory=set)
    warmups: int = 0
    outputs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    orphans: int = 0


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GeneratedSummary]:
    """A home where everything happens often."""
    root = tmp_path_factory.mktemp("busy")
    return root, generate(root, sessions=60, total_bytes=6_000_000, seed=4, mix=BUSY)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GeneratedSummary]:
    """A home with the measured frequencies."""
    root = tmp_path_factory.mktemp("usual")
    return root, generate(root, sessions=60, total_bytes=20_000_000, seed=2)


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    first = generate(tmp_path / "one", sessions=12, total_bytes=300_000, seed=9)
    second = generate(tmp_path / "two", sessions=12, total_bytes=300_000, seed=9)
    assert first == second
    assert digest(tmp_path / "one") == digest(tmp_path / "two")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    generate(tmp_path / "one", sessions=4, total_bytes=60_000, seed=1)
    generate(tmp_path / "two", sessions=4, total_bytes=60_000, seed=2)
    assert digest(tmp_path / "one") != digest(tmp_path / "two")


def test_the_hash_seed_of_python_changes_nothing(tmp_path: Path) -> None:
    digests = set()
    for hash_seed in ("1", "2"):
        home = tmp_path / hash_seed
        command = [sys.executable, "-m", "bench.generate", str(home), "--sessions", "4", "--bytes", "80KB", "--json"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
        assert json.loads(ran.stdout)["sessions"] == 4
        digests.add(digest(home))
    assert len(digests) == 1


@pytest.mark.parametrize("home", ["busy", "usual"])
def test_a_recount_of_the_files_equals_the_summary(home: str, request: pytest.FixtureRequest) -> None:
    root, summary = request.getfixturevalue(home)
    found = recount(root)
    assert summary.files == found.files
    assert summary.bytes == found.size
    assert summary.transcripts == found.transcripts
    assert summary.sessions == found.sessions
    assert summary.records == dict(found.records)
    assert summary.agents == len(found.agents)
    assert summary.warmups == found.warmups
    assert summary.compactions == len(found.compactions)
    assert summary.images == len(found.images)
    assert summary.rewinds == len(found.rewound)
    assert summary.missing_results == len(found.uses - found.answered)
    assert summary.early_results == len(found.early)
    assert summary.spills == len(list(root.glob("projects/*/*/tool-results/*.txt")))
    assert summary.workflows == len(list(root.glob("projects/*/*/subagents/workflows/*/journal.jsonl")))
    assert summary.no_final_newline == found.no_final_newline
    assert summary.problems == {kind: count for kind, count in found.problems.items() if count}


def test_copies_are_counted_as_resumes_and_forks(busy: tuple[Path, GeneratedSummary]) -> None:
    root, summary = busy
    # A copy begins where an earlier file began: the same first row in another session.
    firsts: Counter[str] = Counter()
    for path in sessions_of(root):
        firsts.update([row["uuid"] for row in rows_of(path) if "uuid" in row][:1])
    copies = sum(count - 1 for count in firsts.values())
    assert copies == summary.resumes + summary.forks > 0


def test_a_busy_home_has_everything(busy: tuple[Path, GeneratedSummary]) -> None:
    _, summary = busy
    assert min(summary.agents, summary.warmups, summary.resumes, summary.forks, summary.rewinds) > 0
    assert min(summary.compactions, summary.images, summary.missing_results, summary.no_final_newline) > 0
    assert len(summary.problems) >= 4


def test_a_home_without_problems_is_nothing_but_json_lines(tmp_path: Path) -> None:
    summary = generate(tmp_path, sessions=30, total_bytes=600_000, seed=3, mix=CALM)
    lines = 0
    for path in transcripts_of(tmp_path):
        for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
            assert isinstance(json.loads(line), dict)
            lines += 1
    assert lines == sum(summary.records.values())
    assert summary.problems == {}


def test_every_parent_is_in_the_same_file(tmp_path: Path) -> None:
    mix = replace(BUSY, problems=0.0)
    generate(tmp_path, sessions=40, total_bytes=2_000_000, seed=6, mix=mix)
    assert recount(tmp_path).orphans == 0


def test_the_last_row_of_a_message_has_the_most_output(usual: tuple[Path, GeneratedSummary]) -> None:
    differing = 0
    for outputs in recount(usual[0]).outputs.values():
        assert outputs[-1] == max(outputs)
        differing += len(set(outputs)) > 1
    assert differing > 0


def test_lengths_and_kinds_are_as_in_the_survey(usual: tuple[Path, GeneratedSummary]) -> None:
    found = recount(usual[0])
    lengths = sorted(found.lengths)
    total = sum(found.records.values())

    def percentile(share: float) -> int:
        return lengths[int(len(lengths) * share)]

    assert percentile(0.5) == pytest.approx(1_029, rel=0.15)
    assert percentile(0.9) == pytest.approx(5_978, rel=0.35)
    assert percentile(0.99) == pytest.approx(44_113, rel=0.35)
    assert found.result_bytes / sum(lengths) == pytest.approx(0.41, abs=0.06)
    assert found.records["assistant"] / total == pytest.approx(0.445, abs=0.06)
    assert found.records["user"] / total == pytest.approx(0.284, abs=0.06)
    assert found.records["progress"] / total == pytest.approx(0.132, abs=0.08)
    assert usual[1].bytes == pytest.approx(20_000_000, rel=0.03)


def test_rows_say_what_their_folder_says(usual: tuple[Path, GeneratedSummary]) -> None:
    for path in sessions_of(usual[0]):
        cwds = {row["cwd"] for row in rows_of(path) if "cwd" in row}
        assert {project_folder(cwd) for cwd in cwds} <= {path.parent.name}


def test_a_transcript_is_as_old_as_its_last_record(tmp_path: Path) -> None:
    generate(tmp_path, sessions=40, total_bytes=2_000_000, seed=5, mix=replace(BUSY, problems=0.0))
    for path in transcripts_of(tmp_path):
        latest = max(row["timestamp"] for row in rows_of(path) if "timestamp" in row)
        assert stamp_to_ms(latest) == path.stat().st_mtime_ns // 1_000_000


def test_a_directory_with_something_in_it_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(FileExistsError):
        generate(tmp_path, sessions=1)
    assert main([str(tmp_path), "--sessions", "1"]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["settings.json"]


def test_playing_appends_only_complete_lines(tmp_path: Path) -> None:
    generate(tmp_path, sessions=8, total_bytes=200_000, seed=3, mix=CALM)
    before = contents(tmp_path)
    steps = list(islice(play(tmp_path, seed=1), 120))
    after = contents(tmp_path)
    grown: Counter[Path] = Counter()
    for step in steps:
        assert step.lines >= 1
        assert not step.torn
        grown[step.path] += step.bytes
    for path, content in after.items():
        assert content.startswith(before.get(path, b""))
        assert len(content) - len(before.get(path, b"")) == grown[path]
        assert all(isinstance(json.loads(line), dict) for line in content.splitlines())
    assert recount(tmp_path).orphans == 0
    assert len({step.path for step in steps}) >= 2


def test_a_torn_line_is_finished_by_a_later_step(tmp_path: Path) -> None:
    generate(tmp_path, sessions=8, total_bytes=200_000, seed=3, mix=CALM)
    player = GeneratedPlayer(tmp_path, seed=1, tear=0.5)
    torn: set[Path] = set()
    seen = 0
    while seen < 40 or torn:
        step = player.step()
        seen += 1
        torn.discard(step.path)
        if step.torn:
            torn.add(step.path)
            assert not step.path.read_bytes().endswith(b"\n")
        if seen > 1_000:
            break
    broken = [path for path in transcripts_of(tmp_path) if not path.read_bytes().endswith(b"\n")]
    assert set(broken) == torn
    for path in transcripts_of(tmp_path):
        for line in path.read_bytes().split(b"\n")[:-1]:
            json.loads(line)


def test_rows_played_now_bear_the_time_given(tmp_path: Path) -> None:
    generate(tmp_path, sessions=4, total_bytes=60_000, seed=3, mix=CALM)
    step = GeneratedPlayer(tmp_path, now=lambda: 1_800_000_000_000).step()
    assert b'"timestamp":"2027-01-15T08:00:00.000Z"' in step.path.read_bytes()[-step.bytes :]


def test_a_home_that_was_not_generated_is_never_played(tmp_path: Path) -> None:
    session = tmp_path / "projects" / "-a" / "6d0c1f2e-0000-4000-a000-000000000000.jsonl"
    session.parent.mkdir(parents=True)
    session.write_text('{"parentUuid":null,"isSidechain":false}\n')
    with pytest.raises(ValueError, match="not made by"):
        GeneratedPlayer(tmp_path)


def recount(root: Path) -> Recount:
    found = Recount()
    for path in root.rglob("*"):
        if path.is_file():
            found.files += 1
            found.size += path.stat().st_size
    found.sessions = len(sessions_of(root))
    for path in transcripts_of(root):
        _recount_file(path, found)
    return found


def _recount_file(path: Path, found: Recount) -> None:
    found.transcripts += 1
    content = path.read_bytes()
    found.lengths += [len(line) + 1 for line in content.split(b"\n") if line]
    if not content:
        found.problems["empty"] += 1
    ids: set[str] = set()
    parents: list[str] = []
    # In one file: two forks of a session both go on from its last row, and neither is a rewind.
    prompts: dict[str, str] = {}
    for row in rows_of(path, found.problems):
        found.records[row["type"]] += 1
        if "toolUseResult" in row:
            found.result_bytes += len(json.dumps(row["toolUseResult"], ensure_ascii=False).encode())
        if "uuid" not in row:
            continue
        ids.add(row["uuid"])
        if row["parentUuid"]:
            parents.append(row["parentUuid"])
        _recount_row(row, found)
        if is_prompt(row) and prompts.setdefault(row["parentUuid"], row["uuid"]) != row["uuid"]:
            found.rewound.add(row["uuid"])
    missing = [parent for parent in parents if parent not in ids]
    found.orphans += len(missing)
    found.problems["orphan"] += len(missing)
    if path.name.startswith("agent-"):
        found.agents.add(path.name)
        found.warmups += b'"content":"Warmup"' in content
    last = content.rsplit(b"\n", 1)[-1]
    if last and not last.startswith(b"\0") and parses(last):
        found.no_final_newline += 1


def _recount_row(row: dict[str, Any], found: Recount) -> None:
    if row.get("subtype") == "compact_boundary":
        found.compactions.add(row["uuid"])
    message = row.get("message", {})
    content = message.get("content", "")
    blocks = content if isinstance(content, list) else []
    if row["type"] == "user":
        if '"type": "image"' in json.dumps(content):
            found.images.add(row["uuid"])
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        found.early |= results - found.uses
        found.answered |= results
        if row["isSidechain"] and row["parentUuid"] is None and "agentId" not in row:
            found.agents.add(row["uuid"])
    if row["type"] == "assistant":
        found.uses.update(block["id"] for block in blocks if block["type"] == "tool_use")
        key = message["id"] + row["sessionId"]
        found.outputs[key].append(message["usage"]["output_tokens"])


def is_prompt(row: dict[str, Any]) -> bool:
    """Whether a person typed it, in the main conversation and not as its first row."""
    if row["type"] != "user" or row["isSidechain"] or not row["parentUuid"]:
        return False
    content = row["message"]["content"]
    text = content if isinstance(content, str) else content[-1].get("text")
    made_up = row.get("isMeta") or row.get("isCompactSummary")
    return text is not None and not made_up and not text.startswith(("<", "[Request"))


def rows_of(path: Path, problems: Counter[str] | None = None) -> Iterator[dict[str, Any]]:
    """The records of a file; what is wrong with the file is counted in `problems`."""
    problems = Counter() if problems is None else problems
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines):
        is_last = number == len(lines) - 1
        stripped = line.lstrip(b"\0")
        if stripped != line:
            problems["nul" if stripped else "nul_tail"] += 1
        if not stripped:
            continue
        try:
            yield json.loads(stripped)
        except UnicodeDecodeError:
            problems["torn"] += 1
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                problems["torn" if is_last else "corrupt"] += 1
                continue
            problems["glued"] += 1
            text, start = stripped.decode(), 0
            while start < len(text):
                row, start = json.JSONDecoder().raw_decode(text, start)
                yield row


def parses(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def sessions_of(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("projects/*/*.jsonl") if SESSION.fullmatch(path.name))


def transcripts_of(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("projects/**/*.jsonl") if path.name != "journal.jsonl")


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in transcripts_of(root)}


def digest(root: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        whole.update(f"{path.relative_to(root)} {path.stat().st_mtime_ns}\n".encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def stamp_to_ms(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)
