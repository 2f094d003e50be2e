"""Generate the sessions of a home one after the other, and all files around them.

Decides when each session was, with which client, in which project, how large, and whether it began as a copy of an
earlier one. What is said in it is the business of `stories`.
"""

import json
import os
import re
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from backscroll.files.names import project_folder
from bench.generator.eras import ERAS, Era, milliseconds, models_at
from bench.generator.margins import SLUG_WORDS, GeneratedWorld, Mix
from bench.generator.play import MARK
from bench.generator.rows import GeneratedTranscript, GeneratingClient, Sink, Tally, client, new_uuid, stamp
from bench.generator.stories import Story
from bench.generator.texts import LANGUAGES, GeneratedTexts

if TYPE_CHECKING:
    from typing import BinaryIO

_SMALLEST_SESSION = 2_500
_FLUSH_AT = 1 << 20
_REMEMBERED = 12
_SESSION_PROBLEMS = ("torn", "glued", "nul", "nul_tail", "corrupt", "orphan", "empty")
_TIMESTAMP = re.compile(rb'"timestamp":"[^"]*"')
_LONG_CWD = "/home/mara/work/" + "very-deeply-nested-customer-archive/" * 6 + "port"


@dataclass(frozen=True, slots=True)
class GeneratedSummary:
    """The contents of a generated home. Events count once, however many files have copies of their rows."""

    sessions: int
    files: int
    bytes: int
    transcripts: int
    records: dict[str, int]
    agents: int
    warmups: int
    workflows: int
    resumes: int
    forks: int
    rewinds: int
    compactions: int
    images: int
    spills: int
    missing_results: int
    early_results: int
    no_final_newline: int
    problems: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Past:
    """A finished session that a later one of the same project may resume, fork or name in a summary."""

    path: str
    session_id: str
    leaf: str
    title: str
    size: int
    ended: int
    client: GeneratingClient
    sound: bool


@dataclass(slots=True)
class _Project:
    cwd: str
    folder: str
    branches: tuple[str, ...]
    past: deque[_Past] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))


class _FileSink:
    """Collects lines and writes them a megabyte at a time; the last line is always still at hand."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.size = 0
        self.end_problem = ""
        self._file: BinaryIO = path.open("xb")
        self._lines: list[bytes] = []
        self._held = 0

    def write(self, line: bytes) -> None:
        if self._held > _FLUSH_AT:
            self._file.writelines(self._lines)
            self._lines.clear()
            self._held = 0
        self._lines.append(line)
        self._held += len(line)
        self.size += len(line)

    def cut_newline(self) -> None:
        self._lines[-1] = self._lines[-1].removesuffix(b"\n")
        self.size -= 1

    def tear(self) -> None:
        self.write(self._lines[-1][: len(self._lines[-1]) // 2])

    def close(self) -> None:
        self._file.writelines(self._lines)
        self._file.close()


class _Directory:
    """The home as a directory: counts its files and bytes and sets their times."""

    def __init__(self, root: Path, tally: Tally, rng: Random, no_final_newline: float) -> None:
        self.root = root
        self.files = 0
        self.bytes = 0
        self._tally = tally
        self._rng = rng
        self._no_final_newline = no_final_newline
        root.mkdir(parents=True, exist_ok=True)

    def open(self, path: str) -> _FileSink:
        return _FileSink(self.root / path)

    def close(self, sink: Sink, now: int) -> None:
        assert isinstance(sink, _FileSink)
        self._tally.events["transcripts"] += 1
        if sink.end_problem == "torn":
            sink.tear()
        elif sink.end_problem == "nul_tail":
            sink.write(b"\0" * (200 + int(self._rng.random() * 3896)))
        elif sink.size and self._rng.random() < self._no_final_newline:
            self._tally.events["no_final_newline"] += 1
            sink.cut_newline()
        if sink.end_problem:
            self._tally.problems[sink.end_problem] += 1
        sink.close()
        self.count(sink.path, sink.size, now)

    def put(self, path: str, text: str, now: int) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        content = text.encode()
        target.write_bytes(content)
        self.count(target, len(content), now)

    def count(self, path: Path, size: int, now: int) -> None:
        self.files += 1
        self.bytes += size
        os.utime(path, ns=(now * 1_000_000, now * 1_000_000))


class Maker:
    """Makes one home, session after session in the order they began."""

    def __init__(self, root: Path, sessions: int, total_bytes: int, seed: int, mix: Mix) -> None:
        self.seed = seed
        self.mix = mix
        self.sessions = sessions
        self.total_bytes = total_bytes
        self.tally = Tally()
        self.home = _Directory(root, self.tally, Random(f"endings {seed}"), mix.no_final_newline)
        pool_bytes = min(24_000_000, max(150_000, total_bytes // 64))
        self.world = GeneratedWorld(self.home, GeneratedTexts(seed, pool_bytes), self.tally, mix)
        self.rng = Random(f"home {seed}")
        self.projects = [_project(cwd, self.rng) for cwd in _working_directories(self.rng, 4 + sessions // 25)]

    def make(self) -> GeneratedSummary:
        """Write the home and say what is in it."""
        begins = sorted((self._moment() for _ in range(self.sessions)), key=lambda moment: moment[0])
        weights = [self.rng.lognormvariate(0.0, 1.25) for _ in begins]
        left = sum(weights)
        latest = begins[-1][0]
        with (self.home.root / "history.jsonl").open("xb") as history:
            for number, ((moment, era), weight) in enumerate(zip(begins, weights, strict=True)):
                rest = self.total_bytes - self.home.bytes - history.tell()
                # What earlier sessions took too much or too little is spread over those to come.
                budget = max(_SMALLEST_SESSION, int(rest * weight / left))
                left -= weight
                latest = max(latest, self._session(number, moment, era, budget, history))
            size = history.tell()
        self.home.count(self.home.root / "history.jsonl", size, latest)
        self._settings(latest)
        return self._summary()

    def _moment(self) -> tuple[int, Era]:
        era = self.rng.choices(ERAS, weights=[era.share for era in ERAS])[0]
        begins, ends = milliseconds(era.begins), milliseconds(era.ends)
        return begins + int(self.rng.random() * (ends - begins)), era

    def _session(self, number: int, moment: int, era: Era, budget: int, history: "BinaryIO") -> int:
        """Write one session with all that belongs to it; returns when it ended."""
        # Its own random numbers: a session is the same whatever the ones before it drew.
        rng = Random(f"session {self.seed} {number}")
        version = client(era.version_at(moment))
        # Some projects take most of the time.
        project = self.projects[int(rng.random() ** 2 * len(self.projects))]
        session_id = new_uuid(rng)
        folder = f"projects/{project.folder}"
        path = f"{folder}/{session_id}.jsonl"
        problem = rng.choice(_SESSION_PROBLEMS) if rng.random() < self.mix.problems else ""
        sink = self.home.open(path)
        if problem == "empty":
            sink.end_problem = problem
            self.home.close(sink, moment)
            return moment
        if problem in ("torn", "nul_tail"):
            sink.end_problem, problem = problem, ""
        sound = not problem and not sink.end_problem
        transcript = GeneratedTranscript(
            sink,
            self.tally,
            rng,
            client=version,
            session_id=session_id,
            cwd=project.cwd,
            branch=rng.choice(project.branches),
            slug="-".join(rng.choices(SLUG_WORDS, k=3)),
            now=moment,
        )
        story = Story(
            self.world,
            transcript,
            folder=folder,
            budget=budget,
            model=rng.choice(models_at(moment)),
            language=rng.choice(LANGUAGES[1:]) if rng.random() < self.mix.foreign_languages else "en",
            problem=problem,
        )
        self._summaries(transcript, project)
        self._begin_with_copy(transcript, project, budget)
        if version.agents == "beside" and rng.random() < 0.7:
            for _ in range(1 + int(rng.random() * 2)):
                story.warm_up()
        story.tell()
        leaf = transcript.last or ""
        if version.summaries and rng.random() < 0.25:
            transcript.apart("summary", f'"summary":"{story.title}","leafUuid":"{leaf}"')
        self._beside(story)
        self.home.close(sink, transcript.now)
        project.past.append(_Past(path, session_id, leaf, story.title, sink.size, transcript.now, version, sound))
        _write_history(history, story, project.cwd)
        return transcript.now

    def _summaries(self, transcript: GeneratedTranscript, project: _Project) -> None:
        """Titles of earlier conversations of the project, at the head of the file, as clients up to 2.1.20 wrote."""
        if not transcript.client.summaries:
            return
        rng = transcript.rng
        for _ in range(int(rng.random() * 7)):
            past = rng.choice(project.past) if project.past and rng.random() < 0.6 else None
            leaf, title = (past.leaf, past.title) if past else (new_uuid(rng), self.world.texts.phrase(rng))
            transcript.apart("summary", f'"summary":"{title}","leafUuid":"{leaf}"')

    def _begin_with_copy(self, transcript: GeneratedTranscript, project: _Project, budget: int) -> None:
        """Begin as a resume or a fork of an earlier session, where the client does so and one fits the budget."""
        rng, old = transcript.rng, transcript.client.old_resume
        if rng.random() >= (self.mix.resumes if old else self.mix.forks):
            return
        if not old and transcript.client.number < (2, 1, 0):
            return
        fitting = [
            past for past in project.past if past.sound and past.size < budget * 0.7 and past.client.old_resume == old
        ]
        if not fitting:
            return
        past = fitting[-1]
        # Sessions are made in the order they began; a copy can only be taken of what was already said.
        transcript.now = max(transcript.now, past.ended + 60_000)
        branched = transcript.client.modern and rng.random() < 0.5
        self._copy(transcript, past, moment=transcript.now if old else None, branched=branched)
        self.tally.events["resumes" if old else "forks"] += 1

    def _copy(self, transcript: GeneratedTranscript, past: _Past, *, moment: int | None, branched: bool) -> None:
        """Copy the chain rows of a session: an old resume also gives them all the moment of the resume."""
        old_id, new_id = (f'"sessionId":"{name}"'.encode() for name in (past.session_id, transcript.session_id))
        now = f'"timestamp":"{stamp(moment)}"'.encode() if moment else b""
        with (self.home.root / past.path).open("rb") as source:
            for line in source:
                record = json.loads(line)
                uuid = record.get("uuid")
                if uuid is None:
                    continue
                copied = line.rstrip(b"\n").replace(old_id, new_id)
                if now:
                    copied = _TIMESTAMP.sub(now, copied)
                if branched:
                    origin = f',"forkedFrom":{{"sessionId":"{past.session_id}","messageUuid":"{uuid}"}}}}'
                    copied = copied[:-1] + origin.encode()
                transcript.sink.write(copied + b"\n")
                self.tally.records[record["type"]] += 1
        transcript.last = past.leaf

    def _beside(self, story: Story) -> None:
        """Write the files of a session outside its transcript."""
        transcript, tools, rng = story.transcript, story.tools, story.rng
        session_id, now = transcript.session_id, transcript.now
        if tools.todos:
            self.home.put(f"todos/{session_id}-agent-{session_id}.json", tools.todos_json(), now)
        for number in range(1, tools.tasks_made + 1):
            subject = self.world.texts.phrase(rng)
            task = f'{{"id":"{number}","subject":"{subject}","description":"{subject}","status":"pending"'
            self.home.put(f"tasks/{session_id}/{number}.json", task + ',"blocks":[],"blockedBy":[]}', now)
        if transcript.client.number >= (2, 0, 50) and rng.random() < 0.05:
            plan = "\n".join(self.world.texts.code(rng, "markdown", tools.length(2_500, 0.6)))
            self.home.put(f"plans/{transcript.slug}-{rng.getrandbits(16):04x}.md", plan, now)

    def _settings(self, now: int) -> None:
        """The settings, with the mark that tells `play` that this home was generated, and the projects' memories."""
        settings: dict[str, object] = {"env": {MARK: "1"}, "model": "opus"}
        if self.rng.random() < 0.4:
            settings["cleanupPeriodDays"] = self.rng.choice((30, 90, 365, 99999))
        self.home.put("settings.json", json.dumps(settings, indent=2) + "\n", now)
        # By folder, not by project: two projects may share one.
        for project in {project.folder: project for project in self.projects}.values():
            if project.past and self.rng.random() < 0.4:
                memory = "\n".join(self.world.texts.code(self.rng, "markdown", 1_500))
                self.home.put(f"projects/{project.folder}/memory/MEMORY.md", memory + "\n", now)

    def _summary(self) -> GeneratedSummary:
        events = self.tally.events
        return GeneratedSummary(
            sessions=self.sessions,
            files=self.home.files,
            bytes=self.home.bytes,
            transcripts=events["transcripts"],
            records=dict(sorted(self.tally.records.items(), key=lambda item: (-item[1], item[0]))),
            agents=events["agents"],
            warmups=events["warmups"],
            workflows=events["workflows"],
            resumes=events["resumes"],
            forks=events["forks"],
            rewinds=events["rewinds"],
            compactions=events["compactions"],
            images=events["images"],
            spills=events["spills"],
            missing_results=events["missing_results"],
            early_results=events["early_results"],
            no_final_newline=events["no_final_newline"],
            problems=dict(sorted(self.tally.problems.items())),
        )


def _write_history(history: "BinaryIO", story: Story, cwd: str) -> None:
    # history.jsonl began with 1.0.128.
    if story.transcript.client.number < (1, 0, 128):
        return
    tail = f'"project":"{cwd}","sessionId":"{story.transcript.session_id}"}}\n'
    for moment, text in story.prompts:
        history.write(f'{{"display":"{text}","pastedContents":{{}},"timestamp":{moment},{tail}'.encode())


def _working_directories(rng: Random, count: int) -> list[str]:
    """Directories as people have them: spaces, dots and umlauts too, two that share a folder name, one too long."""
    chosen = [
        "/home/mara/src/tide-table",
        "/home/mara/src/tide/table",
        "/home/mara/Dokumente/größe_rechner.v2",
        "/home/mara/src/harbour/.worktrees/feat-ledger",
        _LONG_CWD,
    ]
    roots = ("/home/mara/src", "/home/mara/work", "/home/mara/work/client notes", "/srv/apps", "/tmp/try")
    while len(chosen) < count:
        chosen.append(f"{rng.choice(roots)}/{rng.choice(SLUG_WORDS)}-{rng.choice(SLUG_WORDS)}-{len(chosen)}")
    return chosen[:count]


def _project(cwd: str, rng: Random) -> _Project:
    branches = ("main", *(f"mara/{rng.choice(SLUG_WORDS)}-{rng.randint(10, 999)}" for _ in range(3)))
    return _Project(cwd, project_folder(cwd), branches)
