"""Random homes, clones and rules, and which lines may leave under them, computed from the raw files with plain `json`.

Every line has a number. It stands in its text as `text<12>`, which `metrics` leaves out, and in its uuid as
`uuid<12>`, which `off` leaves out, too. What may leave is worked out from what was written and from the git remotes
that the generator gave each folder; nothing here asks the code that decides.
"""

import json
import random
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

FULL, REDACTED, METRICS, OFF = "full", "redacted", "metrics", "off"
MODES: Final = (FULL, REDACTED, METRICS, OFF)
"""From the loosest to the strictest."""
REMOTES: Final = {
    "git@github.com:Acme/shop.git": "github.com/acme/shop",
    "https://me:token@github.com/ada/shop": "github.com/ada/shop",
    "ssh://git@git.example:22/acme/lib.git": "git.example/acme/lib",
    "https://gitlab.com/ada/zoo.git": "gitlab.com/ada/zoo",
}
"""Addresses of git remotes, and what they come to."""
GIT_PATTERNS: Final = {
    "github.com/acme/*": r"github\.com/acme/.*",
    "git@github.com:acme/shop.git": r"github\.com/acme/shop",
    "*/acme/*": r".*/acme/.*",
    "https://gitlab.com/ada/*": r"gitlab\.com/ada/.*",
    "*": r".*",
}
"""Patterns of rules, and what they match."""
ELSEWHERE: Final = (
    "/home/ada/client/x", "/home/ada/client-x", "/home/ada/client", "C:\\Users\\Ada\\Client\\x", "c:/users/ada/other",
)  # fmt: skip
"""Folders that are not on this machine; the first two share a folder in `projects/`."""
Row = dict[str, Any]


class Rule(NamedTuple):
    """A rule, as the oracle understands it."""

    by: str
    pattern: str
    mode: str

    def matches(self, path: str, remote: str | None) -> bool:
        if self.by == "remote":
            return remote is not None and re.fullmatch(GIT_PATTERNS[self.pattern], remote) is not None
        if self.by == "project":
            names = {re.split(r"[/\\]", path)[-1].lower(), (remote or "").split("/")[-1]} - {""}
            return any(_glob(self.pattern, name) for name in names)
        if path[1:2] == ":":
            return _glob(self.pattern.replace("\\", "/").lower(), path.replace("\\", "/").lower(), below=True)
        return _glob(self.pattern, path, below=True)


class Rules(NamedTuple):
    """The rules of a user or an organisation: the first that matches decides."""

    default: str
    rules: tuple[Rule, ...] = ()

    def mode(self, path: str, remotes: set[str], *, was_bare: bool) -> str:
        """The strictest mode of a folder with each of its git remotes; nothing leaves if a stricter one is possible."""
        known: list[str | None] = [*sorted(remotes), *([None] if was_bare or not remotes else [])]
        firsts = [self._first(path, remote) for remote in known]
        mode = strictest(self._mode_at(first) for first in firsts)
        if not remotes and not was_bare:
            (first,) = firsts
            for rule in self.rules[:first]:
                if rule.by != "path" and MODES.index(rule.mode) > MODES.index(mode):
                    return OFF
        return mode

    @property
    def modes(self) -> set[str]:
        return {self.default, *(rule.mode for rule in self.rules)}

    def _first(self, path: str, remote: str | None) -> int:
        hits = (number for number, rule in enumerate(self.rules) if rule.matches(path, remote))
        return next(hits, len(self.rules))

    def _mode_at(self, number: int) -> str:
        return self.rules[number].mode if number < len(self.rules) else self.default


class Written(NamedTuple):
    """A line of a file of this machine."""

    path: str
    number: int
    row: Row | None
    """None if it is not a record."""


@dataclass
class World:
    """A machine: its folders, and everything that was ever written in its home."""

    root: Path
    random: random.Random
    count: int = 0
    lines: list[Written] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    remotes: dict[str, set[str] | None] = field(default_factory=dict)
    """The git remotes that a folder has now; None if it is not there, or its repository is not."""
    clones: list[Path] = field(default_factory=list)
    seen: dict[str, set[str]] = field(default_factory=dict)
    """Those that a folder had whenever it was looked at."""
    bare: set[tuple[str, str]] = field(default_factory=set)
    """A session (or file) and a folder that it ran in while that had no git remote."""
    grown: set[str] = field(default_factory=set)
    """The sessions (or files) that were written to since the folders were looked at."""

    @property
    def home(self) -> Path:
        return self.root / "home"

    # Folders

    def build(self) -> None:
        """Make clones, worktrees, submodules, plain folders, and sessions in them."""
        choose = self.random
        for number in range(choose.randint(1, 3)):
            self.clone(self.root / "work" / choose.choice((f"shop{number}", f"client-{number}")))
        for name in ("plain", "zoo")[: choose.randint(0, 2)]:
            self._folder(self.root / "work" / name, set())
        self.folders += [str(self.root / "work" / "gone"), *choose.sample(ELSEWHERE, choose.randint(1, len(ELSEWHERE)))]
        for _ in range(choose.randint(3, 8)):
            self.session()
        self.write("plans/plan.md", None)
        self.write("jobs/job.md", None)
        for _ in range(choose.randint(1, 6)):
            self.prompt()

    def clone(self, place: Path) -> None:
        """A clone with a folder in it, perhaps a worktree and a submodule."""
        choose = self.random
        addresses = choose.sample(list(REMOTES), choose.randint(0, 2))
        (place / ".git").mkdir(parents=True)
        (place / ".git" / "config").write_text(_config(addresses))
        names = {REMOTES[address] for address in addresses}
        self.clones.append(place)
        self._folder(place, names)
        self._folder(place / "src", names)
        if choose.random() < 0.4:
            tree, own = place.with_name(f"{place.name}-tree"), place / ".git" / "worktrees" / "tree"
            own.mkdir(parents=True)
            (own / "commondir").write_text("../..\n")
            self._folder(tree, names)
            (tree / ".git").write_text(f"gitdir: {own}\n")
        if choose.random() < 0.4:
            module, address = place / "vendor", choose.choice(list(REMOTES))
            self._folder(module, names | {REMOTES[address]})
            (place / ".git" / "modules" / "vendor").mkdir(parents=True)
            (place / ".git" / "modules" / "vendor" / "config").write_text(_config([address]))
            (module / ".git").write_text("gitdir: ../.git/modules/vendor\n")

    def _folder(self, place: Path, remotes: set[str]) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.folders.append(str(place))
        self.remotes[str(place)] = set(remotes)

    def change(self) -> None:
        """What happens on a machine: clones vanish, move and change, sessions go on, end, or are written anew."""
        choose = self.random
        if self.clones and choose.random() < 0.7:
            clone = choose.choice(self.clones)
            what = choose.choice(("delete", "move", "add", "strip"))
            around = [path for path in self.remotes if Path(path).is_relative_to(clone)]
            tree = str(clone.with_name(f"{clone.name}-tree"))
            if what == "delete":
                shutil.rmtree(clone)
                self.remotes.update(dict.fromkeys([*around, *([tree] if tree in self.remotes else [])]))
                self.clones.remove(clone)
            elif what == "move" and tree not in self.remotes:
                moved = clone.with_name(f"moved{self.count}")
                clone.rename(moved)
                for path in around:
                    self.remotes[str(moved / Path(path).relative_to(clone))] = self.remotes[path]
                    self.remotes[path] = None
                self.folders.append(str(moved))
                self.clones[self.clones.index(clone)] = moved
            elif what == "add":
                address = choose.choice(list(REMOTES))
                with (clone / ".git" / "config").open("a") as config:
                    config.write(_config([address], "more"))
                for path in (*around, *([tree] if tree in self.remotes else [])):
                    known = self.remotes[path]
                    self.remotes[path] = None if known is None else known | {REMOTES[address]}
            elif what == "strip" and tree not in self.remotes and not (clone / "vendor").exists():
                shutil.rmtree(clone / ".git")
                self.remotes.update({path: set() for path in around if self.remotes[path] is not None})
                self.clones.remove(clone)
        sessions = sorted({one.path for one in self.lines if SESSION.fullmatch(one.path)})
        for path in choose.sample(sessions, min(2, len(sessions))):
            what = choose.choice(("go on", "delete", "anew"))
            if what != "go on":
                (self.home / path).unlink(missing_ok=True)
            if what != "delete":
                self.row(path, choose.choice(self.folders))
        if choose.random() < 0.5:
            self.session()
        self.prompt()

    # Files

    def session(self) -> None:
        """A session that ran in some folders, with files that belong to it, and others of its project."""
        choose = self.random
        number = f"{choose.getrandbits(48):012x}"
        session, cwd = f"11111111-1111-4111-8111-{number}", choose.choice(self.folders)
        folder = f"projects/{re.sub('[^A-Za-z0-9]', '-', cwd)}"
        path = f"{folder}/{session}.jsonl"
        others = choose.sample(self.folders, min(choose.choice((0, 0, 0, 1, 2)), len(self.folders)))
        cwds: list[str | None] = [None] if choose.random() < 0.1 else [cwd, *others]
        for each in cwds:
            self.row(path, each)
        if choose.random() < 0.3:
            self.row(f"{folder}/{session}/subagents/agent-{number}.jsonl", choose.choice([*cwds, *self.folders]))
        if choose.random() < 0.2:
            beside = choose.choice((folder, "projects/-elsewhere"))
            self.row(f"{beside}/agent-{number}.jsonl", choose.choice([*cwds, *self.folders]), session)
        belonging = (
            f"{folder}/{session}/tool-results/x.txt", f"todos/{session}-agent-{session}.json",
            f"file-history/{session}/abc@v1", f"tasks/{session}/1.json", f"{folder}/memory/MEMORY.md",
        )  # fmt: skip
        for one in belonging:
            if choose.random() < 0.3:
                self.write(one, None)

    def prompt(self) -> None:
        """A line of the history."""
        choose = self.random
        sessions = sorted({match[1] for one in self.lines if (match := SESSION.fullmatch(one.path))})
        row: Row = {"display": "", "project": choose.choice(self.folders), "sessionId": choose.choice([*sessions, "x"])}
        if choose.random() < 0.2:
            del row[choose.choice(("project", "sessionId"))]
        self.write("history.jsonl", row if choose.random() < 0.9 else None)

    def row(self, path: str, cwd: str | None, session: str | None = None) -> None:
        row: Row = {"type": "user", **({"cwd": cwd} if cwd else {}), **({"sessionId": session} if session else {})}
        self.write(path, row)

    def write(self, path: str, row: Row | None) -> None:
        """Append a line with the next number."""
        self.count += 1
        marks = {"uuid": f"uuid<{self.count}>", "message": {"content": f"text<{self.count}>"}}
        text = json.dumps(row | marks) if row is not None else f"text<{self.count}> uuid<{self.count}>"
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as open_file:
            open_file.write(f"{text}\n")
        self.lines.append(Written(path, self.count, row))
        self.grown.add(unit_of(path))

    # What is known, and what may leave

    def look(self) -> None:
        """Note the git remotes of every folder that was named, as backscroll should by now."""
        for unit, cwds in self.ran().items():
            for cwd in cwds:
                now = self.remotes.get(cwd)
                if now is not None:
                    before = self.seen.setdefault(cwd, set())
                    before |= now
                    if not now and (unit in self.grown or not before):
                        self.bare.add((unit, cwd))
        self.grown.clear()

    def ran(self) -> dict[str, set[str]]:
        """The folders that each session, agent of none, and the history name."""
        ran: dict[str, set[str]] = {}
        for one in self.lines:
            cwd = (one.row or {}).get("project" if one.path == "history.jsonl" else "cwd")
            if cwd and one.path.endswith(".jsonl"):
                ran.setdefault(unit_of(one.path), set()).add(cwd)
        return ran

    def leaving(self, own: Rules, org: Rules) -> tuple[set[int], set[int]]:
        """The numbers of the lines whose text leaves, and of those whose uuid leaves."""
        judge = _Judge(self, own, org)
        modes = {one.number: judge.of(one) for one in self.lines}
        texts = {number for number, mode in modes.items() if mode in (FULL, REDACTED)}
        counted = {one.number for one in self.lines if one.row is not None and one.path != "history.jsonl"}
        return texts, texts | {number for number, mode in modes.items() if mode == METRICS and number in counted}


class _Judge:
    """What may leave of each line."""

    def __init__(self, world: World, own: Rules, org: Rules) -> None:
        self._world, self._own, self._org = world, own, org
        self._ran = world.ran()
        self._is_uniform = len(own.modes) == len(org.modes) == 1
        self._usual = strictest((own.default, org.default))
        self._units: dict[str, set[str]] = {}
        """The sessions and agents of each folder in `projects/`."""
        self._names: dict[str, set[str]] = {}
        """Of an agent beside sessions, those that it names."""
        for one in world.lines:
            if one.path.startswith("projects/") and one.path.endswith(".jsonl"):
                unit = unit_of(one.path)
                self._units.setdefault(one.path.split("/")[1], set()).add(unit)
                if unit == one.path and one.row and "sessionId" in one.row:
                    self._names.setdefault(unit, set()).add(one.row["sessionId"])

    def of(self, one: Written) -> str:
        if one.path.startswith("jobs/"):
            return OFF  # not kept at all
        if self._is_uniform:
            return self._usual
        unit = unit_of(one.path)
        if one.path == "history.jsonl":
            return self._of_prompt(one)
        if one.path.startswith("plans/"):
            return self._of_all({unit for units in self._units.values() for unit in units})
        folder = one.path.split("/")[1]
        if "/memory/" in one.path:
            return self._of_all(self._units.get(folder, set()))
        homes = [name for name, units in self._units.items() if unit in units]
        return self._of_unit(unit, folder if one.path.startswith("projects/") else next(iter(homes), ""))

    def _of_unit(self, unit: str, folder: str) -> str:
        if self._cwds({unit}):
            return self._of_all({unit})
        return self._of_all(self._units.get(folder, set()) - {unit})

    def _of_all(self, units: set[str]) -> str:
        places = self._cwds(units)
        return strictest(self._of_place(unit, cwd) for unit, cwd in places) if places else OFF

    def _cwds(self, units: set[str]) -> set[tuple[str, str]]:
        """Where these ran, with the sessions that they name and the agents that name these."""
        every = units | {name for unit in units for name in self._names.get(unit, ())}
        every |= {agent for agent, named in self._names.items() if named & every}
        return {(unit, cwd) for unit in every for cwd in self._ran.get(unit, ())}

    def _of_place(self, unit: str, cwd: str) -> str:
        seen, was_bare = self._world.seen.get(cwd, set()), (unit, cwd) in self._world.bare
        return strictest(rules.mode(cwd, seen, was_bare=was_bare) for rules in (self._own, self._org))

    def _of_prompt(self, one: Written) -> str:
        if one.row is None:
            return OFF
        if "project" in one.row:
            mode = self._of_place("history.jsonl", one.row["project"])
        else:
            mode = self._of_all({unit for units in self._units.values() for unit in units})
        session = one.row.get("sessionId", "")
        folders = [name for name, units in self._units.items() if session in units]
        return strictest((mode, self._of_unit(session, folders[0]))) if folders else mode


def unit_of(path: str) -> str:
    """The session that a file belongs to, or the file."""
    match = re.search("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", path)
    return match[0] if match else path


def strictest(modes: Iterable[str]) -> str:
    """The mode under which least leaves."""
    return max(modes, key=MODES.index)


def random_rules(choose: random.Random, world: World, *, is_org: bool = False) -> Rules:
    """Rules about folders and git remotes of a world; those of an organisation are about names, too."""
    rules = []
    for _ in range(choose.choice((0, 1, 1, 2, 3))):
        by = choose.choice(("path", "path", "remote", "remote", *(("project",) if is_org else ())))
        path = choose.choice([*world.folders, *ELSEWHERE])
        around = re.sub(r"[/\\][^/\\]*$", "", path)
        patterns = {
            "path": [path, f"{path}*", around, f"{around}/*", "*client*", path.replace("\\", "/"), "/nowhere"],
            "remote": list(GIT_PATTERNS),
            "project": ["shop*", "x", "lib"],
        }[by]
        rules.append(Rule(by, choose.choice(patterns), choose.choice(MODES)))
    return Rules(choose.choice((FULL, FULL, REDACTED) if is_org else MODES), tuple(rules))


def _glob(pattern: str, text: str, *, below: bool = False) -> bool:
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(expression + (r"(/.*)?" if below else ""), text, re.DOTALL) is not None


def _config(addresses: list[str], name: str = "origin") -> str:
    return "".join(f'[remote "{name}{at}"]\n\turl = {address}\n' for at, address in enumerate(addresses))


SESSION: Final = re.compile(r"projects/[^/]+/([0-9a-f-]{36})\.jsonl")
