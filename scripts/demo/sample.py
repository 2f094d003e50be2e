"""From a recording to the sample: the times of the story, stable ids, and nothing that is not needed.

The client wrote every row. What changes here is told in README.md beside this file.
"""

import bisect
import io
import json
import random
import re
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from demo.story import Session, squeezed

# Texts of the client itself, told to the model: long, the same in every session, and not ours to publish.
LEFT_OUT = ("agent_listing_delta", "skill_listing")
ISO = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PRINTED = re.compile(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?=(?:\.\d{6})?\+00:00)")
EPOCH = re.compile(r"(?<!\d)1[78]\d{11}(?!\d)")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
AGENT = re.compile(r"agent-(a?[0-9a-f]{8,17})\.jsonl")
DAY_MS = 24 * 3600 * 1000


@dataclass
class Clock:
    """From the moments of the recording to those of the story: known for some, in between for all others."""

    real: list[int] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    def at(self, moment: int) -> int:
        place = bisect.bisect_right(self.real, moment)
        if place == 0:
            return self.told[0] - (self.real[0] - moment)
        if place == len(self.real):
            return self.told[-1] + (moment - self.real[-1])
        (a, b), (x, y) = self.real[place - 1 : place + 1], self.told[place - 1 : place + 1]
        return x + (moment - a) * (y - x) // (b - a)

    @property
    def days(self) -> set[str]:
        return {iso(moment)[:10] for moment in (self.real[0], self.real[-1])}


def iso(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def clock_of(session: Session, rows: Iterable[Mapping[str, Any]], agent_rows: int) -> Clock:
    """How long everything took: Ada's reading, the model's thinking, the tools' running."""
    chance = random.Random(session.name)
    pauses = session.pauses()
    by_moment: dict[int, float] = {}
    calls: dict[str, str] = {}
    agents = 0
    answered: set[str] = set()
    for row in rows:
        if "timestamp" not in row or row.get("isSidechain"):
            continue
        content = (row.get("message") or {}).get("content")
        blocks = content if isinstance(content, list) else []
        for block in blocks:
            if block.get("type") == "tool_use":
                calls[block["id"]] = block["name"]
                agents += block["name"] in {"Agent", "Task"}
        gap = 0.012
        match row["type"]:
            case "assistant":
                text = json.dumps(blocks)
                gap = len(text) / chance.uniform(90, 160) + 0.4
                if row["message"].get("id") not in answered:
                    answered.add(row["message"].get("id"))
                    gap += chance.uniform(1.5, 4.5)
            case "user" if any(block.get("type") == "tool_result" for block in blocks):
                name = calls.get(
                    next(block["tool_use_id"] for block in blocks if block.get("type") == "tool_result"), ""
                )
                gap = tool_seconds(name, json.dumps(blocks), chance, agent_rows / max(agents, 1))
            case "user" if (prompt := typed(row)) is not None:
                known = [wait for text, wait in pauses.items() if text in squeezed(prompt)]
                gap = known[0] + chance.uniform(0, 9) if known else chance.uniform(35, 110)
            case "system" if row.get("subtype") == "compact_boundary":
                gap = chance.uniform(25, 40)
        moment = milliseconds(row["timestamp"])
        by_moment[moment] = max(gap, by_moment.get(moment, 0))
    clock = Clock()
    told = milliseconds(f"{session.began}:00Z") + chance.randrange(59_000)
    for number, moment in enumerate(sorted(by_moment)):
        told += round(by_moment[moment] * 1000) if number else 0
        clock.real.append(moment)
        clock.told.append(told)
    return clock


def tool_seconds(name: str, result: str, chance: random.Random, agent_rows: float) -> float:
    if name in {"Agent", "Task"}:
        return agent_rows * chance.uniform(6, 10)
    if name == "ExitPlanMode" or "want to proceed with this tool use" in result:
        return chance.uniform(12, 40)  # Ada reads before she decides
    if name == "Bash":
        return chance.uniform(9, 30) if re.search(r"\d+ (failed|passed)\\n|bisect", result) else chance.uniform(0.3, 3)
    return chance.uniform(0.02, 0.4)


def typed(row: Mapping[str, Any]) -> str | None:
    """What Ada typed, if this row is that."""
    if row.get("isMeta") or row.get("isCompactSummary"):
        return None
    content = row["message"]["content"]
    if isinstance(content, list):
        if any(block.get("type") == "tool_result" for block in content):
            return None
        content = "\n".join(block.get("text", "") for block in content)
    return None if content.startswith(("[Request interrupted", "<local-command")) else content


def without(rows: Sequence[tuple[str, dict[str, Any]]]) -> list[str]:
    """The lines but for those left out; their children hang where they hung."""
    parents = {
        row["uuid"]: row["parentUuid"]
        for _, row in rows
        if row["type"] == "attachment" and row["attachment"]["type"] in LEFT_OUT
    }

    def kept(uuid: str) -> str | None:
        while uuid in parents:
            uuid = parents[uuid]
        return uuid

    lines = []
    for line, row in rows:
        if row.get("uuid") in parents:
            continue
        for key in ("parentUuid", "logicalParentUuid", "leafUuid"):
            if row.get(key) in parents:
                line = line.replace(f'"{key}":"{row[key]}"', f'"{key}":{json.dumps(kept(row[key]))}')
        lines.append(line)
    return lines


def with_durations(lines: Sequence[str], clock: Clock) -> list[str]:
    """How long a turn or an agent took, by the story's clock."""
    began: dict[str, int] = {}
    prompt = None
    changed = []
    for line in lines:
        row = json.loads(line)
        moment = clock.at(milliseconds(row["timestamp"])) if "timestamp" in row else None
        content = (row.get("message") or {}).get("content")
        if row["type"] == "user" and typed(row) is not None:
            prompt = moment
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use" and moment:
                began[block["id"]] = moment
            if block.get("type") == "tool_result" and moment:
                took = moment - began.get(block["tool_use_id"], moment)
                line = re.sub(r'"(totalDurationMs|durationMs)":\d+', rf'"\g<1>":{took}', line)
                line = re.sub(r"duration_ms: \d+", f"duration_ms: {took}", line)
        if row.get("subtype") == "turn_duration" and prompt and moment:
            line = re.sub(r'"durationMs":\d+', f'"durationMs":{moment - prompt}', line)
        if row.get("subtype") == "compact_boundary":
            line = re.sub(r'"durationMs":\d+', '"durationMs":27310', line)
        changed.append(line)
    return changed


def parents_first(lines: Sequence[str]) -> list[str]:
    """The lines with every row behind its parent. A stand-in that answers at once makes some of them overtake it."""
    here = {row["uuid"] for row in map(json.loads, lines) if "uuid" in row}
    waiting: dict[str, list[str]] = {}
    ordered: list[str] = []
    known: set[str | None] = set()

    def add(line: str) -> None:
        row = json.loads(line)
        parent = row.get("parentUuid")
        if parent in here and parent not in known:
            waiting.setdefault(parent, []).append(line)
            return
        ordered.append(line)
        if "uuid" in row:
            known.add(row["uuid"])
            for late in waiting.pop(row["uuid"], []):
                add(late)

    for line in lines:
        add(line)
    assert not waiting, "a row is its own ancestor"
    return ordered


def with_title(lines: Sequence[str], session: Session) -> list[str]:
    """Newer versions have the model name a session after the first turn; without a network they do not ask."""
    rows = [json.loads(line) for line in lines]
    place = next((number for number, row in enumerate(rows, 1) if row.get("subtype") == "turn_duration"), len(rows))
    title = {"type": "ai-title", "aiTitle": session.title, "sessionId": rows[place - 1]["sessionId"]}
    written = json.dumps(title, ensure_ascii=False, separators=(",", ":"))
    return [*lines[:place], written, *lines[place:]]


def as_from_the_api(line: str) -> str:
    """Thinking is short here: three times the output is nearer to what such work takes. And no local gateway."""
    line = re.sub(r'"output_tokens":(\d+)', lambda found: f'"output_tokens":{3 * int(found[1])}', line)
    return re.sub(r"your inference gateway \(127\.0\.0\.1:\d+\)", "status.claude.com", line)


class Names:
    """Ids that are the same at every recording."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.chance = random.Random("backscroll demo")

    def uuid(self, match: re.Match[str]) -> str:
        if match[0] not in self.known:
            digits = f"{self.chance.getrandbits(128):032x}"
            variant = "89ab"[self.chance.randrange(4)]
            parts = (digits[:8], digits[8:12], f"4{digits[13:16]}", f"{variant}{digits[17:20]}", digits[20:])
            self.known[match[0]] = "-".join(parts)
        return self.known[match[0]]

    def agent(self, old: str) -> None:
        self.known[old] = f"{self.chance.getrandbits(4 * len(old)):0{len(old)}x}"
        if old.startswith("a"):
            self.known[old] = "a" + self.known[old][1:]

    def renamed(self, text: str) -> str:
        text = UUID.sub(self.uuid, text)
        for old, new in self.known.items():
            if "-" not in old:
                text = text.replace(old, new)
        return text


def pack(raw: Path, sessions: Sequence[Session], sample: Path) -> int:
    """Make the sample of what was recorded in `raw`. Returns its size."""
    written: dict[str, list[str]] = json.loads((raw / "files.json").read_text(encoding="utf-8"))
    home = raw / "home"
    names = Names()
    clocks: dict[str, Clock] = {}  # by the id of the session
    files: dict[str, tuple[bytes, int]] = {}
    for session in sessions:
        paths = [path for path in written[session.name] if not is_warmup(home / path)]
        mains = [path for path in paths if "agent-" not in path]
        rows = {path: [(line, json.loads(line)) for line in lines_of(home / path)] for path in paths}
        agent_rows = sum(len(rows[path]) for path in paths if path not in mains)
        clock = clock_of(session, [row for path in mains for _, row in rows[path]], agent_rows)
        for path in [*mains, *sorted(set(paths) - set(mains))]:
            if found := AGENT.search(path):
                names.agent(found[1])
            else:
                clocks[Path(path).stem] = clock
        for path in [*mains, *sorted(set(paths) - set(mains))]:
            lines = parents_first(with_durations(without(rows[path]), clock))
            if path in mains and session.version.startswith("2.1."):
                lines = with_title(lines, session)
            text = "".join(f"{as_from_the_api(in_story(line, clock))}\n" for line in lines)
            times = ISO.findall(text)
            files[f"home/{names.renamed(path)}"] = (names.renamed(text).encode(), milliseconds(max(times)))
    live = {Path(path).stem for session in sessions if session.live for path in written[session.name]}
    handled = {path for paths in written.values() for path in paths}
    for file in sorted(path for path in home.rglob("*") if path.is_file()):
        path = str(file.relative_to(home))
        if path in handled:
            continue
        owner = next((name for name in clocks if name in path), None)
        if path == "history.jsonl":
            kept = [line for line in lines_of(file) if json.loads(line).get("sessionId") not in live]
            text = "".join(f"{in_story(line, clocks[json.loads(line)['sessionId']])}\n" for line in kept)
            files["home/history.jsonl"] = (names.renamed(text).encode(), max(mtime for _, mtime in files.values()))
        elif (owner and owner not in live and file.stat().st_size) or path.startswith("plans/"):
            content = file.read_bytes()
            if file.suffix != ".png":
                content = names.renamed(content.decode()).encode()
            clock = clocks[owner] if owner else next(iter(clocks.values()))
            files[f"home/{names.renamed(path)}"] = (content, clock.told[-1])
    for file in sorted(path for path in (raw / "work").rglob("*") if path.is_file()):
        files[f"work/{file.relative_to(raw / 'work')}"] = (
            file.read_bytes(),
            max(clock.told[-1] for clock in clocks.values()),
        )
    newest = max(clock.told[-1] for clock in clocks.values())
    about = {
        "recorded": iso(newest)[:10],
        "user": "/home/ada",
        "deleted": [names.renamed(main_file(written, session)) for session in sessions if session.deleted],
        "live": next(names.renamed(main_file(written, session)) for session in sessions if session.live),
    }
    files["sample.json"] = (json.dumps(about, indent=1).encode() + b"\n", newest)
    sample.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(sample, "w:xz", preset=9) as tar:
        for name, (content, mtime) in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(content), 0o600, mtime // 1000
            tar.addfile(entry, io.BytesIO(content))
    return sample.stat().st_size


def main_file(written: Mapping[str, Sequence[str]], session: Session) -> str:
    (path,) = (path for path in written[session.name] if "agent-" not in path)
    return path


def in_story(line: str, clock: Clock) -> str:
    """A line with the times of the story."""
    first, last = clock.real[0] - DAY_MS, clock.real[-1] + DAY_MS

    def moment(match: re.Match[str]) -> str:
        real = milliseconds(match[0])
        return iso(clock.at(real)) if first < real < last else match[0]

    def epoch(match: re.Match[str]) -> str:
        return str(clock.at(int(match[0]))) if first < int(match[0]) < last else match[0]

    def printed(match: re.Match[str]) -> str:
        real = milliseconds(match[0] + "Z")
        return iso(clock.at(real))[:19] if first < real < last else match[0]

    line = EPOCH.sub(epoch, PRINTED.sub(printed, ISO.sub(moment, line)))
    for day in clock.days:
        line = line.replace(day, iso(clock.told[0])[:10])
    return line


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def is_warmup(path: Path) -> bool:
    """Some versions start each agent once, so that it is in the cache. Nothing is said there."""
    return "agent-" in path.name and '"content":"Warmup"' in path.read_text(encoding="utf-8")
