"""Count the tokens of a home side by side with ccusage, and explain every difference message by message.

    python -m bench.against_ccusage [HOME …] [--cache DIR] [--json FILE]

Without homes: the real sessions (see CONTRIBUTING.md), and generated ones: one with resumes and forks, one in which
nothing is copied, and the same with a `requestId` in every row, where both must say the same.

ccusage reports only sums. So each message is moved to a day of its own, in all the files that it stands in, and ccusage
says what it counts for that day; together these have to be what it counts for the home, else the rest is told as not
explained. What we count comes from `stats usage --explain --json`.
"""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from bench.generate import Mix, generate
from bench.peers import INSTALL_LIMIT, SYNC_LIMIT, Cost, UnableError, isolated, succeed

VERSION: Final = "20.0.24"
NEEDS: Final = (
    f"this compares with ccusage {VERSION}: it needs Node.js with npm, and once the network, to install it into the "
    "folder of --cache"
)
DEFAULT_CACHE: Final = Path(tempfile.gettempdir()) / "backscroll-bench-peers"
OURS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
THEIRS: Final = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
SYNTHETIC: Final = "<synthetic>"
FIRST_DAY: Final = date(2000, 1, 1)
TIMESTAMP: Final = re.compile(rb'("timestamp": ?")[^"T]*T')

Tokens = tuple[int, ...]
NOTHING: Final[Tokens] = (0, 0, 0, 0)


class Ccusage:
    """The program, from npm, in a folder of its own and with an empty home."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / f"ccusage-{VERSION}"
        self._program = self._folder / "node_modules" / ".bin" / "ccusage"
        self._home = self._folder / "home"

    def install(self) -> None:
        """Have it, from the cache or from npm."""
        self._home.mkdir(parents=True, exist_ok=True)
        if self._program.exists():
            return
        npm = shutil.which("npm")
        if npm is None:
            raise UnableError(NEEDS)
        command = [npm, "install", "--no-audit", "--no-fund", "--prefix", self._folder, f"ccusage@{VERSION}"]
        try:
            succeed(command, os.environ, INSTALL_LIMIT)
        except UnableError as error:
            raise UnableError(f"{error}\n{NEEDS}") from error

    @property
    def program(self) -> Path:
        """The program itself: what npm puts there is a script that starts it, which would be measured too."""
        found = sorted((self._folder / "node_modules" / "@ccusage").glob("ccusage-*/bin/ccusage"))
        if not found:
            return self._program
        found[0].chmod(0o755)  # its package does not always say so
        return found[0]

    def report(self, home: Path, kind: str) -> tuple[Cost, dict[str, Any]]:
        """A report as JSON, with the prices that it brings along."""
        path = os.pathsep.join((os.defpath, str(Path(shutil.which("node") or "/usr/bin/node").parent)))
        environment = isolated(self._home, CLAUDE_CONFIG_DIR=str(home)) | {"PATH": path}
        cost, text = succeed([self.program, kind, "--json", "--offline"], environment, SYNC_LIMIT)
        return cost, json.loads(text)

    def total(self, home: Path) -> Tokens:
        """All tokens of a home."""
        _, answer = self.report(home, "daily")
        return tuple(int(answer["totals"][name]) for name in THEIRS)


@dataclass
class UsageEvidence:
    """The rows of one message, as they are in the files."""

    lines: dict[Path, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    usages: list[Tokens] = field(default_factory=list)
    models: set[str] = field(default_factory=set)
    kinds: set[str] = field(default_factory=set)
    requests: set[str | None] = field(default_factory=set)
    is_glued: bool = False


@dataclass(frozen=True)
class Difference:
    """A message that is counted differently, and why."""

    message: str
    ours: Tokens
    theirs: Tokens
    reason: str


def make_homes(folder: Path, plain: Path) -> list[Path]:
    """Generated homes: with copies, without, and without but with a `requestId` in every answer."""
    copied, apart = folder / "resumes and forks", folder / "no copies"
    generate(copied, sessions=60, total_bytes=30_000_000, seed=7, mix=Mix(problems=0))
    generate(apart, sessions=60, total_bytes=30_000_000, seed=7, mix=Mix(resumes=0, forks=0, problems=0))
    shutil.copytree(apart, plain)
    for path in (plain / "projects").rglob("*.jsonl"):
        path.write_bytes(b"".join(map(_with_request, path.read_bytes().splitlines(keepends=True))))
    return [copied, apart, plain]


def _with_request(line: bytes) -> bytes:
    row = json.loads(line)
    if row["type"] != "assistant" or "requestId" in row:
        return line
    row["requestId"] = f"req_{row['message'].get('id')}"
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def gather(home: Path) -> dict[str, UsageEvidence]:
    """Every message with usage, by its id, or by the id of its row. Uses plain `json`, none of our code."""
    found: dict[str, UsageEvidence] = defaultdict(UsageEvidence)
    for path in sorted((home / "projects").rglob("*.jsonl")):
        with path.open("rb") as file:
            for line in file:
                if b'"usage"' not in line:
                    continue
                values = list(objects(line))
                for value in values:
                    _take(found, path, line, value, is_glued=len(values) != 1)
    return found


def objects(line: bytes) -> Iterator[dict[str, Any]]:
    """The objects on a line: usually one; several if they were glued together; none if it is not JSON."""
    text = line.decode(errors="replace").strip("\0 \r\n")
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        if isinstance(value, dict):
            yield value


def _take(found: dict[str, UsageEvidence], path: Path, line: bytes, row: dict[str, Any], *, is_glued: bool) -> None:
    kind, inner = row.get("type"), row
    if kind == "progress":
        inner = (row.get("data") or {}).get("message") or {}
    message = inner.get("message") if isinstance(inner, dict) else None
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(message, dict) or not isinstance(usage, dict) or inner.get("type") != "assistant":
        return
    evidence = found[message.get("id") or inner.get("uuid") or f"{path}:{len(found)}"]
    evidence.lines[path].append(line)
    evidence.usages.append(tuple(int(usage.get(name) or 0) for name in OURS))
    evidence.models.add(str(message.get("model")))
    evidence.kinds.add(str(kind))
    evidence.requests.add(inner.get("requestId"))
    evidence.is_glued |= is_glued


def ours_of(home: Path, library: Path) -> tuple[Tokens, dict[str, Tokens], dict[str, Any]]:
    """What `stats usage` counts: in total and by message, with its notes."""
    command = [sys.executable, "-m", "backscroll", "--home", home, "--library", library]
    _, text = succeed([*command, "stats", "usage", "--explain", "--json"], os.environ | {"TZ": "UTC"}, SYNC_LIMIT)
    answer = json.loads(text)
    rows = answer.pop("explanation")
    counted = {row["message"]: tuple(row[name] for name in OURS) for row in rows if row["model"] != SYNTHETIC}
    total = tuple(answer["total"][name] for name in OURS)
    if total != _sum(counted.values()):
        raise UnableError("the rows of --explain do not add up to the total")
    return total, counted, answer


def theirs_of(ccusage: Ccusage, evidence: Mapping[str, UsageEvidence]) -> dict[str, Tokens]:
    """What ccusage counts for each message: each on a separate day."""
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        home, messages = Path(name), {}
        files: dict[Path, list[bytes]] = defaultdict(list)
        for number, (message, told) in enumerate(evidence.items()):
            day = FIRST_DAY + timedelta(days=number)
            messages[day.isoformat()] = message
            stamp = rf"\g<1>{day}T".encode()  # the hour stays: ccusage compares it where there is no requestId
            for path, lines in told.lines.items():
                files[path].extend(TIMESTAMP.sub(stamp, line.rstrip(b"\n")) + b"\n" for line in lines)
        for number, lines in enumerate(files.values()):
            session = str(uuid5(NAMESPACE_URL, str(number)))
            (home / "projects" / session).mkdir(parents=True)
            (home / "projects" / session / f"{session}.jsonl").write_bytes(b"".join(lines))
        _, answer = ccusage.report(home, "daily")
    return {messages[row["period"]]: tuple(int(row[name]) for name in THEIRS) for row in answer["daily"]}


def reason_of(told: UsageEvidence | None, ours: Tokens, theirs: Tokens) -> str:
    """Why a message is counted differently, as far as its rows tell."""
    if told is None:
        return "no row of it was found"
    if SYNTHETIC in told.models:
        return "made up by the client itself"
    highest = tuple(map(max, zip(*told.usages, strict=True)))
    if not any(ours):
        return "stands only in progress rows" if told.kinds == {"progress"} else "not counted by us"
    if not any(theirs):
        if told.is_glued:
            return "on a line with another object: not counted by ccusage"
        spaced = all(b'"usage": {' in line for lines in told.lines.values() for line in lines)
        return "JSON with spaces: not counted by ccusage" if spaced else "not counted by ccusage"
    if ours != highest:
        return "ours is not the highest of its rows"
    if None in told.requests:
        return "without requestId: ccusage counts each row"
    if theirs in told.usages:
        return "ccusage takes one of its rows, and another has more"
    if len(told.lines) > 1:
        return "ccusage counts copies in other files again"
    return "ccusage counts its rows more than once"


def compare(ccusage: Ccusage, home: Path, library: Path) -> dict[str, Any]:
    """Both totals and every difference between them."""
    total, ours, facts = ours_of(home, library)
    theirs_total = ccusage.total(home)
    evidence = gather(home)
    theirs = theirs_of(ccusage, evidence)
    differences = [
        Difference(message, own, their, reason_of(evidence.get(message), own, their))
        for message in sorted(ours.keys() | theirs.keys())
        if (own := ours.get(message, NOTHING)) != (their := theirs.get(message, NOTHING))
    ]
    reasons: dict[str, list[Difference]] = defaultdict(list)
    for difference in differences:
        reasons[difference.reason].append(difference)
    return {
        "home": str(home),
        "ours": total,
        "theirs": theirs_total,
        "messages": facts["counted"],
        "copies": facts["copies"],
        "unexplained": _minus(theirs_total, _sum(theirs.values())),
        "reasons": {
            reason: {
                "messages": len(found),
                "difference": _minus(_sum(one.theirs for one in found), _sum(one.ours for one in found)),
                "examples": [(one.message, one.ours, one.theirs) for one in found[:3]],
            }
            for reason, found in reasons.items()
        },
    }


def tell(answer: dict[str, Any]) -> None:
    """Write a comparison for people."""
    print(f"{answer['home']}: {answer['messages']:,} messages, {answer['copies']:,} copies in other files left out")
    print(f"  {'':<52}{'input':>14}{'output':>14}{'cache write':>14}{'cache read':>16}")
    for name in ("ours", "theirs"):
        _line({"ours": "backscroll", "theirs": "ccusage"}[name], answer[name])
    for reason, found in sorted(answer["reasons"].items()):
        _line(f"{found['messages']:,} × {reason}", found["difference"])
    _line("not explained", answer["unexplained"])


def _line(name: str, tokens: Tokens) -> None:
    widths = (14, 14, 14, 16)
    print(f"  {name:<52}" + "".join(f"{count:>{width},}" for count, width in zip(tokens, widths, strict=True)))


def _sum(tokens: Any) -> Tokens:  # noqa: ANN401 - any iterable of them
    return tuple(map(sum, zip(NOTHING, *tokens, strict=True)))


def _minus(one: Tokens, other: Tokens) -> Tokens:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 1 if anything is not explained, or a home without copies differs."""
    parser = argparse.ArgumentParser(prog="python -m bench.against_ccusage", description="Count beside ccusage.")
    parser.add_argument("homes", nargs="*", type=Path, metavar="HOME")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder that ccusage is installed into")
    parser.add_argument("--json", type=Path, help="write what was found to this file")
    options = parser.parse_args(arguments)
    ccusage = Ccusage(options.cache)
    beside = Path(__file__).parents[2] / "shared" / "corpus"
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        homes, plain = [path.resolve() for path in options.homes], Path(name) / "no copies and requestId everywhere"
        try:
            ccusage.install()
            if not homes:
                corpus = Path(os.environ.get("BACKSCROLL_CORPUS", beside)) / "home"
                homes = [*([corpus] if corpus.is_dir() else []), *make_homes(Path(name), plain)]
            answers = [compare(ccusage, home, Path(name) / f"library {number}") for number, home in enumerate(homes)]
        except UnableError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        for answer in answers:
            tell(answer)
        if options.json:
            options.json.write_text(json.dumps(answers, indent=2))
        wrong = [answer for answer in answers if any(answer["unexplained"])]
        wrong += [answer for answer in answers if answer["home"] == str(plain) and answer["reasons"]]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
