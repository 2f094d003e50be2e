"""How well the one right chat is found: questions with a known answer, for plain rankers and for backscroll.

    python -m bench.recall [--corpus FOLDER] [--half tune|report|both] [--seed 1] [--json FILE] [--show-misses 0]

The questions are made by rule from real sessions, and each has one right chat:

back     the words around a name in a prompt that before was worked on in one other chat of the project only. The
         chat that asks is left out of what is found.
title    the title of a chat, in a home where no titles are written.
commit   the subject of a commit, in a home where the call that made it, and what came of it, say nothing.
rough    a few rather rare words of one prompt, answer or compact summary, in any order, one of them misspelt or
         replaced by a common word.

title and commit are asked in the home as it is, too (“given”); those do not count in the total. Chats are split into
two halves by their id: choose weights with one, and report the other.
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import log
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import backscroll
from backscroll.conversation.chat import Chat
from backscroll.conversation.chats import ChatBuilder
from backscroll.conversation.kinds import HUMAN, RowKind, kind_of
from backscroll.conversation.rows import text_of
from backscroll.files.discovery import discover
from backscroll.files.homes import Home
from backscroll.records.content import Text, Thinking, ToolResult, ToolUse
from backscroll.records.decode import decode_all, value_of
from backscroll.records.kinds import Assistant, Attachment, ChainRecord, System, User
from backscroll.records.outside import AiTitle, CustomTitle, Summary
from backscroll.records.record import Record
from bench.chats import place_at, records_of
from bench.decode import find_corpus

DEPTH: Final = 10
ROUGH_EACH: Final = 5
"""Questions of one kind about one chat, at most: a long chat is not to decide everything."""
TITLES_EACH: Final = 4
BACK_EACH: Final = 6
BACK_OF_ONE: Final = 2
"""Questions that one prompt makes, at most."""
NAMED_IN: Final = 12
SAID_IN: Final = 4
"""In how many chats a name, or a plain word, may occur that is taken to mean one of them."""
TITLES: Final = (Summary, AiTitle, CustomTitle)

Ranker = Callable[[str], list[str]]
"""From the words of a question to the ids of chats, the best first; a few more than DEPTH."""


class SaidText(NamedTuple):
    """A piece of text with its place."""

    chat: str
    kind: str
    when: float
    text: str
    call: str = ""
    """The id of the tool's call that it belongs to."""


@dataclass(frozen=True)
class RecallQuestion:
    """A question, and the chat that is the answer."""

    kind: str
    text: str
    target: str
    asked_in: str | None = None

    @property
    def half(self) -> str:
        """Whether it is for choosing or for reporting; all questions about a chat are in one half."""
        return "tune" if sha256(self.target.encode()).digest()[0] % 2 else "report"


@dataclass(frozen=True)
class RecallScore:
    """How one ranker did with the questions of one kind."""

    ranker: str
    half: str
    kind: str
    questions: int
    first: float
    """R@1"""
    ten: float
    """R@10"""
    mrr: float


class RecallMaterial:
    """Everything that the chats of a home say."""

    def __init__(self, home: Path) -> None:
        chats = ChatBuilder()
        found: list[tuple[str, list[Record]]] = []
        for path in sorted((home / "projects").rglob("*.jsonl")):
            records = list(records_of(path))
            chats.add(place_at(path), records)
            found.append((str(path), records))
        self.chats: dict[str, Chat] = {chat.id: chat for chat in chats.chats()}
        owners = {file.place.file: chat.id for chat in self.chats.values() for file in chat.transcripts}
        self.said: list[SaidText] = []
        seen: set[tuple[str, str]] = set()
        for file, records in found:
            chat = owners[file]
            for record in records:
                uuid = record.uuid if isinstance(record, ChainRecord) else None
                if not uuid or (chat, uuid) not in seen:
                    seen.add((chat, uuid or ""))
                    self.said += self._said(chat, record)

    def _said(self, chat: str, record: Record) -> Iterator[SaidText]:
        started = self.chats[chat].started
        when = record.timestamp or started
        moment = when.timestamp() if when else 0.0
        if isinstance(record, TITLES):
            if (owner := self._owner(chat, record)) and (title := _title(record)):
                yield SaidText(owner, "title", moment, title)
        elif isinstance(record, (User, Attachment, System)):
            kind = kind_of(record)
            name = "prompt" if kind in HUMAN else "summary" if kind is RowKind.COMPACT_SUMMARY else "other"
            yield SaidText(chat, name, moment, text_of(record))
        if isinstance(record, (User, Assistant)) and record.message and not isinstance(record.message.content, str):
            for block in record.message.content:
                if isinstance(block, ToolUse):
                    yield SaidText(chat, "input", moment, "\n".join(_strings(value_of(block.input))), block.id or "")
                elif isinstance(block, ToolResult):
                    yield SaidText(chat, "output", moment, _plain(block.content), block.tool_use_id or "")
                elif isinstance(block, Thinking):
                    yield SaidText(chat, "thinking", moment, block.thinking)
                elif isinstance(block, Text) and isinstance(record, Assistant):
                    yield SaidText(chat, "answer", moment, block.text)

    def _owner(self, chat: str, record: Record) -> str | None:
        """The chat of a title: a summary can be in any file of the project, and names a row."""
        if not isinstance(record, Summary):
            return chat
        leaf = record.leaf_uuid or ""
        return next((found.id for found in self.chats.values() if found.tree.find(leaf) is not None), None)


def _title(record: Summary | AiTitle | CustomTitle) -> str:
    if isinstance(record, Summary):
        return record.summary or ""
    return (record.ai_title if isinstance(record, AiTitle) else record.custom_title) or ""


def _plain(content: str | Sequence[object]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.text for block in content if isinstance(block, Text))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def words_of(text: str) -> list[str]:
    """The words as the plain rankers see them."""
    return WORD.findall(text.casefold())


def as_typed(text: str) -> str:
    """The words as a person would type them into a search box, without what could be taken for syntax."""
    words = (EDGES.sub("", word) for word in MARKS.sub(" ", text).split())
    return " ".join(word.lower() if word in ("AND", "OR", "NOT") else word for word in words if word)


def questions_about(material: RecallMaterial, seed: int) -> list[RecallQuestion]:
    """All questions, in an order that only depends on the sessions and the seed."""
    # Each kind draws for itself, so that a change to one leaves the others as they are.
    questions = _about_names(material, Random(f"back {seed}")) + _about_titles(material, Random(f"title {seed}"))
    questions += [question for question, _ in commits_in(material)]
    questions += _about_rough_memories(material, Random(f"rough {seed}"))
    return questions


def _about_names(material: RecallMaterial, random: Random) -> list[RecallQuestion]:
    """Prompts that name what until then was worked on in one other chat of the project only, and seldom since."""
    prompts = [(said, _names(said.text)) for said in material.said if said.kind == "prompt"]
    wanted = {name for _, names in prompts for name in names}
    worked_on: dict[str, dict[str, float]] = defaultdict(dict)
    named_in: dict[str, set[str]] = defaultdict(set)
    for said in material.said:
        for name in wanted & {part for token in TOKEN.findall(said.text) for part in _spellings(token)}:
            named_in[name].add(said.chat)
            if said.kind in WORK:
                worked_on[name][said.chat] = min(said.when, worked_on[name].get(said.chat, said.when))
    found: dict[str, list[RecallQuestion]] = defaultdict(list)
    for said, names in prompts:
        votes: dict[str, list[str]] = defaultdict(list)
        for name in names:
            earlier = [chat for chat, when in worked_on[name].items() if chat != said.chat and when < said.when]
            if len(earlier) == 1 and len(named_in[name]) <= (NAMED_IN if NAME.fullmatch(name) else SAID_IN):
                votes[earlier[0]].append(name)
        target, *others = sorted(votes, key=lambda chat: -len(votes[chat])) or [said.chat]
        chosen = votes[target]
        is_sure = any(NAME.fullmatch(name) for name in chosen) or len(chosen) > 1
        is_clear = len(chosen) >= 2 * max((len(votes[chat]) for chat in others), default=0)
        if is_sure and is_clear and _project(material.chats[target]) == _project(material.chats[said.chat]):
            rarest = sorted(chosen, key=lambda name: (len(named_in[name]), name))
            texts = (_around(said.text, name) for name in rarest[:BACK_OF_ONE])
            found[target] += [RecallQuestion("back", text, target, said.chat) for text in texts]
    return _some(found, BACK_EACH, random)


def _names(text: str) -> list[str]:
    """The names in a prompt: files, identifiers, tickets; if it mentions earlier work, plain long words too."""
    names = (part for token in TOKEN.findall(text) for part in _spellings(token))
    cued = CUE.search(text) is not None
    return list(dict.fromkeys(name for name in names if NAME.fullmatch(name) or (cued and PLAIN.fullmatch(name))))


def _spellings(token: str) -> Iterator[str]:
    token = token.strip("./-")
    yield token
    if "/" in token:
        yield token.rpartition("/")[2]


def _around(text: str, name: str) -> str:
    """The name with some words before and after it."""
    words = as_typed(text).split()
    at = next((number for number, word in enumerate(words) if name in word), 0)
    return " ".join(words[max(0, at - 6) : at + 7])


def _project(chat: Chat) -> str:
    """The name of its folder: worktrees are one project, and so are the checkouts of a team."""
    return (chat.project or "").partition("/.worktrees/")[0].rpartition("/")[2]


def _about_titles(material: RecallMaterial, random: Random) -> list[RecallQuestion]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for said in material.said:
        if said.kind == "title" and len(words_of(said.text)) > 2:
            found[said.text][said.chat] = None
    titles: dict[str, list[RecallQuestion]] = defaultdict(list)
    for text, (target, *others) in found.items():
        if not others:
            titles[target].append(RecallQuestion("title", as_typed(text), target))
    return _some(titles, TITLES_EACH, random)


def commits_in(material: RecallMaterial) -> list[tuple[RecallQuestion, set[str]]]:
    """The question about each commit, with the calls that made it; without subjects that two chats share."""
    chats: dict[str, set[str]] = defaultdict(set)
    calls: dict[str, set[str]] = defaultdict(set)
    for said in material.said:
        for match in COMMIT.finditer(said.text) if said.kind == "input" else ():
            subject = as_typed(next(filter(None, match.groups())))
            chats[subject].add(said.chat)
            calls[subject].add(said.call)
    alone = {subject: min(found) for subject, found in chats.items() if len(found) == 1 and len(words_of(subject)) > 2}
    return [(RecallQuestion("commit", subject, target), calls[subject]) for subject, target in alone.items()]


def _about_rough_memories(material: RecallMaterial, random: Random) -> list[RecallQuestion]:
    pieces = [(said.chat, {*words_of(said.text)}) for said in material.said if said.kind in ROUGH_KINDS]
    chats: dict[str, set[str]] = defaultdict(set)
    for chat, words in pieces:
        for word in words:
            chats[word].add(chat)
    rare = {
        word for word, found in chats.items() if 3 <= len(found) <= len(material.chats) / 3 and PLAIN.fullmatch(word)
    }
    common = sorted(word for word, found in chats.items() if len(found) > len(material.chats) / 2 and len(word) > 3)
    by_chat: dict[str, list[set[str]]] = defaultdict(list)
    for chat, words in pieces:
        if len(words & rare) >= 6:
            by_chat[chat].append(words & rare)
    questions = []
    for chat in sorted(by_chat):
        for words in random.sample(by_chat[chat], min(ROUGH_EACH, len(by_chat[chat]))):
            chosen = random.sample(sorted(words), random.randint(4, 6))
            if not any(other != chat and words.issuperset(chosen) for other, words in pieces):
                questions.append(RecallQuestion("rough", " ".join(_misremembered(chosen, common, random)), chat))
    return questions


def _misremembered(words: list[str], common: Sequence[str], random: Random) -> list[str]:
    at = random.randrange(len(words))
    word = words[at]
    if common and random.random() < 0.5:
        return [*words[:at], random.choice(common), *words[at + 1 :]]
    letter = random.randrange(1, len(word) - 1)
    misspelt = word[:letter] + word[letter + 1] + word[letter] + word[letter + 2 :]
    # Two equal letters make no mistake when they change places; then one is forgotten.
    misspelt = word[:letter] + word[letter + 1 :] if misspelt == word else misspelt
    return [*words[:at], misspelt, *words[at + 1 :]]


def _some(questions: Mapping[str, list[RecallQuestion]], most: int, random: Random) -> list[RecallQuestion]:
    """Not too many about one chat."""
    chosen = []
    for _, about in sorted(questions.items()):
        different = list(dict.fromkeys(about))
        chosen += random.sample(different, min(most, len(different)))
    return chosen


def copy_home(origin: Path, target: Path) -> None:
    """Copy the files of a home that backscroll reads."""
    for file in discover(Home(origin)).files:
        path = target / file.relative
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file.path, path)


def hide(home: Path, calls: set[str]) -> None:
    """Take out what gives the answers away: titles, and what these calls did."""
    for path in sorted((home / "projects").rglob("*.jsonl")):
        lines = [[_hidden(item.raw, calls) for item in decode_all(line)] for line in path.read_bytes().split(b"\n")]
        path.write_bytes(b"\n".join(b"".join(parts) for parts in lines))


def _hidden(line: bytes, calls: set[str]) -> bytes:
    try:
        row: dict[str, Any] = json.loads(line)
        if row["type"] in ("summary", "ai-title", "custom-title"):
            return b""
        if row.get("toolUseID") in calls or row.get("parentToolUseID") in calls:
            return json.dumps(row | {"data": {}}).encode()
        blocks = [block for block in row["message"]["content"] if {block.get("id"), block.get("tool_use_id")} & calls]
    except (ValueError, LookupError, TypeError, AttributeError):
        return line  # no row, or one that says things otherwise than calls and results do
    for block in blocks:
        if "tool_use_id" in block:
            block["content"] = ""
        else:
            block["input"] = {}
        row.pop("toolUseResult", None)
    return json.dumps(row).encode() if blocks else line


class PlainSearch:
    """Rankers without any of our code: whole chats as bags of words, in memory."""

    def __init__(self, material: RecallMaterial) -> None:
        self._bags: dict[str, Counter[str]] = {chat: Counter() for chat in material.chats}
        for said in material.said:
            self._bags[said.chat].update(words_of(said.text))
        self._chats: dict[str, list[str]] = defaultdict(list)
        for chat, bag in self._bags.items():
            for word in bag:
                self._chats[word].append(chat)
        self._sizes = {chat: bag.total() for chat, bag in self._bags.items()}
        self._average = sum(self._sizes.values()) / len(self._sizes)
        ages = {chat.id: chat.last_active.timestamp() if chat.last_active else 0 for chat in material.chats.values()}
        self._newest = sorted(ages, key=lambda chat: -ages[chat])

    def all_words(self, text: str) -> list[str]:
        """The chats that have every word, newest first."""
        words = words_of(text)
        return [chat for chat in self._newest if all(word in self._bags[chat] for word in words)][: DEPTH + 1]

    def bm25(self, text: str) -> list[str]:
        """The chats that have any word, by bm25."""
        scores: dict[str, float] = defaultdict(float)
        for word in words_of(text):
            found = self._chats.get(word, [])
            weight = log(1 + (len(self._bags) - len(found) + 0.5) / (len(found) + 0.5))
            for chat in found:
                count = self._bags[chat][word]
                scores[chat] += weight * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self._sizes[chat] / self._average))
        return sorted(scores, key=lambda chat: -scores[chat])[: DEPTH + 1]


def backscroll_ranker(home: Path, library: Path) -> Ranker:
    """backscroll itself."""
    opened = backscroll.open(library=library, homes=[home])
    return lambda text: [found.chat.id for found in opened.search(text, limit=DEPTH + 1).chats]


def rank_of(question: RecallQuestion, found: Sequence[str]) -> int | None:
    """At which place the right chat was, from 1; None if it was not among the first ten."""
    others = [chat for chat in found if chat != question.asked_in][:DEPTH]
    return others.index(question.target) + 1 if question.target in others else None


def score(ranker: str, half: str, kind: str, ranks: Sequence[int | None]) -> RecallScore:
    """The usual figures."""
    places = [rank for rank in ranks if rank is not None]
    asked = max(1, len(ranks))
    first, mrr = places.count(1) / asked, sum(1 / rank for rank in places) / asked
    return RecallScore(ranker, half, kind, len(ranks), first, len(places) / asked, mrr)


def scores_of(ranker: str, ranks: Mapping[RecallQuestion, int | None], halves: Iterable[str]) -> Iterator[RecallScore]:
    """The figures of each half: by kind, then for all but what was given."""
    for half in halves:
        kinds: dict[str, list[int | None]] = {kind: [] for kind in [*KINDS, TOTAL]}
        for question, rank in ranks.items():
            if question.half == half:
                kinds[question.kind].append(rank)
                if question.kind not in GIVEN.values():
                    kinds[TOTAL].append(rank)
        yield from (score(ranker, half, kind, found) for kind, found in kinds.items())


def measure(corpus: Path, folder: Path, seed: int) -> dict[str, dict[RecallQuestion, int | None]]:
    """For every ranker, where it found the answer of each question."""
    homes = {"given": folder / "given", "hidden": folder / "hidden"}
    for home in homes.values():
        copy_home(corpus / "home" if (corpus / "home").is_dir() else corpus, home)
    material = RecallMaterial(homes["given"])
    questions = questions_about(material, seed)
    hide(homes["hidden"], {call for _, calls in commits_in(material) for call in calls})
    results: dict[str, dict[RecallQuestion, int | None]] = defaultdict(dict)
    for name, home in homes.items():
        plain = PlainSearch(material if name == "given" else RecallMaterial(home))
        rankers: dict[str, Ranker] = {
            "all words, newest first": plain.all_words,
            "bm25 of whole chats": plain.bm25,
            OURS: backscroll_ranker(home, folder / f"{name}-library"),
        }
        for question in questions:
            if name == "given" and question.kind in GIVEN:
                asked = RecallQuestion(GIVEN[question.kind], question.text, question.target)
            elif (name == "hidden") == (question.kind in GIVEN):
                asked = question
            else:
                continue
            for ranker, ask in rankers.items():
                results[ranker][asked] = rank_of(asked, ask(asked.text))
    return results


WORD: Final = re.compile(r"[^\W_]+")
MARKS: Final = re.compile(r"""["'`:()\[\]{}<>*^~|&!?=\\]""")
EDGES: Final = re.compile(r"^\W+|\W+$")
TOKEN: Final = re.compile(r"[\w./-]{4,100}")
PLAIN: Final = re.compile(r"[a-z]{5,20}")
NAME: Final = re.compile(
    r"""(?:[\w.-]+/)*[\w-]*[A-Za-z]{3}[\w-]*\.(?!com$|org$)[a-z]{1,5}  # a file
    | [A-Za-z]+_\w+ | [a-z]+[A-Z]\w+ | [A-Z][a-z0-9]+[A-Z]\w+         # an identifier
    | [A-Z]{2,}-[0-9]+                                                # a ticket""",
    re.VERBOSE,
)
CUE: Final = re.compile(
    r"\b(?:as before|last time|again|continu\w+|we (?:fixed|added|changed|did|made|had|were)|earlier|previous(?:ly)?"
    r"|yesterday|already|the other day)\b",
    re.IGNORECASE,
)
COMMIT: Final = re.compile(
    r"""git\ commit\b[^\n]*?\s-[a-z]*m\s+
    (?:"\$\(cat\s<<-?\s*['"]?EOF['"]?\s*\n\s*([^\n]+) | "([^"\n$`]+) | '([^'\n]+))""",
    re.VERBOSE,
)
WORK: Final = ("prompt", "answer", "summary", "input")
ROUGH_KINDS: Final = ("prompt", "answer", "summary")
GIVEN: Final = {"title": "title, given", "commit": "commit, given"}
KINDS: Final = ("back", "title", "commit", "rough", *GIVEN.values())
TOTAL: Final = "total"
OURS: Final = "backscroll"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code: 2 where there are no sessions to ask about."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description="How well the right chat is found.")
    parser.add_argument("--corpus", type=Path, help="the folder of real sessions (default: $BACKSCROLL_CORPUS)")
    parser.add_argument("--half", choices=("tune", "report", "both"), default="both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures and every question there")
    parser.add_argument("--show-misses", type=int, default=0, metavar="N", help="print N questions each ranker missed")
    options = parser.parse_args(arguments)
    corpus = options.corpus or find_corpus()
    if corpus is None or not corpus.is_dir():
        print("no real sessions to ask about: set BACKSCROLL_CORPUS, or name a folder with --corpus", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as folder:
        results = measure(corpus, Path(folder), options.seed)
    halves = ("tune", "report") if options.half == "both" else (options.half,)
    scores = [found for ranker, ranks in results.items() for found in scores_of(ranker, ranks, halves)]
    if options.json:
        asked = [
            asdict(question)
            | {"half": question.half, "ranks": {name: ranks[question] for name, ranks in results.items()}}
            for question in next(iter(results.values()))
        ]
        answer = {"seed": options.seed, "scores": [asdict(found) for found in scores], "questions": asked}
        options.json.write_text(json.dumps(answer, indent=2), encoding="utf-8")
    _print(scores, halves)
    for ranker, ranks in results.items() if options.show_misses else ():
        print(f"\nnot among the first {DEPTH}: {ranker}")
        missed = [question for question, rank in ranks.items() if rank is None and question.half in halves]
        for question in missed[: options.show_misses]:
            print(f"  {question.kind:14} {question.target[:8]}  {question.text}")
    return 0


def _print(scores: Sequence[RecallScore], halves: Iterable[str]) -> None:
    for half in halves:
        print(f"\n{f'the half to {half}':26}{'':16}{'asked':>6}{'R@1':>8}{'R@10':>8}{'MRR':>8}")
        for found in scores:
            if found.half == half:
                name = found.ranker if found.kind == KINDS[0] else ""
                figures = f"{found.first:8.2f}{found.ten:8.2f}{found.mrr:8.2f}"
                print(f"{name:26}{found.kind:16}{found.questions:6}{figures}")


if __name__ == "__main__":
    sys.exit(main())
