"""How soon a home can be searched, how fast, and whether words are found: compared with the peers in `bench.peers`.

    python -m bench.search [--size 250MB] [--home DIR] [--peers agentsview,…] [--queries 10] [--words 20] [--json FILE]

One run, one home, for all of them. First update or sync: CPU time with all children, wall clock, the largest process,
and the index as a share of the raw bytes; again with nothing new, and over many small files. Then the same questions to
all: backscroll in this process, the peers through their own doors (HTTP where they have a server, else a process each).
An HTTP call costs about half a millisecond more than a call in the process: the table says which is which. At the end,
words drawn from the raw JSON, each in one session file and in one kind of text only, and how many of them are found.
"""

import argparse
import importlib.util
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

import backscroll
from backscroll.errors import NothingFound
from backscroll.query.fields import FIELDS
from bench.generate import _size, generate
from bench.peers import (
    DEFAULT_CACHE,
    HITS,
    PEERS,
    QUERY_LIMIT,
    SYNC_LIMIT,
    ClaudeCodeLog,
    Cost,
    Peer,
    PeerProject,
    PeerQuery,
    Search,
    UnableError,
    install_peers,
    isolated,
    quoted,
    run,
    size_of,
    succeed,
)
from bench.watching import make_home

OURS: Final = "backscroll"
SESSION: Final = 1_100_000
"""Bytes of a generated session, on average."""
COMMON: Final = 0.10
"""A word is common if more than this share of the messages has it."""
KINDS: Final = ("prompt", "answer", "thinking", "tool input", "tool output", "two-character CJK")
ENOUGH: Final = 100
"""Hits to examine for a word that is in one session."""
WORD: Final = re.compile(r"[^\W_]+")
PLAIN: Final = re.compile(r"[a-z0-9]{5,20}")
CJK: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}")

Questions = dict[str, list[PeerQuery]]
"""By class."""


@dataclass
class Rare:
    """A word of one kind of text, and the sessions (or agents) in which it may be found."""

    kind: str
    word: str
    sessions: frozenset[str]


@dataclass
class Material:
    """The contents of the raw JSON of a home, to choose queries from."""

    messages: int = 0
    frequency: Counter[str] = field(default_factory=Counter)
    """The number of messages with each word."""
    phrases: list[tuple[str, str]] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Of each word its file (-1: several) and its kinds, a bit each."""
    pairs: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Of each pair of CJK characters the files that have it."""
    names: list[set[str]] = field(default_factory=list)
    """Of each file the ids that a peer may call its session by."""
    projects: Counter[PeerProject] = field(default_factory=Counter)
    facts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Branches, models, tools and days."""


def read_material(home: Path) -> Material:
    """One pass over the transcripts, with plain `json`: nothing of backscroll's own reading is in the way."""
    material = Material()
    for path in sorted((home / "projects").rglob("*.jsonl")):
        number = len(material.names)
        material.names.append({path.stem})
        for line in path.read_bytes().splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                _read_row(material, number, row, line, path.relative_to(home / "projects").parts[0])
    return material


def _read_row(material: Material, number: int, row: dict[str, Any], line: bytes, folder: str) -> None:
    if isinstance(session := row.get("sessionId"), str):
        material.names[number].add(session)
    if isinstance(cwd := row.get("cwd"), str):
        material.projects[PeerProject(folder, cwd)] += 1
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        # What stands in other records too is nothing that can show which kind of text is searched.
        _place(material, number, len(KINDS), set(WORD.findall(line.decode(errors="replace").lower())))
        return
    for name, value in (("branch", row.get("gitBranch")), ("model", message.get("model"))):
        if isinstance(value, str) and value:
            material.facts[name][value] += 1
    if isinstance(moment := row.get("timestamp"), str):
        material.facts["day"][moment[:10]] += 1
    seen: set[str] = set()
    for kind, text in _texts(material, row["type"], message.get("content"), is_meta=bool(row.get("isMeta"))):
        words = WORD.findall(text.lower())
        seen.update(words)
        _place(material, number, kind, set(words))
        for characters in CJK.findall(text):
            for start in range(len(characters) - 1):
                material.pairs[characters[start : start + 2]].add(number)
        if kind == KINDS.index("answer") and len(material.phrases) < 5000:
            plain = re.search(r"\b([a-z]{4,12}) ([a-z]{4,12})\b", text)
            if plain:
                material.phrases.append((plain[1], plain[2]))
    material.messages += 1
    material.frequency.update(word for word in seen if PLAIN.fullmatch(word) or len(word) < 5)


def _place(material: Material, number: int, kind: int, words: Iterable[str]) -> None:
    places = material.places
    for word in words:
        if PLAIN.fullmatch(word):
            file, kinds = places.get(word, (number, 0))
            places[word] = (file if file == number else -1, kinds | 1 << kind)


def _texts(material: Material, speaker: str, content: object, *, is_meta: bool) -> Iterator[tuple[int, str]]:
    """The texts of a message, each with the number of its kind. Only typed text is a prompt."""
    said = KINDS.index("answer") if speaker == "assistant" else len(KINDS) if is_meta else KINDS.index("prompt")
    if isinstance(content, str):
        yield said, content
    for block in content if isinstance(content, list) else ():
        match block:
            case {"type": "text", "text": str(text)}:
                yield said, text
            case {"type": "thinking", "thinking": str(text)}:
                yield KINDS.index("thinking"), text
            case {"type": "tool_use", "name": str(tool), "input": values}:
                material.facts["tool"][tool] += 1
                yield KINDS.index("tool input"), "\n".join(_strings(values))
            case {"type": "tool_result", "content": str(text)}:
                yield KINDS.index("tool output"), text
            case {"type": "tool_result", "content": list(parts)}:
                texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
                yield KINDS.index("tool output"), "\n".join(texts)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def draw_rare(material: Material, count: int, seed: int) -> list[Rare]:
    """Words of each kind that are in one file and in no other kind of text; pairs of characters in few files."""
    rng = Random(seed)
    drawn = []
    for bit, kind in enumerate(KINDS[:-1]):
        words = sorted(word for word, (file, kinds) in material.places.items() if file >= 0 and kinds == 1 << bit)
        chosen = rng.sample(words, min(count, len(words)))
        drawn += [Rare(kind, word, frozenset(material.names[material.places[word][0]])) for word in chosen]
    pairs = sorted(pair for pair, files in material.pairs.items() if len(files) <= 3)
    for pair in rng.sample(pairs, min(count, len(pairs))):
        names = frozenset(name for file in material.pairs[pair] for name in material.names[file])
        drawn.append(Rare(KINDS[-1], pair, names))
    return drawn


def draw_questions(material: Material, count: int, seed: int) -> Questions:
    """The classes of queries that every contestant gets."""
    rng = Random(seed)
    rare = sorted(word for word, messages in material.frequency.items() if messages <= 3 and PLAIN.fullmatch(word))
    common = sorted(word for word, messages in material.frequency.items() if messages > COMMON * material.messages)
    if not rare or len(common) < 4:
        raise SystemExit("this home has too few words to ask for: choose a larger one")
    rare, some = rng.sample(rare, min(count, len(rare))), [rng.choice(common) for _ in range(count)]
    days = sorted(material.facts["day"].elements())
    since, until = days[len(days) // 2], days[len(days) // 2 + len(days) // 10]
    plain = [project for project, _ in material.projects.most_common() if re.fullmatch(r"[\w/.-]+", project.cwd, re.A)]
    project = plain[0] if plain else None
    letters = sorted(word for word in material.frequency if len(word) > 4 and word.isalpha())
    return {
        "rare word": [PeerQuery("word", (word,)) for word in rare],
        f"word in > {COMMON:.0%}": [PeerQuery("word", (word,)) for word in some],
        "OR of four common": [PeerQuery("any", tuple(rng.sample(common, 4))) for _ in range(count)],
        "phrase": [
            PeerQuery("phrase", pair) for pair in rng.sample(material.phrases, min(count, len(material.phrases)))
        ],
        "prefix": [PeerQuery("prefix", (word[:4],)) for word in rng.sample(letters, min(count, len(letters)))],
        "common, one project": [PeerQuery("word", (word,), project=project) for word in some],
        "common, some days": [PeerQuery("word", (word,), since=since, until=until) for word in some],
    }


def our_text(query: PeerQuery) -> str:
    """A question in our own language."""
    named = {"project": query.project.cwd if query.project else None, "after": query.since, "before": query.until}
    return " ".join([quoted(query), *(f'{name}:"{value}"' for name, value in named.items() if value)])


def our_filters(material: Material, words: Sequence[str]) -> dict[str, list[str]]:
    """Every filter of our query language with common words: frequent values of this home, or its example."""
    frequent = {name: f'{name}:"{found.most_common(1)[0][0]}"' for name, found in material.facts.items() if found}
    days = sorted(material.facts["day"].elements())
    frequent |= {name: f"{name}:{days[len(days) // 2]}" for name in ("after", "since", "before")}
    project = material.projects.most_common(1)[0][0].cwd if material.projects else ""
    frequent["project"] = f'project:"{project}"'
    filters = []
    for info in FIELDS:
        choices = [f"{info.name}:{choice.name}" for choice in info.choices]
        filters += choices or [frequent.get(info.name, info.example)]
    return {text: [f"{word} {text}" for word in words] for text in filters}


def open_searcher(library: Path, home: Path) -> Callable[[str], object]:
    """backscroll in this process, opened once."""
    opened = backscroll.open(library=library, homes=[home])
    return lambda text: opened.search(text, limit=HITS)


class Backscroll:
    """Our own commands over one home, with a library of its own."""

    def __init__(self, home: Path, folder: Path) -> None:
        self.home, self.folder, self.library = home, folder, folder / "library"
        folder.mkdir(parents=True)

    def command(self, *words: str) -> list[str]:
        """The command line; the same Python as this one."""
        places = ["--home", str(self.home), "--library", str(self.library)]
        return [sys.executable, "-m", "backscroll", *words, *places]

    def sync(self) -> Cost:
        """`backscroll update`, the first time or again."""
        return succeed(self.command("update"), isolated(self.folder), SYNC_LIMIT)[0]

    def list_chats(self) -> Cost:
        """`backscroll list`."""
        return succeed(self.command("list", "--json"), isolated(self.folder), SYNC_LIMIT)[0]

    def index_bytes(self) -> int:
        """The size of everything in the library except the archive, which is not an index."""
        return size_of(self.library) - size_of(self.library / "archive")

    def ask(self, word: str) -> Cost:
        """A whole process that searches for one word."""
        return run(self.command("search", "--json", word), isolated(self.folder), QUERY_LIMIT)[0]

    def find(self, query: PeerQuery) -> list[str]:
        """The sessions that `backscroll search --json` names."""
        words = self.command("search", "--json", "--limit", str(query.limit), quoted(query))
        _, code, text = run(words, isolated(self.folder), QUERY_LIMIT)
        if code not in (0, NothingFound.exit_code):
            raise UnableError(f"`backscroll search` ended with {code}: {text[:200]}")
        hits = json.loads(text).get("hits", []) if code == 0 else []
        return [name for hit in hits for name in (hit.get("session"), hit.get("agent"), hit.get("chat")) if name]

    @contextmanager
    def open(self) -> Iterator[dict[str, Search]]:
        """The doors to be timed. The server's door belongs here, beside the one in the process, once there is one."""
        search = open_searcher(self.library, self.home)

        def in_process(query: PeerQuery) -> list[str]:
            search(our_text(query))
            return []

        yield {f"{OURS} in process": in_process}


def missing_parts() -> list[str]:
    """The parts of backscroll that are not available for measuring."""
    parts = {
        "`backscroll update`": importlib.util.find_spec("backscroll.cli.update") is not None,
        "`backscroll search`": importlib.util.find_spec("backscroll.cli.search") is not None,
        "`backscroll.open`": hasattr(backscroll, "open"),
    }
    return [name for name, there in parts.items() if not there]


@dataclass
class SearchRow:
    """One contestant: what its index cost."""

    name: str
    first: Cost | None = None
    index: int | None = None
    nothing_new: Cost | None = None
    many_first: Cost | None = None
    many_nothing_new: Cost | None = None
    whole_process: Cost | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Times:
    """Wall-clock seconds per answer; None if the query is not supported."""

    median: float | None
    percentile_95: float | None
    why_not: str = ""


@dataclass
class SearchRun:
    """Everything that was measured."""

    home: str
    raw: int
    files: int
    small_files: int
    rows: list[SearchRow]
    left_out: dict[str, str]
    versions: dict[str, str]
    listing: Cost | None = None
    questions: dict[str, dict[str, Times]] = field(default_factory=dict)
    """By class of question, then by door."""
    filters: dict[str, Times] = field(default_factory=dict)
    words: dict[str, int] = field(default_factory=dict)
    """Of each kind, how many were drawn."""
    found: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)
    """By door, then by kind: how many were found at all, and how many in the right session."""


def measure(home: Path, what: str, folder: Path, options: argparse.Namespace) -> SearchRun:
    """Run everything in sequence, so that no contestant shares the machine with another."""
    say("installing the peers")
    peers, left_out = install_peers(options.cache, options.peers)
    say("reading the raw JSON")
    material = read_material(home)
    drawn = draw_rare(material, options.words, options.seed)
    questions = draw_questions(material, options.queries, options.seed)
    make_home(folder / "many", options.files, Random(options.seed))
    files = [path for path in home.rglob("*") if path.is_file()]
    done = SearchRun(what, sum(path.stat().st_size for path in files), len(files), options.files, [], left_out, {})
    done.versions = {peer.name: peer.version for peer in peers}
    done.words = dict(Counter(rare.kind for rare in drawn))
    if missing := missing_parts():
        left_out[OURS] = f"there is no {', no '.join(missing)}"
    else:
        measure_ours(done, home, folder, material, questions, drawn, options.rounds)
    for peer in peers:
        measure_peer(done, peer, home, folder, questions, drawn, options.rounds)
    return done


def measure_ours(
    done: SearchRun,
    home: Path,
    folder: Path,
    material: Material,
    questions: Questions,
    drawn: Sequence[Rare],
    rounds: int,
) -> None:
    """backscroll itself."""
    row = SearchRow(OURS)
    done.rows.append(row)
    say(f"{OURS}: list with a new library")
    done.listing = attempt(row, "list", Backscroll(home, folder / "listed").list_chats)
    ours = Backscroll(home, folder / "ours")
    measure_index(row, ours, questions)
    if row.first is None:
        return
    with ours.open() as doors:
        ask_questions(done, doors, questions, rounds)
    say(f"{OURS}: filters and words")
    search = open_searcher(ours.library, home)
    common = [query.words[0] for query in questions["common, one project"]]
    for name, texts in our_filters(material, common).items():
        done.filters[name] = times_of([partial(search, text) for text in texts], rounds)
    try:
        done.found[f"{OURS} process"] = check_words(ours.find, drawn)
    except UnableError as error:
        row.notes.append(f"words: {error}")
    measure_many(row, Backscroll(folder / "many", folder / "many-ours"))


def measure_peer(
    done: SearchRun, peer: Peer, home: Path, folder: Path, questions: Questions, drawn: Sequence[Rare], rounds: int
) -> None:
    """Measure a peer."""
    row = SearchRow(peer.name)
    done.rows.append(row)
    peer.prepare(home, folder / peer.name)
    measure_index(row, peer, questions)
    if row.first is None:
        return
    if beside := peer.other_bytes():
        row.notes.append(f"besides its index it wrote {beside / 1e6:,.0f} MB of pages")
    try:
        with peer.open() as doors:
            ask_questions(done, doors, questions, rounds)
            for door, search in doors.items():
                say(f"{door}: words")
                done.found[door] = check_words(search, drawn)
    except UnableError as error:
        row.notes.append(f"searching: {error}")
    if isinstance(peer, ClaudeCodeLog):
        row.notes.append("many small files: left out, it would render a page for each")
    else:
        peer.prepare(folder / "many", folder / f"many-{peer.name}")
        measure_many(row, peer)


def measure_index(row: SearchRow, subject: Backscroll | Peer, questions: Questions) -> None:
    """The first update, one with nothing new, and a whole process that searches."""
    say(f"{row.name}: first update, and again")
    row.first = attempt(row, "first", subject.sync)
    if row.first is not None:
        row.index = subject.index_bytes()
        row.nothing_new = attempt(row, "nothing new", subject.sync)
        word = questions["rare word"][0].words[0]
        row.whole_process = attempt(row, "a process that searches", partial(subject.ask, word))


def measure_many(row: SearchRow, subject: Backscroll | Peer) -> None:
    """The same over many small files."""
    say(f"{row.name}: many small files")
    row.many_first = attempt(row, "first of many", subject.sync)
    if row.many_first is not None:
        row.many_nothing_new = attempt(row, "many, nothing new", subject.sync)


def ask_questions(done: SearchRun, doors: Mapping[str, Search], questions: Questions, rounds: int) -> None:
    """Every question through every door."""
    for door, search in doors.items():
        say(f"{door}: questions")
        for kind, queries in questions.items():
            calls = [partial(search, query) for query in queries]
            done.questions.setdefault(kind, {})[door] = times_of(calls, rounds)


def check_words(search: Search, drawn: Sequence[Rare]) -> dict[str, tuple[int, int]]:
    """Of each kind, how many words are found, and how many in the right session."""
    found: dict[str, tuple[int, int]] = dict.fromkeys(KINDS, (0, 0))
    for rare in drawn:
        sessions = search(PeerQuery("word", (rare.word,), limit=ENOUGH))
        right = any(session in rare.sessions or f"agent-{session}" in rare.sessions for session in sessions)
        some, exact = found[rare.kind]
        found[rare.kind] = (some + bool(sessions), exact + right)
    return found


def time_search(search: Callable[[], object], rounds: int) -> list[float]:
    """Seconds for each of some calls, after one that does not count."""
    search()
    spent = []
    for _ in range(rounds):
        started = time.perf_counter()
        search()
        spent.append(time.perf_counter() - started)
    return spent


def times_of(calls: Iterable[Callable[[], object]], rounds: int) -> Times:
    """The median and the 95th percentile over all calls and rounds."""
    try:
        spent = sorted(seconds for call in calls for seconds in time_search(call, rounds))
    except Exception as error:  # whatever a door says to a question that it does not know
        return Times(None, None, str(error)[:120] or type(error).__name__)
    return Times(statistics.median(spent), spent[min(len(spent) - 1, int(len(spent) * 0.95))])


def attempt(row: SearchRow, what: str, action: Callable[[], Cost]) -> Cost | None:
    """Do it; where it cannot be done, note why."""
    try:
        return action()
    except UnableError as error:
        row.notes.append(f"{what}: {error}")
        return None


def say(what: str) -> None:
    """Where we are, for those who wait."""
    print(f"… {what}", file=sys.stderr, flush=True)


def _cost(cost: Cost | None, ours: Cost | None) -> str:
    if cost is None:
        return f"{'–':>9}{'–':>9}{'–':>8}{'':>10}"
    ratio = f"{cost.cpu / ours.cpu:.1f} ×" if ours and ours.cpu else ""
    return f"{cost.wall:9.2f}{cost.cpu:9.2f}{cost.memory / 1e6:8.0f}{ratio:>10}"


def _print_index(done: SearchRun) -> None:
    ours = next((row for row in done.rows if row.name == OURS), SearchRow(OURS))
    heads = f"{'s wall':>9}{'s CPU':>9}{'MB':>8}{'CPU ×':>10}"
    print(f"\n{'':18}{'first':>36}{'index':>9}{'nothing new':>36}")
    print(f"{'':18}{heads}{'of raw':>9}{heads}")
    for row in done.rows:
        share = f"{row.index / done.raw:.1%}" if row.index is not None else "–"
        print(f"{row.name:18}{_cost(row.first, ours.first)}{share:>9}{_cost(row.nothing_new, ours.nothing_new)}")
    print(f"\n{done.small_files:,} small files\n{'':18}{'first':>36}{'nothing new':>36}\n{'':18}{heads}{heads}")
    for row in done.rows:
        many = _cost(row.many_first, ours.many_first) + _cost(row.many_nothing_new, ours.many_nothing_new)
        print(f"{row.name:18}{many}")
    print(f"\na whole process that searches for a rare word\n{'':18}{heads}")
    for row in done.rows:
        print(f"{row.name:18}{_cost(row.whole_process, ours.whole_process)}")
    if done.listing:
        print(f"\nlist of all chats, with a new library: {done.listing.wall:.2f} s wall, {done.listing.cpu:.2f} s CPU")
    for row in done.rows:
        for note in row.notes:
            print(f"{row.name}: {note}")


def _print_questions(done: SearchRun) -> None:
    doors = list(dict.fromkeys(door for times in done.questions.values() for door in times))
    if not doors:
        return
    print("\nthe same questions, ms: median / 95th percentile (and × our median)")
    print("backscroll is called in this process, for it has no server yet; names with a / are HTTP calls")
    print(f"{'':22}" + "".join(f"{door:>32}" for door in doors))
    for kind, times in done.questions.items():
        ours = times.get(f"{OURS} in process")
        cells = []
        for door in doors:
            answer = times[door]
            if answer.median is None or answer.percentile_95 is None:
                cells.append("–")
                continue
            ratio = f" ({answer.median / ours.median:.1f} ×)" if ours and ours.median and answer is not ours else ""
            cells.append(f"{answer.median * 1000:.1f} / {answer.percentile_95 * 1000:.1f}{ratio}")
        print(f"{kind:22}" + "".join(f"{cell:>32}" for cell in cells))
    reasons = {(door, answer.why_not) for times in done.questions.values() for door, answer in times.items()}
    for door, reason in sorted((door, reason) for door, reason in reasons if reason):
        print(f"–: {door}: {reason}")
    if done.filters:
        print("\nour filters, each with a common word, ms")
    for name, answer in done.filters.items():
        if answer.median is None or answer.percentile_95 is None:
            print(f"{name:40}– {answer.why_not}")
        else:
            print(f"{name:40}{answer.median * 1000:.1f} / {answer.percentile_95 * 1000:.1f}")


def _print_words(done: SearchRun) -> None:
    print("\nwords of one session and one kind of text: found in the right session (found at all), of those drawn")
    print(f"{'':30}" + "".join(f"{kind:>19}" for kind in KINDS))
    for door, found in done.found.items():
        cells = [f"{found[kind][1]} ({found[kind][0]}) of {done.words.get(kind, 0)}" for kind in KINDS]
        print(f"{door:30}" + "".join(f"{cell:>19}" for cell in cells))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.search", description="Search a home, side by side.")
    parser.add_argument("--size", type=_size, default=250_000_000, help="of the home that is generated, such as 250MB")
    parser.add_argument("--home", type=Path, help="a home that there is, instead of a generated one; it is copied")
    parser.add_argument("--peers", default=",".join(kind.name for kind in PEERS), help="which ones; '' for none")
    parser.add_argument("--cache", type=Path, default=DEFAULT_CACHE, help="the folder for the peers' venvs")
    parser.add_argument("--files", type=int, default=5000, help="small files for an update with nothing new")
    parser.add_argument("--queries", type=int, default=10, help="questions of each class")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is asked, after once that does not count")
    parser.add_argument("--words", type=int, default=20, help="rare words of each kind")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured there, too")
    options = parser.parse_args(arguments)
    options.peers = [name.strip() for name in options.peers.split(",") if name.strip()]
    if unknown := set(options.peers) - {kind.name for kind in PEERS}:
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        folder = Path(name)
        if options.home:
            shutil.copytree(options.home, folder / "home", symlinks=True)
            what = "a copy of a real home"
        else:
            generate(
                folder / "home", sessions=max(1, options.size // SESSION), total_bytes=options.size, seed=options.seed
            )
            what = "generated sessions"
        done = measure(folder / "home", what, folder, options)
    print(f"{done.files:,} files, {done.raw / 1e6:.0f} MB of {what}, warm page cache, one run each")
    print(f"compared with {', '.join(f'{name} {version}' for name, version in done.versions.items()) or 'nothing'}")
    for left, reason in done.left_out.items():
        print(f"left out: {left}: {reason}")
    _print_index(done)
    _print_questions(done)
    _print_words(done)
    if options.json:
        driven = {kind.name: kind.driven for kind in PEERS}
        options.json.write_text(json.dumps(asdict(done) | {"driven": driven}, indent=2), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
